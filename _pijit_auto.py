"""At python's start, where PIJIT_AUTO is set (pijit_auto.pth): nothing is loaded before the program imports pijit, which then reads the
variables itself. PIJIT_AS=mindspore: `import mindspore` means pijit, as with `python -m pijit --as mindspore`."""

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
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec):  # noqa: ARG002
        import pijit
        self.spec = pijit.__spec__
        return pijit

    def exec_module(self, module):
        module.__spec__ = self.spec


def start():
    if os.environ.get("PIJIT_AS"):
        sys.meta_path.insert(0, _Alias(os.environ["PIJIT_AS"]))
