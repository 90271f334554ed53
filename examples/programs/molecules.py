"""A graph network over batches of graphs of different sizes: message passing by gather and segment sums, edge features,
attention over neighbours, readout, gradients by GradOperation with a MultitypeFuncGraph that clips them.

    python -m pijit --as mindspore examples/programs/molecules.py [--mode graph]"""

import sys
from functools import partial

import numpy as np

from toolkit import LossHistory, Registry, arguments, fill, load_config, start

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Tensor, nn, ops
from mindspore.ops import MultitypeFuncGraph
from mindspore.ops import composite as C
from mindspore.train import MAE, Model

CONFIG = """
data:
  graphs: 48
  batch: 8
  nodes: 64
  edges: 160
  kinds: 4
model:
  width: 16
  layers: 2
  readout: attention
  aggregate: attention
train:
  epochs: 4
  lr: 0.01
  clip: 0.1
  weight_decay: 0.0001
"""

AGGREGATORS, READOUTS = Registry("aggregator"), Registry("readout")

clip_grad = MultitypeFuncGraph("clip_grad")


@clip_grad.register("Number", "Tensor")
def _clip_grad(limit, grad):
    return ops.clip_by_value(grad, ops.cast(ops.tuple_to_array((-limit,)), grad.dtype),
                             ops.cast(ops.tuple_to_array((limit,)), grad.dtype))


def segment_sum(values, segments, count):
    return ops.unsorted_segment_sum(values, segments, count)


def segment_softmax(values, segments, count):
    """Softmax of [edges, heads] within each segment."""
    largest = ops.unsorted_segment_max(values, segments, count)
    e = ops.exp(values - ops.gather(largest, segments, 0))
    return e / (ops.gather(segment_sum(e, segments, count), segments, 0) + 1e-9)


class GaussianBasis(nn.Cell):
    """Distances as smooth steps."""

    def __init__(self, count, last):
        super().__init__()
        self.centers = Tensor(np.linspace(0, last, count), ms.float32)
        self.scale = -0.5 / (last / (count - 1)) ** 2

    def construct(self, distance):
        return ops.exp(self.scale * ops.square(distance.expand_dims(-1) - self.centers))


