"""What `python -m pijit` does before and after the program. Loaded before the package itself, which is left for when
the program imports it: a program without tensors starts as quickly as ever."""

import atexit
import os
import sys
import time

try:
    from pijit import _run
    call_alone = _run.run
except ImportError:  # the extension is not built
    call_alone = _run = None

USAGE = """usage: python -m pijit [options] script.py args... | -m module args... | -c code args...

Runs a program with capture on: its functions and loops that work on tensors, and its functions of NumPy's arrays and
of numbers, are compiled where that makes them faster.

options:
  --as mindspore       answer this package's imports
  --plain              capture nothing: what decorators and GRAPH_MODE ask for neither, to compare results and times
  --device DEVICE      override the device_target that the program asks for
  --include PATTERNS   capture these packages, too, e.g. 'mylib.*,other' (may be given again)
  --exclude PATTERNS   leave these modules or files alone
  --report[=FILE]      say at exit what was captured and what it brought, on stderr or in FILE (.txt, .json, .html)
  --trace FILE         write a trace for Perfetto or chrome://tracing
  --version
  -h, --help
"""
VALUED = ("--as", "--device", "--include", "--exclude", "--trace")


class Request:
    """What was asked for on the command line, or by environment variables (where a process inherits them)."""

    def __init__(self):
        self.on = self.plain = False
        self.name = self.device = self.report = self.trace = None
        self.include, self.exclude = [], []

    @classmethod
    def inherited(cls):
        """The one of PIJIT_AUTO, PIJIT_AUTO_INCLUDE, PIJIT_AUTO_EXCLUDE, PIJIT_AUTO_REPORT, PIJIT_AUTO_TRACE and
        PIJIT_AS."""
        r, get = cls(), os.environ.get
        r.on = get("PIJIT_AUTO", "") not in ("", "0")
        r.name = "mindspore" if get("PIJIT_AS") == "mindspore" else None
        r.include, r.exclude = patterns(get("PIJIT_AUTO_INCLUDE", "")), patterns(get("PIJIT_AUTO_EXCLUDE", ""))
        r.report, r.trace = get("PIJIT_AUTO_REPORT") or None, get("PIJIT_AUTO_TRACE") or None
        return r

    def bequeath(self):
        """Lets child processes inherit it. The program does not see these variables in os.environ."""
        if self.on:
            os.putenv("PIJIT_AUTO", "1")
        for variable, value in (("PIJIT_AS", self.name), ("PIJIT_AUTO_INCLUDE", ",".join(self.include)),
                                ("PIJIT_AUTO_EXCLUDE", ",".join(self.exclude))):
            if value:
                os.putenv(variable, value)


request = None  # of the command line
began = None  # when the program did, by perf_counter


def command():
    """What python was started with."""
    if hasattr(sys, "orig_argv"):
        return sys.orig_argv
    with open("/proc/self/cmdline", "rb") as f:
        return [os.fsdecode(a) for a in f.read().split(b"\0")[:-1]]


def main_of_package():
    """Runs the program of `python -m pijit` where the package is being imported for that, and never comes back: so a
    program without tensors starts as if there were no package. While python locates the module, sys.argv[0] is "-m"."""
    if request or sys.argv[:1] != ["-m"] or command()[-len(sys.argv)] not in ("pijit", "-mpijit"):
        return
    main(sys.argv[1:])
    raise SystemExit(0)


def patterns(text):
    return [p.strip() for p in text.split(",") if p.strip()]


def fail(message):
    sys.stderr.write(f"{USAGE.splitlines()[0]}\npython -m pijit: error: {message}\n")
    raise SystemExit(2)


def version():
    """The package's, which is not loaded for that."""
    with open(os.path.join(os.path.dirname(__file__), "__init__.py"), encoding="utf-8") as f:
        return next(line.split('"')[1] for line in f if line.startswith("__version__"))


