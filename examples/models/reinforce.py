"""REINFORCE with a baseline: the environment is Python, actions are drawn by NumPy from the policy, the update is one
step."""

import numpy as np

from training import make_step, run

import mindspore as ms
from mindspore import Tensor, nn, ops


class Corridor:
    """A walk on 0 … 6 from the middle; the right end pays 1, the left end -1, every step -0.02."""

    size, limit = 7, 16

    def reset(self):
        self.position, self.time = self.size // 2, 0
        return self.observe()

    def observe(self):
        return np.eye(self.size, dtype=np.float32)[self.position]

    def step(self, action):
        self.position += 1 if action else -1
        self.time += 1
        end = self.position in (0, self.size - 1)
        reward = -0.02 + (0.0 if not end else 1.0 if self.position else -1.0)
        return self.observe(), reward, end or self.time >= self.limit


class Policy(nn.Cell):
    def __init__(self, states=Corridor.size, actions=2, hidden=16):
        super().__init__()
        self.body = nn.Dense(states, hidden, activation=nn.Tanh())
        self.policy = nn.Dense(hidden, actions)
        self.value = nn.Dense(hidden, 1)

    def construct(self, state):
        h = self.body(state)
        return ops.log_softmax(self.policy(h), axis=-1), self.value(h).squeeze(-1)


def play(act, env, rng, gamma=0.95):
    """One episode: states, actions and discounted returns, padded to the longest, and which count."""
    state, done = env.reset(), False
    states, actions, rewards = [], [], []
    while not done:
        p = np.exp(act(Tensor(state[None])).asnumpy()[0].astype(np.float64))
        action = int(rng.choice(2, p=p / p.sum()))
        states.append(state)
        actions.append(action)
        state, reward, done = env.step(action)
        rewards.append(reward)
    total, returns = 0.0, []
    for reward in rewards[::-1]:
        total = reward + gamma * total
        returns.insert(0, total)
    more = env.limit - len(states)
    pad = lambda a, dtype: np.array(list(a) + [np.zeros_like(a[0])] * more, dtype)  # noqa: E731
    return (pad(states, np.float32), pad(actions, np.int32), pad(returns, np.float32),
            pad(np.ones(len(states)), np.float32), sum(rewards))


def batches(n, network=None):
    """Episodes of a policy, or of a uniform one."""
    env, rng = Corridor(), np.random.default_rng(0)
    act = (lambda s: network(s)[0]) if network else (lambda s: Tensor(np.zeros((1, 2), np.float32)))
    for _ in range(n):
        yield tuple(Tensor(a) for a in play(act, env, rng)[:4])


def build():
    network = Policy()

    def loss(states, actions, returns, mask):
        log_p, values = network(states)
        chosen = ops.gather_elements(log_p, 1, actions.expand_dims(1)).squeeze(1)
        advantage = ops.stop_gradient(returns - values)
        entropy = -(ops.exp(log_p) * log_p).sum(-1)
        each = -chosen * advantage + 0.5 * ops.square(returns - values) - 0.01 * entropy
        return (each * mask).sum() / mask.sum()

    optimizer = nn.Adam(network.trainable_params(), learning_rate=0.02)
    return network, loss, optimizer, batches


def train(episodes=60, jit=True, seed=0):
    """Plays and learns in turn; the rewards of the episodes."""
    network, loss, optimizer, _ = build()
    step, act = make_step(network, loss, optimizer), lambda state: network(state)[0]
    if jit:
        step, act = ms.jit(step, capture_mode="bytecode"), ms.jit(act, capture_mode="bytecode")
    env, rng = Corridor(), np.random.default_rng(seed)
    rewards = []
    for _ in range(episodes):
        *episode, reward = play(act, env, rng)
        step(*[Tensor(a) for a in episode])
        rewards.append(reward)
    return rewards


def main():
    run(globals())
    rewards = train()
    print(f"mean reward of the first ten episodes {np.mean(rewards[:10]):.2f}, of the last ten "
          f"{np.mean(rewards[-10:]):.2f}")


if __name__ == "__main__":
    main()
