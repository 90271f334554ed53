#include "capture/kinds.h"

#include "absl/container/flat_hash_map.h"
#include "capture/values.h"

namespace pijit {
namespace {

template <class T>
V made(Context& c) {
  return c.make<T>();
}

}  // namespace

const KindOfType* kind_of(PyTypeObject* t) {
  static const absl::flat_hash_map<PyTypeObject*, KindOfType> kinds = {
      {&PySet_Type, {made<OpenSetValue>}},
      {&PyByteArray_Type, {made<BytearrayValue>}},
      {array_type(), {made<ArrayModuleValue>}},
      {deque_type(), {made<DequeValue>, DequeValue::construct}},
  };
  static const KindOfType dict{made<DictValue>, DictValue::construct};
  if (dict_like(t)) return &dict;
  auto it = kinds.find(t);
  return it != kinds.end() ? &it->second : nullptr;
}

}  // namespace pijit
