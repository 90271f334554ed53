#include "capture/fast_ufuncs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "graph/vals.h"

namespace pijit {

namespace {

SVal like(const SVal& x, double n) { return x.sb->constant(x.dtype(), n); }
Val like(const Val& x, double n) { return v_const(x, n); }
SVal is_nan(const SVal& x) { return s_is_nan(x); }
Val is_nan(const Val& x) { return v_op("isnan", x); }
SVal pick(const SVal& c, const SVal& a, const SVal& b) { return s_select(c, a, b); }
Val pick(const Val& c, const Val& a, const Val& b) { return v_select(c, a, b); }

// The same numbers. Where NaN was made of none, an infinity times 0 raises the flag of invalid
// operations.
template <class V>
V telling(const V& made, std::span<const V> in) {
  const V zero = like(made, 0.0);
  V told = like(made, HUGE_VAL);
  for (const V& x : in) told = pick(is_nan(x), zero, told);
  return made - pick(is_nan(made), told, zero) * zero;
}

}  // namespace

SVal FastUfunc::scalar(SBuilder& b, std::span<const SVal> in, DType t) const {
  const SVal made = build_scalar(b, OpTable::get().at(op), {}, in, t);
  return quiet ? telling(made, in) : made;
}

Val FastUfunc::value(Graph& g, std::span<const Val> in) const {
  const Val made = g.op(OpTable::get().at(op), in, {});
  return quiet ? telling(made, in) : made;
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
