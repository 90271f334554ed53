"""Model, callbacks, checkpoints. Printed texts and the order of events are those of MindSpore 2.7.1."""

import os
import re
import signal

import numpy as np
import pytest

import pijit as ms
from pijit import nn, ops, train
from pijit.train import (BackupAndRestore, Callback, CheckpointConfig, EarlyStopping, History, LambdaCallback,
                         LearningRateScheduler, LossMonitor, Model,
                         ModelCheckpoint, OnRequestExit, ReduceLROnPlateau, RunContext, TimeMonitor)

X = np.arange(24).reshape(8, 3).astype(np.float32) / 10
Y = (np.arange(8) % 2).astype(np.int32)


class Data:
    """What Model needs of a dataset, and no more."""

    def __init__(self, *columns, batch=2):
        self.columns, self.batch, self.begun = columns, batch, 0

    def get_dataset_size(self):
        return len(self.columns[0]) // self.batch

    def create_tuple_iterator(self, num_epochs=-1, do_copy=True):
        self.begun += 1
        for i in range(0, len(self.columns[0]), self.batch):
            yield tuple(ms.Tensor(c[i:i + self.batch]) for c in self.columns)


class Endless:
    """The iterator of MindSpore's datasets: one object for all epochs, each of which ends with StopIteration."""

    def __init__(self, n=8):
        self.n, self.made = n, 0

    def get_dataset_size(self):
        return self.n // 2

    def create_dict_iterator(self, num_epochs=-1, output_numpy=False, do_copy=True):
        self.made += 1
        outer = self

        class It:
            at = 0

            def __iter__(self):
                return self

            def __next__(self):
                i = self.at
                self.at = 0 if i == outer.n else i + 2
                if i == outer.n:
                    raise StopIteration
                return {"data": X[i:i + 2], "label": Y[i:i + 2]}  # arrays are converted
        return It()


def data(n=8):
    return Data(X[:n], Y[:n])


def network():
    return nn.SequentialCell(nn.Dense(3, 4,
                                      weight_init=ms.Tensor(np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32)),
                                      bias_init="zeros"), nn.ReLU(),
                             nn.Dense(4, 2, weight_init=ms.Tensor(np.linspace(1, -1, 8).reshape(2,
                                 4).astype(np.float32)), bias_init="zeros"))


def loss():
    return nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")


def model(lr=.01, **options):
    net = network()
    return Model(net, loss(), nn.Momentum(net.trainable_params(), lr, .9), **options)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=before)


LOSSES = [1.128558, 1.935392, 2.892068, 3.636005, 0.979234, 1.302907, 1.608875, 1.691496]


@pytest.mark.parametrize("make", [data, Endless])
@pytest.mark.parametrize("sink", [False, True])
def test_train_prints_losses(mode, make, sink, capsys):
    m = model()
    d = make()
    assert m.train(2, d, callbacks=[LossMonitor(), TimeMonitor()], dataset_sink_mode=sink) is None
    lines = capsys.readouterr().out.splitlines()
    shown = [re.fullmatch(r"epoch: (\d) step: (\d), loss is (\d\.\d+)", x) for x in lines]
    assert [(int(s[1]), int(s[2])) for s in shown if s] == [(e, s) for e in (1, 2) for s in (1, 2, 3, 4)]
    np.testing.assert_allclose([float(s[3]) for s in shown if s], LOSSES, rtol=1e-5)
    times = [x for x, s in zip(lines, shown) if not s]
    assert len(times) == 2 and lines[4] == times[0]
    assert all(re.fullmatch(r"Train epoch time: \d+\.\d{3} ms, per step time: \d+\.\d{3} ms", x) for x in times)
    assert getattr(d, "made", 1) == 1  # one iterator serves all epochs


def test_a_step_is_one_graph_in_graph_mode():
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        m = model()
        m.train(1, data())
    finally:
        ms.set_context(mode=before)
    step = ms.jit(m.train_network)
    step(ms.Tensor(X[:2]), ms.Tensor(Y[:2]))
    found = ms.explain(step)
    assert len(found.graphs) == 1 and not found.breaks


def test_loss_monitor_over_runs(capsys):
    m, monitor = model(), LossMonitor(3)
    m.train(2, data(), callbacks=monitor)
    m.train(2, data(), callbacks=monitor)
    m.train(2, data(), callbacks=LossMonitor(5))
    m.train(1, data(), callbacks=LossMonitor(0))
    assert (re.findall(r"epoch: (\d) step: (\d)", capsys.readouterr().out) ==
            [("1", "3"), ("2", "2"), ("1", "3"), ("2", "2"), ("2", "1")])

    class Broken(nn.Cell):
        def construct(self, out, label):
            return (out * float("nan")).sum()
    net = network()
    with pytest.raises(ValueError, match="In epoch: 1 step: 1, loss is NAN or INF"):
        Model(net, Broken(), nn.SGD(net.trainable_params())).train(1, data(), callbacks=LossMonitor())


class Recorder(Callback):
    def __init__(self):
        self.events = []
        for name in [n for n in vars(Callback) if n.startswith("on_")]:
            setattr(self, name, lambda run, name=name: self.events.append((name,
                run.original_args().get("cur_epoch_num"), run.original_args().cur_step_num)))

    def __enter__(self):
        self.events.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.events.append(("exit", kind))


def test_order_of_events():
    r = Recorder()
    model(metrics={"acc"}).fit(2, data(4), data(2), callbacks=[r], initial_epoch=1)
    evaluation = [("on_eval_begin", 2, 0), ("on_eval_epoch_begin", 2, 0), ("on_eval_step_begin", 2, 1),
                  ("on_eval_step_end", 2, 1), ("on_eval_epoch_end", 2, 1),
                  ("on_eval_end", 2, 1)]
    assert r.events == ["enter", ("on_train_begin", None, 0), ("on_train_epoch_begin", 2, 0),
                        ("on_train_step_begin", 2, 1), ("on_train_step_end", 2, 1),
                        ("on_train_step_begin", 2, 2), ("on_train_step_end", 2, 2), *evaluation,
                        ("on_train_epoch_end", 2, 2), ("on_train_end", 2, 2), ("exit", None)]


def test_parameters_of_callbacks():
    seen = {}
    m = model()
    m.train(1, data(), callbacks=LambdaCallback(on_train_end=lambda run: seen.update(run.original_args())))
    assert seen["network"] is m.predict_network and seen["train_network"] is m.train_network
    assert {k: seen[k] for k in ("epoch_num", "batch_num", "mode", "parallel_mode", "device_number",
                                 "dataset_sink_mode", "cur_epoch_num", "cur_step_num")} == {
        "epoch_num": 1, "batch_num": 4, "mode": "train", "parallel_mode": "stand_alone", "device_number": 1,
        "dataset_sink_mode": False, "cur_epoch_num": 1,
        "cur_step_num": 4}
    assert isinstance(seen["net_outputs"], ms.Tensor) and len(seen["train_dataset_element"]) == 2
    p = RunContext(train.callback.InternalCallbackParam(a=1)).original_args()
    p.b = 2
    assert p["b"] == 2 and p.a == 1 and p.get("c", 3) == 3
    with pytest.raises(KeyError):
        p.c
    with pytest.raises(TypeError, match="original_args"):
        RunContext(3)


