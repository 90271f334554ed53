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
    if (!x->is_choice())
      c.give_up(Reason::kTensorValue, "the loop hands on a tensor from outside",
                Case::kTensorBranch);
    return stays(c, x, same, s);
  };
  const Val pred = s.val(v->pred);
  return v_op("logical_or", v_op("logical_and", pred, answer(v->first)),
              v_op("logical_and", v_op("logical_not", pred), answer(v->second)));
}

}  // namespace

// A loop while it becomes a region: its variables become values of the loop, the body is traced
// with them, and what a turn makes of each is the value of the next turn.
class ControlFlow::TensorLoop {
 public:
  TensorLoop(ControlFlow& flow, Frame& f, const V& x, int body, int after, bool negated)
      : flow_(flow),
        t_(flow.t_),
        f_(f),
        code_(*f.code),
        test_(f.pc),
        body_(body),
        after_(after),
        negated_(negated),
        stack_(f.stack),
        slots_(f.slots) {
    const Val first = truth_val(t_, x, negated);
    home_ = first.type().device == default_device() ? default_device() : DeviceId{};
    pred_ = placed(first, home_);
  }

  void run() {
    find_variables();
    {
      Inside inside(t_);
      arm_ = inside.arm;
      serial_ = inside.serial();
      enter();
      trace_body();
      for (size_t k = 0; k < slots_.size(); ++k)
        if (is_carried(k)) pair(at_entry_[k], f_.slots[k]);
    }
    emit();
    leave();
  }

 private:
  struct Carried {
    V before, inner, next;
    DType dtype;
    int changed = -1;  // which of `changes_` tells that it is another object than before
  };

  [[noreturn]] void give_up(const std::string& why) const {
    t_.give_up(Reason::kTensorValue, why, Case::kTensorBranch);
  }
  Type at_home(Type t) const {
    if (t.shape.rank() == 0 && t.device.is_cpu()) t.device = home_;
    return t;
  }
  // Is it a variable that the loop assigns and someone reads?
  bool is_carried(size_t slot) const {
    return variables_[slot] && (code_.live[body_][slot] || code_.live[after_][slot]) &&
           !as<NullValue>(slots_[slot]);
  }

  // Those that the loop assigns.
  void find_variables() {
    const auto in_loop = reachable(code_, body_, after_);
    variables_.resize(slots_.size());
    for (size_t pc = 0; pc < code_.instrs.size(); ++pc) {
      const Instr& in = code_.instrs[pc];
      if (in_loop[pc] &&
          (in.op == Op::STORE_FAST || in.op == Op::DELETE_FAST || in.op == Op::LOAD_FAST_AND_CLEAR))
        variables_[in.a] = true;
    }
  }

  void enter() {
    at_entry_ = slots_;
    for (size_t k = 0; k < slots_.size(); ++k) {
      if (is_carried(k))
        at_entry_[k] = carry(slots_[k]);
      else if (variables_[k] && as<NullValue>(slots_[k]) && code_.live[after_][k])
        give_up("a variable that only the loop binds");
    }
    f_.slots = at_entry_;
  }

  // v with its tensors and numbers replaced by values of the loop.
  V carry(const V& v) {
    const Context::Nested nested(t_);
    if (auto* of = as<TensorValue>(v)) {
      auto* t = t_.tensor(arm_->graph->add_input(at_home(of->last.type())));
      t->aliased = true;
      carried_.push_back({v, t, nullptr, of->last.dtype()});
      return t;
    }
    if (plain_number(v)) {
      if (!PyFloat_Check(v->obj.ptr()) && magnitude(v) > kSmallInt) return v;
      const Val input = arm_->graph->add_input({number_dtype(v), {}, home_});
      const V n = t_.make<ScalarValue>(v->obj, ScalarValue::Computed{input, kSmallInt});
      carried_.push_back({v, n, nullptr, number_dtype(v)});
      return n;
    }
    if (!is_tuple_or_list(v) || v->src >= 0) return v;
    auto* r = make_sequence(t_.arena_, v);
    for (size_t k = 0; k < items_in(v).size(); ++k) r->items.push_back(carry(item(t_, v, k)));
    return r;
  }

