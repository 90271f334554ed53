#include "capture/values/cell.h"

#include "capture/context.h"
#include "capture/rebuilder.h"

namespace pijit {
namespace {

struct CellRecipe final : Recipe {
  py::object make(Runner& r) const override {
    return checked(PyCell_New(parts.empty() ? nullptr : r.make(parts[0]).ptr()));
  }
  std::string describe() const override { return "cell"; }
};

}  // namespace

PyTypeObject* CellValue::type() const { return &PyCell_Type; }

void CellValue::traverse(Visit visit) const { visit(content); }

int CellValue::rebuild(Rebuilder& r) {
  auto cell = std::make_unique<CellRecipe>();
  if (content) cell->parts = {r.recipe(content)};
  return r.add(this, std::move(cell));
}

void set_cell(Context& c, const V& v, const V& value) {
  auto* cell = as<CellValue>(v);
  const bool in_arm = c.written_in_arm(cell);
  if (!in_arm) c.check_effect(cell);
  c.undoable([cell, old = cell->content] { cell->content = old; });
  cell->content = value;
  if (cell->src >= 0 && !in_arm) c.log({Context::Note::kSetCell, cell, {}, {}, {value}});
}

}  // namespace pijit