def test_stop_and_exceptions():
    class Stop(Callback):
        def step_end(self, run_context):
            if run_context.original_args().cur_step_num == 3:
                run_context.request_stop()

        def end(self, run_context):
            self.ended = run_context.get_stop_requested(), run_context.original_args().cur_step_num
    s = Stop()
    model().train(2, data(), callbacks=s)
    assert s.ended == (True, 3)
    r = Recorder()

    def fail(run_context):
        raise OSError("no")
    with pytest.raises(OSError, match="no"):
        model().train(1, data(), callbacks=[r, LambdaCallback(on_train_step_end=fail)])
    assert r.events[-1] == ("exit", OSError) and ("on_train_end", 1, 1) not in r.events


def test_fit_evaluates(mode, capsys):
    history = History()
    m = model(metrics={"acc": train.Accuracy(), "loss": train.Loss()})
    m.fit(4, data(), data(4), valid_frequency=2, callbacks=[LossMonitor(4), history, TimeMonitor()])
    out = capsys.readouterr().out
    assert re.findall(r"Eval result: epoch (\d), metrics: {'acc': ([\d.]+), 'loss': ([\d.]+)}", out).__len__() == 2
    assert [x.split(" ")[0] for x in out.splitlines()] == ["epoch:", "Train", "epoch:", "Eval", "Eval", "Train"] * 2
    assert (history.epoch == {"epoch": [1, 2, 3, 4]} and len(history.history["net_output"]) == 4
            and len(history.history["acc"]) == 2)
    assert all(type(v) is float for v in history.history["net_output"])
    again = m.eval(data(4))
    assert again == {k: history.history[k][-1] for k in ("acc", "loss")}
    for frequency, count in (([1, 3], 2), (0, 0), (3, 1)):
        h = History()
        model(metrics={"acc"}).fit(4, data(), data(), valid_frequency=frequency, callbacks=h)
        assert len(h.history.get("acc", [])) == count


def test_eval_networks():
    net = network()

    class Own(nn.Cell):
        def __init__(self):
            super().__init__()
            self.net = net

        def construct(self, x, y):
            return x.sum(), self.net(x), y
    m = Model(net, eval_network=Own(), eval_indexes=[0, 1, 2], metrics={"acc", "loss"})
    assert m.eval(data()) == {"acc": .5, "loss": pytest.approx(6.9)}
    m = Model(net, eval_network=Own(), metrics={"acc": train.Accuracy().set_indexes([1, 2])})
    assert m.eval(data()) == {"acc": .5}
    with pytest.raises(ValueError, match="2 inputs"):
        Model(net, eval_network=Own(), metrics={"acc"}).eval(data())


def test_networks_that_return_their_loss(capsys):
    class WithLoss(nn.Cell):
        def __init__(self):
            super().__init__()
            self.net, self.loss = network(), loss()

        def construct(self, x, y, w):
            return self.loss(self.net(x), y) * w.mean()
    net = WithLoss()
    three = Data(X, Y, np.ones((8, 1), np.float32))
    opt = nn.Momentum(net.trainable_params(), .01, .9)
    Model(net, optimizer=opt).train(1, three, callbacks=LossMonitor(4))
    Model(nn.TrainOneStepCell(net, opt)).train(1, three, callbacks=LossMonitor(4))
    found = re.findall(r"loss is ([\d.]+)", capsys.readouterr().out)
    np.testing.assert_allclose([float(v) for v in found], [LOSSES[3], LOSSES[7]], rtol=1e-5)

    class Pair(nn.Cell):
        def __init__(self):
            super().__init__()
            self.step = nn.TrainOneStepCell(net, opt)

        def construct(self, *inputs):
            out = self.step(*inputs)
            return out, out * 2
    Model(Pair()).train(1, three, callbacks=LossMonitor(4))
    assert re.fullmatch(r"epoch: 1 step: 4, loss is 0\.\d{6,9}\n", capsys.readouterr().out)


def test_predict():
    net = network()
    m = Model(net)
    net.set_train()
    out = m.predict(ms.Tensor(X[:2]))
    assert out.shape == (2, 2) and not net.training
    with pytest.raises(TypeError, match="ndarray"):
        m.predict(X)
    with pytest.raises(RuntimeError, match="semi_auto_parallel"):
        m.infer_predict_layout(ms.Tensor(X))


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "auto"])
def test_amp_levels(mode, level):
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dense(18, 2))
    images = Data(np.random.RandomState(0).rand(8, 1, 3, 3).astype(np.float32), Y)
    h = History()
    m = Model(net, loss(), nn.Momentum(net.trainable_params(), .05, .9), metrics={"loss"}, amp_level=level)
    assert type(m.train_network) is (nn.TrainOneStepWithLossScaleCell if level == "O2" else nn.TrainOneStepCell)
    m.fit(6, images, images, callbacks=h)
    assert all(p.dtype == ms.float32 for p in net.get_parameters())
    assert m.predict(ms.Tensor(images.columns[0])).dtype == (ms.float16 if level in ("O2", "O3") else ms.float32)
    assert h.history["loss"][-1] < h.history["loss"][0]


def test_loss_scale_managers(mode):
    scales = []

    def see(run):
        outputs = run.original_args().net_outputs
        scales.append(float(outputs[2].asnumpy()))
    manager = ms.amp.DynamicLossScaleManager(1024, 2, 3)
    model(loss_scale_manager=manager).train(2, data(), callbacks=LambdaCallback(on_train_step_end=see))
    assert scales == [1024, 1024, 1024, 2048, 2048, 2048, 4096, 4096]
    assert manager.get_loss_scale() == 4096
    assert (type(model(loss_scale_manager=ms.amp.FixedLossScaleManager(128.,
        True)).train_network) is nn.TrainOneStepWithLossScaleCell)
    m = model(loss_scale_manager=ms.amp.FixedLossScaleManager(128., False))
    assert type(m.train_network) is nn.TrainOneStepCell and m.train_network.sens == 128


