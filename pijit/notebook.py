"""The extension for Jupyter and IPython: `%load_ext pijit`.

    %%pijit               runs the cell with capture on, and shows below it what that brought, function by function
    %pijit on|off|status  the same for all cells from now on, without the report; what it brought so far
    %pijit_profile expr   a profile of an expression, mostly a call
    %%pijit_compare       runs the cell plain and captured from the same state: are all results the same bits, and how long does each take

What capture on means: functions and methods that a cell defines are captured when they are called, as with @pijit.jit, and `pijit.enable()` is in
force for the rest: loops of cells, functions of the user's own modules. A cell that is run again defines its functions anew."""

import ast
import copy
import random
import threading
import time
import weakref

from pijit import _C
from pijit._C import Tensor
from pijit.explanation import Break
from pijit.profiling.html import bars, escape, fragment, table, tiles
from pijit.profiling.plot import REST
from pijit.profiling.profile import plain, seconds
from pijit.trace import short

_FRONT = "__pijit_front__"  # what the functions of a cell are handed to


class _Decorated(ast.NodeTransformer):
    """The functions of a cell with a decorator more: the innermost, so that others get what it gives."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        front = ast.copy_location(ast.Name(_FRONT, ast.Load()), node)
        node.decorator_list.append(front)
        return node

    def visit_AsyncFunctionDef(self, node):
        return node  # coroutines are CPython's


class Session:
    """What the extension knows in one shell."""

    def __init__(self, shell):
        self.shell, self.on, self.reporting, self.active, self.enabled = shell, False, False, False, False
        self.functions = []  # weak references to what was fronted, in order
        self._before, self._regions = {}, {}  # as the running cell found them: explanations, by the functions' ids; regions
        self._bars = {}
        shell.user_ns_hidden[_FRONT] = None

    # -- capture of what cells define --

    def front(self, f):
        """A function of a cell, captured; what is decorated by jit already stays as it is."""
        from pijit.jit import jit
        if not isinstance(f, _C.JitFunction) and callable(f):
            f = jit(f)
        if isinstance(f, _C.JitFunction):
            _C.sample(f, True)
            self.functions.append(weakref.ref(f))
        return f

    def enable(self, on):
        """Turns `pijit.enable` on, or off where it was turned on here."""
        from pijit import automatic
        if on and not automatic._on:
            automatic.enable()
            self.enabled = True
        elif not on and self.enabled:
            automatic.disable()
            self.enabled = False

    def visit(self, node):
        """Called by IPython with each cell's tree."""
        if not (self.on or self.active):
            return node
        self.shell.user_ns[_FRONT] = self.front
        return ast.fix_missing_locations(_Decorated().visit(node))

    def alive(self):
        """Fronted functions that are still there."""
        return [f for f in (r() for r in self.functions) if f is not None]

    def before_cell(self, info):
        first = (info.raw_cell or "").lstrip().split("\n", 1)[0].split()
        self.reporting = self.active = first[:1] == ["%%pijit"]
        if self.reporting:
            self._before, self._regions = {id(f): (f, _C.explain(f)) for f in self.alive()}, _regions()
            self.enable(True)

    def after_cell(self, result):  # noqa: ARG002
        if not self.reporting:
            return
        self.reporting = self.active = False
        report = Report(self.alive(), self._before, self._regions)
        self.enable(self.on)
        display(report)
        self._before, self._regions = {}, {}

    # -- progress of long captures --

    def show_progress(self, what, doing, done, of, took, over):
        """Called by the core while a capture or compile takes long."""
        key = what
        part = f"step {done} of {of}, " if of and not over else ""
        text = f"{doing} {what}: {'done, ' if over else part}{took:.1f} s"
        filled = 100 if over else 100 * done / of if of else 30
        html = (f'<span>pijit</span><span class="pj-track"><i style="width:{filled:.0f}%;background:var(--blue)"></i></span><span class="pj-num">{escape(text)}</span>')
        shown = _Shown(f"pijit: {text}", fragment(f'<div class="pj-bars">{html}</div>'))
        if key in self._bars:
            self._bars[key].update(shown)
        else:
            self._bars[key] = display(shown, display_id=True)
        if over:
            del self._bars[key]
        else:
            time.sleep(0.002)  # the kernel's own thread sends it


