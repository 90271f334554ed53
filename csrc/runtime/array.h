// Array: an immutable, contiguous, row-major value with shared storage. Tensors of the front end
// point to arrays; an in-place update gives the tensor another array. Storage may be overwritten
// only by whoever holds the single reference to it (Program's donated inputs).
#pragma once
#include <atomic>
#include <cstddef>
#include <utility>

#include "graph/type.h"

namespace pijit {

class Device;

// Blocks of the host's memory, 64-byte aligned, recycled by size class.
void* allocate(size_t bytes);
void release(void* p, size_t bytes);
// A block of the pool; null for 0 bytes.
struct Block {
  size_t bytes;
  char* p;
  explicit Block(size_t n) : bytes(n), p(n ? static_cast<char*>(allocate(n)) : nullptr) {}
  ~Block() {
    if (p) release(p, bytes);
  }
  Block(const Block&) = delete;
};
size_t allocated_bytes();  // in use, without what the cache holds
// Gives whole pages of a block back to the system; nobody may touch it until they are taken back.
// How many bytes; 0: none.
size_t give_pages_back(void* p, size_t bytes);
void take_pages_back(void* p, size_t bytes);

struct Forms;  // runtime/packed.h

struct Storage {
  std::atomic<int> refs{1};
  bool lent = false;   // others may write it: under the lock of packed.cc
  bool stays = false;  // its data was asked for after it had gone; under that lock
  void* data;          // where it lies; to be read or written: Array::data
  size_t bytes;
  Device* device = nullptr;                    // null: memory of the host
  void (*free_external)(void* ctx) = nullptr;  // memory owned by someone else
  void* ctx = nullptr;
  std::atomic<Forms*> forms{nullptr};  // what kernels made of its data
  std::atomic<uint64_t> unwritten{0};  // since watch(), which gave it this number; 0: written
  std::atomic<size_t> away{0};  // bytes that went back to the system, as a form has what they held
};
void bring_back(Storage& s);  // runtime/packed.h

template <class T>
class Ref {
 public:
  Ref() = default;
  static Ref steal(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  static Ref share(T* p) {
    if (p) p->refs.fetch_add(1, std::memory_order_relaxed);
    return steal(p);
  }
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) p_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && p_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(p_);
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_; }

 private:
  T* p_ = nullptr;
};
void destroy(Storage* s);

struct Array {
  std::atomic<int> refs{1};
  Type type;
  Ref<Storage> storage;
  bool of_one_element = false;  // of a batch, and outlived the mapped function: no one may use it
  // The Tensor under whose identity it is the value (null: its own), and its turn among those.
  const void* bearer = nullptr;
  uint64_t turn = 0;
  Array(const Type& t, Ref<Storage> s) : type(t), storage(std::move(s)), at_(storage->data) {}
  // To be read or written, for as long as the array or its storage is held.
  void* data() const {
    if (storage->away.load(std::memory_order_acquire)) [[unlikely]]
      bring_back(*storage);
    return at_;
  }
  void* address() const { return at_; }
  static void* operator new(size_t n) { return allocate(n); }
  static void operator delete(void* p, size_t n) { release(p, n); }

 private:
  void* at_;
};
inline void destroy(Array* a) { delete a; }
using ArrayRef = Ref<Array>;

ArrayRef new_array(const Type& t);  // on the type's device
ArrayRef new_external_array(const Type& t, void* data, void (*free_external)(void*), void* ctx);
// The same elements under another type of equal size.
ArrayRef alias_array(const ArrayRef& a, const Type& t);
ArrayRef scalar_array(DType t, uint64_t bits);
// The elements on another device; the array itself where it is there already.
ArrayRef array_on(const ArrayRef& a, DeviceId d);
inline bool sole_owner(const Array& a) {
  return a.refs.load(std::memory_order_acquire) == 1 &&
         a.storage->refs.load(std::memory_order_acquire) == 1 && !a.storage->free_external;
}

}  // namespace pijit