ERRORS = [
    (lambda m: m.train(1, [1, 2]), AttributeError, "get_dataset_size|create_tuple_iterator"),
    (lambda m: m.train(0, data()), ValueError, "epoch"),
    (lambda m: m.train("1", data()), TypeError, "epoch"),
    (lambda m: m.train(1, data(), callbacks=3), TypeError, "callbacks"),
    (lambda m: m.train(2, data(), initial_epoch=2), ValueError, "initial_epoch"),
    (lambda m: m.train(1, data(), dataset_sink_mode=3), TypeError, "dataset_sink_mode"),
    (lambda m: m.train(1, data(), sink_size=0), ValueError, "sink_size"),
    (lambda m: m.train(1, Data(X, X, Y)), ValueError, "two elements"),
    (lambda m: m.train(1, Data(X[:0], Y[:0])), RuntimeError, "no batch"),
    (lambda m: m.eval(data()), ValueError, "metrics"),
    (lambda m: m.fit(1, data(), data()), ValueError, "metrics"),
    (lambda m: m.fit(1, data(), valid_frequency=-1), ValueError, "valid_frequency"),
    (lambda m: m.fit(1, data(), valid_frequency=[1, "a"]), TypeError, "valid_frequency"),
    (lambda m: m.fit(1, data(), callbacks=type("Old", (Callback,), {"step_end": lambda self, run: None})()), ValueError,
     "step_end"),
    (lambda m: m.build(data()), RuntimeError, "build"),
    (lambda m: Model(3), TypeError, "network"),
    (lambda m: Model(network(), 3), TypeError, "loss_fn"),
    (lambda m: Model(network(), loss(), 3), TypeError, "optimizer"),
    (lambda m: model(amp_level="O9"), ValueError, "O9"),
    (lambda m: model(boost_level="O9"), ValueError, "boost_level"),
    (lambda m: model(foo=3), ValueError, "foo"),
    (lambda m: model(loss_scale_manager=3), TypeError, "loss_scale_manager"),
    (lambda m: model(metrics=["x"]), TypeError, "metrics"),
    (lambda m: Model(network(), metrics={"acc"}), ValueError, "loss_fn"),
    (lambda m: Model(network(), eval_network=network(), eval_indexes=[1, 2]), ValueError, "eval_indexes"),
    (lambda m: LossMonitor(-1), ValueError, "per_print_times"),
    (lambda m: LossMonitor(1.5), TypeError, "per_print_times"),
    (lambda m: TimeMonitor(-1), ValueError, "data_size"),
    (lambda m: EarlyStopping(mode="x"), ValueError, "mode"),
    (lambda m: EarlyStopping(patience=1.5), TypeError, "patience"),
    (lambda m: ReduceLROnPlateau(factor=1), TypeError, "factor"),
    (lambda m: ReduceLROnPlateau(factor=1.5), ValueError, "factor"),
    (lambda m: LearningRateScheduler(3), TypeError, "learning_rate_function"),
    (lambda m: LambdaCallback(on_train_begin=3), TypeError, "on_train_begin"),
    (lambda m: BackupAndRestore("bk", save_freq="x"), TypeError, "save_freq"),
    (lambda m: OnRequestExit(sig=signal.SIGINT), ValueError, "SIGINT"),
    (lambda m: CheckpointConfig(0, 0, 0, 0), ValueError, "save_checkpoint_steps"),
    (lambda m: CheckpointConfig(True), TypeError, "save_checkpoint_steps"),
    (lambda m: CheckpointConfig(append_info=["x"]), ValueError, "append_info"),
    (lambda m: CheckpointConfig(enc_key=b"a"), ValueError, "enc_key"),
    (lambda m: ModelCheckpoint("a/b"), ValueError, "prefix"),
    (lambda m: ModelCheckpoint("a", config=3), TypeError, "config"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, kind, text = ERRORS[case]
    with pytest.raises(kind, match=text):
        call(model())


class Given(train.Metric):
    """A metric with these values, one per evaluation."""

    def __init__(self, values):
        super().__init__()
        self.values = iter(values)

    def clear(self):
        pass

    def update(self, *inputs):
        pass

    def eval(self):
        return next(self.values)


def run_with(callback, values, name="err", lr=.01):
    """Training that is evaluated to the values. Gives the learning rate after each epoch, and the sum of a weight."""
    seen = []
    m = model(lr, metrics={name: Given(values)})

    def see(run):
        p = run.original_args()
        seen.append((round(float(p.optimizer.learning_rate.asnumpy()), 9), float(p.network[0].weight.asnumpy().sum())))
    m.fit(len(values), data(), data(), callbacks=[callback, LambdaCallback(on_train_epoch_end=see)])
    return seen


def test_early_stopping(capsys):
    values = [1., .9, .95, .96, .97, .98, .5]
    e = EarlyStopping("err", mode="min", patience=2, verbose=True)
    assert len(run_with(e, values)) == e.stopped_epoch == 4 and e.best == .9
    assert capsys.readouterr().out == "Epoch 00004: early stopping\n"
    e = EarlyStopping("err", mode="min", patience=2, verbose=True, restore_best_weights=True)
    seen = run_with(e, values)
    assert seen[3] == seen[1]
    assert (capsys.readouterr().out ==
            "Restoring model weights from the end of the best epoch.\nEpoch 00004: early stopping\n")
    assert len(run_with(EarlyStopping("acc", patience=1), [.1, .2, .2, .1], "acc")) == 3
    assert len(run_with(EarlyStopping("err", mode="max", patience=1, min_delta=.1), [.1, .15, .3])) == 2
    assert len(run_with(EarlyStopping("err", mode="min", baseline=.2, patience=2), [1., .9, .8])) == 2
    assert len(run_with(EarlyStopping("err", mode="min"), [1., .9])) == 1  # patience 0
    assert len(run_with(EarlyStopping("nothing there", patience=1), [1., .9])) == 2
    e = EarlyStopping(patience=5)
    run_with(e, [1.], "acc")
    assert e.best == pytest.approx(3.116366, rel=1e-5)  # the loss of the evaluation's last batch


def test_reduce_lr_on_plateau(capsys):
    seen = run_with(ReduceLROnPlateau("err", patience=1, verbose=True, factor=.5, mode="min"),
                    [1., .9, .95, .96, .97, .5])
    assert [s[0] for s in seen] == [.01, .01, .005, .0025, .00125, .00125]
    assert capsys.readouterr().out == ("Epoch 00003: ReduceLROnPlateau reducing learning rate to 0.005.\n"
                                       "Epoch 00004: ReduceLROnPlateau reducing learning rate to 0.0025.\n"
                                       "Epoch 00005: ReduceLROnPlateau reducing learning rate to 0.00125.\n")
    seen = run_with(ReduceLROnPlateau("err", patience=1, factor=.5, cooldown=2, min_lr=.004, mode="min"), [1.] * 8)
    assert [s[0] for s in seen] == [.01, .005, .005, .004, .004, .004, .004, .004]
    for lr in ([.01] * 9, nn.CosineDecayLR(0., .01, 10)):
        with pytest.raises(ValueError, match="learning rate"):
            model(lr, metrics={"acc"}).fit(1, data(), data(), callbacks=ReduceLROnPlateau())
    seen = run_with(LearningRateScheduler(lambda lr, step: lr * .5 if step % 4 == 0 else lr), [1., 1.])
    assert [s[0] for s in seen] == [.005, .0025]


def test_rates_changed_by_callbacks_reach_graphs():
    """A captured step reads the rate that a callback has assigned."""
    results = []
    for m in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        before = ms.get_context("mode")
        ms.set_context(mode=m)
        results.append(run_with(LearningRateScheduler(lambda lr, step: .01 / step), [1., 1.]))
        ms.set_context(mode=before)
    assert results[0] == results[1]


def files(folder):
    return sorted(os.listdir(folder))


def test_model_checkpoint(tmp_path):
    folder = str(tmp_path / "ck")

    def saved(prefix="net", epochs=2, **options):
        for f in files(folder) if os.path.isdir(folder) else ():
            os.remove(os.path.join(folder, f))
        c = ModelCheckpoint(prefix, folder, CheckpointConfig(**options))
        model().train(epochs, data(), callbacks=c)
        return c
    c = saved(save_checkpoint_steps=3, keep_checkpoint_max=2)
    assert (files(folder) == ["net-2_2.ckpt", "net-2_4.ckpt"]
            and c.latest_ckpt_file_name == os.path.join(folder, "net-2_4.ckpt"))
    found = ms.load_checkpoint(c.latest_ckpt_file_name)
    assert ({"0.weight", "2.bias", "global_step", "learning_rate", "moments.0.weight"} <= set(found)
            and int(found["global_step"]) == 8)
    saved()
    assert files(folder) == ["net-1_4.ckpt", *[f"net-2_{i}.ckpt" for i in (1, 2, 3, 4)]]
    saved(keep_checkpoint_max=0)
    assert files(folder) == ["net-2_4.ckpt"]
    saved(save_checkpoint_steps=3, async_save=True)
    assert files(folder) == ["net-1_3.ckpt", "net-2_2.ckpt", "net-2_4.ckpt"]
    saved(save_checkpoint_steps=100, format="safetensors")
    assert files(folder) == ["net-2_4.safetensors"]
    saved(lambda p: f"e{p['cur_epoch_num']}s{p['cur_step_num']}", save_checkpoint_steps=3)
    assert files(folder) == ["e1s3.ckpt", "e2s6.ckpt", "e2s8.ckpt"]
    c = saved(append_info=["epoch_num", "step_num", {"lr": .5, "note": "abc"}])
    found = ms.load_checkpoint(c.latest_ckpt_file_name)
    assert ((int(found["epoch_num"]), int(found["step_num"].asnumpy()), float(found["lr"]), found["note"]) ==
            (2, 8, .5, "abc"))
    saved(epochs=1, save_checkpoint_steps=4)
    for i in range(2):
        m, c = model(), ModelCheckpoint("net", folder, CheckpointConfig(save_checkpoint_steps=4))
        m.train(1, data(), callbacks=c)
        m.train(1, data(), callbacks=c)
    assert files(folder) == ["net-1_4.ckpt", "net_1-1_4.ckpt", "net_2-1_4.ckpt"]
    own = network()
    c = saved(saved_network=own)
    assert set(ms.load_checkpoint(c.latest_ckpt_file_name)) == {"0.weight", "0.bias", "2.weight", "2.bias"}

    def fail(run):
        if run.original_args().cur_step_num == 3:
            raise OSError("no")
    for f in files(folder):
        os.remove(os.path.join(folder, f))
    with pytest.raises(OSError):
        model().train(1, data(),
                      callbacks=[ModelCheckpoint("net", folder, CheckpointConfig(40, exception_save=True)),
                                 LambdaCallback(on_train_step_end=fail)])
    assert files(folder) == ["net-1_3_breakpoint.ckpt"]


def test_checkpoints_by_the_clock(tmp_path, monkeypatch):
    """Each step takes 20 s: a file every 30 s; of the files of each minute one is kept."""
    from pijit.train.callback import _checkpoint
    now = [1000.]
    monkeypatch.setattr(_checkpoint.time, "time", lambda: now[0])

    def step(run):
        now[0] += 20
    clock = LambdaCallback(on_train_step_begin=step)
    folder = str(tmp_path / "seconds")
    model().train(2, data(),
                  callbacks=[clock, ModelCheckpoint("s", folder,
                                                    CheckpointConfig(save_checkpoint_steps=0,
                                                        save_checkpoint_seconds=30))])
    assert files(folder) == ["s-1_2.ckpt", "s-1_4.ckpt", "s-2_2.ckpt", "s-2_4.ckpt"]
    folder = str(tmp_path / "minutes")
    config = CheckpointConfig(keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1)
    model().train(2, data(), callbacks=[clock, ModelCheckpoint("m", folder, config)])
    assert len(files(folder)) == 3 and files(folder)[-1] == "m-2_4.ckpt"


OPTIMIZERS = {
    "momentum": lambda p: nn.Momentum(p, .01, .9, weight_decay=.01),
    "adam": lambda p: nn.Adam(p, nn.CosineDecayLR(.001, .05, 16)),
    "adamw": lambda p: nn.AdamWeightDecay(p, [.05 / (1 + i) for i in range(16)], weight_decay=.1),
    "sgd": lambda p: nn.SGD(p, nn.exponential_decay_lr(.05, .9, 16, 4, 1), momentum=.9, nesterov=True),
    "rmsprop": lambda p: nn.RMSProp(p, .01, centered=True),
    "lamb": lambda p: nn.Lamb(p, .01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_resumed_training_has_the_same_bits(mode, name, tmp_path):
    def build():
        net = network()
        return Model(net, loss(), OPTIMIZERS[name](net.trainable_params()))

    def losses(m, **options):
        seen = []
        m.train(callbacks=[
            LambdaCallback(
                on_train_step_end=lambda run: seen.append(run.original_args().net_outputs.asnumpy().tobytes())),
                *options.pop("more", ())], **options)
        return seen
    whole = losses(build(), epoch=4, train_dataset=data())
    first = build()
    c = ModelCheckpoint("part", str(tmp_path), CheckpointConfig(save_checkpoint_steps=4, append_info=["epoch_num"]))
    begun = losses(first, epoch=2, train_dataset=data(), more=[c])
    second = build()
    found = ms.load_checkpoint(c.latest_ckpt_file_name)
    assert ms.load_param_into_net(second.train_network, found) == ([], ["epoch_num"])
    rest = losses(second, epoch=4, train_dataset=data(), initial_epoch=int(found["epoch_num"]))
    assert begun + rest == whole


def test_backup_and_restore(tmp_path):
    folder = str(tmp_path / "bk")
    m = model()
    m.train(2, data(), callbacks=BackupAndRestore(folder))
    assert files(folder) == []  # removed at the end
    m.train(2, data(), callbacks=BackupAndRestore(folder, save_freq=2, delete_checkpoint=False))
    assert files(folder) == ["backup.ckpt"]
    other, seen = model(), []
    weights = [p.asnumpy() for p in m.train_network.get_parameters()]
    other.train(1, data(),
                callbacks=[BackupAndRestore(folder),
                           LambdaCallback(on_train_begin=lambda run: seen.append([p.asnumpy()
                               for p in run.original_args().train_network.get_parameters()]))])
    assert all(np.array_equal(a, b) for a, b in zip(seen[0], weights))


def test_on_request_exit(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def step(run):
        seen.append(run.original_args().cur_step_num)
        if len(seen) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
    model().train(2, data(),
                  callbacks=[LambdaCallback(on_train_step_begin=step),
                             OnRequestExit(file_name="net", directory=str(tmp_path))])
    assert seen == [1, 2] and files(tmp_path) == ["net_train.ckpt"] and signal.getsignal(signal.SIGTERM) is before
    (tmp_path / "config.json").write_text('{"GracefulExit": 1}')
    h = History()
    model(metrics={"acc"}).fit(3, data(), data(),
                               callbacks=[h, OnRequestExit(False, config_file=str(tmp_path / "config.json"),
                                                           directory=str(tmp_path))])
    assert h.epoch == {"epoch": [1]}
    (tmp_path / "config.json").write_text("{bad")
    model().train(1, data(),
                  callbacks=OnRequestExit(False, config_file=str(tmp_path / "config.json"), directory=str(tmp_path)))


# -- checkpoints
# ---------------------------------------------------------------------------------------------------------------
def test_appended_values_and_names(tmp_path):
    path = str(tmp_path / "a.ckpt")
    net = network()
    ms.save_checkpoint(net, path,
                       append_dict={"epoch": 3, "lr": .5, "flag": True, "name": "abc", "t": ms.Tensor([1., 2.])})
    d = ms.load_checkpoint(path)
    assert list(d)[:4] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert (d["epoch"].dtype, d["lr"].dtype, d["flag"].dtype, d["name"]) == (ms.int64, ms.float32, ms.bool_, "abc")
    assert ms.load_param_into_net(net, d) == ([], ["epoch", "lr", "flag", "name", "t"])
    for bad in (None, [1], {"a": 1}, np.float32(1), 2 ** 70):
        with pytest.raises((TypeError, ValueError), match="'e'|append_dict"):
            ms.save_checkpoint(net, path, append_dict={"e": bad})
    assert (ms.load_param_into_net(net, {"pre.0.bias": ms.Parameter(np.ones(4, np.float32))}) ==
            (["0.weight", "2.weight", "2.bias"], ["pre.0.bias"]))
    assert float(net[0].bias.asnumpy()[0]) == 1
    assert (len(ms.load_param_into_net(net, {"pre.0.bias": ms.Parameter(np.zeros(4, np.float32))},
                                       strict_load=True)[0]) == 4)
    for bad in ({"a": 3}, 3):
        with pytest.raises(TypeError, match="parameter_dict"):
            ms.load_param_into_net(net, bad)


def test_checkpoint_files(tmp_path):
    net = network()
    for name, form, expected in (("b", "ckpt", "b.ckpt"), ("b.x", "ckpt", "b.x.ckpt"),
                                 ("c", "safetensors", "c.safetensors"),
                                 ("d.ckpt", "safetensors", "d.ckpt.safetensors")):
        ms.save_checkpoint(net, str(tmp_path / name), format=form)
        assert expected in files(tmp_path)
    assert (list(ms.load_checkpoint(str(tmp_path / "c.safetensors"), format="safetensors")) ==
            ["0.weight", "0.bias", "2.weight", "2.bias"])
    for options in (dict(format="ckpt"), dict(format="x")):
        with pytest.raises(ValueError, match="format"):
            ms.load_checkpoint(str(tmp_path / "c.safetensors"), **options)
    path = str(tmp_path / "b.ckpt")
    assert list(ms.load_checkpoint(path, filter_prefix="0.w")) == ["0.bias", "2.weight", "2.bias"]
    assert list(ms.load_checkpoint(path, specify_prefix=["0.w", "2.b"])) == ["0.weight", "2.bias"]
    assert list(ms.load_checkpoint(path, choice_func=lambda n: "bias" in n)) == ["0.bias", "2.bias"]
    with pytest.raises(TypeError, match="filter_prefix"):
        ms.load_checkpoint(path, filter_prefix=3)
    with pytest.raises(ValueError, match="left"):
        ms.load_checkpoint(path, filter_prefix=["0", "2"])
    with pytest.raises(FileNotFoundError):
        ms.save_checkpoint(net, str(tmp_path / "none" / "b.ckpt"))
    with pytest.raises(FileNotFoundError):
        ms.save_checkpoint(net, str(tmp_path / "none" / "b.ckpt"), async_save=True)
    for bad in ([{"name": "a", "data": 3}], [{"name": "a"}], 3, {"a": 3}):
        with pytest.raises(TypeError, match="save_obj"):
            ms.save_checkpoint(bad, path)
    ms.save_checkpoint(net, path, async_save="thread")
    net[0].bias.set_data(ms.Tensor(np.ones(4, np.float32)))  # what was saved are the values of before
    assert not ms.load_checkpoint(path)["0.bias"].asnumpy().any() and not ms.async_ckpt_thread_status()
    assert list(ms.load_checkpoint_async(path).result()) == list(ms.load_checkpoint(path))
    ms.ckpt_to_safetensors(path, str(tmp_path / "out"), name_map={"0.bias": "first"})
    ms.safetensors_to_ckpt(str(tmp_path / "out"), file_name_regex="^b")
    assert files(tmp_path / "out") == ["b.ckpt", "b.safetensors"]
    assert "first" in ms.load_checkpoint(str(tmp_path / "out" / "b.ckpt"))


def test_files_of_mindspore(tmp_path):
    """A file that MindSpore wrote, byte by byte; and what is broken in one."""
    path = str(tmp_path / "a.ckpt")
    values = {"f": ms.Tensor([[0., 1.]], ms.float32), "h": ms.Tensor([1.], ms.bfloat16), "i": ms.Tensor(-2, ms.int64),
              "b": ms.Tensor([True, False])}
    ms.save_checkpoint(values, path, append_dict={"s": "ab"})
    raw = (b"\x0a\x1c\x0a\x01f\x12\x17\x08\x01\x08\x02\x12\x07Float32\x1a\x08\x00\x00\x00\x00\x00\x00\x80?"
           b"\x0a\x15\x0a\x01h\x12\x10\x08\x01\x12\x08BFloat16\x1a\x02\x80?"
           b"\x0a\x16\x0a\x01i\x12\x11\x12\x05Int64\x1a\x08\xfe\xff\xff\xff\xff\xff\xff\xff"
           b"\x0a\x11\x0a\x01b\x12\x0c\x08\x02\x12\x04Bool\x1a\x02\x01\x00"
           b"\x0a\x16\x0a\x01s\x12\x11\x08\x00\x12\x03str\x1a\x08a\x00\x00\x00b\x00\x00\x00")
    written = open(path, "rb").read()
    assert written == raw
    found = ms.load_checkpoint(path)
    assert (found["s"] == "ab"
            and all(found[k].dtype == v.dtype and np.array_equal(found[k].asnumpy(), v.asnumpy())
                    for k, v in values.items()))
    ms.save_checkpoint(values, path, crc_check=True)
    checked = open(path, "rb").read()
    assert (checked[:-17] + written[len(checked) - 17:] == raw
            and set(ms.load_checkpoint(path, crc_check=True)) == set(values))
    changed = bytearray(checked)
    changed[30] ^= 1
    open(path, "wb").write(changed)
    with pytest.raises(ValueError, match="checksum"):
        ms.load_checkpoint(path, crc_check=True)
    # parts of one content
    part = lambda data: b"\x0a\x18\x0a\x01f\x12\x13\x08\x02\x12\x07Float32\x1a\x04" + data + b"\x22\x00"
    open(path, "wb").write(part(b"\x00\x00\x00\x00") + part(b"\x00\x00\x80?"))
    assert ms.load_checkpoint(path)["f"].asnumpy().tolist() == [0, 1]
    rng = np.random.RandomState(0)
    for i in range(600):  # loads, or says that it can't
        broken = bytearray(raw)
        for _ in range(rng.randint(1, 4)):
            broken[rng.randint(len(broken))] = rng.randint(256)
        open(path, "wb").write(broken if i % 2 else bytes(broken)[:rng.randint(len(broken))])
        try:
            ms.load_checkpoint(path)
        except ValueError:
            pass


def test_parameters_that_share_a_name_are_kept_apart(tmp_path):
    class Two(nn.Cell):
        def __init__(self):
            super().__init__(auto_prefix=False)
            self.a, self.b = nn.Dense(2, 2), nn.Dense(2, 2)
    net, other = Two(), Two()
    ms.save_checkpoint(net, str(tmp_path / "a.ckpt"))
    assert ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "a.ckpt"))) == ([], [])
    assert all(np.array_equal(p.asnumpy(), q.asnumpy()) for p, q in zip(net.get_parameters(), other.get_parameters()))


# -- cells around networks
# -------------------------------------------------------------------------------------------------
def test_own_training_steps(mode):
    """Steps as programs define them on top of TrainOneStepCell."""
    class Clipped(nn.TrainOneStepCell):
        def __init__(self, net, opt, sens=1.0):
            super().__init__(net, opt, sens)
            self.cast = ops.cast

        def construct(self, x, y):
            value = self.network(x, y)
            sens = ops.fill(value.dtype, value.shape, self.sens)
            grads = self.grad(self.network, self.weights)(x, y, sens)
            grads = ops.clip_by_global_norm(grads, 1.0)
            grads = self.grad_reducer(grads)
            return ops.depend(value, self.optimizer(grads))
    net = network()
    step = Clipped(nn.WithLossCell(net, loss()), nn.SGD(net.trainable_params(), .1))
    first = [float(step(ms.Tensor(X[:4]), ms.Tensor(Y[:4])).asnumpy()) for _ in range(5)]
    assert first[-1] < first[0]

    class Scaled(nn.TrainOneStepWithLossScaleCell):
        def construct(self, *inputs):
            value = self.network(*inputs)
            scale = self.scale_sense
            status, scale = self.start_overflow_check(value, scale)
            grads = self.grad(self.network, self.weights)(*inputs, ops.ones_like(value) * ops.cast(scale, value.dtype))
            grads = self.hyper_map(lambda g: g / scale, grads)
            overflow = self.process_loss_scale(self.get_overflow_status(status, grads))
            self.optimizer(grads)
            return value, overflow, scale
    a, b = network(), network()
    one = Scaled(nn.WithLossCell(a, loss()), nn.SGD(a.trainable_params(), .1),
                 nn.DynamicLossScaleUpdateCell(8., 2, 100))
    two = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(b, loss()), nn.SGD(b.trainable_params(), .1),
                                           ms.Tensor(8., ms.float32))
    for _ in range(3):
        p, q = one(ms.Tensor(X[:4]), ms.Tensor(Y[:4])), two(ms.Tensor(X[:4]), ms.Tensor(Y[:4]))
        assert float(p[0].asnumpy()) == float(q[0].asnumpy()) and not bool(p[1].asnumpy())
    two.set_sense_scale(ms.Tensor(4., ms.float32))
    assert float(two.scale_sense.asnumpy()) == 4


def test_gradient_accumulation(mode):
    """Parts of a batch, one after the other, give the gradients of the whole; and by hand over several steps."""
    inputs = ms.Tensor(X), ms.Tensor(Y)
    grads = []
    for wrap in (lambda n: n, lambda n: nn.GradAccumulationCell(n, 4), lambda n: nn.PipelineCell(n, 2),
                 nn.MicroBatchInterleaved):
        net = network()
        value, g = ms.value_and_grad(wrap(nn.WithLossCell(net, loss())), None, net.trainable_params())(*inputs)
        grads.append([value.asnumpy(), *[v.asnumpy() for v in g]])
    for other in grads[1:]:
        for a, b in zip(grads[0], other):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="divisible"):
        nn.GradAccumulationCell(nn.WithLossCell(network(), loss()), 3)(*inputs)
    with pytest.raises(TypeError, match="network"):
        nn.PipelineCell(3, 2)

    if mode == ms.GRAPH_MODE:
        return  # an optimizer's assignments in a branch on a Tensor

    class Accumulating(nn.Cell):
        """An optimizer step after every second batch."""

        def __init__(self, net, opt):
            super().__init__(auto_prefix=False)
            self.net, self.opt, self.weights = net, opt, opt.parameters
            self.sums = self.weights.clone("sums", "zeros")
            self.count = ms.Parameter(ms.Tensor(0, ms.int32), name="count", requires_grad=False)
            self.grad_fn = ms.value_and_grad(net, None, self.weights)

        def construct(self, x, y):
            value, grads = self.grad_fn(x, y)
            for s, g in zip(self.sums, grads):
                ops.assign_add(s, g / 2)
            ops.assign_add(self.count, ms.Tensor(1, ms.int32))
            if self.count % 2 == 0:
                self.opt(self.sums)
                for s in self.sums:
                    ops.assign(s, ops.zeros_like(s))
            return value
    a, b = network(), network()
    step = Accumulating(nn.WithLossCell(a, loss()), nn.SGD(a.trainable_params(), .1))
    whole = nn.TrainOneStepCell(nn.WithLossCell(b, loss()), nn.SGD(b.trainable_params(), .1))
    for i in range(2):
        step(ms.Tensor(X[:4]), ms.Tensor(Y[:4]))
        step(ms.Tensor(X[4:]), ms.Tensor(Y[4:]))
        whole(*inputs)
    for p, q in zip(a.get_parameters(), b.get_parameters()):
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=1e-5, atol=1e-6)


