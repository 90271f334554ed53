// x[i] of arrays of indexes, and what NumPy has besides for them: copies, each element of which
// lies at a place that only a run knows. A place out of bounds fails the run; NumPy's own names it
// then.
#pragma once
#include "capture/values/ndarray.h"

namespace pijit {

// Null, or false: the index is none of arrays of integers, or none that is followed.
V picked_part(Context& c, NdarrayValue* a, const V& at);
bool store_picked(Context& c, NdarrayValue* a, const V& at, const V& value);

// np.take and its kind, of their arguments.
V take(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V take_along_axis(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V put_along_axis(Context& c, const std::vector<V>& args, const Kwargs& kwargs);

}  // namespace pijit
