"""Library functions as capture inlines them: Python's own loops, with their order and exceptions, in Python."""

import functools
import sys

_EMPTY = "{}() iterable argument is empty" if sys.version_info >= (3, 12) else "{}() arg is an empty sequence"


def any(iterable):
    for x in iterable:
        if x:
            return True
    return False


def all(iterable):
    for x in iterable:
        if not x:
            return False
    return True


_none = object()


def fromkeys(iterable, value=None):
    return {key: value for key in iterable}


def max(iterable, *, key=None, default=_none):
    best = best_key = _none
    for x in iterable:
        k = x if key is None else key(x)
        if best is _none or k > best_key:
            best, best_key = x, k
    if best is not _none:
        return best
    if default is _none:
        raise ValueError(_EMPTY.format("max"))
    return default


def min(iterable, *, key=None, default=_none):
    best = best_key = _none
    for x in iterable:
        k = x if key is None else key(x)
        if best is _none or k < best_key:
            best, best_key = x, k
    if best is not _none:
        return best
    if default is _none:
        raise ValueError(_EMPTY.format("min"))
    return default


# -- called, not inlined: of the values of a run --
@functools.cache
def formatter(names):
    """str.format() with keywords of these names, whose values come last."""

    def apply(text, *values):
        at = len(values) - len(names)
        return text.format(*values[:at], **dict(zip(names, values[at:])))

    return apply


@functools.cache
def percent(names):
    """text % a dict of these keys."""
    return lambda text, *values: text % dict(zip(names, values))


def reduce(function, iterable, initial=_none):
    it = iter(iterable)
    if initial is _none:
        try:
            value = next(it)
        except StopIteration:
            raise TypeError("reduce() of empty iterable with no initial value") from None
    else:
        value = initial
    for x in it:
        value = function(value, x)
    return value


def _count_elements(mapping, iterable):
    for x in iterable:
        mapping[x] = mapping.get(x, 0) + 1


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[: n if n > 0 else 0]


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[: n if n > 0 else 0]


# -- iterators: what these generators give, an object of the built-in class gives --
def filter(function, iterable):
    for x in iterable:
        if x if function is None else function(x):
            yield x


def chain(*iterables):
    for it in iterables:
        for x in it:
            yield x


def islice(iterable, *bounds):
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    wanted, step = 0 if start is None else start, 1 if step is None else step
    at = 0
    while stop is None or at < stop:
        for x in iterable:
            break
        else:
            return
        if at == wanted:
            yield x
            wanted += step
        at += 1


def repeat(object, *times):
    if times:
        for _ in range(times[0]):
            yield object
    while not times:
        yield object


def count(start=0, step=1):
    n = start
    while True:
        yield n
        n = n + step


def accumulate(iterable, function=None, *, initial=None):
    total, started = initial, initial is not None
    if started:
        yield total
    for x in iterable:
        if not started:
            total, started = x, True
        elif function is None:
            total = total + x
        else:
            total = function(total, x)
        yield total


def starmap(function, iterable):
    for args in iterable:
        yield function(*args)


def takewhile(predicate, iterable):
    for x in iterable:
        if not predicate(x):
            return
        yield x


def dropwhile(predicate, iterable):
    dropping = True
    for x in iterable:
        if dropping and predicate(x):
            continue
        dropping = False
        yield x


def pairwise(iterable):
    it = iter(iterable)
    for a in it:
        break
    else:
        return
    for b in it:
        yield a, b
        a = b


def product(*iterables, repeat=1):
    pools = [tuple(p) for p in iterables] * repeat
    result = [()]
    for pool in pools:
        result = [(*x, y) for x in result for y in pool]
    return iter(result)


def combinations(iterable, r):
    pool = tuple(iterable)
    chosen = [()]
    places = [-1]
    for _ in range(r):
        found, at = [], []
        for x, k in zip(chosen, places):
            for i in range(k + 1, len(pool)):
                found.append((*x, pool[i]))
                at.append(i)
        chosen, places = found, at
    return iter(chosen)


def zip_longest(*iterables, fillvalue=None):
    iters = [iter(it) for it in iterables]
    live = len(iters)
    ended = [False] * live
    while live:
        row = []
        for k in range(len(iters)):
            x = fillvalue if ended[k] else next(iters[k], _none)
            if x is _none:
                ended[k] = True
                live -= 1
                x = fillvalue
                if not live:
                    return
            row.append(x)
        yield tuple(row)


# -- what the instructions of match statements do --
_SELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)  # match by one positional pattern


def match_keys(subject, keys):
    seen, values = [], []
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.append(key)
        value = subject.get(key, _none)
        if value is _none:
            return None
        values.append(value)
    return tuple(values)


def match_class(subject, cls, names, count):
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if not isinstance(subject, cls):
        return None
    seen, values = [], []
    if count:
        wanted = getattr(cls, "__match_args__", _none)
        itself = wanted is _none and issubclass(cls, _SELF)
        if wanted is _none:
            wanted = ()
        if type(wanted) is not tuple:
            raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(wanted).__name__})")
        allowed = 1 if itself else len(wanted)
        if allowed < count:
            raise TypeError(f"{cls.__name__}() accepts {allowed} positional sub-patterns ({count} given)")
        if itself:
            values.append(subject)
        else:
            names = wanted[:count] + names
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
        if name in seen:
            raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
        seen.append(name)
        value = getattr(subject, name, _none)
        if value is _none:
            return None
        values.append(value)
    return tuple(values)
