// Iterators: what a loop gets from an object, one item at a time.
#include "capture/tracer.h"
#include "capture/values.h"
#include "python/hook.h"

namespace pijit {
V Context::get_iter(const V& x) {
  if (PyObject* f = user_method(x, "__iter__")) {
    V r = call(wrap_static(f), {x}, {});
    if (as<IteratorValue>(r)) return r;
    give_up(Reason::kUnsupportedIterable, x->type()->tp_name);
  }
  return x->iter(*this);
}

bool Tracer::resume_generator(const V& v, V* value) {
  auto* it = as<GeneratorValue>(v);
  if (!it->frame) return false;
  undoable([it, frame = it->frame, copy = *it->frame] {
    it->frame = frame;
    *frame = copy;
  });
  const auto frame = it->frame;  // a step may end it
  if (frames_.size() > 60 || stack_is_low()) give_up(Reason::kRecursion);
  const size_t depth = frames_.size();
  frame->handled = frames_.back()->handled;
  frames_.push_back(frame.get());
  try {
    while (true) {
      tick();
      try {
        step(*frame);
      } catch (const Raised& r) {
        throw GraphBreak{Reason::kRaises, describe(r), r.where};
      }
      if (returned_) {
        returned_ = false;
        frames_.pop_back();
        it->frame = nullptr;
        return false;
      }
      if (yielded_) {
        frames_.pop_back();
        *value = std::move(yielded_);
        yielded_ = nullptr;
        return true;
      }
    }
  } catch (...) {
    frames_.resize(depth);
    returned_ = false;
    yielded_ = nullptr;
    throw;
  }
}

bool Context::iterate(const V& v, V* value) {
  auto* it = as<IteratorValue>(v);
  check_effect(it);
  undoable([it, pos = it->pos] { it->pos = pos; });
  return it->next(*this, value);
}

}  // namespace pijit