class _Shown:
    """Something with a text and an HTML form."""

    def __init__(self, text, html):
        self.text, self.html = text, html

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return self.html


def display(*args, **kwargs):
    """IPython's display."""
    from IPython.display import display as show
    return show(*args, **kwargs)


class Report:
    """What capture brought for some functions: calls, times both ways, first-call cost, breaks."""

    def __init__(self, functions, before=None, regions=None):
        self.rows, self.breaks = [], []
        fronted = {(f.__code__.co_filename, f.__code__.co_name) for f in functions}
        for key, r in _regions().items():
            if r.kind == "function" and (r.file, r.name.rpartition(".")[2]) in fronted:
                continue  # it has a row of its own
            calls = r.captured - (regions[key].captured if regions and key in regions else 0)
            if r.given_back or not calls:
                continue
            place = f"{r.file}:{r.line}"
            name = r.name if r.kind == "function" else f"{r.kind} at {short(place)}"
            self.rows.append({"name": name, "calls": calls, "plain": r.plain_us / 1e6 or None, "captured": r.captured_us / 1e6 or None,
                              "compile": r.compile_ms / 1e3, "graphs": r.graphs, "kernels": "", "breaks": len(r.breaks)})
            self.breaks += [(name, Break(vars(b))) for b in r.breaks]
        for n, f in enumerate(functions):
            e = _explanation(f)
            known = (before or {}).get(id(f))
            calls = e.calls + e.plain[0] - (known[1]["calls"] + known[1]["plain"][0] if known else 0)
            if known and not calls:
                continue
            self.rows.append({"name": e.name, "calls": calls, "plain": e.plain[1] / e.plain[0] if e.plain[0] else None,
                              "captured": e.captured[1] / e.captured[0] if e.captured[0] else None, "compile": e.compile_ms / 1e3,
                              "graphs": len(e.graphs), "kernels": sum(x["steps"] for x in e.entries), "breaks": len(e.all_breaks)})
            self.breaks += [(e.name, b) for b in e.all_breaks]
        called = [r for r in self.rows if r["calls"]]
        self.defined, self.rows = len(self.rows), sorted(called, key=lambda r: -(r["captured"] or r["plain"] or 0) * r["calls"])

    @staticmethod
    def _gain(r):
        return r["plain"] / r["captured"] if r["plain"] and r["captured"] else None

    def __repr__(self):
        if not self.rows:
            return f"pijit: {self.defined} functions defined, none called."
        lines = []
        for r in self.rows:
            gain = self._gain(r)
            speed = f"{gain:.1f} times as fast: {seconds(r['captured'])}, plain {seconds(r['plain'])}" if gain else \
                f"{seconds(r['captured'])} captured" if r["captured"] else "no call since it was captured"
            lines.append(f"{r['name']}: {r['calls']} calls, {speed}; {seconds(r['compile'])} to capture {r['graphs']} graphs; {r['breaks']} breaks")
        for name, b in self.breaks:
            lines.append(f"  {b.where} in {name}: {b.why}" + (f"; {b.hint}" if b.hint else ""))
        return "\n".join(lines)

    def _repr_html_(self):
        if not self.rows:
            return fragment(f"<p>pijit: {self.defined} functions defined, none called. What cells below call is captured.</p>")
        most = max((self._gain(r) or 0 for r in self.rows), default=0)
        cells = []
        for r in self.rows:
            gain = self._gain(r)
            if gain:
                color = "var(--blue)" if gain >= 1 else "var(--warn)"
                bar = f'<span class="pj-track" style="display:block;min-width:110px;margin-top:3px"><i style="width:{100 * gain / max(most, 1):.1f}%;background:{color}"></i></span>'
                cells.append((f"<code>{escape(r['name'])}</code>", r["calls"], seconds(r["plain"]), seconds(r["captured"]), f"<b>{gain:.1f} ×</b>", bar,
                              seconds(r["compile"]), r["kernels"], r["breaks"]))
            else:
                cells.append((f"<code>{escape(r['name'])}</code>", r["calls"], seconds(r["plain"]) if r["plain"] else "–", seconds(r["captured"]) if r["captured"] else "–",
                              "–", "<span class='pj-soft'>too few calls to compare</span>", seconds(r["compile"]), r["kernels"], r["breaks"]))
        out = [table([("function", ""), ("calls", "pj-num"), ("plain", "pj-num"), ("captured", "pj-num"), ("speed-up", "pj-num"), ("", "pj-hide"),
                      ("first-call cost", "pj-num"), ("kernels", "pj-num pj-hide"), ("breaks", "pj-num")], cells)]
        if self.breaks:
            out.append("<h2>Breaks</h2>" + table([("line", ""), ("source", "pj-mono pj-hide"), ("why, and what helps", "")], [
                (f"<code>{escape(b.where)}</code>", escape(b.source), escape(b.why) + (f'<br><span class="pj-hint">{escape(b.hint)}</span>' if b.hint else ""))
                for _, b in self.breaks]))
        return fragment("".join(out))


