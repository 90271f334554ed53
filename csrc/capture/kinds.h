// The kinds of values that exact types have which nothing else in capture knows. A kind's own file
// says which types it is for, by a RegisteredKind; no list names it.
#pragma once
#include "capture/context.h"

namespace pijit {

struct KindOfType {
  bool (*is_of)(PyTypeObject* t);
  V (*make)(Context& c);  // an empty value, for an object from outside
  // What a call of the type gives. Null: it is not followed.
  V (*construct)(Context& c, PyTypeObject* t, std::vector<V>& args, Kwargs& kwargs) = nullptr;
};
// Null: none of these.
const KindOfType* kind_of(PyTypeObject* t);

struct RegisteredKind {
  explicit RegisteredKind(const KindOfType& kind);
};

template <class T>
V empty_value(Context& c) {
  return c.make<T>();
}

}  // namespace pijit
