"""`make bench-inference`: a forward pass of `inference_networks.py`, batch 1, 224 x 224, float32, here and in the
engines that people deploy with.

Each kind runs in processes of its own that take turns --rounds times; what counts is the least processor time of a
call on one thread, which a busy machine disturbs least, and the least time by the clock with more. PIJIT_PEERS names a
Python that has peers:
openvino and onnxruntime (with onnx), torch; those that it has not are left out."""

import argparse
import gc
import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
from workers import names_of, told, with_threads

FOLDER = pathlib.Path(__file__).resolve().parent
OURS = ("jit", "fast", "eager")  # fast: JitConfig(numerics="fast")
ENGINES = ("openvino", "onnxruntime")
KINDS = (*OURS, *ENGINES, "torch", "torch_last", "torch_compiled", "torch_compiled_last")


def our_call(make, x, kind):
    import pijit as ms

    network = make()
    network.set_train(False)
    config = ms.JitConfig(numerics="fast") if kind == "fast" else None
    call = network if kind == "eager" else ms.jit(network, jit_config=config)
    x = ms.Tensor(x)
    return lambda: call(x), lambda y: y.asnumpy()


def torch_call(make, x, kind, threads):
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    network, x = make().eval(), torch.from_numpy(x)
    if kind.endswith("last"):
        network, x = network.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    if "compiled" in kind:
        import torch._inductor.config as inductor

        inductor.freezing = True
        network = torch.compile(network)
    return lambda: network(x), lambda y: y.numpy()


