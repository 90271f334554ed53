// Tapes made during capture.
#pragma once
#include "capture/tape.h"
#include "capture/value.h"

namespace pijit {

struct TapeValue final : Value {
  explicit TapeValue(Tape::Use use) : Value(&kKind<TapeValue>) { tape.use = use; }
  static bool holds(Kind k) { return k == &kKind<TapeValue>; }
  PyTypeObject* type() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  CapturedTape tape;
};
// The class of tapes.
PyTypeObject* tape_type();

}  // namespace pijit
