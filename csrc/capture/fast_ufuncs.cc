#include "capture/fast_ufuncs.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pijit {

const OpDef* fast_op(std::string_view ufunc) {
  static constexpr std::pair<std::string_view, const char*> kOps[] = {
      {"exp", "exp"},       {"exp2", "exp2"},     {"expm1", "expm1"},   {"log", "log"},
      {"log2", "log2"},     {"log10", "log10"},   {"log1p", "log1p"},   {"sin", "sin"},
      {"cos", "cos"},       {"tan", "tan"},       {"arcsin", "asin"},   {"arccos", "acos"},
      {"arctan", "atan"},   {"arctan2", "atan2"}, {"sinh", "sinh"},     {"cosh", "cosh"},
      {"tanh", "tanh"},     {"arcsinh", "asinh"}, {"arccosh", "acosh"}, {"arctanh", "atanh"},
      {"cbrt", "cbrt"},     {"power", "pow"},     {"float_power", "pow"}};
  const auto* row = std::ranges::find(kOps, ufunc, [](auto& r) { return r.first; });
  return row == std::end(kOps) ? nullptr : &OpTable::get().at(row->second);
}

}  // namespace pijit