@AGGREGATORS.register("sum")
class SumAggregate(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.filter = nn.Dense(8, width)

    def construct(self, h, edges, source, target, edge_mask):
        messages = ops.gather(h, source, 0) * self.filter(edges) * edge_mask
        return segment_sum(messages, target, h.shape[0])


@AGGREGATORS.register("attention")
class AttentionAggregate(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.filter, self.score = nn.Dense(8, width), nn.Dense(2 * width, 1, activation=nn.LeakyReLU(0.2))

    def construct(self, h, edges, source, target, edge_mask):
        here, there = ops.gather(h, target, 0), ops.gather(h, source, 0)
        score = self.score(ops.cat((here, there), -1)) + (edge_mask - 1) * 1e9
        weights = segment_softmax(score, target, h.shape[0]) * edge_mask
        return segment_sum(there * self.filter(edges) * weights, target, h.shape[0])


@READOUTS.register("sum")
class SumReadout(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.out = nn.Dense(width, 1)

    def construct(self, h, graph, count, node_mask):
        return segment_sum(self.out(h) * node_mask, graph, count).squeeze(-1)


@READOUTS.register("attention")
class AttentionReadout(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Dense(width, 1)
        self.out = nn.SequentialCell(nn.Dense(width, width), nn.SiLU(), nn.Dense(width, 1))

    def construct(self, h, graph, count, node_mask):
        return segment_sum(ops.sigmoid(self.gate(h)) * self.out(h) * node_mask, graph, count).squeeze(-1)


class Interaction(nn.Cell):
    def __init__(self, width, aggregate):
        super().__init__()
        self.norm = nn.LayerNorm((width,))
        self.aggregate = AGGREGATORS.get(aggregate)(width)
        self.update = nn.SequentialCell(nn.Dense(2 * width, width), nn.SiLU(), nn.Dense(width, width))

    def construct(self, h, *where):
        m = self.aggregate(self.norm(h), *where)
        return h + self.update(ops.cat((h, m), -1))


class Network(nn.Cell):
    def __init__(self, kinds, width, layers, aggregate, readout):
        super().__init__()
        self.embedding = nn.Embedding(kinds, width)
        self.basis = GaussianBasis(8, 3.0)
        self.layers = nn.CellList([Interaction(width, aggregate) for _ in range(layers)])
        self.readout = READOUTS.get(readout)(width)

    def construct(self, kinds, positions, source, target, graph, node_mask, edge_mask, energies):
        h = self.embedding(kinds) * node_mask
        vectors = ops.gather(positions, target, 0) - ops.gather(positions, source, 0)
        edges = self.basis(ops.sqrt(ops.reduce_sum(vectors * vectors, -1) + 1e-12))
        for layer in self.layers:
            h = layer(h, edges, source, target, edge_mask)
        return self.readout(h, graph, energies.shape[0], node_mask)


class WithLoss(nn.Cell):
    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network, self.loss = network, nn.MSELoss()

    def construct(self, *graph):
        return self.loss(self.network(*graph), graph[-1])


class WithEval(nn.Cell):
    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, *graph):
        energies = graph[-1]
        found = self.network(*graph)
        return ops.square(found - energies).mean(), found, energies


class TrainCell(nn.TrainOneStepCell):
    def __init__(self, network, optimizer, clip):
        super().__init__(network, optimizer)
        self.hyper_map, self.clip = C.HyperMap(), clip

    def construct(self, *graph):
        loss = self.network(*graph)
        grads = self.grad(self.network, self.weights)(*graph, ops.ones_like(loss))
        grads = self.hyper_map(partial(clip_grad, self.clip), grads)
        return ops.depend(loss, self.optimizer(grads))


def molecules(cfg, seed):
    """Graphs: kinds, positions, and an energy by the kinds and distances of neighbours."""
    rng = np.random.RandomState(seed)
    for _ in range(cfg.graphs):
        n = rng.randint(3, cfg.nodes // cfg.batch)
        kinds, positions = rng.randint(0, cfg.kinds, n), rng.uniform(-1, 1, (n, 3))
        distance = np.linalg.norm(positions[:, None] - positions[None], axis=-1)
        target, source = np.nonzero((distance < 1.3) & ~np.eye(n, dtype=bool))
        energy = (kinds * 0.2 - 0.3).sum() + (np.exp(-distance[target, source]) * 0.2).sum() / 2
        yield kinds, positions, source, target, energy


def collate(graphs, cfg):
    """A batch as one graph, with room for as many nodes and edges in each: what is beyond is masked."""
    kinds, positions = np.zeros(cfg.nodes, np.int32), np.zeros((cfg.nodes, 3), np.float32)
    source, target = np.zeros(cfg.edges, np.int32), np.zeros(cfg.edges, np.int32)
    graph, node_mask, edge_mask = np.zeros(cfg.nodes, np.int32), np.zeros((cfg.nodes, 1)), np.zeros((cfg.edges, 1))
    nodes = edges = 0
    for k, (kind, at, begin, end, _) in enumerate(graphs):
        n, e = len(kind), min(len(begin), cfg.edges - edges)
        kinds[nodes:nodes + n], positions[nodes:nodes + n], graph[nodes:nodes + n] = kind, at, k
        source[edges:edges + e], target[edges:edges + e] = begin[:e] + nodes, end[:e] + nodes
        node_mask[nodes:nodes + n], edge_mask[edges:edges + e] = 1, 1
        nodes, edges = nodes + n, edges + e
    energies = np.array([g[-1] for g in graphs], np.float32)
    masks = node_mask.astype(np.float32), edge_mask.astype(np.float32)
    return (kinds, positions, source, target, graph, *masks, energies)


def make_dataset(cfg, seed):
    def rows():
        graphs = list(molecules(cfg, seed))
        for k in range(0, len(graphs), cfg.batch):
            yield collate(graphs[k:k + cfg.batch], cfg)
    return ds.GeneratorDataset(rows, ["kinds", "positions", "source", "target", "graph", "node_mask", "edge_mask",
                                      "energy"], shuffle=False)


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    network = fill(Network(cfg.data.kinds, **cfg.model), 17)
    optimizer = nn.Adam(network.trainable_params(), nn.polynomial_decay_lr(cfg.train.lr, 0.001, 24, 6, 4, 0.5),
                        weight_decay=cfg.train.weight_decay)
    model = Model(TrainCell(WithLoss(network), optimizer, cfg.train.clip).set_train(), metrics={"mae": MAE()},
                  eval_network=WithEval(network), eval_indexes=[0, 1, 2])
    history, validation = LossHistory(), make_dataset(cfg.data, 6)
    print(f"before: mae {model.eval(validation, dataset_sink_mode=False)['mae']:.4f}")
    model.train(cfg.train.epochs, make_dataset(cfg.data, 5), callbacks=history, dataset_sink_mode=False)
    print("losses:", " ".join(f"{v:.4f}" for v in history.losses))
    print(f"after: mae {model.eval(validation, dataset_sink_mode=False)['mae']:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
