"""Deep Q-learning: a replay buffer, a target network, an environment in NumPy, exploration, double Q-learning.

    python -m pijit --as mindspore examples/programs/agent.py [--mode graph]"""

import random
import sys
from collections import deque, namedtuple

import numpy as np

from toolkit import Registry, arguments, fill, load_config, start

import mindspore as ms
from mindspore import Tensor, nn, ops

CONFIG = """
env:
  type: Corridor
  length: 6
agent:
  type: DoubleQ
  hidden: 24
  gamma: 0.9
  lr: 0.01
  tau: 0.1
buffer:
  size: 200
  batch: 16
  warm_up: 32
run:
  episodes: 14
  limit: 20
  epsilon: 0.9
  decay: 0.85
"""

ENVIRONMENTS, AGENTS = Registry("environment"), Registry("agent")
Transition = namedtuple("Transition", ["state", "action", "reward", "following", "done"])


@ENVIRONMENTS.register()
class Corridor:
    """Left, right, wait; the goal is at the end, and a step costs something."""

    actions = 3

    def __init__(self, length):
        self.length, self.at = length, 0

    @property
    def state_size(self):
        return self.length + 1

    def observe(self):
        state = np.zeros(self.state_size, np.float32)
        state[self.at], state[-1] = 1.0, self.at / self.length
        return state

    def reset(self):
        self.at = 0
        return self.observe()

    def step(self, action):
        self.at = min(max(self.at + (-1, 1, 0)[action], 0), self.length - 1)
        done = self.at == self.length - 1
        return self.observe(), (1.0 if done else -0.05), done


class ReplayBuffer:
    def __init__(self, size, seed):
        self.rows, self.random = deque(maxlen=size), random.Random(seed)

    def __len__(self):
        return len(self.rows)

    def add(self, *transition):
        self.rows.append(Transition(*transition))

    def sample(self, count):
        batch = Transition(*zip(*self.random.sample(list(self.rows), count)))
        return (Tensor(np.stack(batch.state)), Tensor(np.array(batch.action, np.int32)),
                Tensor(np.array(batch.reward, np.float32)), Tensor(np.stack(batch.following)),
                Tensor(np.array(batch.done, np.float32)))


class DuelingNet(nn.Cell):
    def __init__(self, inputs, hidden, actions):
        super().__init__()
        self.body = nn.SequentialCell(nn.Dense(inputs, hidden, activation="relu"),
                                      nn.Dense(hidden, hidden, activation=nn.Tanh()))
        self.value, self.advantage = nn.Dense(hidden, 1), nn.Dense(hidden, actions)

    def construct(self, x):
        h = self.body(x)
        advantage = self.advantage(h)
        return self.value(h) + advantage - advantage.mean(-1, True)


class QLoss(nn.Cell):
    """The temporal difference by double Q-learning."""

    def __init__(self, online, target, gamma):
        super().__init__(auto_prefix=False)
        self.online, self.target, self.gamma = online, target, gamma
        self.huber = nn.HuberLoss(delta=1.0)
        self.gather = ops.GatherD()

    def construct(self, state, action, reward, following, done):
        found = self.gather(self.online(state), 1, action.expand_dims(1)).squeeze(1)
        best = self.online(following).argmax(1).astype(ms.int32)
        after = self.gather(self.target(following), 1, best.expand_dims(1)).squeeze(1)
        wanted = ops.stop_gradient(reward + self.gamma * after * (1 - done))
        return self.huber(found, wanted), (found - wanted).abs().max()


class SoftUpdate(nn.Cell):
    def __init__(self, source, target, tau):
        super().__init__(auto_prefix=False)
        self.tau = tau
        self.source, self.target = (ms.ParameterTuple(source.trainable_params()),
                                    ms.ParameterTuple(target.trainable_params()))
        self.assign = ops.Assign()

    def construct(self):
        for new, old in zip(self.source, self.target):
            self.assign(old, self.tau * new + (1 - self.tau) * old)
        return True


@AGENTS.register()
class DoubleQ:
    def __init__(self, state_size, actions, hidden, gamma, lr, tau, seed=0):
        self.online = fill(DuelingNet(state_size, hidden, actions), 1, 1.4)
        self.target = fill(DuelingNet(state_size, hidden, actions), 1, 1.4)
        self.target.set_grad(False)
        for p in self.target.get_parameters():
            p.name = "target." + p.name
        self.actions, self.random = actions, np.random.RandomState(seed)
        loss = QLoss(self.online, self.target, gamma)
        optimizer = nn.RMSProp(self.online.trainable_params(), lr, decay=0.95, centered=True)
        gradient = ms.value_and_grad(loss, None, optimizer.parameters, has_aux=True)
        update = SoftUpdate(self.online, self.target, tau)

        def learn(*batch):
            (value, worst), grads = gradient(*batch)
            value = ops.depend(value, optimizer(grads))
            value = ops.depend(value, update())
            return value, worst
        self.learn = learn

    def act(self, state, epsilon):
        if self.random.rand() < epsilon:
            return int(self.random.randint(self.actions))
        return int(self.online(Tensor(state[None])).argmax(1).asnumpy()[0])


def episode(env, agent, buffer, cfg, epsilon, losses):
    state, total = env.reset(), 0.0
    for count in range(1, cfg.run.limit + 1):
        action = agent.act(state, epsilon)
        following, reward, done = env.step(action)
        buffer.add(state, action, reward, following, float(done))
        state, total = following, total + reward
        if len(buffer) >= cfg.buffer.warm_up:
            loss, worst = agent.learn(*buffer.sample(cfg.buffer.batch))
            losses.append((float(loss.asnumpy()), float(worst.asnumpy())))
        if done:
            break
    return count, total


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    env = ENVIRONMENTS.build(cfg.env)
    agent = AGENTS.build(cfg.agent, state_size=env.state_size, actions=env.actions, seed=4)
    buffer, losses, epsilon = ReplayBuffer(cfg.buffer.size, 5), [], cfg.run.epsilon
    for k in range(cfg.run.episodes):
        count, total = episode(env, agent, buffer, cfg, epsilon, losses)
        epsilon *= cfg.run.decay
        print(f"episode {k + 1}: {count} steps, return {total:.2f}")
    print("losses:", " ".join(f"{loss:.4f}" for loss, _ in losses[::12]))
    print("largest:", " ".join(f"{worst:.3f}" for _, worst in losses[::24]))
    values = agent.online(Tensor(np.stack([env.reset()]))).asnumpy()[0]
    print("values at the start:", " ".join(f"{v:.3f}" for v in values))


if __name__ == "__main__":
    main(sys.argv[1:])