def _regions():
    """What `pijit.enable` captured so far, by place."""
    from pijit import automatic
    return {(r.file, r.line, r.kind, r.name): r for r in automatic.report().regions}


def _explanation(f):
    from pijit.explanation import explain
    return explain(f)


# --- comparison ---


class _State:
    """What a cell may change, to be put back: names, Tensors, arrays, lists, dicts, sets, attributes, random numbers."""

    _LARGEST = 1 << 28  # bytes of an array that is copied

    def __init__(self, names):
        import numpy as np
        from pijit import random as own
        self.names = dict(names)
        self.tensors, self.arrays, self.containers, self.objects, seen, todo = [], [], [], [], set(), list(self.names.values())
        while todo:
            x = todo.pop()
            if id(x) in seen:
                continue
            seen.add(id(x))
            if isinstance(x, Tensor):
                self.tensors.append((x, x._held()))
            elif type(x) is np.ndarray and x.nbytes <= self._LARGEST and x.flags.writeable:
                self.arrays.append((x, x.copy()))
            elif type(x) in (list, dict, set):
                self.containers.append((x, copy.copy(x)))
                todo += x.values() if type(x) is dict else x
            elif type(x) is tuple:
                todo += x
            elif not isinstance(x, type) and type(x).__module__.partition(".")[0] in ("__main__", "pijit", "mindspore") and hasattr(x, "__dict__") and not callable(
                    getattr(x, "__code__", None)) and type(x).__name__ != "module":
                if not hasattr(x, "__code__"):
                    self.objects.append((x, dict(x.__dict__)))
                    todo += x.__dict__.values()
        self.random = random.getstate(), np.random.get_state(), own.get_rng_state()

    def restore(self, names):
        import numpy as np
        from pijit import random as own
        names.clear()
        names.update(self.names)
        for x, held in self.tensors:
            x._replace(held)
        for x, saved in self.arrays:
            x[...] = saved
        for x, saved in self.containers:
            if type(x) is list:
                x[:] = saved
            else:
                x.clear()
                x.update(saved)
        for x, saved in self.objects:
            x.__dict__.clear()
            x.__dict__.update(saved)
        random.setstate(self.random[0])
        np.random.set_state(self.random[1])
        own.set_rng_state(self.random[2])


def frozen(x, depth=0):
    """Values as bits, to be compared after what they came from has changed. None for what has no bits of its own."""
    import numpy as np
    from pijit.nn import Cell
    if isinstance(x, Tensor):
        x = x.asnumpy() if x.dtype.name != "BFloat16" else x.float().asnumpy()
    if isinstance(x, (np.ndarray, np.generic)):
        return None if x.dtype == object else ("array", str(x.dtype), x.shape, x.tobytes())
    if isinstance(x, float):
        return "float", np.float64(x).tobytes()
    if x is None or isinstance(x, (bool, int, str, bytes, complex)):
        return type(x).__name__, repr(x)
    if depth < 50 and isinstance(x, (list, tuple)):
        return type(x).__name__, [frozen(v, depth + 1) for v in x]
    if depth < 50 and isinstance(x, dict):
        return "dict", [(repr(k), frozen(v, depth + 1)) for k, v in x.items()]
    if isinstance(x, Cell):
        return "Cell", [(p.name, frozen(p)) for p in x.get_parameters()]
    return None


