#include "capture/fast_ufuncs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "graph/vals.h"

namespace pijit {

SVal FastUfunc::scalar(SBuilder& b, std::span<const SVal> in, DType t) const {
  const SVal made = build_scalar(b, OpTable::get().at(op), {}, in, t);
  if (!quiet) return made;
  const SVal zero = b.constant(t, 0.0);
  SVal told = b.constant(t, HUGE_VAL);
  for (const SVal& x : in) told = s_select(s_is_nan(x), zero, told);
  return made - s_select(s_is_nan(made), told, zero) * zero;  // infinity times 0 is invalid
}

Val FastUfunc::value(Graph& g, std::span<const Val> in) const {
  const Val made = g.op(OpTable::get().at(op), in, {});
  if (!quiet) return made;
  const Val zero = v_const(made, 0.0);
  Val told = v_const(made, HUGE_VAL);
  for (const Val& x : in) told = v_select(g.op("isnan", {x}), zero, told);
  return made - v_select(g.op("isnan", {made}), told, zero) * zero;
}

const FastUfunc* fast_ufunc(std::string_view name) {
  static constexpr FastUfunc kAll[] = {{"exp", "exp"},
                                       {"exp2", "exp2"},
                                       {"expm1", "expm1"},
                                       {"log", "log", true},
                                       {"log2", "log2", true},
                                       {"log10", "log10", true},
                                       {"log1p", "log1p", true},
                                       {"sin", "sin"},
                                       {"cos", "cos"},
                                       {"tan", "tan"},
                                       {"arcsin", "asin"},
                                       {"arccos", "acos"},
                                       {"arctan", "atan"},
                                       {"arctan2", "atan2"},
                                       {"sinh", "sinh"},
                                       {"cosh", "cosh"},
                                       {"tanh", "tanh"},
                                       {"arcsinh", "asinh"},
                                       {"arccosh", "acosh"},
                                       {"arctanh", "atanh", true},
                                       {"cbrt", "cbrt"},
                                       {"power", "pow", true},
                                       {"float_power", "pow", true}};
  const auto* row = std::ranges::find(kAll, name, &FastUfunc::name);
  return row == std::end(kAll) ? nullptr : row;
}

}  // namespace pijit