  // A turn, up to the test of the next one.
  void trace_body() {
    struct InTurn {
      std::vector<Turn>& turns;
      ~InTurn() { turns.pop_back(); }
    } in_turn{flow_.turns_};
    flow_.turns_.push_back({&f_, test_, after_, negated_});
    flow_.run_until(f_, body_, test_, arm_.get());
    if (!arm_->writes.empty()) give_up("a side effect in a loop on a tensor");
    if (arm_->returned || f_.stack.empty()) give_up("return inside a loop");
    const V last = f_.stack.back();
    f_.stack.pop_back();
    const bool decided = is_known(last) && PyBool_Check(last->obj.ptr());
    if (f_.stack != stack_ || !(decided || (undecided(last) && last->node().shape().numel() == 1)))
      give_up("the loop's test is not a tensor each time");
    again_ = undecided(last)
                 ? truth_val(t_, last, negated_)
                 : arm_->graph->constant_int(DType::Bool, last->obj.is(py::bool_(!negated_)));
    again_ = placed(again_, pred_.type().device);
  }

  // Pairs each value of the loop with what the body made of it, in the order of `carried_`.
  void pair(const V& inner, const V& now) {
    const Context::Nested nested(t_);
    if (paired_ < carried_.size() && carried_[paired_].inner == inner) {
      Carried& c = carried_[paired_++];
      c.next = now;
      if (!stays_alike(inner, now)) give_up("the loop changes the type of a variable");
      if (auto* t = as<TensorValue>(now); t && now != inner) pair_tensor(c, t);
      return;
    }
    if (inner == now) return;
    if (is_tuple_or_list(inner) && now->kind == inner->kind && now->src < 0 &&
        now->serial >= serial_ && items_in(now).size() == items_in(inner).size()) {
      for (size_t k = 0; k < items_in(inner).size(); ++k)
        pair(items_in(inner)[k], item(t_, now, k));
      return;
    }
    if (is_known(inner) && is_known(now) && equal_constants(inner->obj.ptr(), now->obj.ptr()))
      return;
    give_up("the loop leaves another value in a variable");
  }

  bool stays_alike(const V& inner, const V& now) const {
    if (as<TensorValue>(inner))
      return as<TensorValue>(now) && at_home(now->node().type()) == inner->node().type();
    return plain_number(now) && Py_TYPE(now->obj.ptr()) == Py_TYPE(inner->obj.ptr()) &&
           magnitude(now) <= kSmallInt + kSmallInt / 2;
  }

  void pair_tensor(Carried& c, TensorValue* now) {
    if (now->serial < serial_ || now->src >= 0) give_up("the loop hands on a tensor from outside");
    if (now->is_choice()) {  // a turn left early leaves it alone
      const Val before = arm_->graph->add_input({DType::Bool, {}, home_});
      const V flag = t_.make<ScalarValue>(py::bool_(false), ScalarValue::Computed{before});
      const Val kept = stays(t_, now, c.inner, *arm_->scope);
      const V other =
          t_.tensor(v_op("logical_or", before, placed(v_op("logical_not", kept), home_)));
      c.changed = static_cast<int>(changes_.size());
      changes_.push_back({t_.constant(py::bool_(false)), flag, other, DType::Bool});
    }
    if (now->origin) give_up("the loop hands on a part of a tensor");
    for (auto& other : carried_)
      if (other.inner == now) give_up("the loop hands a tensor from variable to variable");
  }

