"""At python's start, where PIJIT_AUTO or PIJIT_AS is set (pijit_auto.pth): nothing is loaded before the program imports
pijit, which then reads the variables itself. PIJIT_AS=mindspore: `import mindspore` means pijit, as with `python -m
pijit --as mindspore`."""

import importlib.machinery
import os
import sys


class _Alias:
    """Answers the first import of the name."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002
        if name.partition(".")[0] != self.name:
            return None
        sys.meta_path.remove(self)
        import pijit.compat
        pijit.compat.install(self.name)
        del sys.modules[self.name]  # else the import goes on with the package's own spec, which loads it a second time
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):  # noqa: ARG002
        import pijit
        self.spec = pijit.__spec__
        return pijit

    def exec_module(self, module):
        module.__spec__ = self.spec


def start():
    name = os.environ.get("PIJIT_AS")
    if name == "mindspore":
        sys.meta_path.insert(0, _Alias(name))
    elif name:
        del os.environ["PIJIT_AS"]  # said once, not by each child process
        if sys.stderr is not None:
            sys.stderr.write(f"pijit: PIJIT_AS={name!r} is ignored: it can be 'mindspore' only\n")
