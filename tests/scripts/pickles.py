import copy
import pickle
import pijit as ms
from pijit import ops


class Model:
    def __init__(self):
        self.w = ms.Tensor([1.0, 2.0])

    def step(self, x):
        return ops.tanh(self.w * x)


def apply(x):
    return x * 2 + 1


m, x = Model(), ms.Tensor([0.5, 0.5])
for _ in range(30):
    x = apply(m.step(x))
again = pickle.loads(pickle.dumps((apply, Model.step, m, [x])))
print(again[0] is apply, again[1] is Model.step, again[2].step(x).asnumpy().tolist(),
      again[3][0].asnumpy().tolist() == x.asnumpy().tolist())
print(pickle.dumps(apply), type(apply), apply.__module__, copy.deepcopy(apply) is apply)
with open("model.pkl", "wb") as f:
    pickle.dump({"x": x.asnumpy().tolist(), "f": apply}, f)
