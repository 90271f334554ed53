"""When objects die: `__del__` runs, and weak references die, at the line at which the plain function's do. Objects that
nobody sees go stay part of one graph."""

import collections
import contextlib
import gc
import threading
import weakref

import numpy as np
import pytest
from differential import check, check_calls

import pijit as ms
from pijit import Tensor, nn

X = Tensor(np.array([1.0, 2.0, 3.0], np.float32))


def loud():
    """A class that counts its objects, and what it counts."""
    class Loud:
        alive = 0

        def __init__(self, child=None):
            self.child = child
            Loud.alive += 1

        def __del__(self):
            Loud.alive -= 1

    return Loud


class Holder:
    def __init__(self, held=None):
        self.held = held


class Slots:
    __slots__ = ("held", "__weakref__")


# Each takes the class and gives the numbers alive at its steps.

def of_a_list(c):
    items = [c(), c()]
    n = len(items)
    del items
    return n, c.alive


def of_a_dict(c):
    d = {"a": c(), "b": 1}
    before = c.alive
    d = None
    return before, d, c.alive


def of_a_tuple(c):
    t = (c(), 1)
    before = c.alive
    t = None
    return before, t, c.alive


def of_a_nested_list(c):
    items = [[[c()]], 1]
    before = c.alive
    items.clear()
    return before, c.alive


def popped(c):
    items = [c(), 2]
    items.pop(0)
    return items, c.alive


def popped_and_kept(c):
    items = [c(), 2]
    kept = items.pop(0)
    first = c.alive
    kept = None
    return items, kept, first, c.alive


def replaced_item(c):
    items = [c(), 2]
    items[0] = 3
    first = c.alive
    d = {"a": c()}
    d["a"] = 4
    return items, d, first, c.alive


def deleted_item(c):
    items = [c(), 2]
    del items[0]
    first = c.alive
    d = {"a": c()}
    del d["a"]
    return items, d, first, c.alive


def of_an_attribute(c):
    h = Holder(c())
    before = c.alive
    h = None
    return before, h, c.alive


def replaced_attribute(c):
    h = Holder(c())
    h.held = 1
    first = c.alive
    h.held = c()
    del h.held
    return first, c.alive


def of_a_slot(c):
    s = Slots()
    s.held = c()
    before = c.alive
    s = None
    return before, s, c.alive


def of_a_closure(c):
    o = c()

    def g():
        return o  # noqa: F821

    before = c.alive
    del o
    first = c.alive
    del g
    return before, first, c.alive


def of_a_default(c):
    def g(o=c()):
        return o

    before = c.alive
    del g
    return before, c.alive


def of_a_method(c):
    m = Holder(c()).__init__
    before = c.alive
    m = None
    return before, m, c.alive


def of_a_temporary(c):
    n = len([c(), c()])
    return n, c.alive


def an_attribute_of_a_temporary(c):
    child = c(5).child
    return child, c.alive


def of_an_unpacking(c):
    a, b = [c(), c()]
    a = None
    first = c.alive
    b = None
    return a, b, first, c.alive


def of_a_loop(c):
    seen = []
    for o in [c(), c(), c()]:
        seen.append(c.alive)
    seen.append(c.alive)
    o = None
    return seen, o, c.alive


def of_a_comprehension(c):
    n = [c.alive for _ in [c(), c()]]
    return n, c.alive


def of_an_inlined_function(c):
    def inner(o):
        held = [o]
        return len(held), c.alive

    got = inner(c())
    return got, c.alive


def of_an_argument_list(c):
    def inner(*args, **kwargs):
        return len(args) + len(kwargs), c.alive

    return inner(c(), c(), k=c()), c.alive


def of_a_generator(c):
    def inner():
        held = [c()]
        yield len(held)
        held = None
        yield c.alive

    g = inner()
    first = next(g), c.alive
    second = next(g), c.alive
    g = None
    return first, second, g, c.alive


def of_a_cycle(c):
    a = [c()]
    a.append(a)
    a = None
    before = c.alive
    gc.collect()
    return a, before, c.alive


def a_chain(c):
    top = c(c(c()))
    before = c.alive
    top.child = None
    first = c.alive
    top = None
    return before, first, top, c.alive


def of_an_exception(c):
    try:
        raise ValueError(c())
    except ValueError as e:
        n = len(e.args), c.alive
    return n, c.alive


def kept_exception(c):
    items = [c()]
    try:
        items[5]
    except IndexError as e:
        kept = e
    del items
    first = c.alive
    kept = None
    return first, kept, c.alive


def emptied_exception(c):
    try:
        raise ValueError(c())
    except ValueError as e:
        kept = e
    first = c.alive
    kept.args = ()
    return first, c.alive


