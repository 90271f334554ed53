"""Small programs as people write them, most of which gain nothing from capture. Each says what `run` does, which is
called again and again; `jit` is the decorator, or nothing. Names that all of them have: np, ms, ops, jit, rng."""

# Numbers and containers of Python.
NUMBERS = {
    "recursion": """
@jit
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def run():
    fib(20)
""",
    "mutual recursion": """
@jit
def even(n):
    return True if n == 0 else odd(n - 1)
@jit
def odd(n):
    return False if n == 0 else even(n - 1)
def run():
    for k in range(100):
        even(k)
""",
    "recursion over a tree": """
@jit
def tree(depth):
    return (tree(depth - 1), depth, tree(depth - 1)) if depth else None
@jit
def total(node):
    return total(node[0]) + node[1] + total(node[2]) if node else 0
def run():
    total(tree(10))
""",
    "counter in an attribute": """
class Counter:
    def __init__(self):
        self.n, self.by = 0, {}
    @jit
    def hit(self, name):
        self.n += 1
        self.by[name] = self.by.get(name, 0) + 1
        return self.n
def run():
    c = Counter()
    for k in range(5000):
        c.hit("k%d" % (k % 10))
""",
    "small methods": """
class Place:
    def __init__(self):
        self.x = 0
    @jit
    def step(self, by):
        self.x += by
@jit
def bump(place):
    place.x += 1
def run():
    place = Place()
    for k in range(5000):
        place.step(k)
        bump(place)
""",
    "ring buffer": """
class Ring:
    def __init__(self):
        self.items, self.at = [0.0] * 64, 0
    @jit
    def push(self, v):
        self.items[self.at % 64] = v
        self.at += 1
        return self.items[(self.at - 2) % 64]
def run():
    ring = Ring()
    for k in range(5000):
        ring.push(float(k))
""",
    "least recently used": """
from collections import OrderedDict
class Cache:
    def __init__(self):
        self.d = OrderedDict()
    @jit
    def get(self, k):
        if k in self.d:
            self.d.move_to_end(k)
            return self.d[k]
        self.d[k] = k * 2
        if len(self.d) > 50:
            self.d.popitem(last=False)
        return self.d[k]
def run():
    c = Cache()
    for k in range(5000):
        c.get(k * 7 % 83)
""",
    "growing dict": """
@jit
def put(d, k, v):
    d[k] = v
    return len(d)
def run():
    d = {}
    for k in range(5000):
        put(d, k, k * k)
""",
    "growing list": """
@jit
def note(history, k):
    history.append(k % 17)
    return history[-1] - history[0]
def run():
    history = []
    for k in range(5000):
        note(history, k)
""",
    "global list": """
TABLE = list(range(10000))
@jit
def look(i):
    return TABLE[i % 10000] + len(TABLE)
def run():
    for k in range(5000):
        look(k)
""",
    "nested lists": """
rows = [[i * j for j in range(50)] for i in range(20)]
@jit
def total(rows):
    s = 0
    for row in rows:
        for v in row:
            s += v
    return s
def run():
    for _ in range(200):
        total(rows)
""",
    "many functions": """
made = {}
for k in range(60):
    exec(f"@jit\\ndef f{k}(a, b):\\n    return a * {k} + b if a > b else a - b", globals(), made)
def run():
    for k in range(60):
        for i in range(20):
            made[f"f{k}"](i, k)
""",
    "many functions with loops": """
made = {}
for k in range(30):
    exec(f"@jit\\ndef f{k}(words):\\n    d = {{}}\\n    for w in words:\\n        d[w] = d.get(w, {k}) + 1\\n"
         f"    return max(d.values())", globals(), made)
words = ("the quick brown fox jumps over the lazy dog " * 5).split()
def run():
    for f in made.values():
        f(words)
""",
    "words of a text": """
text = "it was the best of times it was the worst of times " * 100
@jit
def count(text):
    d = {}
    for w in text.split():
        d[w] = d.get(w, 0) + 1
    return sorted(d.items(), key=lambda kv: -kv[1])
def run():
    for _ in range(5):
        count(text)
""",
    "sieve": """
@jit
def primes(n):
    sieve = bytearray([1]) * (n + 1)
    for p in range(2, int(n ** 0.5) + 1):
        if sieve[p]:
            sieve[p * p::p] = bytes(len(range(p * p, n + 1, p)))
    return [p for p in range(2, n + 1) if sieve[p]]
def run():
    primes(30000)
""",
    "collatz": """
@jit
def steps(n):
    k = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k
def run():
    for n in range(1, 300):
        steps(n)
""",
    "queens": """
@jit
def queens(n, row, columns, up, down):
    if row == n:
        return 1
    found = 0
    for c in range(n):
        if c not in columns and row + c not in up and row - c not in down:
            found += queens(n, row + 1, columns | {c}, up | {row + c}, down | {row - c})
    return found
def run():
    queens(6, 0, frozenset(), frozenset(), frozenset())
""",
    "classes": """
class Shape:
    @jit
    def scaled(self, k):
        return type(self)(*(v * k for v in self.sizes()))
class Box(Shape):
    def __init__(self, w, h):
        self.w, self.h = w, h
    def sizes(self):
        return self.w, self.h
    @jit
    def area(self):
        return self.w * self.h
class Disc(Shape):
    def __init__(self, r):
        self.r = r
    def sizes(self):
        return (self.r,)
    @jit
    def area(self):
        return 3.14159 * self.r ** 2
def run():
    for k in range(500):
        for s in (Box(k, 2), Disc(k)):
            if isinstance(s, Shape):
                s.scaled(3).area()
""",
    "properties and operators": """
class Vector:
    __slots__ = "x", "y"
    def __init__(self, x, y):
        self.x, self.y = x, y
    @jit
    def __add__(self, o):
        return Vector(self.x + o.x, self.y + o.y)
    @property
    @jit
    def length(self):
        return (self.x ** 2 + self.y ** 2) ** 0.5
def run():
    v = Vector(0.0, 0.0)
    for k in range(1000):
        v = v + Vector(1.0, k)
        v.length
""",
    "generator of numbers": """
@jit
def squares(n):
    for k in range(n):
        yield k * k
@jit
def total(n):
    return sum(s for s in squares(n) if s % 3)
def run():
    for _ in range(10):
        total(500)
""",
    "exceptions": """
@jit
def number(text):
    try:
        return int(text)
    except ValueError:
        return -1
def run():
    for k in range(1500):
        number(str(k) if k % 3 else "none")
""",
    "state machine": """
@jit
def accepted(text):
    state = 0
    for c in text:
        if state == 0:
            state = 1 if c == "a" else 2
        elif state == 1:
            state = 0 if c == "b" else 2
    return state == 0
texts = ["ab" * 30, "abab" * 10 + "x", "b", ""]
def run():
    for _ in range(50):
        for t in texts:
            accepted(t)
""",
    "shortest paths": """
import heapq
edges = {k: [((k * 7 + j) % 300, (k * j) % 11 + 1) for j in range(1, 6)] for k in range(300)}
@jit
def distances(edges, start):
    best, queue = {start: 0}, [(0, start)]
    while queue:
        d, at = heapq.heappop(queue)
        if d > best[at]:
            continue
        for to, cost in edges[at]:
            if d + cost < best.get(to, 1 << 60):
                best[to] = d + cost
                heapq.heappush(queue, (d + cost, to))
    return best
def run():
    for s in range(3):
        distances(edges, s)
""",
}