def test_freezing_sharing_and_averages(mode, tmp_path):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.head = nn.Dense(3, 3), nn.Dense(3, 3), nn.Dense(3, 2)
            self.second.weight = self.first.weight  # one parameter, two places

        def construct(self, x):
            return self.head(ops.relu(self.second(ops.relu(self.first(x)))))
    ms.set_seed(2)
    net = Net()
    assert len(net.trainable_params()) == 5
    net.head.weight.requires_grad = False
    frozen = net.head.weight.asnumpy()
    opt = nn.Adam(net.trainable_params(), .01)
    assert len(opt.parameters) == 4
    average = {p.name: p.asnumpy() for p in net.trainable_params()}

    class Average(Callback):
        def on_train_step_end(self, run_context):
            for p in run_context.original_args().network.trainable_params():
                average[p.name] = average[p.name] * .9 + p.asnumpy() * .1
    Model(net, loss(), opt).train(2, data(), callbacks=Average())
    assert np.array_equal(net.head.weight.asnumpy(), frozen) and net.first.weight is net.second.weight
    ms.save_checkpoint([{"name": k, "data": ms.Tensor(v)} for k, v in average.items()], str(tmp_path / "ema.ckpt"))
    other = Net()
    assert ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "ema.ckpt"))) == (["head.weight"], [])
    np.testing.assert_array_equal(other.second.weight.asnumpy(), average["first.weight"])