def of_slices(c):
    items = [c(), c(), c()]
    del items[:2]
    first = c.alive
    items[:] = []
    return first, c.alive


def starred(c):
    _, *b = [c(), c(), c()]
    first = c.alive
    b = None
    return first, b, c.alive


def of_a_set(c):
    s = {c()}
    first = c.alive
    s.clear()
    return first, c.alive


def merged(c):
    d = {"a": c()}
    d = {**d, "a": 2}
    return d, c.alive


def in_a_text(c):
    text = f"{c(3).child}"
    return text, c.alive


def compared(c):
    same = c() is None
    return same, c.alive


def through_nonlocal(c):
    o = c()

    def g():
        nonlocal o
        o = None
        return c.alive

    return g(), c.alive


def left_loop(c):
    for o in [c(1), c(2)]:
        if o.child == 1:
            break
    first = c.alive
    del o
    return first, c.alive


def turns_of_a_loop(c):
    seen = []
    k = 0
    while k < 3:
        o = [c(k)]
        k += 1
        seen.append(c.alive)
    return seen, len(o), c.alive


def by_a_manager(c):
    class Manager:
        def __enter__(self):
            self.held = c()
            return self

        def __exit__(self, *args):
            self.held = None

    with Manager() as m:
        first = c.alive
    return first, m.held, c.alive


def of_a_named_tuple(c):
    pair = collections.namedtuple("Pair", "a b")(c(), 2)
    first = c.alive
    pair = pair._replace(a=3)
    return first, pair.a, c.alive


def of_a_deque(c):
    q = collections.deque([c(), c()])
    q.popleft()
    first = c.alive
    q.clear()
    return first, c.alive


def of_an_iterator(c):
    it = iter([c(), c()])
    next(it)
    first = c.alive
    it = None
    return first, it, c.alive


def of_a_partial(c):
    import functools
    p = functools.partial(len, [c()])
    first = p(), c.alive
    p = None
    return first, p, c.alive


def swapped(c):
    a, b = [c()], [1]
    a, b = b, a
    b = None
    return a, b, c.alive


def only_read(c):
    o = c(7)
    items = [o, 1]
    return items[0].child, len(items), c.alive


def never_read_again(c):
    guards = [c(), c()]
    n = len(guards)
    print("locked")
    return n, c.alive


def of_globals_of_another(c):
    Registry.entry = c()
    before = c.alive
    Registry.entry = None
    return before, c.alive


class Registry:
    entry = None


FUNCTIONS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__ and callable(f) and
             getattr(getattr(f, "__code__", None), "co_varnames", [])[:1] == ("c",)]