class Comparison:
    """A cell run plain and captured: seconds of each (`captured` without what the first run costs, which is `first`), names whose values differ."""

    def __init__(self, plain_time, first, captured, compared, different, output_differs):
        self.plain, self.first, self.captured = plain_time, first, captured
        self.compared, self.different, self.output_differs = compared, different, output_differs

    @property
    def same(self):
        """Whether all that was compared has the same bits."""
        return not self.different and not self.output_differs

    def _verdict(self):
        what = [*self.different, *(["what it prints"] if self.output_differs else [])]
        return f"the same bits in all {self.compared} values compared" if self.same else f"DIFFERENT: {', '.join(what)}"

    def __repr__(self):
        return (f"{self.plain / self.captured:.2f} times as fast captured: {seconds(self.captured)} ({seconds(self.first)} the first time), plain {seconds(self.plain)}; "
                f"{self._verdict()}")

    def _repr_html_(self):
        rows = [("plain", self.plain, seconds(self.plain), REST), ("captured", self.captured, seconds(self.captured), "#2a78d6"),
                ("captured, first time", self.first, seconds(self.first), "#86b6ef")]
        verdict = f'<p class="{"pj-good" if self.same else "pj-bad"}">{escape(self._verdict())}</p>'
        return fragment(tiles([(f"{self.plain / self.captured:.2f} ×", "as fast captured, the whole cell")]) + bars(rows) + verdict)


def _run(session, cell, captured):
    """Runs a cell's code in the shell's names; (seconds, the last expression's value)."""
    __tracebackhide__ = True
    shell = session.shell
    text = shell.transform_cell(cell)
    name = shell.compile.cache(text, shell.execution_count, raw_code=cell)
    tree = ast.parse(text, name)
    last = tree.body.pop().value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if captured:
        tree = ast.fix_missing_locations(_Decorated().visit(tree))
        shell.user_ns[_FRONT] = session.front
    code = compile(tree, name, "exec", shell.compile.flags)
    value = compile(ast.Expression(last), name, "eval", shell.compile.flags) if last is not None else None
    begin = time.perf_counter()
    exec(code, shell.user_global_ns, shell.user_ns)  # noqa: S102
    result = eval(value, shell.user_global_ns, shell.user_ns) if value is not None else None  # noqa: S307
    return time.perf_counter() - begin, result


def compare(session, cell):
    """Runs a cell plain, then captured twice, each time from the same state. Leaves what the last run gives."""
    __tracebackhide__ = True
    from IPython.utils.capture import capture_output
    names = session.shell.user_ns
    state = _State(names)
    before = {k: id(v) for k, v in names.items()}

    def outcome(result):
        changed = {k: frozen(v) for k, v in names.items() if not k.startswith("_") and (before.get(k) != id(v) or isinstance(v, (Tensor, list, dict)))}
        changed["the result"] = frozen(result)
        changed |= {f"Tensor {i} that was there before": frozen(t) for i, (t, _) in enumerate(state.tensors)}
        return changed

    with plain(), capture_output() as printed:
        plain_time, result = _run(session, cell, captured=False)
    want = outcome(result)
    state.restore(names)
    with capture_output():
        first, result = _run(session, cell, captured=True)
    fronted = session.functions[:]
    state.restore(names)
    with _Known(session, fronted), capture_output() as again:
        captured, result = _run(session, cell, captured=True)
    got = outcome(result)
    again.show()
    different = [k for k in {**want, **got} if want.get(k) != got.get(k)]
    compared = sum(v is not None for v in want.values())
    return Comparison(plain_time, first, captured, compared, different, printed.stdout != again.stdout), result


class _Known:
    """Under it a cell's functions are those that the run before captured, if their code is the same."""

    def __init__(self, session, functions):
        self.session = session
        self.known = {f.__code__: f for f in (r() for r in functions) if f is not None}
        self.kept = list(self.known.values())

    def __enter__(self):
        self.before = self.session.front

        def front(f):
            old = self.known.get(getattr(f, "__code__", None))
            if old is None or f.__closure__ or old.__closure__:
                return self.before(f)
            return old
        self.session.front = front

    def __exit__(self, *error):
        del self.session.front