def test_small_cells(mode):
    p = ms.Parameter(ms.Tensor([1., 2.]), name="p")
    update = nn.ParameterUpdate(p)
    update(ms.Tensor([3., 4.]))
    assert p.asnumpy().tolist() == [3, 4]
    with pytest.raises(TypeError, match="param"):
        nn.ParameterUpdate(3)
    grads = (ms.Tensor([2.]),)
    assert nn.DistributedGradReducer([p])(grads) is grads
    assert nn.DistributedGradReducer([p], True, 2)(grads)[0].asnumpy().tolist() == [1]
    with pytest.raises(ValueError, match="degree"):
        nn.DistributedGradReducer([p], True, 0)


# -- summaries
# ---------------------------------------------------------------------------------------------------------------
def events(folder):
    """(tag, step) → value of what is in a folder's event files."""
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event
    found = {}
    for name in files(folder):
        raw = (folder / name).read_bytes()
        while raw:  # length, its checksum, the event, its checksum
            n = int.from_bytes(raw[:8], "little")
            event = Event.FromString(raw[12:12 + n])
            raw = raw[16 + n:]
            for v in event.summary.value:
                found[v.tag, event.step] = (v.simple_value if v.WhichOneof("value") == "simple_value"
                                            else v.WhichOneof("value"))
    return found


