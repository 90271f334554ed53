// The kinds of values that exact types have which nothing else in capture knows.
#pragma once
#include "capture/context.h"

namespace pijit {

struct KindOfType {
  V (*make)(Context& c);  // an empty value, for an object from outside
  // What a call of the type gives. Null: it is not followed.
  V (*construct)(Context& c, PyTypeObject* t, std::vector<V>& args, Kwargs& kwargs) = nullptr;
};
// Null: none of these.
const KindOfType* kind_of(PyTypeObject* t);

}  // namespace pijit