def parse(argv):
    """(Request, kind, what, args): kind is "-m", "-c" or "script"."""
    r, rest = Request(), list(argv)
    r.on = True
    r.name = "mindspore" if os.environ.get("PIJIT_AS") == "mindspore" else None
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            sys.stdout.write(USAGE)
            raise SystemExit(0)
        if word == "--version":
            sys.stdout.write(f"pijit {version()}, Python {sys.version.split()[0]}\n")
            raise SystemExit(0)
        if word == "--plain":
            r.on, r.plain = False, True
            continue
        if word in ("-m", "-c"):
            if not rest:
                fail(f"argument expected for the {word} option")
            return r, word, rest[0], rest[1:]
        if word[:2] in ("-m", "-c") and not word.startswith("--"):
            return r, word[:2], word[2:], rest
        if word == "-" or not word.startswith("-"):
            return r, "script", word, rest
        name, equals, value = word.partition("=")
        if name == "--report":
            r.report = value or "-"
            continue
        if name not in VALUED:
            fail(f"unrecognized argument: {word}")
        if not equals:
            if not rest:
                fail(f"argument {name}: expected one argument")
            value = rest.pop(0)
        if name in ("--include", "--exclude"):
            getattr(r, name[2:]).extend(patterns(value))
        else:
            setattr(r, {"--as": "name"}.get(name, name[2:]), value)
    fail("the following arguments are required: script")


def main(argv=None):
    """Runs the program that the arguments name, as `python` does."""
    global request, began
    began = time.perf_counter()
    request, kind, what, args = parse(sys.argv[1:] if argv is None else argv)
    if request.name not in (None, "mindspore"):
        fail(f"argument --as: invalid choice: {request.name!r} (choose from 'mindspore')")
    start, add_path = prepared(kind, what)
    request.bequeath()
    atexit.register(finish)  # before the program registers anything, so it runs after all of that
    leave_package_for_later(add_path)
    before = sys.argv[:] if debugged() else None
    sys.argv[:] = [{"-m": "-m", "-c": "-c"}.get(kind, what)] + args
    try:
        run(start)
    finally:
        if before is not None:  # a debugger may run us again
            sys.argv[:] = before


def debugged():
    monitoring = getattr(sys, "monitoring", None)  # pdb's way from 3.14 on
    return bool(sys.gettrace() or (monitoring and monitoring.get_tool(monitoring.DEBUGGER_ID)))


def prepared(kind, what):
    """(a function that runs it, the entry of sys.path that python would begin with)."""
    if kind == "-m":
        import runpy
        return (lambda: (runpy._run_module_as_main, what)), os.getcwd()
    if kind == "-c":
        return (lambda: (exec, compile(what, "<string>", "exec", dont_inherit=True), fresh_main())), ""
    if what == "-":
        return ((lambda: (exec, compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True), fresh_main())),
                "")
    if os.path.isdir(what) or (os.path.isfile(what) and is_archive(what)):
        import runpy
        return (lambda: (runpy._run_module_as_main, "__main__", False)), os.path.abspath(what)
    if not os.path.isfile(what):
        fail(f"no such file: {what}")
    path = os.path.abspath(what)

    def start():
        with open(path, "rb") as f:
            source = f.read()
        names = fresh_main(path)
        return exec, compile(source, path, "exec", dont_inherit=True), names

    return start, os.path.dirname(os.path.realpath(path))


def is_archive(path):
    import zipimport  # frozen into python, unlike zipfile, which takes 10 ms and 3 MB
    try:
        zipimport.zipimporter(path)
    except zipimport.ZipImportError:
        return False
    return True


def fresh_main(path=None):
    """The names of the module __main__, as python leaves them to a script (path) or to code."""
    import builtins
    import importlib.machinery as machinery  # `from` it, 3.14 would load the module warnings
    main = sys.modules["__main__"]
    if os.path.dirname(os.path.abspath(getattr(main, "__file__", None) or "")) != os.path.dirname(__file__):
        main = sys.modules["__main__"] = type(sys)("__main__")  # a profiler that runs us needs its own names
    names = main.__dict__
    names.clear()
    names.update(__name__="__main__", __doc__=None, __package__=None,
                 __loader__=machinery.SourceFileLoader("__main__", path) if path else machinery.BuiltinImporter,
                 __spec__=None, __builtins__=builtins)
    if sys.version_info < (3, 14):
        names["__annotations__"] = {}
    if path:
        names["__file__"] = path
        if sys.version_info < (3, 15):
            names["__cached__"] = None
    return names


