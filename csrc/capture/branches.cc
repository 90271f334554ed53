// Branches and loops on a tensor's value as regions of the graph. Both ways of a branch are traced
// up to where they meet (the immediate post-dominator of the jump); the body of a loop is traced
// once, with the variables that it assigns as loop values. What cannot be a region (a side effect
// on something that exists outside, values that do not agree) ends the graph instead.
#include <algorithm>
#include <cmath>
#include <utility>

#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"
#include "graph/infer.h"
#include "graph/vals.h"
#include "python/quiet_lookup.h"

namespace pijit {
namespace {

// A new tuple, list or dict.
V make_container(Arena& arena, Value::Kind kind) {
  if (kind == Value::kTuple) return arena.make<TupleValue>();
  if (kind == Value::kList) return arena.make<ListValue>();
  return arena.make<DictValue>();
}

constexpr int kExit = -1;

// Instructions that can follow `from`, itself included, without going through `barrier`; one more
// entry, the last, for the exit, as which `ends` count, too.
using Ends = std::pair<int, int>;
constexpr Ends kNone{kExit, kExit};
std::vector<bool> reachable(const CodeInfo& c, int from, int barrier, Ends ends = kNone) {
  const int exit = static_cast<int>(c.instrs.size());
  std::vector<bool> seen(c.instrs.size() + 1);
  std::vector<int> todo{from};
  while (!todo.empty()) {
    const int pc = todo.back() == kExit ? exit : todo.back();
    todo.pop_back();
    if ((pc == barrier && pc != exit) || seen[pc]) continue;
    seen[pc] = true;
    if (pc != exit)
      for (int s : successors(c, pc))
        todo.push_back(s == ends.first || s == ends.second ? kExit : s);
  }
  return seen;
}

// Does every way from `pc` end in an exception?
bool only_raises(const CodeInfo& c, int pc) {
  const auto seen = reachable(c, pc, kExit);
  for (size_t k = 0; k < c.instrs.size(); ++k)
    if (seen[k] && c.instrs[k].op == Op::RETURN_VALUE) return false;
  return seen.back();
}

// Does every way from `from` back to `pc` take an item of a `for` loop that `pc` is in?
bool takes_items(const CodeInfo& c, int from, int pc) {
  for (int k = 0; k < static_cast<int>(c.instrs.size()); ++k)
    if (c.instrs[k].op == Op::FOR_ITER && reachable(c, k + 1, k)[pc] && !reachable(c, from, k)[pc])
      return true;
  return false;
}

// Where all ways from `pc` meet again, the nearest instruction without which the exit cannot be
// reached; kExit if there is none.
int join_of(const CodeInfo& c, int pc, Ends ends = kNone) {
  std::vector<bool> seen(c.instrs.size());
  std::vector<int> queue{pc};  // in order of distance
  for (size_t q = 0; q < queue.size(); ++q) {
    if (queue[q] != pc && !reachable(c, pc, queue[q], ends).back()) return queue[q];
    for (int s : successors(c, queue[q]))
      if (s != kExit && s != ends.first && s != ends.second && !seen[s]) {
        seen[s] = true;
        queue.push_back(s);
      }
  }
  return kExit;
}

// A Python int, float or bool, known or not.
bool plain_number(const V& v) {
  if (!as<ScalarValue>(v)) return false;
  PyObject* o = v->obj.ptr();
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o);
}
DType number_dtype(const V& v) {
  PyObject* o = v->obj.ptr();
  return PyFloat_Check(o) ? DType::F64 : PyBool_Check(o) ? DType::Bool : DType::I64;
}
double magnitude(const V& v) {
  if (auto* s = state_of<ScalarValue::Computed>(v)) return s->bound;
  if (is_input(v)) return kSmallInt;
  return PyFloat_Check(v->obj.ptr()) ? 0 : std::abs(PyLong_AsDouble(v->obj.ptr()));
}

// On another device than the CPU, single elements of the CPU's go with all others: a constant that
// one way gives, and what the other computes, are of one type there.
bool alike(const Type& a, const Type& b) {
  if (a == b) return true;
  const DeviceId home = default_device();
  return a.dtype == b.dtype && a.shape.rank() == 0 && b.shape.rank() == 0 &&
         (a.device.is_cpu() || a.device == home) && (b.device.is_cpu() || b.device == home);
}

// One of several values that a region gives, and who waits for it.
struct Outputs {
  struct One {
    V first, second;  // in the arms
    DType dtype;
  };
  std::vector<One> list;
  std::vector<std::pair<Val*, size_t>> waiting;
  std::vector<V> keep;
};

}  // namespace