# --- the extension ---

_session = None


def load_ipython_extension(shell):
    """What `%load_ext pijit` calls."""
    global _session
    if _session is not None and _session.shell is shell:
        return
    session = _session = Session(shell)
    shell.input_transformers_cleanup.append(_without_magic)
    shell.ast_transformers.append(session)
    shell.events.register("pre_run_cell", session.before_cell)
    shell.events.register("post_run_cell", session.after_cell)

    def pijit(line, cell=None):
        """%pijit on|off|status, or %%pijit above a cell."""
        if cell is not None:  # another magic ran it: %%pijit is taken off cells before that
            raise ValueError("%%pijit must be the first line of a cell")
        return _line(session, line.strip())

    def pijit_profile(line):
        """%pijit_profile expression: where the time of the expression goes, plain and captured."""
        return _profiled(session, line)

    def pijit_compare(line, cell):  # noqa: ARG001
        """%%pijit_compare above a cell: runs it plain and captured, and compares the bits of all results."""
        __tracebackhide__ = True
        comparison, result = compare(session, cell)
        display(comparison)
        return result

    shell.register_magic_function(pijit, "line_cell", "pijit")
    shell.register_magic_function(pijit_profile, "line", "pijit_profile")
    shell.register_magic_function(pijit_compare, "cell", "pijit_compare")
    _C.set_progress(session.show_progress, [t.ident for t in threading.enumerate()])


def unload_ipython_extension(shell):
    """What `%unload_ext pijit` calls."""
    global _session
    if _session is None:
        return
    _session.enable(False)
    shell.input_transformers_cleanup.remove(_without_magic)
    shell.ast_transformers.remove(_session)
    shell.events.unregister("pre_run_cell", _session.before_cell)
    shell.events.unregister("post_run_cell", _session.after_cell)
    for kind, name in (("line", "pijit"), ("cell", "pijit"), ("line", "pijit_profile"), ("cell", "pijit_compare")):
        shell.magics_manager.magics[kind].pop(name, None)
    _C.set_progress(None, [])
    _session = None


def _without_magic(lines):
    """A cell without its `%%pijit`: an empty line, so that all others keep their numbers."""
    for i, line in enumerate(lines):
        if line.strip():
            return lines[:i] + ["\n"] + lines[i + 1:] if line.split()[:1] == ["%%pijit"] else lines
    return lines


def _line(session, word):
    if word == "on":
        session.on = True
        session.enable(True)
        print("pijit: functions that cells define from now on are captured when they are called.")
    elif word == "off":
        session.on = False
        session.enable(False)
        for f in session.alive():
            _C.sample(f, False)
        print("pijit: off for cells from now on.")
    elif word in ("", "status"):
        print(f"pijit: {'on' if session.on else 'off'}.")
        return Report(session.alive())
    else:
        raise ValueError(f"%pijit takes on, off or status, but got {word!r}")
    return None


def _profiled(session, line):
    """A profile of an expression: of the call, if that is what it is, so that the function is captured anew."""
    __tracebackhide__ = True
    from pijit.profiling import profile
    names = session.shell.user_ns
    try:
        tree = ast.parse(line.strip(), "%pijit_profile", "eval")
    except SyntaxError as e:
        raise SyntaxError(f"%pijit_profile takes an expression: {e.msg}") from None
    call = tree.body
    if isinstance(call, ast.Call):
        def value(node):
            return eval(compile(ast.Expression(node), "%pijit_profile", "eval"), names)  # noqa: S307
        args = []
        for a in call.args:
            args += list(value(a.value)) if isinstance(a, ast.Starred) else [value(a)]
        kwargs = {}
        for k in call.keywords:
            kwargs |= value(k.value) if k.arg is None else {k.arg: value(k.value)}
        fn = value(call.func)
        if not isinstance(fn, type) and not {"compare", "seconds"} & set(kwargs):
            return profile(fn, *args, **kwargs)
    made = eval(f"lambda: ({line.strip()})", names)  # noqa: S307
    made.__qualname__ = line.strip()
    return profile(made)