def test_summary_record(tmp_path):
    pytest.importorskip("tensorboardX")
    with train.SummaryRecord(str(tmp_path), network=network()) as r:
        assert os.path.dirname(r.log_dir) == str(tmp_path) and os.path.exists(r.log_dir)
        r.add_value("scalar", "loss", ms.Tensor(.5))
        r.add_value("image", "picture", ms.Tensor(np.ones((1, 3, 4, 4), np.float32)))
        r.add_value("histogram", "weights", ms.Tensor([1., 2., float("nan")]))
        assert r.record(1)
        r.set_mode("eval")
        r.add_value("scalar", "loss", ms.Tensor(.25))
        r.add_value("tensor", "left out", ms.Tensor([1.]))
        assert r.record(2, plugin_filter=lambda plugin: plugin == "scalar")
        ops.ScalarSummary()("inner", ms.Tensor(3.))
        assert r.record(3)
        for call, kind, text in ((lambda: r.add_value("foo", "a", ms.Tensor(1.)), ValueError, "plugin"),
                                 (lambda: r.add_value("scalar", 3, ms.Tensor(1.)), ValueError, "name"),
                                 (lambda: r.add_value("scalar", "a", 3.), TypeError, "Tensor"),
                                 (lambda: r.add_value("scalar", "a", ms.Tensor([1., 2.])), ValueError, "one element"),
                                 (lambda: r.add_value("image", "a", ms.Tensor([1.])), ValueError, "image"),
                                 (lambda: r.set_mode("x"), ValueError, "mode"),
                                 (lambda: r.record("a"), TypeError, "step"),
                                 (lambda: r.record(2, 3), TypeError, "train_network")):
            with pytest.raises(kind, match=text):
                call()
    assert r.record(4) is False
    found = events(tmp_path)
    assert found["loss", 1] == .5 and found["eval/loss", 2] == .25 and found["eval/inner", 3] == 3
    assert (any(k[0].startswith("picture") for k in found) and found["weights", 1] == "histo"
            and not any("left out" in k[0] for k in found))
    with pytest.raises(ValueError, match="log_dir"):
        train.SummaryRecord("")


