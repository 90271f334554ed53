#include "capture/control_flow/arm.h"

#include "capture/protocol/protocol.h"
#include "capture/values.h"

namespace pijit {

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

void ControlFlow::Arm::end_writes(Context& c) {
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
      as<TensorValue>(t)->last = w.node;
    } else {
      const std::string name = text_of(w.name);
      auto& attrs = as<ObjectValue>(t)->attrs;
      after.push_back(attrs.at(name));
      if (w.before)
        attrs[name] = w.before;
      else
        attrs.erase(name);
    }
  }
}

V ControlFlow::Arm::written(const V& target, PyObject* name) const {
  for (size_t k = 0; k < writes.size(); ++k)
    if (writes[k].is(target, name)) return after[k];
  return nullptr;
}

bool Context::written_in_arm(const V& v, PyObject* name) {
  if (!arm_writes_ || (v->serial >= arm_serial_ && v->src < 0)) return false;
  if (mapped_serial_) check_effect(v);
  if (auto* t = as<TensorValue>(v); t && t->may_be_another())
    give_up(Reason::kTensorValue, "a change of a tensor that may be another variable's, too",
            Case::kEffect);
  for (auto& w : *arm_writes_)
    if (w.is(v, name)) return true;
  const auto* tensor = as<TensorValue>(v);  // perhaps behind what it shares elements with
  Write w{v, py::reinterpret_borrow<py::object>(name), nullptr, tensor ? tensor->last : v->node()};
  if (auto* cell = as<CellValue>(v)) w.before = cell->content;
  if (auto* it = as<IteratorValue>(v)) w.before = place_of(*this, it);
  if (name) {
    const auto& attrs = as<ObjectValue>(v)->attrs;
    if (const auto old = attrs.find(text_of(name)); old != attrs.end()) {
      if (!old->second)
        give_up(Reason::kTensorValue, "a deleted attribute that a branch sets", Case::kEffect);
      w.before = old->second;
    }
  }
  arm_writes_->push_back(std::move(w));
  return true;
}

// The outcome of a branch, behind it.
void ControlFlow::merge_writes(const V& target, const py::object& name, const V& value) {
  if (auto* it = as<IteratorValue>(target)) {
    t_.written_in_arm(it);
    t_.undoable([it, before = place_of(t_, it)] { put_at(it, before); });
    put_at(it, value);
  } else if (auto* t = as<TensorValue>(target))
    set_node(t_, t, value->node());
  else if (as<CellValue>(target))
    set_cell(t_, target, value);
  else
    protocol::store_attribute(t_, target, name.ptr(), value);
}

// A copy, as loops inside move the list.
std::optional<ControlFlow::Turn> ControlFlow::turn_of(const Frame& f) const {
  if (turns_.empty() || turns_.back().frame != &f) return std::nullopt;
  return turns_.back();
}

// Runs the frame from `pc` to `stop`, which is not run, or to the end of a loop's turn. Where that
// leaves the loop, the condition says so.
void ControlFlow::run_until(Frame& f, int pc, int stop, Arm* arm) {
  f.pc = pc;
  const std::optional<Turn> turn = turn_of(f);
  while (true) {
    for (size_t k = 0; k + 1 < turns_.size(); ++k)
      if (turns_[k].frame == &f && (f.pc == turns_[k].test || f.pc == turns_[k].after))
        t_.give_up(Reason::kTensorValue, "a loop that is left from one inside of it",
                   Case::kTensorBranch);
    if (turn && f.pc == turn->after) {
      f.stack.push_back(t_.constant(py::bool_(turn->negated)));
      f.pc = turn->test;
    }
    if (f.pc == stop || (turn && f.pc == turn->test)) return;
    t_.count(f);
    try {
      t_.step(f);
    } catch (const Raised& r) {
      t_.give_up(Reason::kTensorValue, "an exception in a branch or loop on a tensor",
                 Case::kTensorBranch);
    }
    if (t_.returned_) {
      t_.returned_ = false;
      arm->returned = true;
      arm->value = t_.return_value_;
      return;
    }
  }
}

}  // namespace pijit
