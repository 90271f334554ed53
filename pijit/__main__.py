"""`python -m pijit [--as mindspore] [--device CPU] script.py args...` runs a script, or `-m module`."""

import argparse
import os
import runpy
import sys


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m pijit", description="Runs a script on pijit.")
    parser.add_argument("--as", dest="name", choices=["mindspore"], help="answer this package's imports")
    parser.add_argument("--device", help="override the device_target that the script asks for")
    parser.add_argument("-m", dest="module", action="store_true", help="the script is a module name")
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    o = parser.parse_args(argv)
    if o.device:
        os.environ["PIJIT_DEVICE"] = o.device
    import pijit.context
    pijit.context._override_device = o.device or pijit.context._override_device
    if o.name:
        import pijit.compat
        pijit.compat.install(o.name)
    sys.argv = [o.script] + o.args
    if o.module:
        runpy.run_module(o.script, run_name="__main__", alter_sys=True)
    else:
        if not os.path.isfile(o.script):
            parser.error(f"no such file: {o.script}")
        sys.path[0] = os.path.dirname(os.path.abspath(o.script))
        runpy.run_path(o.script, run_name="__main__")


if __name__ == "__main__":
    main()