@pytest.mark.parametrize("steps", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
def test_objects_with_del(steps):
    def make():
        c = loud()

        def f(x):
            y = x + 1
            got = steps(c)
            return y, got, c.alive, y * 2

        return f, lambda: c.alive

    check(make, X, calls=3)


@pytest.mark.parametrize("steps", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
def test_the_same_in_the_function_itself(steps):
    """Not inlined: each break stands in the captured function."""
    def make():
        c = loud()
        return lambda x: (x + 1, steps(c), c.alive), lambda: c.alive

    plain, jitted = make(), make()
    g = ms.jit(steps)
    c, d = loud(), loud()
    for _ in range(3):
        assert repr(steps(c)) == repr(g(d)), ms.explain(g)
        assert c.alive == d.alive
    del plain, jitted


def test_in_the_order_of_the_plain_function():
    def make():
        log = []

        class Named:
            def __init__(self, name):
                self.name = name

            def __del__(self):
                log.append(self.name)

        def f(x):
            a = Named("a")  # noqa: F841
            b = Named("b")  # noqa: F841
            items = [Named("x"), Named("y")]
            table = {"p": Named("p"), "q": Named("q")}
            t = (Named("s"), Named("t"))
            return x + len(items) + len(table) + len(t)

        return f, lambda: log

    check(make, X, calls=3)


def test_objects_from_outside():
    """Containers and attributes of others give up the last reference."""
    class Owner:
        pass

    def by_attribute(x, o, c):
        o.held = None
        return x + 1, c.alive

    def by_deletion(x, o, c):
        del o.held
        return x + 1, c.alive

    def by_list(x, o, c):
        o.items.clear()
        return x + 1, c.alive

    def by_pop(x, o, c):
        o.items.pop()
        return x + 1, c.alive

    def by_item(x, o, c):
        o.items[0] = None
        return x + 1, c.alive

    def by_slice(x, o, c):
        del o.items[:]
        return x + 1, c.alive

    def by_dict(x, o, c):
        o.table["a"] = 1
        first = c.alive
        del o.table["b"]
        return x + 1, first, c.alive

    def by_dict_clear(x, o, c):
        o.table.clear()
        return x + 1, c.alive

    def by_holder(x, o, c):
        o.inner = None
        return x + 1, c.alive

    def by_nothing(x, o, c):
        o.other = 3
        return x + o.held.child, c.alive

    for f in (by_attribute, by_deletion, by_list, by_pop, by_item, by_slice, by_dict, by_dict_clear, by_holder,
              by_nothing):
        g = ms.jit(f)
        for _ in range(3):
            seen = []
            for h in (f, g):
                c = loud()
                o = Owner()
                o.held, o.items, o.table = c(2), [c(), c()], {"a": c(), "b": c()}
                o.inner = Holder([c()])
                y, *got = h(X, o, c)
                seen.append((y.asnumpy().tolist(), got, c.alive))
            assert seen[0] == seen[1], (f.__name__, seen)


def test_what_was_harmless_in_the_first_call():
    def make():
        c = loud()
        log = []

        def make_one(n):
            return c() if n % 2 else n

        def f(x, n):
            o = make_one(n)
            print("made")
            o = None
            log.append(c.alive)
            return x + 1, o, c.alive

        return f, lambda: (log, c.alive)

    check_calls(make, [(X, n) for n in (0, 1, 2, 3)])


def test_a_lock_guard_in_a_list():
    def make():
        held = []

        class Guard:
            def __init__(self, n):
                self.n = n
                held.append(n)

            def __del__(self):
                held.remove(self.n)

        def f(x):
            guards = [Guard("a"), Guard("b")]
            k = len(held)
            guards.clear()
            return x + k, len(held)

        def scoped(x):
            guards = [Guard("a")]
            print("in", len(guards))
            k = len(held)
            return x + k, list(held)

        def both(x):
            return f(x), scoped(x), len(held)

        return both, lambda: held

    check(make, X, calls=3)


def test_with_exceptions():
    def make():
        c = loud()

        def f(x):
            seen = []
            for k in range(6):
                items = [c(), c()]
                try:
                    if k == 0:
                        a, b, d = items
                    elif k == 1:
                        a, = items
                    elif k == 2:
                        items[5]
                    elif k == 3:
                        {}[items[0].zz]
                    elif k == 4:
                        with contextlib.suppress(KeyError):
                            items[9]
                    else:
                        raise ValueError(items[0])
                except (ValueError, IndexError, AttributeError):
                    pass
                del items
                seen.append(c.alive)
            return x, seen

        return f, lambda: c.alive

    check(make, X, calls=3)


# --- weak references


def weakly(*steps):
    return pytest.mark.parametrize("steps", steps, ids=[s.__name__ for s in steps])


def ref_of_a_local(x):
    o = Holder(3)
    r = weakref.ref(o)
    y = x + 1
    return y, r() is None


def ref_of_an_item(x):
    items = [Holder(3), 4]
    r = weakref.ref(items[0])
    y = x + 1
    return y, r() is None


def ref_of_an_attribute(x):
    h = Holder(Holder(3))
    r = weakref.ref(h.held)
    y = x + 1
    return y, r().held


def ref_that_dies(x):
    o = Holder(3)
    r = weakref.ref(o)
    o = None
    return x + 1, o, r() is None


def ref_of_a_list_that_dies(x):
    items = [Holder(3)]
    r = weakref.ref(items[0])
    y = x + len(items)
    items.clear()
    return y, r() is None


def ref_of_a_function(x):
    def g():
        return 1
    r = weakref.ref(g)
    y = x + 1
    return y, r() is None


def ref_in_a_set(x):
    s = weakref.WeakSet()
    o = Holder(1)
    s.add(o)
    y = x + len(s)
    return y, len(s)


def ref_in_a_table(x):
    d = weakref.WeakValueDictionary()
    o = Holder(5)
    d["k"] = o
    y = x * 2
    return y, list(d), d["k"].held


def ref_as_a_key(x):
    d = weakref.WeakKeyDictionary()
    o = Holder(5)
    d[o] = 7
    y = x * 2
    return y, len(d)


def proxy_of_a_local(x):
    o = Holder(6)
    p = weakref.proxy(o)
    y = x + 1
    return y, p.held


def ref_with_callback(x):
    log = []
    o = Holder()
    r = weakref.ref(o, lambda _: log.append("dead"))
    y = x + 1
    log.append("before")
    o = None
    log.append("after")
    return y, o, log, r() is None


def callback_attribute(x):
    o = Holder()
    r = weakref.ref(o, lambda _: None)
    try:
        r.__callback__ = None
    except AttributeError:
        return x + 1, o is r()
    return x


def callback_at_the_end(x):
    o = Holder()
    r = weakref.ref(o, lambda _: print("dead"))
    try:
        r.__callback__ = None
    except AttributeError:
        return x + 1, o is r()
    return x


def method_ref(x):
    o = Holder(3)
    m = weakref.WeakMethod(o.__init__)
    y = x + 1
    return y, m() is None


def finalized(x):
    log = []
    o = Holder(3)
    weakref.finalize(o, log.append, "gone")
    y = x + 1
    log.append("y")
    del o
    log.append("end")
    return y, log


class Node:
    def __init__(self, v, parent=None):
        self.v = v
        self.parent = weakref.ref(parent) if parent else None

    def root(self):
        p = self.parent() if self.parent else None
        return p.root() if p else self


def owner_only(x):
    top = Node(10.0)
    kid = Node(1.0, top)
    return x * kid.root().v


def owners_in_a_list(x):
    nodes = [Node(10.0)]
    nodes.append(Node(2.0, nodes[0]))
    kid = Node(1.0, nodes[1])
    return x * kid.root().v


@weakly(ref_of_a_local, ref_of_an_item, ref_of_an_attribute, ref_that_dies, ref_of_a_list_that_dies, ref_of_a_function,
        ref_in_a_set,
        ref_in_a_table, ref_as_a_key, proxy_of_a_local, ref_with_callback, callback_attribute, callback_at_the_end,
        method_ref, finalized, owner_only,
        owners_in_a_list)
def test_weak_references(steps):
    check(lambda: steps, X, calls=3)


def test_a_class_that_the_function_makes():
    def make():
        class Base:
            pass

        def f(x):
            class Derived(Base):
                pass

            y = x + len(Base.__subclasses__())
            del Derived
            gc.collect()
            return y, len(Base.__subclasses__())

        return f

    check(make, X, calls=3)


def test_cycles_through_captured_functions_are_freed():
    def made():
        @ms.jit
        def g(x):
            return g.k if x is None else x + 1

        class Thing:
            pass

        o = Thing()
        o.g = g
        g(X)
        g(X)
        return weakref.ref(g), weakref.ref(o)

    refs = [made() for _ in range(3)]
    gc.collect()
    assert [a() is None and b() is None for a, b in refs] == [True] * 3


# --- what stays one graph


class Plain:
    def __init__(self, v):
        self.v = v

    def twice(self):
        return self.v * 2


def test_objects_that_nobody_sees_go_are_one_graph():
    net = nn.Dense(3, 4)
    owner = Plain(2.0)
    watched = weakref.ref(owner)

    def f(x):
        p = Plain(x)
        items = [p, Plain(x + 1)]
        items.pop()
        p = None
        y = net(x.reshape(1, 3)) * owner.v
        owner.v = owner.v + 0.0
        table = {"a": items[0].twice()}
        del items
        try:
            raise ValueError(table)
        except ValueError as e:
            n = len(e.args)
        return y, table["a"], n

    check(lambda: f, X, graphs=1, breaks=0)
    assert watched() is owner


def test_threads_see_their_own_objects_die():
    c = loud()

    def f(x):
        items = [c()]
        items.clear()
        return x + 1

    g = ms.jit(f)
    g(X)
    threads = [threading.Thread(target=lambda: [g(X) for _ in range(20)]) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert c.alive == 0


def test_what_later_calls_take_away():
    """Captured while nobody saw it go."""
    def of_an_attribute(x, o, c):
        o.held = None
        return x + 1, c.alive

    def of_a_deleted_attribute(x, o, c):
        del o.held
        return x + 1, c.alive

    def of_a_slot(x, o, c):
        o.slots.held = None
        return x + 1, c.alive

    def of_an_item(x, o, c):
        o.items[0] = None
        o.table["a"] = None
        return x + 1, c.alive

    def of_all_items(x, o, c):
        o.items.clear()
        return x + 1, c.alive

    def of_a_global(x, o, c):
        global LAST
        LAST = None
        return x + 1, c.alive

    def of_a_list(x, o, c):
        o.held = [1]
        o.held = None
        return x + 1, c.alive

    global LAST
    for f in (of_an_attribute, of_a_deleted_attribute, of_a_slot, of_an_item, of_all_items, of_a_global, of_a_list):
        g = ms.jit(f)
        for late in (False, False, True, False, True):
            seen = []
            for h in (f, g):
                c = loud()
                new = c if late else int
                o = Holder(new())
                o.slots = Slots()
                o.slots.held, o.items, o.table = new(), [new(), new()], {"a": new()}
                LAST = new()
                y, *got = h(X, o, c)
                seen.append((y.asnumpy().tolist(), got, c.alive))
                LAST = None
            assert seen[0] == seen[1], (f.__name__, late, seen)


LAST = None