# NumPy's arrays and numbers.
ARRAYS = {
    "elements in two loops": """
pos, m = rng.rand(200, 3), rng.rand(200)
@jit
def force(pos, m):
    s = 0.0
    for i in range(len(m)):
        for j in range(len(m)):
            s += (pos[j, 0] - pos[i, 0]) * m[j]
    return s
def run():
    force(pos, m)
""",
    "elements in small calls": """
pos, m = rng.rand(40, 3), rng.rand(40)
@jit
def force(pos, m):
    s = 0.0
    for i in range(len(m)):
        for j in range(len(m)):
            s += (pos[j, 0] - pos[i, 0]) * m[j]
    return s
def run():
    for _ in range(20):
        force(pos, m)
""",
    "numbers of an array": """
x = rng.rand(30000)
@jit
def clip_sum(x):
    s = np.float64(0)
    for v in x:
        s += min(max(v, 0.2), 0.8)
    return s
def run():
    clip_sum(x)
""",
    "groups": """
keys, values = [i % 13 for i in range(20000)], rng.rand(20000)
@jit
def means(keys, values):
    g = {}
    for k, v in zip(keys, values):
        g.setdefault(k, []).append(v)
    return {k: sum(v) / len(v) for k, v in g.items()}
def run():
    means(keys, values)
""",
    "dict of lists": """
table = {"name": [f"n{k % 7}" for k in range(2000)], "price": rng.rand(2000).tolist(), "count": list(range(2000))}
@jit
def revenue(table):
    out = {}
    for name, price, count in zip(table["name"], table["price"], table["count"]):
        out[name] = out.get(name, 0.0) + price * count
    return out
def run():
    for _ in range(5):
        revenue(table)
""",
    "chunks of an array": """
x = rng.rand(20000)
@jit
def chunks(x, n):
    for i in range(0, len(x), n):
        yield x[i:i + n]
@jit
def total(x):
    return sum(float(c.sum()) for c in chunks(x, 10))
def run():
    total(x)
""",
    "singular values": """
a = rng.rand(30, 30)
@jit
def spectrum(a):
    return np.linalg.svd(a @ a.T)[1][:3].sum()
def run():
    for _ in range(20):
        spectrum(a)
""",
    "small arrays": """
@jit
def rotate(v, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ v
def run():
    v = np.ones(2)
    for k in range(300):
        v = rotate(v, k * 0.01)
""",
    "game of life": """
@jit
def step(board):
    near = sum(np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return ((near == 3) | (board & (near == 2))).astype(np.int8)
def run():
    board = (rng.rand(32, 32) > 0.6).astype(np.int8)
    for _ in range(20):
        board = step(board)
""",
    "matrix product by hand": """
a, b = rng.rand(16, 16), rng.rand(16, 16)
@jit
def product(a, b):
    out = np.zeros((16, 16))
    for i in range(16):
        for j in range(16):
            for k in range(16):
                out[i, j] += a[i, k] * b[k, j]
    return out
def run():
    product(a, b)
""",
    "newton": """
@jit
def root(c, x):
    for _ in range(50):
        new = x - (x * x - c) / (2 * x)
        if abs(new - x) < 1e-12:
            return new
        x = new
    return x
def run():
    for v in rng.rand(300) + 1:
        root(v, v)
""",
    "random walk": """
@jit
def walk(n, rng):
    at, seen = np.zeros(2, np.int64), set()
    for _ in range(n):
        at[rng.randint(2)] += rng.choice((-1, 1))
        seen.add(tuple(at))
    return len(seen)
def run():
    walk(300, np.random.RandomState(1))
""",
}

