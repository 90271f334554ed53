// Views of a Tensor's bytes as elements of another dtype (views.h has those of one dtype).
#pragma once
#include <Python.h>

namespace pijit {

// `part`, of another dtype, has the bytes of `whole`: it is from now on a view of it, and a copy
// where its elements lie otherwise. As make_view, but for the dtype.
void make_view_of_bytes(PyObject* part, PyObject* whole);

}  // namespace pijit
