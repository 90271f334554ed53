// Cells: variables that functions share.
#pragma once
#include "capture/value.h"

namespace pijit {

struct CellValue final : Value {
  CellValue() : Value(&kKind<CellValue>) {}
  static bool holds(Kind k) { return k == &kKind<CellValue>; }
  PyTypeObject* type() const override;
  bool has_identity() const override { return true; }
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V content;  // null: empty
};

void set_cell(Context& c, const V& cell, const V& value);

}  // namespace pijit
