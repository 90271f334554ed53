"""The command `pijit`. It loads nothing of the package: `pijit run` is `python -m pijit`, which does so in its time."""

import os
import sys

USAGE = """usage: pijit COMMAND ...

commands:
  run [options] script.py args...   run a program with capture on, as `python -m pijit` (pijit run --help)
  doctor [--json]                   say what there is on this machine, and what is known to go wrong
  completion bash|zsh|fish          print what a shell needs to complete these words

options:
  --version
  -h, --help
"""
COMMANDS = ("run", "doctor", "completion")
OPTIONS = {"run": ("--as", "--plain", "--device", "--include", "--exclude", "--report", "--trace", "-m", "-c",
                   "--help"),
           "doctor": ("--json", "--with", "--help"), "completion": ("bash", "zsh", "fish")}


def completion(shell):
    """What completes commands and options; file names by the shell itself."""
    if shell == "fish":
        lines = [f"complete -c pijit -n __fish_use_subcommand -f -a {c}" for c in COMMANDS]
        for command, words in OPTIONS.items():
            for word in words:
                how = f"-l {word[2:]}" if word[:2] == "--" else f"-o {word[1:]}" if word[0] == "-" else f"-f -a {word}"
                lines.append(f"complete -c pijit -n '__fish_seen_subcommand_from {command}' {how}")
        return "\n".join(lines) + "\n"
    cases = "\n".join(f'    {command}) words="{" ".join(words)}" ;;' for command, words in OPTIONS.items())
    text = f"""_pijit() {{
  local words
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{" ".join(COMMANDS)} --version --help" ;;
  esac
  if [ "$COMP_CWORD" = 1 ]; then words="{" ".join(COMMANDS)} --version --help"; fi
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _pijit pijit
"""
    return ("autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else "") + text


def main():
    """Runs the command that the arguments name; its exit code."""
    command, rest = (sys.argv[1:2] or ["--help"])[0], sys.argv[2:]
    if command in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0
    if command == "--version" or command == "run":
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", "pijit", *(rest if command == "run" else ["--version"])])
    if command == "doctor":
        # not by -m, which loads the package first: the doctor speaks also where that cannot be
        os.execv(sys.executable, [sys.executable, "-c", "import importlib.util, os, runpy\n"
                                  "folder = importlib.util.find_spec('pijit').submodule_search_locations[0]\n"
                                  "runpy.run_path(os.path.join(folder, 'doctor.py'), run_name='__main__')", *rest])
    if command == "completion" and rest in (["bash"], ["zsh"], ["fish"]):
        sys.stdout.write(completion(rest[0]))
        return 0
    wrong = "completion takes bash, zsh or fish" if command == "completion" else f"{command!r} is no command"
    sys.stderr.write(f"{USAGE.splitlines()[0]}\npijit: error: {wrong}; `pijit --help` lists what there is\n")
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
