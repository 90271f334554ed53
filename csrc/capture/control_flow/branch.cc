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

// A branch while it becomes a region: both ways are traced, then their ends are merged.
class ControlFlow::TensorBranch {
 public:
  // The frame stands before the jump; the ways meet at `join`. `keeps`: the way that has x on the
  // stack.
  TensorBranch(ControlFlow& flow, Frame& f, const V& x, int join, int keeps)
      : flow_(flow),
        t_(flow.t_),
        f_(f),
        x_(x),
        join_(join),
        keeps_(keeps),
        turn_(flow.turn_of(f)),
        pred_(truth_val(t_, x, false)),
        stack_(f.stack),
        slots_(f.slots),
        serial_(t_.arena_.serial()) {}

  void run(int if_true, int if_false) {
    first_ = trace(if_true, keeps_ == 1);
    second_ = trace(if_false, keeps_ == 0);
    const bool returned = first_.arm->returned;
    if (returned != second_.arm->returned || (join_ != kExit && returned) ||
        (!returned && first_.end != second_.end) ||
        (!returned && first_.stack.size() != second_.stack.size()))
      give_up("the branches do not meet");

    Merge merge(t_.arena_, pred_, serial_, &out_);
    if (returned)
      value_ = merge.merge(first_.arm->value, second_.arm->value);
    else
      merge_ends(merge);
    merge_written(merge);
    if (!merge.problem.empty()) give_up(merge.problem);
    emit();
    for (auto& c : changed_) flow_.merge_writes(c.target, c.name, c.value);
    leave();
  }

 private:
  struct Way {
    std::shared_ptr<Arm> arm;
    int end = 0;
    std::vector<V> stack, slots;
  };
  // What the arms have written outside.
  struct Changed {
    V target;
    py::object name;
    V value;
  };

  [[noreturn]] void give_up(const std::string& why) const {
    t_.give_up(Reason::kTensorValue, why, Case::kTensorBranch);
  }

  Way trace(int pc, bool keep) {
    Inside inside(t_);
    if (keep) f_.stack.push_back(x_);
    flow_.run_until(f_, pc, join_, inside.arm.get());
    // conditions of the next turn, known or not, are to agree
    if (turn_ && !inside.arm->returned && f_.pc == turn_->test && undecided(f_.stack.back()))
      f_.stack.back() = graph_number(t_, truth_val(t_, f_.stack.back(), false), DType::Bool);
    Way way{inside.arm, f_.pc, f_.stack, f_.slots};
    f_.stack = stack_;
    f_.slots = slots_;
    inside.arm->end_writes(t_);
    return way;
  }

  void merge_ends(Merge& merge) {
    for (size_t k = 0; k < first_.stack.size(); ++k)
      new_stack_.push_back(merge.merge(first_.stack[k], second_.stack[k]));
    for (size_t k = 0; k < first_.slots.size(); ++k) {
      const V &a = first_.slots[k], &b = second_.slots[k];
      const bool live = f_.code->live[first_.end][k];
      const bool unbound = as<NullValue>(a) && as<NullValue>(b);
      // what neither arm touches lives on, for those who look at the frame
      const bool stays = a == b && (live || !as<IteratorValue>(a));
      // ... and so do numbers, which cost next to nothing
      const bool seen =
          live || (plain_number(a) && plain_number(b) && number_dtype(a) == number_dtype(b) &&
                   std::max(magnitude(a), magnitude(b)) <= kExactInt);
      new_slots_.push_back(stays ? a : !seen || unbound ? t_.null() : merge.merge(a, b));
    }
  }

  void merge_written(Merge& merge) {
    for (auto* way : {&first_, &second_})
      for (auto& w : way->arm->writes) {
        if (std::any_of(changed_.begin(), changed_.end(),
                        [&](auto& c) { return w.is(c.target, c.name.ptr()); }))
          continue;
        if (auto* it = as<IteratorValue>(w.target)) {
          changed_.push_back({w.target, w.name, moved_to(it, w.before)});
          continue;
        }
        const V a = first_.arm->written(w.target, w.name.ptr()),
                b = second_.arm->written(w.target, w.name.ptr());
        const V now = a && b && w.name ? V() : untouched(w);
        if ((!a || !b) && !now) give_up("a name that one branch alone binds");
        changed_.push_back({w.target, w.name, merge.merge(a ? a : now, b ? b : now)});
        if (!changed_.back().value) return;
      }
  }