  // The region takes the test, the loop's values, and what it only reads; it gives them anew.
  void emit() {
    variables_carried_ = carried_.size();
    carried_.insert(carried_.end(), changes_.begin(), changes_.end());
    Graph &g = t_.scope_->graph(), &body = *arm_->graph;
    std::vector<Val> operands{pred_};
    std::vector<uint32_t> ids{body.add_input(pred_.type()).id};
    body.outputs.push_back({again_.id});
    for (auto& c : carried_) {
      const DeviceId d = c.inner->node().type().device;
      operands.push_back(materialize(g, operand_of(t_, c.before), c.dtype));
      ids.push_back(c.inner->node().id);
      const Val next = materialize(body, c.next->operand(t_, *arm_->scope), c.dtype);
      body.outputs.push_back({placed(next, d).id});
    }
    for (auto& i : arm_->scope->imports()) {
      operands.push_back(i.outer);
      ids.push_back(i.inner.id);
      body.outputs.push_back({i.inner.id});
    }
    body.order_inputs(ids);
    auto go_on = std::make_shared<Graph>(false);
    for (auto i : body.inputs()) go_on->add_input(body.node(i).type);
    go_on->outputs.push_back({go_on->inputs()[0]});
    static const OpDef& loop = OpTable::get().at("while_loop");
    const Val node = g.emit_region(loop, operands, {go_on, arm_->graph});
    for (size_t k = 0; k < carried_.size(); ++k)
      results_.push_back(g.result(node, static_cast<int64_t>(k) + 1));
  }

  void leave() {
    f_.stack = stack_;
    f_.slots = slots_;
    for (size_t k = 0; k < slots_.size(); ++k)
      if (variables_[k])
        f_.slots[k] = is_carried(k) ? finished(at_entry_[k], slots_[k]) : t_.null();
    f_.pc = after_;
  }

  // What a variable holds after the loop, in the order of `carried_`.
  V finished(const V& inner, const V& before) {
    const Context::Nested nested(t_);
    if (finished_ < carried_.size() && carried_[finished_].inner == inner) {
      const size_t k = finished_++;
      if (carried_[k].next == inner) return before;
      if (!as<TensorValue>(inner))
        return t_.make<ScalarValue>(inner->obj, ScalarValue::Computed{results_[k], kExactInt});
      return finished_tensor(k, as<TensorValue>(before));
    }
    if (inner == before || !is_tuple_or_list(inner)) return before;
    auto* r = make_sequence(t_.arena_, inner);
    for (size_t k = 0; k < items_in(inner).size(); ++k)
      r->items.push_back(finished(items_in(inner)[k], item(t_, before, k)));
    return r;
  }

  TensorValue* finished_tensor(size_t k, TensorValue* before) {
    auto* r = t_.tensor(results_[k]);
    const int flag = carried_[k].changed;
    r->pred = flag < 0 ? pred_ : results_[variables_carried_ + static_cast<size_t>(flag)];
    r->second = before;  // no turn: still the same object
    TensorValue*& made = objects_[carried_[k].next];
    if (made)
      r->first = made;  // another variable holds it, too
    else
      made = t_.tensor(results_[k]);
    for (auto& c : carried_)
      if (&c != &carried_[k] && c.next == carried_[k].next) r->first = made;
    before->aliased = true;
    return r;
  }

  ControlFlow& flow_;
  Tracer& t_;
  Frame& f_;
  const CodeInfo& code_;
  const int test_, body_, after_;
  const bool negated_;
  const std::vector<V> stack_, slots_;
  DeviceId home_;  // where its values lie that are single elements
  Val pred_, again_;
  std::vector<bool> variables_;
  std::vector<V> at_entry_;
  std::shared_ptr<Arm> arm_;
  uint64_t serial_ = 0;
  std::vector<Carried> carried_, changes_;
  size_t paired_ = 0, finished_ = 0, variables_carried_ = 0;
  std::vector<Val> results_;
  std::map<V, TensorValue*> objects_;
};

void ControlFlow::loop(Frame& f, const V& x, int body, int after, bool negated) {
  for (auto& tape : t_.open_tapes_)
    if (t_.tapes.tape_of(tape).use != Tape::kReverse)
      t_.give_up(Reason::kTensorValue, "a loop on a tensor in forward mode or in a mapped function",
                 Case::kTensorBranch);
  if (f.code->generator)
    t_.give_up(Reason::kTensorValue, "a loop of a generator", Case::kTensorBranch);
  const Branching branching(*this, f);
  TensorLoop(*this, f, x, body, after, negated).run();
}

}  // namespace pijit