// While it lives, ops go to a graph of their own.
class Tracer::Inside {
 public:
  explicit Inside(Tracer& t)
      : t_(t), scope_(t.scope_), serial_(t.arm_serial_), arm(std::make_shared<Arm>()) {
    arm->scope = std::make_unique<Scope>(arm->graph.get(), t.scope_);
    t.scope_ = arm->scope.get();
    t.arm_serial_ = t.arena_.serial();
    outer_ = std::exchange(t.arm_writes_, &arm->writes);
  }
  ~Inside() {
    arm->end_writes(t_);
    t_.arm_writes_ = outer_;
    t_.scope_ = scope_;
    t_.arm_serial_ = serial_;
  }
  uint64_t serial() const { return t_.arm_serial_; }

 private:
  Tracer& t_;
  Scope* scope_;
  uint64_t serial_;
  std::vector<Write>* outer_;

 public:
  std::shared_ptr<Arm> arm;
};

namespace {

// Where an iterator stands. `dirty`: a branch decides that.
V place_of(Context& c, IteratorValue* it) {
  V place;
  if (auto* g = generator_of(it)) {
    auto* copy = c.make<GeneratorValue>(g->frame ? std::make_shared<Frame>(*g->frame) : nullptr);
    copy->pos = g->pos, copy->outside = g->outside, copy->made_at = g->made_at;
    place = copy;
  } else {
    place = c.constant_int(it->pos);
  }
  place->dirty = it->dirty;
  return place;
}
void put_at(IteratorValue* it, const V& place) {
  it->dirty = place->dirty;
  if (auto* g = generator_of(it)) {
    const auto* copy = generator_of(place);
    g->frame = copy->frame ? std::make_shared<Frame>(*copy->frame) : nullptr;
    g->pos = copy->pos, g->outside = copy->outside;
  } else {
    it->pos = PyLong_AsLongLong(place->obj.ptr());
  }
}
bool same_place(const V& a, const V& b) {
  return a == b || (is_known(a) && is_known(b) && !a->dirty && !b->dirty &&
                    equal_constants(a->obj.ptr(), b->obj.ptr()));
}

}  // namespace

void Tracer::Arm::end_writes(Context& c) {
  if (after.size() == writes.size()) return;
  for (auto& w : writes) {
    const V& t = w.target;
    if (auto* it = as<IteratorValue>(t)) {
      after.push_back(place_of(c, it));
      put_at(it, w.before);
    } else if (auto* cell = as<CellValue>(t)) {
      after.push_back(cell->content);
      cell->content = w.before;
    } else if (!w.name) {
      after.push_back(c.tensor(t->node()));
      as<TensorValue>(t)->val = w.node;
    } else {
      const std::string name = text_of(w.name);
      after.push_back(t->attrs.at(name));
      if (w.before)
        t->attrs[name] = w.before;
      else
        t->attrs.erase(name);
    }
  }
}

V Tracer::Arm::written(const V& target, PyObject* name) const {
  for (size_t k = 0; k < writes.size(); ++k)
    if (writes[k].is(target, name)) return after[k];
  return nullptr;
}

bool Context::written_in_arm(const V& v, PyObject* name) {
  if (!arm_writes_ || (v->serial >= arm_serial_ && v->src < 0)) return false;
  if (mapped_serial_) check_effect(v);
  if (auto* t = as<TensorValue>(v); t && t->may_be_another())
    give_up(Reason::kTensorValue, "a change of a tensor that may be another variable's, too");
  for (auto& w : *arm_writes_)
    if (w.is(v, name)) return true;
  Write w{v, py::reinterpret_borrow<py::object>(name), nullptr, v->node()};
  if (auto* cell = as<CellValue>(v)) w.before = cell->content;
  if (auto* it = as<IteratorValue>(v)) w.before = place_of(*this, it);
  if (name && v->attrs.count(text_of(name)) && !v->attrs.at(text_of(name)))
    give_up(Reason::kTensorValue, "a deleted attribute that a branch sets");
  if (name)
    if (auto old = v->attrs.find(text_of(name)); old != v->attrs.end()) w.before = old->second;
  arm_writes_->push_back(std::move(w));
  return true;
}

