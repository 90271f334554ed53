#include "capture/scope.h"

namespace pijit {

Val Scope::val(Val v) {
  if (!v || v.b == graph_) return v;
  PIJIT_CHECK(parent_, "a value of another graph");
  return import(parent_->val(v));
}

Val Scope::import(Val outer) {
  for (auto& i : imports_)
    if (i.outer == outer) return i.inner;
  imports_.push_back({outer, graph_->add_input(outer.type())});
  return imports_.back().inner;
}

}  // namespace pijit