def leave_package_for_later(path):
    """Replaces our entry of sys.path, and forgets the package if only this module of it was loaded."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[:1] = [path]
    package = sys.modules["pijit"]
    parent = os.path.dirname(os.path.abspath(package.__path__[0]))
    if not hasattr(package, "_C"):  # it is being imported: only for us
        del sys.modules["pijit"]
        # The program runs within this import, which SystemExit ends: importlib would then take the program's own away.
        package.__spec__.name = "pijit.__launched__"
        import _frozen_importlib
        _frozen_importlib._module_locks.pop("pijit", None)  # else other threads could not import it
        if parent not in map(os.path.abspath, sys.path):
            sys.path.append(parent)
            try:
                load_package()
            finally:
                sys.path.remove(parent)
    if request.name or request.device or request.plain or "pijit" in sys.modules:
        load_package()
    elif _run:
        Busy().begin()


BUSY_S, LOOK_S = 2.0, 0.05  # of time on processors: loading the package takes some 0.15


class Busy:
    """Whether a program that imports NumPy, and not the package, spends its time in functions of its own."""

    def __init__(self):
        self.seen, self.done = [], False

    def begin(self):
        self.go_on()
        os.register_at_fork(before=_run.stop_calling, after_in_parent=self.go_on, after_in_child=self.go_on)

    def go_on(self):
        if not self.done:
            _run.call_while_busy(self.look, BUSY_S, LOOK_S)

    def look(self):
        """Called in the main thread, now and then. True: no more looks."""
        self.done = self.done or "pijit" in sys.modules or self.has_seen_enough(sys._getframe(1))
        if self.done and "pijit" not in sys.modules:
            load_package()
        return self.done

    def has_seen_enough(self, frame):
        numpy = sys.modules.get("numpy")
        frame = frame if numpy else None
        self.seen = self.seen[-9:] + [frame is not None and is_own(frame.f_code.co_filename)]
        if sum(self.seen) < 8 or getattr(numpy.__spec__, "_initializing", False):
            return False
        while frame:  # not while something is imported, whose names may not all be there
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                return False
            frame = frame.f_back
        return True


def is_own(filename):
    """Is it neither of the standard library nor of an installed package?"""
    parts = filename.split(os.sep)
    library = os.path.dirname(os.__file__) + os.sep
    return not (filename.startswith(("<frozen", library)) or "site-packages" in parts or "dist-packages" in parts)


def load_package():
    """The package in full, with what was asked for."""
    if request.device:
        os.environ["PIJIT_DEVICE"] = request.device
    import pijit.context
    from pijit import automatic
    automatic.begin(request)
    if request.plain:
        pijit._C.forbid_capture(True)
    if request.device:
        pijit.context._override_device = request.device
    if request.name:
        import pijit.compat
        pijit.compat.install(request.name)


def run(start):
    """Calls what `start` gives, with an empty stack of frames, and lets errors look as if python itself had."""
    call = call_alone
    if call is None or sys.gettrace() or sys.getprofile():  # a debugger's frames must stay
        call = plain_call
    try:
        call(*start())
    except SystemExit:
        raise
    except BaseException as e:
        show_from(e)
        raise


def plain_call(function, *args):
    function(*args)


def show_from(error):
    """Hides our own frames when the error is shown at the end of the process."""
    tb = error.__traceback__
    while tb and (tb.tb_frame.f_code.co_filename == __file__):
        tb = tb.tb_next
    shown = sys.excepthook

    def hook(kind, value, _):
        sys.excepthook = shown
        sys.last_traceback = tb
        shown(kind, value.with_traceback(tb), tb)
        if (isinstance(value, ModuleNotFoundError) and (value.name or "").partition(".")[0] == "mindspore"
            and not request.name):
            sys.stderr.write("python -m pijit: with --as mindspore, pijit answers this import\n")
        if isinstance(value, TypeError) and hasattr(sys.modules.get("pijit"), "_C"):
            from pijit.suggestions import suggestion
            if said := suggestion(value):
                sys.stderr.write(f"python -m pijit: {said}\n")

    sys.excepthook = hook


def finish():
    """At exit, after the program's own functions."""
    if _run:
        _run.stop_calling()
    automatic = sys.modules.get("pijit.automatic")
    if automatic is not None:
        automatic.finish()
    elif request.report:
        from pijit.report import Report, write
        write(Report([]), request.report, request.plain)
    if automatic is None and request.trace:
        from pijit._files import open_anew
        with open_anew(request.trace) as f:
            f.write('{"traceEvents": []}\n')
