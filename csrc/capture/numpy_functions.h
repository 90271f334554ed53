// Functions of NumPy by name, beside those of capture/numpy.cc. Each gives what NumPy's gives;
// null: NumPy itself must be asked.
#pragma once
#include "capture/values/ndarray.h"

namespace pijit {

// The axis as the argument at `place` or by name; `usual` where none is given (below 0: there is
// none).
std::optional<int> axis_argument(Context& c, const std::vector<V>& args, const Kwargs& kwargs,
                                 size_t place, int rank, int usual);

V padded(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V rolled(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V mesh_grid(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V selected(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V copied_to(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V filled_in_place(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
// np.diag, and the method `diagonal` of matrices, whose results are views that cannot be written.
V diagonal_matrix(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
V diagonal_view(Context& c, const std::vector<V>& args, const Kwargs& kwargs);
// The one element as Python's number.
V single_item(Context& c, const std::vector<V>& args, const Kwargs& kwargs);

}  // namespace pijit
