#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace pijit {
namespace {

bool write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) at += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

bool replace_file(const std::string& path, const std::string& text) {
  std::string fresh = path + ".XXXXXX";
  const int fd = mkostemp(fresh.data(), O_CLOEXEC);
  if (fd < 0) return false;
  bool done = write_all(fd, text);
  done = close(fd) == 0 && done;
  if (done && std::rename(fresh.c_str(), path.c_str()) == 0) return true;
  const int why = errno;
  unlink(fresh.c_str());
  errno = why;
  return false;
}

bool append_to_file(const std::string& path, const std::string& text) {
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int fd = open(path.c_str(), flags, 0666);
  if (fd < 0) return false;
  struct stat s;
  bool done = fstat(fd, &s) == 0;
  if (done && !(S_ISREG(s.st_mode) && s.st_uid == geteuid() && s.st_nlink == 1))
    done = false, errno = EPERM;
  done = done && write_all(fd, text);
  const int why = errno;
  close(fd);
  errno = why;
  return done;
}

}  // namespace pijit