def test_summary_collector(tmp_path):
    pytest.importorskip("tensorboardX")
    m = model([.01 / (1 + i) for i in range(8)], metrics={"acc"})
    m.fit(2, data(), data(), callbacks=train.SummaryCollector(str(tmp_path), 2, custom_lineage_data={"author": "me"}))
    found = events(tmp_path)
    assert {k[1] for k in found if k[0] == "loss/auto"} == {1, 2, 4, 6, 8}
    assert (found["loss/auto", 8] == pytest.approx(float(found["loss/auto", 8]))
            and found["learning_rate/auto", 2] < found["learning_rate/auto", 1])
    assert (found["0.weight/auto", 2] == "histo" and found["eval_acc/auto", 8] == .5
            and any(k[0].startswith("custom/author") for k in found))
    for options, kind in ((dict(collect_freq=0), ValueError), (dict(collect_specified_data={"foo": True}), ValueError),
                          (dict(collect_specified_data={"collect_metric": 3}), TypeError),
                          (dict(custom_lineage_data={3: 1}), TypeError), (dict(max_file_size=0), ValueError)):
        with pytest.raises(kind, match="|".join([next(iter(options)), "collect_metric"])):
            train.SummaryCollector(str(tmp_path), **options)


# -- whole programs
# --------------------------------------------------------------------------------------------------------
def test_pijit_datasets(mode, capsys):
    """Model over a pipeline of pijit.dataset: the losses of the plain batches, in each epoch."""
    from pijit import dataset

    def pipeline(n=8, **options):
        return dataset.NumpySlicesDataset((X[:n], Y[:n]), ["data", "label"], **{"shuffle": False, **options}).batch(2)
    m = model(metrics={"acc"})
    m.train(2, pipeline(), callbacks=[LossMonitor()])
    np.testing.assert_allclose([float(v) for v in re.findall(r"loss is ([\d.]+)", capsys.readouterr().out)], LOSSES,
                               rtol=1e-5)
    assert m.eval(pipeline()) == model_like(m).eval(data())
    m.fit(2, pipeline(shuffle=True), pipeline(4), callbacks=History())
    sink = ms.data_sink(lambda x, y: m.train_network(x, y), pipeline(), 2)
    assert sink().shape == () and sink().shape == () and sink().shape == ()  # begins again after four batches


