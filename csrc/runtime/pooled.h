// Containers of a run, in the memory of the pool: what a call needs beyond results costs no call of
// malloc.
#pragma once
#include "absl/container/inlined_vector.h"
#include "runtime/array.h"

namespace pijit {

template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(pijit::allocate(n * sizeof(T))); }
  void deallocate(T* p, size_t n) { release(p, n * sizeof(T)); }
  bool operator==(const PoolAllocator&) const = default;
};
template <class T, size_t kInline>
using Pooled = absl::InlinedVector<T, kInline, PoolAllocator<T>>;

}  // namespace pijit