// The outcome of a branch, behind it.
void Tracer::merge_writes(const V& target, const py::object& name, const V& value) {
  if (auto* it = as<IteratorValue>(target)) {
    written_in_arm(it);
    undoable([this, it, before = place_of(*this, it)] { put_at(it, before); });
    put_at(it, value);
  } else if (auto* t = as<TensorValue>(target))
    set_node(*this, t, value->node());
  else if (as<CellValue>(target))
    set_cell(*this, target, value);
  else
    protocol::store_attribute(*this, target, name.ptr(), value);
}

// A jump whose ways are being traced. Who meets it again is in a loop with several exits.
class Tracer::Branching {
 public:
  Branching(Tracer& t, const Frame& f, bool unrolls = false) : list_(t.branching_) {
    for (auto [frame, pc] : list_)
      if (frame == &f && pc == f.pc && !unrolls)
        t.give_up(Reason::kTensorValue, "a loop that is left early");
    constexpr int kMostUnrolled = 64;
    if (list_.empty()) t.unrolled_ = 0;
    if (unrolls && ++t.unrolled_ > kMostUnrolled)
      t.give_up(Reason::kTensorValue, "a loop that is left early");
    if (list_.size() > 24) t.give_up(Reason::kTensorValue, "branches nested too deep");
    list_.push_back({&f, f.pc});
  }
  ~Branching() { list_.pop_back(); }
  Branching(const Branching&) = delete;

 private:
  std::vector<std::pair<const Frame*, int>>& list_;
};

// A copy, as loops inside move the list.
std::optional<Tracer::Turn> Tracer::turn_of(const Frame& f) const {
  if (turns_.empty() || turns_.back().frame != &f) return std::nullopt;
  return turns_.back();
}

// Runs the frame from `pc` to `stop`, which is not run, or to the end of a loop's turn. Where that
// leaves the loop, the condition says so.
void Tracer::run_until(Frame& f, int pc, int stop, Arm* arm) {
  f.pc = pc;
  const std::optional<Turn> turn = turn_of(f);
  while (true) {
    for (size_t k = 0; k + 1 < turns_.size(); ++k)
      if (turns_[k].frame == &f && (f.pc == turns_[k].test || f.pc == turns_[k].after))
        give_up(Reason::kTensorValue, "a loop that is left from one inside of it");
    if (turn && f.pc == turn->after) {
      f.stack.push_back(constant(py::bool_(turn->negated)));
      f.pc = turn->test;
    }
    if (f.pc == stop || (turn && f.pc == turn->test)) return;
    count(f);
    try {
      step(f);
    } catch (const Raised& r) {
      give_up(Reason::kTensorValue, "an exception in a branch or loop on a tensor");
    }
    if (returned_) {
      returned_ = false;
      arm->returned = true;
      arm->value = return_value_;
      return;
    }
  }
}

namespace {

// Does the object itself have the attribute, and not its class alone?
bool holds_attribute(const V& v, PyObject* name) {
  if (v->kind != Value::kObject) return true;
  PyObject* o = v->obj.ptr();
  PyObject* found = type_lookup(Py_TYPE(o), name);
  if (found && Py_TYPE(found) == &PyMemberDescr_Type) return true;  // a slot: it is read next
  const auto d = py::reinterpret_steal<py::object>(instance_dict(o));
  return d && quiet_item(d.ptr(), name);
}

// The value of a variable after a branch: the same in both arms, or a value of the region.
class Merge {
 public:
  Merge(Arena& arena, Val pred, uint64_t serial, Outputs* out)
      : arena_(arena), pred_(pred), serial_(serial), out_(*out) {}
  std::string problem;

  V merge(const V& a, const V& b) {
    if (a == b) return a;
    V& known = merged_[{a, b}];
    if (known) return known;
    constexpr int kDeepest = 100;
    if (depth_ > kDeepest) return fail("a container that holds itself, or many");
    ++depth_;
    const V made = merge_new(a, b);
    --depth_;
    return known = made;
  }

