// Elements of ndarrays at arrays of indexes. Negative ones count from the end; where one is out of
// bounds the run fails, before anything is stored.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "cpu/cpu.h"

namespace pijit {
namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread

// Where the rows lie that indexes of the first axes name, in rows.
class Places {
 public:
  Places(const Type& x, size_t axes, const void* const* indexes) : indexes_(indexes) {
    for (size_t k = 0; k < axes; ++k) sizes_.push_back(x.shape[static_cast<int>(k)]);
  }
  // f(i, place) for each one of a range. False: one is out of bounds, and counts as the first.
  template <class F>
  bool each(int64_t begin, int64_t end, const F& f) const {
    bool inside = true;
    if (sizes_.size() == 1) {
      const auto* const index = static_cast<const int64_t*>(indexes_[0]);
      const int64_t n = sizes_[0];
      for (int64_t i = begin; i < end; ++i) {
        int64_t at = index[i];
        at += at < 0 ? n : 0;
        const bool good = static_cast<uint64_t>(at) < static_cast<uint64_t>(n);
        inside &= good;
        f(i, good ? at : 0);
      }
      return inside;
    }
    for (int64_t i = begin; i < end; ++i) {
      int64_t place = 0;
      bool good = true;
      for (size_t k = 0; k < sizes_.size(); ++k) {
        int64_t at = static_cast<const int64_t*>(indexes_[k])[i];
        at += at < 0 ? sizes_[k] : 0;
        good &= static_cast<uint64_t>(at) < static_cast<uint64_t>(sizes_[k]);
        place = place * sizes_[k] + at;
      }
      inside &= good;
      f(i, good ? place : 0);
    }
    return inside;
  }

 private:
  std::vector<int64_t> sizes_;
  const void* const* indexes_;
};

// f(copy) with a function that copies the row at one place to another.
template <class F>
void with_copy(void* to, const void* from, size_t row, const F& f) {
  auto typed = [&](auto zero) {
    using T = decltype(zero);
    f([y = static_cast<T*>(to), x = static_cast<const T*>(from)](int64_t i, int64_t k) {
      y[i] = x[k];
    });
  };
  if (row == 8) return typed(uint64_t{});
  if (row == 4) return typed(uint32_t{});
  if (row == 2) return typed(uint16_t{});
  if (row == 1) return typed(uint8_t{});
  f([=](int64_t i, int64_t k) {
    std::memcpy(static_cast<char*>(to) + static_cast<size_t>(i) * row,
                static_cast<const char*>(from) + static_cast<size_t>(k) * row, row);
  });
}

size_t row_bytes(const Type& x, size_t axes) {
  size_t row = size_of(x.dtype);
  for (int k = static_cast<int>(axes); k < x.shape.rank(); ++k)
    row *= static_cast<size_t>(int64_t{x.shape[k]});
  return row;
}

void check_inside(const char* op, bool inside) {
  OP_CHECK(inside, kIndex, "[", op, "] an index is out of bounds");
}

std::unique_ptr<OpKernel> take(const KernelRequest& r, std::string*) {
  const Type x = r.in[0];
  const size_t axes = r.in.size() - 1, row = row_bytes(x, axes);
  const int64_t count = r.in[1].shape.numel();
  const bool empty = int64_t{x.shape.numel()} == 0 || row == 0;
  return fn_kernel([=](const void* const* in, void* out) {
    if (count == 0) return;
    const Places places(x, axes, in + 1);
    if (empty) return check_inside("numpy_take", places.each(0, count, [](int64_t, int64_t) {}));
    std::atomic<bool> inside = true;
    with_copy(out, in[0], row, [&](auto copy) {
      const int64_t grain = std::max<int64_t>(1, kGrain / static_cast<int64_t>(row / 8 + 1));
      parallel_for(count, grain, [&](int64_t begin, int64_t end) {
        if (!places.each(begin, end, copy)) inside = false;
      });
    });
    check_inside("numpy_take", inside);
  });
}

// In the order of the indexes: the last one of several at a place counts.
std::unique_ptr<OpKernel> put(const KernelRequest& r, std::string*) {
  const Type x = r.in[0];
  const size_t axes = r.in.size() - 2, row = row_bytes(x, axes), bytes = x.bytes();
  const int64_t count = r.in[2].shape.numel();
  return fn_kernel([=](const void* const* in, void* out) {
    if (bytes) std::memcpy(out, in[0], bytes);
    if (count == 0) return;
    const Places places(x, axes, in + 2);
    if (bytes == 0)
      return check_inside("numpy_put", places.each(0, count, [](int64_t, int64_t) {}));
    with_copy(out, in[1], row, [&](auto copy) {
      const bool inside = places.each(0, count, [&](int64_t i, int64_t place) { copy(place, i); });
      check_inside("numpy_put", inside);
    });
  });
}

}  // namespace

KernelFamily pick_kernels() {
  return {"of arrays of indexes", {{"numpy_take", take}, {"numpy_put", put}}};
}

}  // namespace pijit
