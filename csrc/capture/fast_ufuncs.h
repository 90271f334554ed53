// NumPy's functions of floats that ops of ours compute under numerics="fast", within few ULP, in
// the loops of what is around them. What NumPy would warn of may go unsaid.
#pragma once
#include <string_view>

#include "graph/op.h"

namespace pijit {

// By the ufunc's name; null: there is none.
const OpDef* fast_op(std::string_view ufunc);

}  // namespace pijit