 private:
  V merge_new(const V& a, const V& b) {
    if (as<TensorValue>(a) && as<TensorValue>(b))
      return tensors(as<TensorValue>(a), as<TensorValue>(b));
    if (is_known(a) && is_known(b) && equal_constants(a->obj.ptr(), b->obj.ptr())) return a;
    if (plain_number(a) && plain_number(b) && Py_TYPE(a->obj.ptr()) == Py_TYPE(b->obj.ptr()))
      return numbers(a, b);
    if (a->kind == b->kind && a->kind == Value::kObject && a->obj && a->obj.ptr() == b->obj.ptr())
      return a;
    const bool containers =
        a->kind == b->kind &&
        (a->kind == Value::kTuple || a->kind == Value::kList || a->kind == Value::kDict);
    // lists and dicts can change later, so both must be new; a tuple's identity does not matter
    const bool fresh = containers && a->src < 0 && b->src < 0 &&
                       (a->kind == Value::kTuple || (a->serial >= serial_ && b->serial >= serial_));
    if (!fresh || a->items.size() != b->items.size())
      return fail("the branches leave different values in a variable");
    if (a->kind == Value::kDict)
      for (size_t k = 0; k < a->keys.size(); ++k)
        if (!equal_constants(a->keys[k].ptr(), b->keys[k].ptr()))
          return fail("the branches leave dicts with different keys");
    for (auto& v : {a, b})  // two variables hold it in one branch alone
      if (v->kind != Value::kTuple && !containers_.insert(v).second)
        return fail("a container that two variables share");
    auto class_of = [](const V& v) {
      PyObject* c = v->obj ? reinterpret_cast<PyObject*>(Py_TYPE(v->obj.ptr())) : v->cls.ptr();
      return c == reinterpret_cast<PyObject*>(&PyTuple_Type) ? nullptr : c;
    };
    if (class_of(a) != class_of(b))
      return fail("the branches leave containers of different classes");
    const V r = make_container(arena_, a->kind);
    r->keys = a->keys;
    if (class_of(a)) r->cls = py::reinterpret_borrow<py::object>(class_of(a));
    if (auto* d = as<DictValue>(r)) {
      d->factory = as<DictValue>(a)->factory;
      if (d->factory != as<DictValue>(b)->factory)
        return fail("the branches leave dicts that differ in what they make");
    }
    for (size_t k = 0; k < a->items.size(); ++k) {
      if (!a->items[k] || !b->items[k]) return fail("a container is not read yet");
      r->items.push_back(merge(a->items[k], b->items[k]));
      if (!r->items.back()) return nullptr;
    }
    return r;
  }
  V fail(const char* why) {
    if (problem.empty()) problem = why;
    return nullptr;
  }
  size_t output(const V& a, const V& b, DType t) {
    out_.list.push_back({a, b, t});
    return out_.list.size() - 1;
  }
  void wait(const V& v, Val* place, size_t index) {
    out_.waiting.push_back({place, index});
    out_.keep.push_back(v);
  }
  V tensors(TensorValue* a, TensorValue* b) {
    if (!alike(a->val.type(), b->val.type()))
      return fail("the branches give tensors of different types");
    for (auto* v : {a, b}) {  // made in an arm
      const TensorValue* root = v;
      while (root->origin && root->src < 0 && root->serial >= serial_) root = root->origin;
      const bool made = v->src < 0 && v->serial >= serial_;
      if (made && (root->src >= 0 || root->serial < serial_))
        return fail("which part of a tensor it is depends on the branch");
    }
    auto* r = arena_.make<TensorValue>();
    const size_t index = output(a, b, a->val.dtype());
    wait(r, &r->val, index);
    r->pred = pred_;
    outer(a, &r->first, index, true);
    outer(b, &r->second, index, false);
    return r;
  }
  // Fills `slot` with the object that an arm hands on, if it exists outside of the arm or is handed
  // on twice: its identity must survive.
  void outer(TensorValue* v, TensorValue** slot, size_t index, bool is_first) {
    if (v->serial < serial_ || v->src >= 0) {
      v->aliased = true;
      *slot = v;
      return;
    }
    if (!v->is_choice()) {
      // an object that the arm makes; if two variables hold it, they do so afterwards
      Made& m = made_[{v, is_first}];
      if (!m.slot) {
        m.slot = slot;
        m.index = index;
        return;
      }
      if (!m.object) {
        m.object = arena_.make<TensorValue>();
        wait(m.object, &m.object->val, m.index);
        *m.slot = m.object;
      }
      *slot = m.object;
      return;
    }
    // the outcome of a branch inside the arm: its predicate leaves the region as well
    auto* c = arena_.make<TensorValue>();
    wait(c, &c->val, index);
    auto* inner = arena_.make<TensorValue>();
    inner->val = v->pred;
    auto* no = arena_.make<ScalarValue>(py::bool_(false));
    wait(c, &c->pred, is_first ? output(inner, no, DType::Bool) : output(no, inner, DType::Bool));
    if (v->first) outer(v->first, &c->first, index, is_first);
    if (v->second) outer(v->second, &c->second, index, is_first);
    *slot = c;
  }
  V numbers(const V& a, const V& b) {
    const double bound = std::max(magnitude(a), magnitude(b));
    auto* r = arena_.make<ScalarValue>(a->obj, ScalarValue::Computed{{}, bound});
    if (bound > kExactInt) return fail("a number that is too large");
    wait(r, r->place(), output(a, b, number_dtype(a)));
    return r;
  }

