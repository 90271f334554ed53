#include "capture/kinds.h"

#include "capture/values.h"

namespace pijit {
namespace {

template <class T>
V made(Context& c) {
  return c.make<T>();
}

constexpr KindOfType kSet{made<OpenSetValue>}, kBytearray{made<BytearrayValue>},
    kArrayModule{made<ArrayModuleValue>}, kDeque{made<DequeValue>, DequeValue::construct},
    kDict{made<DictValue>, DictValue::construct};

}  // namespace

const KindOfType* kind_of(PyTypeObject* t) {
  if (t == &PySet_Type) return &kSet;
  if (t == &PyByteArray_Type) return &kBytearray;
  if (t == array_type()) return &kArrayModule;
  if (t == deque_type()) return &kDeque;
  return dict_like(t) ? &kDict : nullptr;
}

}  // namespace pijit