# Tensors, few or tiny.
TENSORS = {
    "tiny tensors": """
class Sum:
    def __init__(self):
        self.v, self.n = ms.Tensor(np.zeros(3, np.float32)), 0
    @jit
    def add(self, x):
        self.v = self.v + x
        self.n += 1
x = ms.Tensor(np.ones(3, np.float32))
def run():
    s = Sum()
    for _ in range(2000):
        s.add(x)
""",
    "tiny losses": """
@jit
def loss(w, x, y):
    return float(((w * x - y) ** 2).sum())
xs = [ms.Tensor(rng.rand(4).astype(np.float32)) for _ in range(20)]
w = ms.Tensor(np.ones(4, np.float32))
def run():
    for x in xs:
        for y in xs:
            loss(w, x, y)
""",
    "changing sizes": """
w = ms.Tensor(rng.randn(3, 3).astype(np.float32))
@jit
def step(x, w):
    return (ops.relu(x @ w) * 2 - x @ w).sum()
def run():
    for k in range(60):
        float(step(ms.Tensor(rng.randn(20 + (k * 7) % 53, 3).astype(np.float32)), w))
""",
    "ever new sizes": """
n = 20
@jit
def step(x):
    return (ops.tanh(x) * x + ops.exp(-x)).mean()
def run():
    global n
    for k in range(30):
        n += 1
        float(step(ms.Tensor(np.linspace(0, 1, n, dtype=np.float32))))
""",
    "nearest centres": """
centres = ms.Tensor(rng.randn(5, 2).astype(np.float32))
@jit
def assign(x, c):
    return ops.argmin(((x.expand_dims(1) - c) ** 2).sum(-1), axis=1)
def run():
    for n in range(50, 320, 10):
        assign(ms.Tensor(rng.randn(n, 2).astype(np.float32)), centres).asnumpy()
""",
    "a list of tensors": """
@jit
def moving(history, x):
    history.append(x)
    if len(history) > 5:
        history.pop(0)
    s = history[0]
    for h in history[1:]:
        s = s + h
    return s / len(history)
x = ms.Tensor(rng.rand(8).astype(np.float32))
def run():
    history = []
    for _ in range(200):
        moving(history, x)
""",
}

PROGRAMS = {**NUMBERS, **ARRAYS, **TENSORS}
