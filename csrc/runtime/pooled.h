// Containers of a run, in the memory of the pool: what a call needs beyond results costs no call of
// malloc.
#pragma once
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "runtime/array.h"
#include "runtime/guard.h"

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
template <class T>
using PoolVector = std::vector<T, PoolAllocator<T>>;

// Several pieces of memory that are needed for as long as each other: one block. Where memory is
// guarded they have one each, as what runs out of a piece must not end up in the next.
class Pieces {
 public:
  explicit Pieces(std::span<const size_t> bytes) : block_(guarded() ? 0 : in_all(bytes)) {
    char* at = block_.p;
    for (const size_t n : bytes) {
      if (guarded()) at = own_.emplace_back(std::make_unique<Block>(n))->p;
      at_.push_back(at);
      at += rounded(n);
    }
  }
  Pieces(std::initializer_list<size_t> bytes) : Pieces(std::span(bytes.begin(), bytes.size())) {}
  char* operator[](size_t k) const { return at_[k]; }
  template <class T>
  T* of(size_t k) const {
    return reinterpret_cast<T*>(at_[k]);
  }

 private:
  static size_t rounded(size_t n) { return (n + 63) / 64 * 64; }
  static size_t in_all(std::span<const size_t> bytes) {
    size_t n = 0;
    for (const size_t b : bytes) n += rounded(b);
    return n;
  }
  const Block block_;
  absl::InlinedVector<char*, 8> at_;
  std::vector<std::unique_ptr<Block>> own_;
};

}  // namespace pijit