def of_onnx():
    from layers import Numbers
    from onnx import TensorProto, helper, numpy_helper

    numbers = Numbers()

    class Value:
        def __init__(self, name, shape):
            self.name, self.shape = name, tuple(shape)

        def __add__(self, other):
            return L.node("Add", self, other)

        def __mul__(self, other):
            return L.node("Mul", self, other)

    class Module:
        def __call__(self, *args):
            return self.forward(*args)

    class L:
        nodes, constants, count = [], [], 0
        Parts = list

        @classmethod
        def constant(cls, x):
            cls.count += 1
            x = np.asarray(x)
            cls.constants.append(numpy_helper.from_array(x, f"c{cls.count}"))
            return Value(f"c{cls.count}", x.shape)

        @classmethod
        def node(cls, op, *operands, shape=None, outputs=1, **attributes):
            operands = [x if isinstance(x, Value) else cls.constant(np.float32(x)) for x in operands]
            names = [f"v{cls.count + k + 1}" for k in range(outputs)]
            cls.count += outputs
            cls.nodes.append(helper.make_node(op, [x.name for x in operands], names, **attributes))
            if shape is None:
                shape = np.broadcast_shapes(*(x.shape for x in operands)) if len(operands) == 2 else operands[0].shape
            values = [Value(n, shape) for n in names]
            return values[0] if outputs == 1 else values

        relu = staticmethod(lambda x: L.node("Relu", x))
        relu6 = staticmethod(lambda x: L.node("Clip", x, 0.0, 6.0, shape=x.shape))
        gelu = staticmethod(lambda x: L.node("Gelu", x))
        sigmoid = staticmethod(lambda x: L.node("Sigmoid", x))
        silu = staticmethod(lambda x: x * L.node("Sigmoid", x))
        hard_swish = staticmethod(lambda x: L.node("HardSwish", x))
        hard_sigmoid = staticmethod(lambda x: L.node("HardSigmoid", x, alpha=1 / 6, beta=0.5))
        softmax = staticmethod(lambda x: L.node("Softmax", x, axis=-1))
        mean = staticmethod(lambda x: L.node("GlobalAveragePool", x, shape=(*x.shape[:2], 1, 1)))
        flat = staticmethod(lambda x: L.node("Flatten", x, axis=1, shape=(x.shape[0], int(np.prod(x.shape[1:])))))
        first = staticmethod(lambda x: L.node("Gather", x, L.constant(np.int64(0)), axis=1,
                                              shape=(x.shape[0], x.shape[2])))

        @staticmethod
        def matmul(a, b):
            return L.node("MatMul", a, b, shape=(*a.shape[:-1], b.shape[-1]))

        @staticmethod
        def concat(parts, axis):
            shape = list(parts[0].shape)
            shape[axis] = sum(x.shape[axis] for x in parts)
            return L.node("Concat", *parts, axis=axis, shape=shape)

        @staticmethod
        def expand(x, shape):
            return x if x.shape == tuple(shape) else L.node("Expand", x, L.constant(np.array(shape, np.int64)),
                                                            shape=shape)

        @staticmethod
        def reshape(x, shape):
            return L.node("Reshape", x, L.constant(np.array(shape, np.int64)), shape=shape)

        @staticmethod
        def transpose(x, perm):
            return L.node("Transpose", x, perm=perm, shape=[x.shape[k] for k in perm])

        @staticmethod
        def window(size, k, s, p):
            return (size + 2 * p - k) // s + 1

        @staticmethod
        def avg_pool(x, k):
            shape = (*x.shape[:2], x.shape[2] // k, x.shape[3] // k)
            return L.node("AveragePool", x, kernel_shape=[k, k], strides=[k, k], shape=shape)

        @staticmethod
        def halves(x):
            return L.node("Split", x, axis=1, num_outputs=2, outputs=2,
                          shape=(x.shape[0], x.shape[1] // 2, *x.shape[2:]))

        @staticmethod
        def three(x):
            return [L.node("Gather", x, L.constant(np.int64(k)), axis=0, shape=x.shape[1:]) for k in range(3)]

        @staticmethod
        def rows(table, index):
            return L.node("Gather", table, index, axis=0, shape=(*index.shape, *table.shape[1:]))

        @staticmethod
        def part(x, axis, begin, end):
            ends = [L.constant(np.array([k])) for k in (begin, end, axis)]
            return L.node("Slice", x, *ends, shape=(*x.shape[:axis], end - begin, *x.shape[axis + 1:]))

        @staticmethod
        def roll(x, places):
            for axis in (1, 2):
                n = x.shape[axis]
                x = L.concat((L.part(x, axis, -places % n, n), L.part(x, axis, 0, -places % n)), axis)
            return x

        @staticmethod
        def parameter(shape, fan_in):
            return L.constant(numbers.of(shape, fan_in))

        @staticmethod
        def Conv(i, o, k, s, p, g, bias):
            more = [L.constant(numbers.of((o, i // g, k, k), i // g * k * k))]
            if bias:
                more.append(L.constant(numbers.of((o,), o)))
            return lambda x: L.node("Conv", x, *more, kernel_shape=[k, k], strides=[s, s], pads=[p] * 4, group=g,
                                    shape=(x.shape[0], o, *(L.window(n, k, s, p) for n in x.shape[2:])))

        @staticmethod
        def Norm(c):
            more = [L.constant(x) for x in numbers.norm(c)]
            return lambda x: L.node("BatchNormalization", x, *more, epsilon=1e-5)

        @staticmethod
        def LayerNorm(c):
            numbers.norm(c)
            more = [L.constant(np.ones(c, np.float32)), L.constant(np.zeros(c, np.float32))]
            return lambda x: L.node("LayerNormalization", x, *more, axis=-1, epsilon=1e-5)

        @staticmethod
        def Dense(i, o):
            w, b = L.constant(numbers.of((o, i), i).T.copy()), L.constant(numbers.of((o,), o))
            return lambda x: L.node("MatMul", x, w, shape=(*x.shape[:-1], o)) + b

        @staticmethod
        def MaxPool(k, s, p):
            return lambda x: L.node("MaxPool", x, kernel_shape=[k, k], strides=[s, s], pads=[p] * 4,
                                    shape=(*x.shape[:2], *(L.window(n, k, s, p) for n in x.shape[2:])))

        @classmethod
        def model(cls, y):
            io = [[helper.make_tensor_value_info(v.name, TensorProto.FLOAT, v.shape)] for v in (Value("x", SIZE), y)]
            graph = helper.make_graph(cls.nodes, "network", *io, cls.constants)
            return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)

    L.Module, L.Value = Module, Value
    return L


def engine_call(L, make, x, kind, threads):
    model = L.model(make()(L.Value("x", SIZE)))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "network.onnx")
        pathlib.Path(path).write_bytes(model.SerializeToString())
        if kind == "onnxruntime":
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            return lambda: session.run(None, {"x": x}), lambda y: y[0]
        import openvino

        wanted = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        compiled = openvino.Core().compile_model(path, "CPU", wanted)
        request = compiled.create_infer_request()
        return lambda: request.infer({0: x}), lambda y: y[0]


SIZE = (1, 3, 224, 224)


def worker(name, kind, threads, seconds, result):
    """Prints a line of JSON: the least milliseconds of a call, and those of the first one, which captures and compiles
    here (engines do so before). Stores what was computed."""
    sys.path.insert(0, str(FOLDER))
    from inference_networks import networks
    from layers import of_torch, ours

    if kind in OURS:
        sys.path.insert(1, str(FOLDER.parent))
    L = ours() if kind in OURS else of_torch() if kind.startswith("torch") else of_onnx()
    make = networks(L)[name]
    x = np.random.default_rng(2).standard_normal(SIZE).astype(np.float32)
    clock = time.process_time if threads == 1 else time.perf_counter
    if kind in OURS:
        call, array = our_call(make, x, kind)
    elif kind.startswith("torch"):
        call, array = torch_call(make, x, kind, threads)
    else:
        call, array = engine_call(L, make, x, kind, threads)
    begin = clock()
    np.save(result, array(call()))
    first = clock() - begin
    for _ in range(5):
        call()
    gc.disable()
    times, begin = [], time.perf_counter()
    while len(times) < 10 or (time.perf_counter() - begin < seconds and len(times) < 2000):
        t = clock()
        call()
        times.append(clock() - t)
    print(json.dumps({"least": min(times) * 1e3, "first": first * 1e3}))


def measure(name, kind, python, options, result):
    env = with_threads(options.threads, os.environ)
    command = [python, __file__, "--worker", name, kind, str(options.threads), str(options.seconds), result]
    if options.threads == 1 and hasattr(os, "sched_getaffinity"):
        command = ["taskset", "-c", str(options.core), *command]
    return told(command, timeout=900, env=env)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", help="names of networks; all of them if none is given")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"which of {', '.join(KINDS)}")
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument("--rounds", type=int, default=2, help="how often each kind is run (default 2)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long one run calls it (default 2)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--core", type=int, default=0, help="which core one thread runs on (default 0)")
    options = parser.parse_args()
    sys.path.insert(0, str(FOLDER))
    from inference_networks import networks

    names = options.networks or names_of(networks)
    peers = os.environ.get("PIJIT_PEERS")
    kinds = [k for k in options.kinds.split(",") if peers or k in OURS]
    print(f"least {'processor ' if options.threads == 1 else ''}time of a call, ms, threads: {options.threads}")
    print(f"{'':20}" + "".join(f"{k[:15]:>16}" for k in kinds))
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            row = rows[name] = {}
            for k in range(options.rounds):
                for kind in kinds:
                    if "error" in row.get(kind, {}):
                        continue
                    python = sys.executable if kind in OURS else peers
                    found = measure(name, kind, python, options, os.path.join(folder, f"{kind}.npy"))
                    if "error" in found or found["least"] < row.get(kind, {"least": 1e9})["least"]:
                        row[kind] = found
            line = f"{name:20}" + "".join(f"{row[k]['least']:16.2f}" if "least" in row[k] else f"{'-':>16}"
                                          for k in kinds)
            results = [np.load(os.path.join(folder, f"{k}.npy")) for k in kinds if "least" in row[k]]
            apart = max((float(np.abs(r - results[0]).max() / np.abs(results[0]).max()) for r in results), default=0)
            print(line + f"  results within {apart:.0e}", flush=True)
            for kind in kinds:
                if "error" in row[kind]:
                    print(f"  {kind}: {row[kind]['error']}", flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    for kind in OURS:
        shares = {name: min(row[e]["least"] for e in ENGINES if "least" in row.get(e, ())) / row[kind]["least"]
                  for name, row in rows.items()
                  if "least" in row.get(kind, ()) and any("least" in row.get(e, ()) for e in ENGINES)}
        if shares:
            least = min(shares, key=shares.get)
            print(f"{kind}: {np.exp(np.mean(np.log(list(shares.values())))):.2f} of the best engine's speed in the "
                  f"geometric mean of {len(shares)}, least {shares[least]:.2f} ({least})")


if __name__ == "__main__":
    if len(sys.argv) == 7 and sys.argv[1] == "--worker":
        worker(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]), sys.argv[6])
    else:
        main()
