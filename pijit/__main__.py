"""`python -m pijit [options] script.py args...`, `-m module args...` or `-c code args...`."""

from pijit._launch import main

if __name__ == "__main__":
    main()