def model_like(m):
    return Model(m.predict_network, loss(), metrics={"acc"})


STEP = """
import mindspore as ms
import mindspore.nn as nn
from mindspore import context, ops, Tensor, ParameterTuple
from mindspore.communication.management import init, get_rank, get_group_size
from mindspore.context import ParallelMode
from mindspore.nn.wrap.grad_reducer import DistributedGradReducer
from mindspore.ops import composite as C, functional as F, operations as P
from mindspore.train.callback import Callback, LossMonitor, TimeMonitor, ModelCheckpoint, CheckpointConfig
from mindspore.train.model import Model
from mindspore.train.serialization import load_checkpoint, load_param_into_net, save_checkpoint, export
from mindspore.train.loss_scale_manager import FixedLossScaleManager
from mindspore.nn.metrics import Accuracy
from mindspore.parallel._utils import _get_device_num
import numpy as np

context.set_context(mode=context.GRAPH_MODE, device_target="CPU")
init()
context.reset_auto_parallel_context()
context.set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True,
                                  device_num=get_group_size())
assert (get_rank(), _get_device_num()) == (0, 1)


class Step(nn.Cell):
    def __init__(self, network, optimizer, sens=1.0):
        super(Step, self).__init__(auto_prefix=False)
        self.network = network
        self.network.set_grad()
        self.weights = ParameterTuple(optimizer.parameters)
        self.optimizer = optimizer
        self.grad = C.GradOperation(get_by_list=True, sens_param=True)
        self.sens = sens
        self.grad_reducer = None
        self.reducer_flag = (context.get_auto_parallel_context("parallel_mode") in [ParallelMode.DATA_PARALLEL,
            ParallelMode.HYBRID_PARALLEL])
        if self.reducer_flag:
            self.grad_reducer = DistributedGradReducer(optimizer.parameters,
                                                       context.get_auto_parallel_context("gradients_mean"),
                                                       _get_device_num())

    def construct(self, data, label):
        loss = self.network(data, label)
        sens = P.Fill()(P.DType()(loss), P.Shape()(loss), self.sens)
        grads = self.grad(self.network, self.weights)(data, label, sens)
        grads = ops.clip_by_global_norm(grads, 100.0)
        if self.reducer_flag:
            grads = self.grad_reducer(grads)
        return F.depend(loss, self.optimizer(grads))
"""


def test_steps_of_cluster_scripts():
    """What scripts for several devices do around a training step, in one process: imports, contexts, reducers."""
    from pijit import compat, communication
    before, was = ms.get_context("mode"), compat._installed
    compat.install()
    try:
        names = {"__name__": "program"}
        exec(compile(STEP, "program.py", "exec"), names)
        net = network()
        step = names["Step"](nn.WithLossCell(net, loss()), nn.Momentum(net.trainable_params(), .01, .9))
        seen = []
        names["Model"](step).train(2, data(),
                                   callbacks=LambdaCallback(
                                       on_train_step_end=lambda run: seen.append(
                                           float(run.original_args().net_outputs.asnumpy()))))
        np.testing.assert_allclose(seen, LOSSES, rtol=1e-5)
    finally:
        if not was:
            compat.uninstall()
        communication.release()
        ms.reset_auto_parallel_context()
        ms.set_context(mode=before)


def test_export_says_what_to_do(tmp_path):
    with pytest.raises(RuntimeError, match="'AIR'.*write 'MINDIR' or 'ONNX'"):
        ms.export(network(), ms.Tensor(X), file_name=str(tmp_path / "a"), file_format="AIR")
    for other in ("MINDIR_LITE", "GEIR", "onnx", "", None):
        with pytest.raises(ValueError, match="'file_format' must be 'MINDIR', 'AIR' or 'ONNX', but got"):
            ms.export(network(), ms.Tensor(X), file_name=str(tmp_path / "a"), file_format=other)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="does not exist"):
        ms.load(str(tmp_path / "a.mindir"))
    (tmp_path / "b.mindir").write_bytes(b"a protocol buffer")
    pytest.importorskip("google.protobuf")
    with pytest.raises(ValueError, match="no MindIR file"):
        ms.load(str(tmp_path / "b.mindir"))


def test_exported_networks_are_loaded(tmp_path):
    pytest.importorskip("google.protobuf")
    net = nn.SequentialCell(nn.Dense(3, 4, activation="relu"), nn.BatchNorm1d(4), nn.Dense(4, 2)).set_train(False)
    x = ms.Tensor(np.random.RandomState(0).randn(5, 3).astype(np.float32))
    ms.export(net, x, file_name=str(tmp_path / "net"), file_format="MINDIR")
    graph = ms.load(str(tmp_path / "net.mindir"))
    assert graph.inputs == [("float32", (5, 3))]
    cell = nn.GraphCell(graph)
    np.testing.assert_allclose(cell(x).asnumpy(), net(x).asnumpy(), 1e-5, 1e-6)
    np.testing.assert_allclose(ms.jit(cell)(x).asnumpy(), net(x).asnumpy(), 1e-5, 1e-6)
    names = [p.name for p in cell.get_parameters()]
    assert sorted(names) == sorted(p.name for p in net.get_parameters())
    zero = nn.GraphCell(ms.load(str(tmp_path / "net.mindir")),
                        params_init={"2.weight": ms.Tensor(np.zeros((2, 4), np.float32))})
    np.testing.assert_allclose(zero(x).asnumpy(), np.broadcast_to(net[2].bias.asnumpy(), (5, 2)))
    with pytest.raises(KeyError):
        nn.GraphCell(graph, params_init={"nope": x})
