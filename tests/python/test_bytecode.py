"""Bytecode of the running CPython: every function of its standard library is decoded, its stack and its slots are what
CPython says of them, and code that is made from what was decoded does the same."""

import copy
import dis
import functools
import importlib
import inspect
import pathlib
import random
import re
import signal
import subprocess
import sys
import sysconfig
import types
import warnings
from collections import namedtuple

import numpy as np
import pytest

import pijit as ms
from pijit import _C

Instruction = namedtuple("Instruction", "op a b obj target begin at end line pops pushes jump_pushes live")
# What capture does not follow: a break, which CPython runs. Coroutines and class bodies are not decoded at all.
LEFT_TO_PYTHON = {
    "BUILD_INTERPOLATION": "template strings",
    "BUILD_TEMPLATE": "template strings",
    "CALL_INTRINSIC_1": "import *, type parameters, generators' handlers, assertions of print",
    "CALL_INTRINSIC_2": "except*, type parameters",
    "CHECK_EG_MATCH": "except*",
    "COPY_DICT_WITHOUT_KEYS": "what a pattern leaves of a dict",
    "CLEANUP_THROW": "the end of `yield from` where something is thrown in",
    "DELETE_DEREF": "del of a variable that functions inside see",
    "DELETE_GLOBAL": "del of a global",
    "GET_AWAITABLE": "asynchronous comprehensions",
    "LOAD_BUILD_CLASS": "class statements",
    "LOAD_CLASSDEREF": "class bodies",
    "LOAD_FROM_DICT_OR_DEREF": "annotations that are read later",
    "LOAD_FROM_DICT_OR_GLOBALS": "annotations that are read later",
    "PREP_RERAISE_STAR": "except*",
    "IMPORT_STAR": "import *",
    "SETUP_ANNOTATIONS": "class bodies",
}
BLOCKS = sys.version_info < (3, 11)  # of handlers; and exceptions are three values on the stack, one of ours
ROOMS = ("test", "tests", "idle_test", "lib2to3", "idlelib", "turtledemo", "site-packages", "ensurepip")


def code_of_library():
    root = pathlib.Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if path.exists() and not set(path.relative_to(root).parts[:-1]) & set(ROOMS):  # a link may lead nowhere
            try:
                yield compile(path.read_bytes(), str(path.relative_to(root)), "exec")
            except (SyntaxError, ValueError):
                continue


def functions_in(code):
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from functions_in(const)


@functools.cache
def decoded_functions():
    """(code, instructions, handlers) of every function and generator of the standard library."""
    found = []
    for module in code_of_library():
        for code in functions_in(module):
            if (known := _C._decoded(code)) is not None:
                found.append((code, [Instruction(*i) for i in known[0]], known[1]))
    return found


def test_there_is_much():
    assert len(decoded_functions()) > 7000


def test_every_instruction_is_known():
    names = {i.obj for _, all, _ in decoded_functions() for i in all if i.op == "UNSUPPORTED"}
    assert names <= LEFT_TO_PYTHON.keys(), names - LEFT_TO_PYTHON.keys()


