// Iterators and generators: what a loop gets from an object, one item at a time.
#include <algorithm>
#include <utility>

#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"
#include "python/hook.h"

namespace pijit {

bool Tracer::send(const V& it, const V& sent, V* value) {
  if (is_none(sent)) {
    if (protocol::next(*this, it, value)) return true;
  } else {
    if (!generator_of(it)) give_up(Reason::kRaises, "send()");
    if (resume_generator(it, value, sent)) return true;
  }
  if (!generator_of(it)) *value = nullptr;
  return false;
}

bool Tracer::throw_into(Frame& f, const V& exception, V* value) {
  const auto& code = f.code->instrs;
  V raised = exception;
  --f.pc;  // at its yield
  if (f.pc > 0 && code[f.pc - 1].op == Op::SEND) {
    --f.pc;
    const auto& sending = code[f.pc];
    const V inner = f.stack.at(f.stack.size() - 2 - static_cast<size_t>(sending.b));
    if (auto* g = generator_of(inner)) {
      auto* exits = reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit);
      try {
        if (PyType_IsSubtype(exception->type(), exits)) {
          g->close(*this);
        } else if (resume_generator(inner, value, nullptr, exception)) {
          f.pc += 2;  // it goes on waiting there
          return true;
        } else {
          f.stack.resize(f.stack.size() - static_cast<size_t>(2 + sending.b - sending.a));
          f.stack.push_back(*value ? *value : constant(py::none()));
          f.pc = code[f.pc].target;
          return false;
        }
      } catch (const Raised& r) {
        raised = r.exception;
      }
    }
  }
  if (!enter_handler(f, raised)) raise(raised);
  return false;
}

bool Tracer::resume_generator(const V& v, V* value, const V& sent, const V& thrown) {
  auto* it = generator_of(v);
  *value = nullptr;
  const V exception = thrown ? exception_from(thrown) : nullptr;
  if (!it->frame) {
    if (exception) raise(exception);
    return false;
  }
  if (it->dirty) give_up(Reason::kTensorValue, "a generator that a branch on a tensor moves");
  if (!written_in_arm(it)) check_effect(it);
  undoable([it, frame = it->frame, copy = *it->frame, pos = it->pos] {
    it->frame = frame;
    *frame = copy;
    it->pos = pos;
  });
  const auto frame = it->frame;  // a step may end it
  if (std::find(frames_.begin(), frames_.end(), frame.get()) != frames_.end())
    give_up(Reason::kRaises, "generator already executing");
  if (frames_.size() > 60 || stack_is_low()) give_up(Reason::kRecursion);
  const bool begins = frame->pc == 0;
  if (sent && begins && !is_none(sent))
    raise(PyExc_TypeError,
          {constant(py::str("can't send non-None value to a just-started generator"))});
  if (sent && !begins) frame->stack.back() = sent;
  ++it->pos;
  const size_t depth = frames_.size();
  // In a handler, it has an exception of its own.
  if (begins || frame->handled == it->outside) frame->handled = frames_.back()->handled;
  it->outside = frames_.back()->handled;
  frames_.push_back(frame.get());
  try {
    if (exception && begins) raise(exception);
    bool waits = exception && throw_into(*frame, exception, value);
    while (!waits) {
      count(*frame);
      advance(*frame);
      if (returned_) {
        returned_ = false;
        frames_.pop_back();
        it->frame = nullptr;
        *value = return_value_;
        return false;
      }
      waits = yielded_;
      if (waits) *value = std::exchange(yielded_, nullptr);
    }
    frames_.pop_back();
    return true;
  } catch (const Raised& r) {
    const GraphBreak stops{Reason::kRaises, describe(r), r.where};
    frames_.resize(depth);
    it->frame = nullptr;
    if (PyType_IsSubtype(r.exception->type(), reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)))
      throw stops;  // it becomes a RuntimeError
    throw;
  } catch (...) {
    frames_.resize(depth);
    returned_ = false;
    yielded_ = nullptr;
    throw;
  }
}

void GeneratorValue::traverse(Visit visit) const {
  if (!frame) return;
  for (auto& x : frame->slots) visit(x);
  for (auto& x : frame->stack) visit(x);
  visit(frame->handled);
  visit(frame->func);
}

}  // namespace pijit
