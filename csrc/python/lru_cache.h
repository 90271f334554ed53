// What a function behind functools.lru_cache has kept.
#pragma once
#include "python/convert.h"

namespace pijit {

// Once, when the module is loaded.
void init_lru_cache();

// Is it such a function, whose cache we can read?
bool is_cached_function(PyObject* f);
// A C function: of a cached function and its arguments, what it has kept for these, or `not_kept`.
// Neither the function nor the account of its hits sees it.
PyObject* kept_result_function();
PyObject* not_kept();

}  // namespace pijit