def test_effects_on_the_stack_are_those_of_dis():
    """Of each instruction alone, or of several that are one here, or of one that is several here."""
    for code, all, _ in decoded_functions():
        original = {i.offset // 2: i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"}
        by_unit = {}
        for i in all:
            if i.begin < i.end:  # no instruction that CPython does without
                by_unit.setdefault((i.begin, i.end), []).append(i)
        for (begin, end), group in by_unit.items():
            units = [original[k] for k in range(begin, end) if k in original]
            if BLOCKS and moves_exception(group, units):
                continue
            if any(i.op == "UNSUPPORTED" for i in group) or units[-1].opname in ("RETURN_VALUE", "RETURN_CONST"):
                continue
            for jump in (False, True):
                if jump and group[-1].target < 0:
                    continue
                ours = sum((i.jump_pushes if jump and k == len(group) - 1 and i.op != "JUMP" else i.pushes) - i.pops
                           for k, i in enumerate(group))
                theirs = sum(effect(u, jump and u is units[-1]) for u in units)
                assert ours == theirs, (code, begin, group, units, ours, theirs)


def moves_exception(group, units):
    """On CPython up to 3.10: or is never reached."""
    return (units[-1].opname in ("JUMP_IF_NOT_EXC_MATCH", "POP_EXCEPT", "RERAISE", "YIELD_FROM")
            or (len(units) > 1 and units[0].opname == "DUP_TOP") or all(i.op == "NOP" for i in group))


def effect(instruction, jump):
    """What dis says of one, where it is exact."""
    name, arg = instruction.opname, instruction.arg
    if name == "FOR_ITER" and jump:  # before 3.14, the iterator is gone where a loop's end goes on
        return 0 if "POP_ITER" in dis.opmap else -1
    if name in ("LOAD_METHOD", "RETURN_GENERATOR"):
        return 1
    if name == "SEND" and jump:
        return 0 if dis.opmap.get("END_SEND") else -1
    if name == "PRECALL":  # what it takes is CALL's here
        return 0
    if name == "CALL" and "PRECALL" in dis.opmap:
        return -1 - arg
    if name == "END_FOR":  # never reached: a loop's end goes on behind it
        return 0
    return dis.stack_effect(instruction.opcode, arg if instruction.opcode >= dis.HAVE_ARGUMENT else None, jump=jump)


def successors(all, at):
    i = all[at]
    if i.op in ("RETURN_VALUE", "RAISE", "RERAISE"):
        return []
    if i.op == "JUMP":
        return [(i.target, 0)]
    ways = [(at + 1, i.pushes - i.pops)]
    if i.target >= 0:
        ways.append((i.target, i.jump_pushes - i.pops))
    return ways


def depths_of(code, all, handlers):
    """The stack's size at each instruction that can be reached, the same by all ways."""
    depths, todo = {0: 0}, [0]
    def reach(to, depth):
        assert depths.setdefault(to, depth) == depth, (code, to, depths[to], depth)
        if to not in seen:
            seen.add(to)
            todo.append(to)

    seen = {0}
    while todo:
        at = todo.pop()
        if all[at].op == "UNSUPPORTED" and all[at].b < -100:  # its effect is not known
            continue
        for to, change in successors(all, at):
            reach(to, depths[at] + change)
        for begin, end, target, depth, lasti in handlers:
            if begin <= at < end:
                reach(target, depth + lasti + 1)
    return depths


def test_stacks_have_one_size_at_each_place():
    pushed = 1 if "RETURN_CONST" in dis.opmap else 0  # here it pushes the constant first
    for code, all, handlers in decoded_functions():
        depths = depths_of(code, all, handlers)
        assert min(depths.values()) >= 0 and max(depths.values()) <= code.co_stacksize + pushed, code


def seen_by_handler(at, all, handlers):
    """Is there a handler around it but those that end inlined comprehensions, which give a variable its value back?"""
    for begin, end, target, *_ in handlers:
        if begin <= at < end:
            break
    else:
        return False
    restores = target
    while sys.version_info >= (3, 12) and all[restores].op in ("SWAP", "POP_TOP", "STORE_FAST"):
        restores += 1
    return all[restores].op != "RERAISE" or seen_by_handler(restores, all, handlers)


def live_by_reference(all, handlers, slots):
    """What may be read later, by the definition: over and over until nothing changes."""
    seen = [seen_by_handler(at, all, handlers) for at in range(len(all))]
    live = [set() for _ in range(len(all) + 1)]
    changed = True
    while changed:
        changed = False
        for at in reversed(range(len(all))):
            i = all[at]
            after = set().union(*(live[to] for to, _ in successors(all, at)))
            if i.op == "STORE_FAST":
                after.discard(i.a)
            if i.op in ("LOAD_FAST", "LOAD_FAST_AND_CLEAR", "DELETE_FAST", "LOAD_DEREF", "STORE_DEREF", "LOAD_CLOSURE",
                        "MAKE_CELL"):
                after.add(i.a)
            if seen[at] or (i.op == "UNSUPPORTED" and i.b < -100):
                after |= slots
            if after != live[at]:
                live[at] = after
                changed = True
    return live


def test_live_slots_are_those_that_may_be_read():
    looking = {"locals", "vars", "dir", "eval", "exec", "breakpoint", "set_trace", "_getframe", "currentframe", "super"}
    compared = 0
    for code, all, handlers in decoded_functions()[::7]:
        if looking & set(code.co_names) or len(all) > 400:
            continue
        slots = set(range(len(set(code.co_varnames + code.co_cellvars + code.co_freevars))))
        reference = live_by_reference(all, handlers, slots)
        for at, i in enumerate(all):
            assert set(i.live) == reference[at], (code, at, i, reference[at])
        compared += 1
    assert compared > 500


def test_places_and_lines():
    """Instructions cover the code in order, and stand at the lines that dis gives."""
    for code, all, _ in decoded_functions():
        assert all[0].begin == 0
        assert [i.at for i in all] == sorted(i.at for i in all)
        lines = {}
        if hasattr(code, "co_lines"):
            for start, end, line in code.co_lines():
                for unit in range(start // 2, end // 2):
                    lines[unit] = line
        else:
            lines = {start // 2: line for start, line in dis.findlinestarts(code)}
        for i in all:
            if lines.get(i.at):
                assert i.line == lines[i.at], (code, i)


@pytest.mark.parametrize("flag", ["async", "class", "module"])
def test_what_is_not_decoded(flag):
    text = {"async": "async def f(): await g()", "class": "class f: x = 1", "module": "x = 1"}[flag]
    code = compile(text, "<test>", "exec")
    assert _C._decoded(code if flag == "module" else code.co_consts[0]) is None


def test_frames_are_looked_at_before_they_are_trusted():
    """The test that the module makes when it is loaded: an argument that lies elsewhere is noticed."""
    assert _C._frames_are_as_expected()
    assert not _C._frames_are_as_expected(slot=1)


def test_an_interpreter_without_its_lock_is_refused():
    text = "import sys; sys.abiflags += 't'\nimport pijit"
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert ended.stderr.strip().splitlines()[-1].startswith("ImportError: pijit needs a Python with the global"), ended


# --- code that is made from what was decoded ----------------------------------------------------------------------

# Modules whose functions only compute.
PURE = """_markupbase _py_abc _pydatetime _pydecimal _strptime _weakrefset argparse ast base64 bisect calendar codecs
    collections colorsys contextlib copy csv dataclasses difflib email._parseaddr email.base64mime
    email.charset email.errors email.header email.quoprimime email.utils enum fnmatch fractions functools genericpath
    getopt heapq hmac html html.entities html.parser http.cookies imghdr inspect ipaddress json.decoder
    json.encoder json.scanner keyword ntpath numbers opcode operator optparse pickletools plistlib posixpath pprint
    quopri random re._casefix re._compiler re._parser reprlib shlex statistics string stringprep textwrap token
    sre_compile sre_parse tokenize typing urllib.parse uuid weakref xml.sax.saxutils xml.etree.ElementPath""".split()
VALUES = [41, -2, 1003, 7.5, None, "a-b_c: d\n  e, f", "", "2024-02-29", b"b=c\n", [73, 71, 72], (71, 72), [],
          {"k": 71}, "a/b.txt", ["x", "yy", "x"], len]  # no number of a file that is open


def pure_functions():
    """Plain functions and methods with up to three arguments, and without *args."""
    for name in PURE:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = importlib.import_module(name)
        except ImportError:
            continue
        found = list(vars(module).values())
        found += [m for c in found if isinstance(c, type) and c.__module__ == name for m in vars(c).values()]
        for f in found:
            if (isinstance(f, types.FunctionType) and f.__module__ == name
                    and f.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) == 0
                    and not f.__code__.co_kwonlyargcount and 1 <= f.__code__.co_argcount <= 3
                    and f.__name__ != "main" and not inspect.iscoroutinefunction(f)
                    and _C._decoded(f.__code__) is not None
                    and not f.__code__.co_flags & inspect.CO_GENERATOR
                    # what depends on more than its arguments; super() of None changes once code is warm
                    and not {"super", "id", "random", "time", "_getframe"} & set(f.__code__.co_names)):
                yield f


def comparable(value, depth=0):
    if isinstance(value, (types.GeneratorType, types.FunctionType, map, filter, zip)) or depth > 6:
        return (type(value),)
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [comparable(v, depth + 1) for v in value]
        return type(value), sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items
    if isinstance(value, dict):
        return type(value), [(comparable(k, depth + 1), comparable(v, depth + 1)) for k, v in value.items()]
    return type(value), re.sub("0x[0-9a-f]+", "", repr(value))


def outcome(code, call, arguments):
    """What a call gives, or raises and where: lines and columns of its own frames and of those that it calls."""
    class TooLong(BaseException):
        pass

    def stop(*_):
        raise TooLong

    arguments = copy.deepcopy(arguments)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 2)
    try:
        result = comparable(call(arguments))
    except (RecursionError, TooLong):
        return None
    except (Exception, SystemExit) as e:
        places, at = [], e.__traceback__
        while at:
            if at.tb_frame.f_code.co_filename == code.co_filename:
                known = hasattr(at.tb_frame.f_code, "co_positions")
                positions = list(at.tb_frame.f_code.co_positions())[at.tb_lasti // 2] if known else None
                places.append((at.tb_frame.f_code.co_name, at.tb_lineno, positions))
            at = at.tb_next
        result = "raised", type(e), re.sub("0x[0-9a-f]+", "", str(e)), places
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return result, comparable(arguments)


def test_the_same_from_what_was_decoded():
    """Functions of the standard library, each instruction of which is executed alone, and which go on from each of
    their first instructions, and from some later ones, in code that is made for that."""
    generator = random.Random(3)
    compared, failed, resumed, raised = set(), [], 0, 0
    state = random.getstate()
    for f in list(pure_functions()):
        code = f.__code__
        for _ in range(4):
            given = [generator.choice(VALUES) for _ in range(code.co_argcount)]
            plain = outcome(code, lambda a: f(*a), given)
            random.setstate(state)
            if plain is None:
                continue
            steps = [0]

            def in_steps(arguments, at):
                steps[0], result = _C._in_steps(f, tuple(arguments), at)
                return result

            for at in (1500, 0, 1, 2, 3, *(generator.randrange(1, 120) for _ in range(4))):
                now = outcome(code, lambda a: in_steps(a, at), given)
                random.setstate(state)
                if now is None or outcome(code, lambda a: f(*a), given) != plain:  # it depends on what was before
                    continue
                resumed += steps[0] == at
                if now != plain:
                    failed.append((f.__module__, f.__qualname__, given, at, plain, now))
                compared.add(f)
            raised += plain[0][0] == "raised"
    assert not failed, failed[:5]
    assert len(compared) >= 300 and resumed > 1000 and raised > 100, (len(compared), resumed, raised)


def test_steps_end_in_the_midst_of_a_call_with_names():
    """CPython's instructions that belong to a call are done anew with it."""
    class Thing:
        def method(self, a, b=1, c=2):
            return a, b, c

    def callee(a, b=1, *, c=2, d=3):
        return a * 1000 + b * 100 + c * 10 + d

    for count in range(40):
        text = "\n".join(["def f(x, thing, callee, n):", "    out = []", "    for i in range(n):",
                          *["        a = n"] * count,
                          "        out.append(callee(i, d=9, b=4))", "        out.append(thing.method(i, c=7))",
                          "        out.append(sorted((3, 1, 2), reverse=True))",
                          "        out.append(np.nanstd(x, ddof=1))", "    return out"])
        scope = {"np": np}
        exec(text, scope)
        f, jitted = scope["f"], ms.jit(scope["f"])
        for n in (3, 3, 5):
            assert jitted(np.arange(5.0), Thing(), callee, n) == f(np.arange(5.0), Thing(), callee, n), count
