#include "compile/recurrent.h"

#include "compile/compile.h"
#include "graph/recurrent.h"
#include "runtime/scan.h"

namespace pijit {
namespace {

using Place = ScanKernel::Place;

struct Bytes {
  size_t state, gates, mask, steps;
  explicit Bytes(const Recurrence& r)
      : state(r.of_batch(r.hidden).bytes()),
        gates(r.of_batch(r.hidden * Dim(r.gates())).bytes()),
        mask(static_cast<size_t>(int64_t{r.batch})),
        steps(static_cast<size_t>(int64_t{r.steps})) {}
  // State k of each step, where all are one tensor.
  Place of_state(int k) const { return {static_cast<size_t>(k) * steps * state, state}; }
};

void make_forward(const Recurrence& r, const Graph& step, ScanKernel* s) {
  const Bytes bytes(r);
  const auto& ids = step.inputs();
  size_t next = 0;
  const auto input = [&](int operand, Place place = {}, int carried = -1) {
    s->inputs.push_back({step.node(ids[next++]).type, operand, place, carried});
  };
  input(0, {0, bytes.gates});
  input(1);
  if (r.has_bias) input(2);
  for (int k = 0; k < r.states(); ++k) {
    s->carried.push_back({r.of_batch(r.hidden), 3 + k});
    input(-1, {}, k);
    s->outputs.push_back({k, true, bytes.of_state(k)});
  }
  if (r.has_mask) input(5, {0, bytes.mask});
}

void make_backward(const Recurrence& r, const Graph& step, ScanKernel* s) {
  const Bytes bytes(r);
  const auto& ids = step.inputs();
  size_t next = 0;
  const auto input = [&](int operand, Place place = {}, int carried = -1) {
    s->inputs.push_back({step.node(ids[next++]).type, operand, place, carried});
  };
  for (int k : {0, 1}) input(k, {0, bytes.gates});
  input(2);
  for (int operand : {3, 4})
    for (int k = 0; k < r.states(); ++k) input(operand, bytes.of_state(k));
  s->outputs.push_back({-1, true, {0, bytes.gates}});
  size_t end = bytes.steps * bytes.gates;
  if (r.gates_differ()) {
    s->outputs.push_back({-1, true, {end, bytes.state}});
    end += bytes.steps * bytes.state;
  }
  for (int k = 0; k < r.states(); ++k, end += bytes.state) {
    s->carry_zeros(r.of_batch(r.hidden));
    input(-1, {}, k);
    s->outputs.push_back({k});
    s->ends.push_back(end);
  }
  if (r.has_mask) input(5, {0, bytes.mask});
}

}  // namespace

std::unique_ptr<Kernel> make_recurrent(const Graph& g, const Node& n, bool fast, Device& d) {
  static const OpDef &layer = OpTable::get().at("recurrent"),
                     &gradient = OpTable::get().at("recurrent_gradient");
  if (n.op != &layer && n.op != &gradient) return nullptr;
  std::vector<const Type*> types;
  for (auto s : n.in) types.push_back(s == kNoNode ? nullptr : &g.node(s).type);
  const Recurrence r = recurrence_of({*n.op, n.attrs}, types);
  auto kernel = std::make_unique<ScanKernel>(d);
  const bool back = n.op == &gradient;
  const auto step = back ? recurrent_step_gradient(r) : recurrent_step(r);
  (back ? make_backward : make_forward)(r, *step, kernel.get());
  kernel->program = compile(*step, fast, d.id);
  kernel->steps = int64_t{r.steps};
  kernel->reverse = r.reverse != back;
  return kernel;
}

}  // namespace pijit
