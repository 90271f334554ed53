// Loops on a tensor's value as regions of the graph. The body is traced once, with the variables
// that it assigns as values of the loop. What cannot be a region ends the graph instead.
#include <algorithm>
#include <map>

#include "capture/control_flow/arm.h"
#include "capture/control_flow/flow.h"
#include "capture/values.h"
#include "graph/infer.h"
#include "graph/vals.h"

namespace pijit {
namespace {

// A new tuple or list, as v is one.
Container* make_sequence(Arena& arena, const V& v) {
  if (as<TupleValue>(v)) return arena.make<TupleValue>();
  return arena.make<ListValue>();
}

// Whether a tensor that branches gave is the object `same`; else it is a new one.
Val stays(Context& c, const TensorValue* v, const V& same, Scope& s) {
  auto answer = [&](const TensorValue* x) {
    if (x && x == same) return s.graph().constant_int(DType::Bool, 1);
    if (!x) return s.graph().constant_int(DType::Bool, 0);
    if (!x->is_choice()) c.give_up(Reason::kTensorValue, "the loop hands on a tensor from outside");
    return stays(c, x, same, s);
  };
  const Val pred = s.val(v->pred);
  return v_op("logical_or", v_op("logical_and", pred, answer(v->first)),
              v_op("logical_and", v_op("logical_not", pred), answer(v->second)));
}

}  // namespace

void Tracer::loop_on_tensor(Frame& f, const V& x, int body, int after, bool negated) {
  for (auto& tape : active_tapes_)
    if (tape_of(tape).use != Tape::kReverse)
      give_up(Reason::kTensorValue, "a loop on a tensor in forward mode or in a mapped function");
  const CodeInfo& code = *f.code;
  if (code.generator) give_up(Reason::kTensorValue, "a loop of a generator");
  const Branching branching(*this, f);
  const int test = f.pc;
  // Where its values lie that are single elements.
  const Val first = truth_val(*this, x, negated);
  const DeviceId home = first.type().device == default_device() ? default_device() : DeviceId{};
  auto at_home = [&](Type t) {
    if (t.shape.rank() == 0 && t.device.is_cpu()) t.device = home;
    return t;
  };
  const Val pred = placed(first, home);
  const std::vector<V> stack = f.stack, slots = f.slots;
  // the variables that the loop assigns
  const auto in_loop = reachable(code, body, after);
  std::vector<bool> assigned(slots.size());
  for (size_t pc = 0; pc < code.instrs.size(); ++pc)
    if (in_loop[pc]) {
      const Instr& in = code.instrs[pc];
      if (in.op == Op::STORE_FAST || in.op == Op::DELETE_FAST || in.op == Op::LOAD_FAST_AND_CLEAR)
        assigned[in.a] = true;
    }

  struct Carried {
    V before, inner, next;
    DType dtype;
    int changed = -1;  // which of `changes` tells that it is another object than before
  };
  std::vector<Carried> carried, changes;
  std::vector<V> at_entry = slots;
  std::shared_ptr<Arm> arm;
  Val again;
  auto live_in_loop = [&](size_t k) { return code.live[body][k] || code.live[after][k]; };
  {
    Inside inside(*this);
    arm = inside.arm;
    const uint64_t serial = inside.serial();
    // v with its tensors and numbers replaced by values of the loop
    std::function<V(const V&)> carry = [&](const V& v) -> V {
      const Nested nested(*this);
      if (as<TensorValue>(v)) {
        auto* t = tensor(arm->graph->add_input(at_home(v->node().type())));
        t->aliased = as<TensorValue>(v)->origin != nullptr;
        carried.push_back({v, t, nullptr, v->node().dtype()});
        return t;
      }
      if (plain_number(v)) {
        if (!PyFloat_Check(v->obj.ptr()) && magnitude(v) > kSmallInt) return v;
        const Val input = arm->graph->add_input({number_dtype(v), {}, home});
        const V n = make<ScalarValue>(v->obj, ScalarValue::Computed{input, kSmallInt});
        carried.push_back({v, n, nullptr, number_dtype(v)});
        return n;
      }
      if (is_tuple_or_list(v) && v->src < 0) {
        auto* r = make_sequence(arena_, v);
        for (size_t k = 0; k < items_in(v).size(); ++k)
          r->items.push_back(carry(item(*this, v, k)));
        return r;
      }
      return v;
    };
    for (size_t k = 0; k < slots.size(); ++k) {
      if (!assigned[k] || !live_in_loop(k)) continue;
      if (as<NullValue>(slots[k])) {
        if (code.live[after][k])
          give_up(Reason::kTensorValue, "a variable that only the loop binds");
        continue;
      }
      at_entry[k] = carry(slots[k]);
    }
    f.slots = at_entry;
    struct InTurn {
      std::vector<Turn>& turns;
      ~InTurn() { turns.pop_back(); }
    } in_turn{turns_};
    turns_.push_back({&f, test, after, negated});
    run_until(f, body, test, arm.get());
    if (!arm->writes.empty()) give_up(Reason::kTensorValue, "a side effect in a loop on a tensor");
    if (arm->returned || f.stack.empty()) give_up(Reason::kTensorValue, "return inside a loop");
    const V last = f.stack.back();
    f.stack.pop_back();
    const bool decided = is_known(last) && PyBool_Check(last->obj.ptr());
    if (f.stack != stack || !(decided || (undecided(last) && last->node().shape().numel() == 1)))
      give_up(Reason::kTensorValue, "the loop's test is not a tensor each time");
    again = undecided(last)
                ? truth_val(*this, last, negated)
                : arm->graph->constant_int(DType::Bool, last->obj.is(py::bool_(!negated)));
    again = placed(again, pred.type().device);

    // pairs every value of the loop with what the body made of it
    size_t next = 0;
    std::function<void(const V&, const V&)> pair = [&](const V& inner, const V& now) {
      const Nested nested(*this);
      if (next < carried.size() && carried[next].inner == inner) {
        Carried& c = carried[next++];
        c.next = now;
        const bool same_kind =
            as<TensorValue>(c.inner)
                ? as<TensorValue>(now) && at_home(now->node().type()) == c.inner->node().type()
                : plain_number(now) && Py_TYPE(now->obj.ptr()) == Py_TYPE(inner->obj.ptr()) &&
                      magnitude(now) <= kSmallInt + kSmallInt / 2;
        if (!same_kind) give_up(Reason::kTensorValue, "the loop changes the type of a variable");
        if (auto* t = as<TensorValue>(now); t && now != inner) {
          if (now->serial < serial || now->src >= 0)
            give_up(Reason::kTensorValue, "the loop hands on a tensor from outside");
          if (t->is_choice()) {  // a turn left early leaves it alone
            const Val before = arm->graph->add_input({DType::Bool, {}, home});
            const V flag = make<ScalarValue>(py::bool_(false), ScalarValue::Computed{before});
            const Val kept = stays(*this, t, inner, *arm->scope);
            const V other =
                tensor(v_op("logical_or", before, placed(v_op("logical_not", kept), home)));
            c.changed = static_cast<int>(changes.size());
            changes.push_back({constant(py::bool_(false)), flag, other, DType::Bool});
          }
          if (t->origin) give_up(Reason::kTensorValue, "the loop hands on a part of a tensor");
          for (auto& other : carried)
            if (other.inner == now)
              give_up(Reason::kTensorValue, "the loop hands a tensor from variable to variable");
        }
        return;
      }
      if (inner == now) return;
      if (is_tuple_or_list(inner) && now->kind == inner->kind && now->src < 0 &&
          now->serial >= serial && items_in(now).size() == items_in(inner).size()) {
        for (size_t k = 0; k < items_in(inner).size(); ++k)
          pair(items_in(inner)[k], item(*this, now, k));
        return;
      }
      if (is_known(inner) && is_known(now) && equal_constants(inner->obj.ptr(), now->obj.ptr()))
        return;
      give_up(Reason::kTensorValue, "the loop leaves another value in a variable");
    };
    for (size_t k = 0; k < slots.size(); ++k)
      if (assigned[k] && live_in_loop(k) && !as<NullValue>(slots[k])) pair(at_entry[k], f.slots[k]);
  }
  const size_t variables = carried.size();
  carried.insert(carried.end(), changes.begin(), changes.end());
  // The region takes the test, the loop's values, and what it only reads; it gives them anew.
  Graph &g = scope_->graph(), &body_graph = *arm->graph;
  std::vector<Val> operands{pred};
  std::vector<uint32_t> ids{body_graph.add_input(pred.type()).id};
  body_graph.outputs.push_back({again.id});
  for (auto& c : carried) {
    const DeviceId d = c.inner->node().type().device;
    operands.push_back(materialize(g, operand_of(*this, c.before), c.dtype));
    ids.push_back(c.inner->node().id);
    const Val next = materialize(body_graph, c.next->operand(*this, *arm->scope), c.dtype);
    body_graph.outputs.push_back({placed(next, d).id});
  }
  for (auto& i : arm->scope->imports()) {
    operands.push_back(i.outer);
    ids.push_back(i.inner.id);
    body_graph.outputs.push_back({i.inner.id});
  }
  body_graph.order_inputs(ids);
  auto go_on = std::make_shared<Graph>(false);
  for (auto i : body_graph.inputs()) go_on->add_input(body_graph.node(i).type);
  go_on->outputs.push_back({go_on->inputs()[0]});
  static const OpDef& loop = OpTable::get().at("while_loop");
  const Val node = g.emit_region(loop, operands, {go_on, arm->graph});
  std::vector<Val> results;
  for (size_t k = 0; k < carried.size(); ++k)
    results.push_back(g.result(node, static_cast<int64_t>(k) + 1));

  // after the loop
  size_t at = 0;
  std::map<V, TensorValue*> objects;
  std::function<V(const V&, const V&)> finished = [&](const V& inner, const V& before) -> V {
    const Nested nested(*this);
    if (at < carried.size() && carried[at].inner == inner) {
      const size_t k = at++;
      if (carried[k].next == inner) return before;
      if (!as<TensorValue>(inner))
        return make<ScalarValue>(inner->obj, ScalarValue::Computed{results[k], kExactInt});
      auto *r = tensor(results[k]), *old = as<TensorValue>(before);
      const int flag = carried[k].changed;
      r->pred = flag < 0 ? pred : results[variables + static_cast<size_t>(flag)];
      r->second = old;  // no turn: still the same object
      TensorValue*& made = objects[carried[k].next];
      if (made)
        r->first = made;  // another variable holds it, too
      else
        made = tensor(results[k]);
      for (auto& c : carried)
        if (&c != &carried[k] && c.next == carried[k].next) r->first = made;
      old->aliased = true;
      return r;
    }
    if (inner == before || !is_tuple_or_list(inner)) return before;
    auto* r = make_sequence(arena_, inner);
    for (size_t k = 0; k < items_in(inner).size(); ++k)
      r->items.push_back(finished(items_in(inner)[k], item(*this, before, k)));
    return r;
  };
  f.stack = stack;
  f.slots = slots;
  for (size_t k = 0; k < slots.size(); ++k)
    if (assigned[k])
      f.slots[k] =
          live_in_loop(k) && !as<NullValue>(slots[k]) ? finished(at_entry[k], slots[k]) : null();
  f.pc = after;
}

}  // namespace pijit
