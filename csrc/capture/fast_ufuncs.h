// NumPy's functions of floats that ops of ours compute under numerics="fast", within few ULP, in
// the loops of what is around them.
#pragma once
#include <span>
#include <string_view>

#include "graph/graph.h"
#include "graph/op.h"

namespace pijit {

struct FastUfunc {
  std::string_view name;
  const char* op;
  bool quiet = false;  // the op: no flag tells where it makes NaN of numbers

  // What it computes of floats, with NumPy's flags.
  SVal scalar(SBuilder& b, std::span<const SVal> in, DType t) const;
  Val value(Graph& g, std::span<const Val> in) const;
};
// By the ufunc's name; null: there is none.
const FastUfunc* fast_ufunc(std::string_view name);

}  // namespace pijit