  Arena& arena_;
  Val pred_;
  int depth_ = 0;
  uint64_t serial_;
  Outputs& out_;
  std::map<std::pair<V, V>, V> merged_;
  std::set<V> containers_;
  struct Made {
    TensorValue** slot = nullptr;  // of its first holder
    size_t index = 0;
    TensorValue* object = nullptr;
  };
  std::map<std::pair<TensorValue*, bool>, Made> made_;
};

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
      const bool unbound = a->kind == Value::kNull && b->kind == Value::kNull;
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
      if (w.target->kind == Value::kTensor) {
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
  f.stack = new_stack;
  f.slots = new_slots;
  f.pc = end;
}

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
      if (v->kind == Value::kTensor) {
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
      if ((v->kind == Value::kTuple || v->kind == Value::kList) && v->src < 0) {
        const V r = make_container(arena_, v->kind);
        for (size_t k = 0; k < v->items.size(); ++k) r->items.push_back(carry(item(v, k)));
        return r;
      }
      return v;
    };
    for (size_t k = 0; k < slots.size(); ++k) {
      if (!assigned[k] || !live_in_loop(k)) continue;
      if (slots[k]->kind == Value::kNull) {
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
        const bool same_kind = c.inner->kind == Value::kTensor
                                   ? now->kind == Value::kTensor &&
                                         at_home(now->node().type()) == c.inner->node().type()
                                   : plain_number(now) &&
                                         Py_TYPE(now->obj.ptr()) == Py_TYPE(inner->obj.ptr()) &&
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
      if ((inner->kind == Value::kTuple || inner->kind == Value::kList) &&
          now->kind == inner->kind && now->src < 0 && now->serial >= serial &&
          now->items.size() == inner->items.size()) {
        for (size_t k = 0; k < inner->items.size(); ++k) pair(inner->items[k], item(now, k));
        return;
      }
      if (is_known(inner) && is_known(now) && equal_constants(inner->obj.ptr(), now->obj.ptr()))
        return;
      give_up(Reason::kTensorValue, "the loop leaves another value in a variable");
    };
    for (size_t k = 0; k < slots.size(); ++k)
      if (assigned[k] && live_in_loop(k) && slots[k]->kind != Value::kNull)
        pair(at_entry[k], f.slots[k]);
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
    operands.push_back(materialize(g, operand(c.before), c.dtype));
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
      if (inner->kind != Value::kTensor)
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
    if (inner == before || (inner->kind != Value::kTuple && inner->kind != Value::kList))
      return before;
    const V r = make_container(arena_, inner->kind);
    for (size_t k = 0; k < inner->items.size(); ++k)
      r->items.push_back(finished(inner->items[k], item(before, k)));
    return r;
  };
  f.stack = stack;
  f.slots = slots;
  for (size_t k = 0; k < slots.size(); ++k)
    if (assigned[k])
      f.slots[k] = live_in_loop(k) && slots[k]->kind != Value::kNull
                       ? finished(at_entry[k], slots[k])
                       : null();
  f.pc = after;
}

}  // namespace pijit
