import dataclasses
import pijit as ms
from pijit import ops


@dataclasses.dataclass
class State:
    x: ms.Tensor
    step: int = 0
    history: list = dataclasses.field(default_factory=list)

    def advance(self, rate):
        self.x = self.x - rate * ops.sin(self.x)
        self.step += 1
        self.history.append(float(self.x.sum()))
        return self


@dataclasses.dataclass(frozen=True)
class Pair:
    a: ms.Tensor
    b: ms.Tensor


def swapped(p):
    return dataclasses.replace(p, a=p.b * 1.01, b=p.a)


s, p = State(ms.Tensor([1.0, 2.0])), Pair(ms.Tensor([1.0]), ms.Tensor([2.0]))
for _ in range(30):
    s.advance(0.1)
    p = swapped(p)
print(s.step, len(s.history), s.history[-1].hex(), float(p.a).hex(), dataclasses.fields(State)[1].name)
