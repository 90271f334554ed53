# For scripts that take packages of another Debian than the system's: `. tools/debian.sh`, then
# debian FOLDER KIND SUITE writes lists of its own there (KIND: deb or deb-src), and `apt ...` is apt-get with them alone.
mirror() {
  local found
  found=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    sed -n 's/^URIs: *//p; s/^deb *\(\[[^]]*\] *\)\?\([^ ]*\).*/\2/p' | grep -v security | head -1)
  echo "${found:-http://deb.debian.org/debian}"
}
debian() {
  state=$1/apt
  mkdir -p "$state"/{lists/partial,cache/archives/partial}
  echo "$2 [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $3 main" > "$state/sources.list"
  apt -qq update
}
apt() {
  apt-get -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$state/lists" \
    -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root "$@"
}
