// Branches on a tensor's value as regions of the graph. Both ways are traced up to where they meet
// (the immediate post-dominator of the jump). What cannot be a region (a side effect on something
// that exists outside, values that do not agree) ends the graph instead.
#include <algorithm>

#include "capture/control_flow/arm.h"
#include "capture/control_flow/flow.h"
#include "capture/control_flow/merge.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"
#include "graph/infer.h"
#include "graph/vals.h"
#include "python/quiet_lookup.h"

namespace pijit {
namespace {

bool same_place(const V& a, const V& b) {
  return a == b || (is_known(a) && is_known(b) && !a->dirty && !b->dirty &&
                    equal_constants(a->obj.ptr(), b->obj.ptr()));
}

// Does the object itself have the attribute, and not its class alone?
bool holds_attribute(const V& v, PyObject* name) {
  if (!as<ObjectValue>(v)) return true;
  PyObject* o = v->obj.ptr();
  PyObject* found = type_lookup(Py_TYPE(o), name);
  if (found && Py_TYPE(found) == &PyMemberDescr_Type) return true;  // a slot: it is read next
  const auto d = py::reinterpret_steal<py::object>(instance_dict(o));
  return d && quiet_item(d.ptr(), name);
}

// Region graphs with the same inputs, in the order of `operands`.
void unify(std::vector<Val>* operands, std::initializer_list<Scope*> regions) {
  for (Scope* s : regions)
    for (auto& i : s->imports())
      if (std::find(operands->begin(), operands->end(), i.outer) == operands->end())
        operands->push_back(i.outer);
  for (Scope* s : regions) {
    std::vector<uint32_t> ids;
    for (auto v : *operands) ids.push_back(s->import(v).id);
    s->graph().order_inputs(ids);
  }
}

}  // namespace

// `keeps`: the way (0 false, 1 true) that has x on the stack; -1 for none.
void Tracer::branch_on_tensor(Frame& f, const V& x, int if_true, int if_false, int keeps) {
  if (x->node().shape().numel() != 1) give_up(Reason::kRaises, "truth value of a tensor");
  const CodeInfo& code = *f.code;
  const bool raises = only_raises(code, if_true), loops = code.instrs[f.pc].target <= f.pc;
  if (raises != only_raises(code, if_false) && !loops && !start_.expects_raises &&
      !mapped_serial_) {
    // Where it is to be raised the run fails, and Python's own does it, with all that comes before.
    v_op("require", truth_val(*this, x, raises));
    if (keeps == !raises) f.stack.push_back(x);
    f.pc = raises ? if_false : if_true;
    return;
  }
  const std::optional<Turn> turn = turn_of(f);
  const Ends ends = turn ? Ends{turn->test, turn->after} : kNone;
  const int join = join_of(code, f.pc, ends);
  auto back = [&](int pc) -> bool { return reachable(code, pc, join, ends)[f.pc]; };
  const bool loop_true = back(if_true), loop_false = back(if_false);
  // a loop over items is unrolled: where it is left early, the other way has all turns to come
  const bool items =
      loop_true != loop_false && takes_items(code, loop_true ? if_true : if_false, f.pc);
  if (loop_true != loop_false && !items && keeps >= 0)
    give_up(Reason::kTensorValue, "a loop whose test is also a value");
  if (loop_true != loop_false && !items)
    return loop_on_tensor(f, x, loop_true ? if_true : if_false, loop_true ? if_false : if_true,
                          !loop_true);
  const Branching branching(*this, f, items);
  const Val pred = truth_val(*this, x, false);
  const std::vector<V> stack = f.stack, slots = f.slots;
  if (code.generator) give_up(Reason::kTensorValue, "a branch of a generator");
  const uint64_t serial = arena_.serial();
  auto trace = [&](int pc, bool keep, int* end, std::vector<V>* end_stack,
                   std::vector<V>* end_slots) {
    Inside inside(*this);
    if (keep) f.stack.push_back(x);
    run_until(f, pc, join, inside.arm.get());
    // conditions of the next turn, known or not, are to agree
    if (turn && !inside.arm->returned && f.pc == turn->test && undecided(f.stack.back()))
      f.stack.back() = graph_number(*this, truth_val(*this, f.stack.back(), false), DType::Bool);
    *end = f.pc;
    *end_stack = f.stack;
    *end_slots = f.slots;
    f.stack = stack;
    f.slots = slots;
    inside.arm->end_writes(*this);
    return inside.arm;
  };
  std::vector<V> stacks[2], locals[2];
  int end = join, other_end = join;
  const auto first = trace(if_true, keeps == 1, &end, &stacks[0], &locals[0]);
  const auto second = trace(if_false, keeps == 0, &other_end, &stacks[1], &locals[1]);
  if (first->returned != second->returned || (join != kExit && first->returned) ||
      (!first->returned && end != other_end) ||
      (!first->returned && stacks[0].size() != stacks[1].size()))
    give_up(Reason::kTensorValue, "the branches do not meet");

  Outputs out;
  Merge merge(arena_, pred, serial, &out);
  std::vector<V> new_stack, new_slots;
  V value;
  if (first->returned) {
    value = merge.merge(first->value, second->value);
  } else {
    for (size_t k = 0; k < stacks[0].size(); ++k)
      new_stack.push_back(merge.merge(stacks[0][k], stacks[1][k]));
    for (size_t k = 0; k < locals[0].size(); ++k) {
      const V &a = locals[0][k], &b = locals[1][k];
      const bool live = code.live[end][k];
      const bool unbound = as<NullValue>(a) && as<NullValue>(b);
      // what neither arm touches lives on, for those who look at the frame
      const bool stays = a == b && (live || !as<IteratorValue>(a));
      // ... and so do numbers, which cost next to nothing
      const bool seen =
          live || (plain_number(a) && plain_number(b) && number_dtype(a) == number_dtype(b) &&
                   std::max(magnitude(a), magnitude(b)) <= kExactInt);
      new_slots.push_back(stays ? a : !seen || unbound ? null() : merge.merge(a, b));
    }
  }
  // what the arms have written outside
  struct Changed {
    V target;
    py::object name;
    V value;
  };
  std::vector<Changed> changed;
  for (auto& arm : {first, second})
    for (auto& w : arm->writes) {
      if (std::any_of(changed.begin(), changed.end(),
                      [&](auto& c) { return w.is(c.target, c.name.ptr()); }))
        continue;
      V now;  // where an arm leaves it alone
      if (as<IteratorValue>(w.target)) {
        V a = first->written(w.target, nullptr), b = second->written(w.target, nullptr);
        if (!a) a = w.before;
        if (!b) b = w.before;
        if (!same_place(a, b)) {
          for (auto* values : {&new_stack, &new_slots})
            if (std::find(values->begin(), values->end(), w.target) != values->end())
              give_up(Reason::kTensorValue, "an iterator that one branch alone moves");
          a = constant_int(0);
          if (auto* g = generator_of(w.target)) a = place_of(*this, g);
          a->dirty = true;
        }
        changed.push_back({w.target, w.name, a});
        continue;
      }
      if (as<TensorValue>(w.target)) {
        now = tensor(w.node);
      } else if (as<CellValue>(w.target)) {
        now = w.before;
      } else if (!first->written(w.target, w.name.ptr()) ||
                 !second->written(w.target, w.name.ptr())) {
        if (!w.before && !holds_attribute(w.target, w.name.ptr()))
          give_up(Reason::kTensorValue, "an attribute that one branch alone sets");
        now = protocol::find_attribute(*this, w.target, w.name.ptr()).value_or(nullptr);
      }
      const V a = first->written(w.target, w.name.ptr()),
              b = second->written(w.target, w.name.ptr());
      if ((!a || !b) && !now) give_up(Reason::kTensorValue, "a name that one branch alone binds");
      changed.push_back({w.target, w.name, merge.merge(a ? a : now, b ? b : now)});
      if (!changed.back().value) break;
    }
  if (!merge.problem.empty()) give_up(Reason::kTensorValue, merge.problem);

  if (first->graph->size() > 0 || second->graph->size() > 0 || !out.list.empty()) {
    for (auto& o : out.list) {
      auto given = [&](const std::shared_ptr<Arm>& arm, const V& v) {
        const V w = arm->written(v, nullptr);
        return materialize(*arm->graph, (w ? w : v)->operand(*this, *arm->scope), o.dtype);
      };
      const Val a = given(first, o.first), b = given(second, o.second);
      const DeviceId d = device_of_both(a.type(), b.type());
      first->graph->outputs.push_back({placed(a, d).id});
      second->graph->outputs.push_back({placed(b, d).id});
    }
    std::vector<Val> operands;
    unify(&operands, {first->scope.get(), second->scope.get()});
    operands.insert(operands.begin(), pred);
    static const OpDef& cond = OpTable::get().at("cond");
    Graph& g = scope_->graph();
    const Val node = g.emit_region(cond, operands, {first->graph, second->graph});
    std::vector<Val> results;
    for (size_t k = 0; k < out.list.size(); ++k)
      results.push_back(g.result(node, static_cast<int64_t>(k)));
    for (auto& [place, index] : out.waiting) *place = results[index];
  }
  for (auto& c : changed) merge_writes(c.target, c.name, c.value);
  if (first->returned) {
    return_value_ = value;
    returned_ = true;
    return;
  }
  f.stack = std::move(new_stack);
  f.slots = std::move(new_slots);
  f.pc = end;
}

}  // namespace pijit
