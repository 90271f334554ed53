// What NumPy sorts and searches: by its own functions of one row, where these do what np.sort does.
#pragma once
#include "capture/values/ndarray.h"

namespace pijit {

V sorted(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V order_of_rows(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
template <bool kLargest>
V place_of_extreme(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V places_in_order(Context& c, const std::vector<V>& args, const Kwargs& kwargs);

}  // namespace pijit