  // Where an iterator stands that one or both arms move.
  V moved_to(IteratorValue* it, const V& before) {
    V a = first_.arm->written(it, nullptr), b = second_.arm->written(it, nullptr);
    if (!a) a = before;
    if (!b) b = before;
    if (same_place(a, b)) return a;
    for (auto* values : {&new_stack_, &new_slots_})
      if (std::find(values->begin(), values->end(), it) != values->end())
        give_up("an iterator that one branch alone moves");
    const V place = generator_of(it) ? place_of(t_, it) : t_.constant_int(0);
    place->dirty = true;
    return place;
  }

  // What an arm that leaves it alone finds there. Null: nothing.
  V untouched(const Context::Write& w) {
    if (as<TensorValue>(w.target)) return t_.tensor(w.node);
    if (as<CellValue>(w.target)) return w.before;
    if (!w.before && !holds_attribute(w.target, w.name.ptr()))
      give_up("an attribute that one branch alone sets");
    return protocol::find_attribute(t_, w.target, w.name.ptr()).value_or(nullptr);
  }

  void emit() {
    auto &first = *first_.arm, &second = *second_.arm;
    if (!first.graph->size() && !second.graph->size() && out_.list.empty()) return;
    for (auto& o : out_.list) {
      auto given = [&](const Arm& arm, const V& v) {
        const V w = arm.written(v, nullptr);
        return materialize(*arm.graph, (w ? w : v)->operand(t_, *arm.scope), o.dtype);
      };
      const Val a = given(first, o.first), b = given(second, o.second);
      const DeviceId d = device_of_both(a.type(), b.type());
      first.graph->outputs.push_back({placed(a, d).id});
      second.graph->outputs.push_back({placed(b, d).id});
    }
    std::vector<Val> operands;
    unify(&operands, {first.scope.get(), second.scope.get()});
    operands.insert(operands.begin(), pred_);
    static const OpDef& cond = OpTable::get().at("cond");
    Graph& g = t_.scope_->graph();
    const Val node = g.emit_region(cond, operands, {first.graph, second.graph});
    std::vector<Val> results;
    for (size_t k = 0; k < out_.list.size(); ++k)
      results.push_back(g.result(node, static_cast<int64_t>(k)));
    for (auto& [place, index] : out_.waiting) *place = results[index];
  }

  void leave() {
    if (first_.arm->returned) {
      t_.return_value_ = value_;
      t_.returned_ = true;
      return;
    }
    f_.stack = std::move(new_stack_);
    f_.slots = std::move(new_slots_);
    f_.pc = first_.end;
  }

  ControlFlow& flow_;
  Tracer& t_;
  Frame& f_;
  const V x_;
  const int join_, keeps_;
  const std::optional<Turn> turn_;
  const Val pred_;
  const std::vector<V> stack_, slots_;
  const uint64_t serial_;
  Way first_, second_;
  Outputs out_;
  std::vector<V> new_stack_, new_slots_;
  V value_;  // that both ways return
  std::vector<Changed> changed_;
};

void ControlFlow::branch(Frame& f, const V& x, int if_true, int if_false, int keeps) {
  if (x->node().shape().numel() != 1) t_.give_up(Reason::kRaises, "truth value of a tensor");
  const CodeInfo& code = *f.code;
  const bool raises = only_raises(code, if_true), loops = code.instrs[f.pc].target <= f.pc;
  if (raises != only_raises(code, if_false) && !loops && !t_.start_.expects_raises &&
      !t_.mapped_serial_) {
    // Where it is to be raised the run fails, and Python's own does it, with all that comes before.
    v_op("require", truth_val(t_, x, raises));
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
    t_.give_up(Reason::kTensorValue, "a loop whose test is also a value", Case::kTensorBranch);
  if (loop_true != loop_false && !items)
    return loop(f, x, loop_true ? if_true : if_false, loop_true ? if_false : if_true, !loop_true);
  const Branching branching(*this, f, items);
  if (code.generator)
    t_.give_up(Reason::kTensorValue, "a branch of a generator", Case::kTensorBranch);
  TensorBranch(*this, f, x, join, keeps).run(if_true, if_false);
}

}  // namespace pijit
