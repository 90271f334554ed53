// Loops of other libraries on arrays. Elements are independent of where a call begins and ends, so
// that threads share them.
#include <cstring>
#include <numeric>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/kernels/pairwise.h"
#include "cpu/kernels/products.h"
#include "runtime/array.h"
#include "runtime/foreign.h"
#include "runtime/fp_status.h"

namespace pijit {
namespace {

// Some of NumPy's loops clear all flags: those that are up belong to kernels before.
void keep_flags() {
  if (FpWatch* const watch = FpWatch::current()) watch->add(fp_flags());
}

// What compares may raise flags that NumPy does not look at there.
class Unwatched {
 public:
  explicit Unwatched(FpWatch* watch) : watch_(watch) {
    if (watch_) watch_->add(fp_flags());
  }
  ~Unwatched() {
    if (watch_) clear_fp_flags();
  }
  Unwatched(const Unwatched&) = delete;

 private:
  FpWatch* watch_;
};

constexpr int64_t kGrain = 8192;  // elements for a thread, of functions of some nanoseconds each

std::unique_ptr<OpKernel> elementwise(const KernelRequest& r, std::string*) {
  const ForeignLoop loop = foreign_loop(r.ctx().i("loop"));
  const int64_t n = r.out.shape.numel();
  std::vector<std::ptrdiff_t> steps;
  for (auto& t : r.in) {
    const auto size = static_cast<std::ptrdiff_t>(size_of(t.dtype));
    steps.push_back(int64_t{t.shape.numel()} == 1 ? 0 : size);
  }
  // as NumPy's, which takes other code for other steps
  steps.push_back(n == 1 && !is_complex(r.in[0].dtype) && !is_complex(r.out.dtype)
                      ? 0
                      : static_cast<std::ptrdiff_t>(size_of(r.out.dtype)));
  return fn_kernel([=](const void* const* x, void* out) {
    keep_flags();
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      constexpr size_t kMost = 8;
      char* at[kMost];
      const size_t inputs = steps.size() - 1;
      for (size_t k = 0; k < inputs; ++k)
        at[k] = const_cast<char*>(static_cast<const char*>(x[k])) + begin * steps[k];
      at[inputs] = static_cast<char*>(out) + begin * steps[inputs];
      const std::ptrdiff_t count = end - begin;
      if (count > 0) loop.function(at, &count, steps.data(), loop.data);
    });
  });
}

// Rows that NumPy's loop adds up in pairs.
class RowSums : public OpKernel {
 public:
  RowSums(std::shared_ptr<const PairwiseSum> sum, const KernelRequest& r)
      : sum_(std::move(sum)),
        rows_(r.in[0].shape[0]),
        n_(r.in[0].shape[1]),
        size_(static_cast<int64_t>(size_of(r.out.dtype))),
        starts_(r.present.size() > 1 && r.present[1]) {}
  void run(const void* const* x, void* out) override {
    const auto* const from = static_cast<const char*>(x[0]);
    auto* const to = static_cast<char*>(out);
    for (int64_t k = 0; k < rows_; ++k)
      std::memcpy(to + k * size_, starts_ ? x[1] : from + k * n_ * size_,
                  static_cast<size_t>(size_));
    // Rows that start from the first element have one fewer left.
    const int64_t skip = starts_ ? 0 : 1;
    sum_->onto(from + skip * size_, rows_, n_ - skip, n_ * size_, to);
  }
  bool takes_rows() const override { return rows_ > 1; }
  std::string describe() const override { return str_cat("sums.row[", rows_, ",", n_, "]"); }

 private:
  const std::shared_ptr<const PairwiseSum> sum_;
  const int64_t rows_, n_, size_;
  const bool starts_;
};

std::unique_ptr<OpKernel> reduce(const KernelRequest& r, std::string*) {
  const ForeignLoop loop = foreign_loop(r.ctx().i("loop"));
  const int64_t outer = r.in[0].shape[0], n = r.in[0].shape[1], inner = r.in[0].shape[2];
  const auto from = static_cast<std::ptrdiff_t>(size_of(r.in[0].dtype)),
             to = static_cast<std::ptrdiff_t>(size_of(r.out.dtype));
  const bool starts = r.present.size() > 1 && r.present[1];
  if (inner == 1 && n > 16 && r.in[0].dtype == r.out.dtype)
    if (auto sum = PairwiseSum::of(loop, r.out.dtype))
      return std::make_unique<RowSums>(std::move(sum), r);
  return fn_kernel([=](const void* const* x, void* out) {
    keep_flags();
    const char* const src = static_cast<const char*>(x[0]);
    char* const dst = static_cast<char*>(out);
    // Rows that start from the first element have one fewer left.
    const int64_t skip = starts ? 0 : 1;
    auto begin_at = [&](int64_t o, int64_t i, int64_t count) {
      char* const d = dst + (o * inner + i) * to;
      if (!starts)
        std::memcpy(d, src + (o * n * inner + i) * from, static_cast<size_t>(count * to));
      else
        for (int64_t k = 0; k < count; ++k) std::memcpy(d + k * to, x[1], static_cast<size_t>(to));
      return d;
    };
    if (inner == 1) {
      parallel_for(outer, std::max<int64_t>(1, 16384 / std::max<int64_t>(n, 1)),
                   [&](int64_t b, int64_t e) {
                     for (int64_t o = b; o < e; ++o) {
                       char* const d = begin_at(o, 0, 1);
                       char* at[] = {d, const_cast<char*>(src) + (o * n + skip) * from, d};
                       const std::ptrdiff_t count = n - skip, steps[] = {0, from, 0};
                       if (count > 0) loop.function(at, &count, steps, loop.data);
                     }
                   });
      return;
    }
    // Rows one after the other, in parallel over columns.
    for (int64_t o = 0; o < outer; ++o)
      parallel_for(
          inner, std::max<int64_t>(64, 16384 / std::max<int64_t>(n, 1)), [&](int64_t b, int64_t e) {
            char* const d = begin_at(o, b, e - b);
            const std::ptrdiff_t count = e - b, steps[] = {to, from, to};
            for (int64_t k = skip; k < n; ++k) {
              char* at[] = {d, const_cast<char*>(src) + ((o * n + k) * inner + b) * from, d};
              loop.function(at, &count, steps, loop.data);
            }
          });
  });
}

struct Sixteen {
  uint64_t parts[2];
};
template <class T>
int64_t picked(const void* from, const uint8_t* mask, int64_t n, void* to) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    y[count] = x[i];
    count += mask[i] != 0;
  }
  return count;
}

std::unique_ptr<OpKernel> masked_reduce(const KernelRequest& r, std::string*) {
  const ForeignLoop loop = foreign_loop(r.ctx().i("loop"));
  const int64_t n = r.in[0].shape[0];
  const size_t size = size_of(r.in[0].dtype);
  const bool starts = r.present.size() > 2 && r.present[2];
  return fn_kernel([=](const void* const* x, void* out) {
    keep_flags();
    const auto* mask = static_cast<const uint8_t*>(x[1]);
    const Block memory(static_cast<size_t>(n) * size + size);
    char* const all = static_cast<char*>(memory.p);
    const int64_t count = size == 16  ? picked<Sixteen>(x[0], mask, n, all)
                          : size == 8 ? picked<uint64_t>(x[0], mask, n, all)
                          : size == 4 ? picked<uint32_t>(x[0], mask, n, all)
                          : size == 2 ? picked<uint16_t>(x[0], mask, n, all)
                                      : picked<uint8_t>(x[0], mask, n, all);
    OP_CHECK(starts || count > 0, kValue, "[numpy_masked_reduce] no element and no start");
    std::memcpy(out, starts ? x[2] : all, size);
    const std::ptrdiff_t skip = starts ? 0 : 1, left = count - skip,
                         steps[] = {0, static_cast<std::ptrdiff_t>(size), 0};
    char* at[] = {static_cast<char*>(out), all + skip * steps[1], static_cast<char*>(out)};
    if (left > 0) loop.function(at, &left, steps, loop.data);
  });
}

std::unique_ptr<OpKernel> count(const KernelRequest& r, std::string*) {
  const int64_t n = r.in[0].shape.numel(), least = r.ctx().i("least");
  return fn_kernel([=](const void* const* x, void* out) {
    const auto* mask = static_cast<const uint8_t*>(x[0]);
    int64_t zeros = 0;
    for (int64_t i = 0; i < n; ++i) zeros += mask[i] == 0;
    OP_CHECK(n - zeros >= least, kValue, "[numpy_count] fewer than ", least);
    *static_cast<int64_t*>(out) = n - zeros;
  });
}

// Rows of n elements worth a thread.
int64_t rows_for(int64_t n) { return std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)); }

std::unique_ptr<OpKernel> sort(const KernelRequest& r, std::string*) {
  const ForeignLoop loop = foreign_loop(r.ctx().i("loop"));
  const int64_t rows = r.in[0].shape[0], n = r.in[0].shape[1];
  const size_t size = size_of(r.in[0].dtype);
  const bool orders = r.ctx().flag("orders");
  return fn_kernel([=](const void* const* x, void* out) {
    FpWatch* const watch = FpWatch::current();
    parallel_for(rows, rows_for(n), [&](int64_t begin, int64_t end) {
      const Unwatched unwatched(watch);
      for (int64_t k = begin; k < end; ++k) {
        const size_t row = static_cast<size_t>(k * n) * size;
        char* const from = const_cast<char*>(static_cast<const char*>(x[0])) + row;
        char* at[] = {orders ? from : static_cast<char*>(out) + row, nullptr};
        if (orders) {
          int64_t* const order = static_cast<int64_t*>(out) + k * n;
          std::iota(order, order + n, int64_t{0});
          at[1] = reinterpret_cast<char*>(order);
        } else {
          std::memcpy(at[0], from, static_cast<size_t>(n) * size);
        }
        loop.function(at, &n, nullptr, loop.data);
      }
    });
  });
}

std::unique_ptr<OpKernel> extreme(const KernelRequest& r, std::string*) {
  const ForeignLoop loop = foreign_loop(r.ctx().i("loop"));
  const int64_t rows = r.in[0].shape[0], n = r.in[0].shape[1];
  const auto row = n * static_cast<int64_t>(size_of(r.in[0].dtype));
  return fn_kernel([=](const void* const* x, void* out) {
    FpWatch* const watch = FpWatch::current();
    parallel_for(rows, rows_for(n), [&](int64_t begin, int64_t end) {
      const Unwatched unwatched(watch);
      for (int64_t k = begin; k < end; ++k) {
        char* at[] = {const_cast<char*>(static_cast<const char*>(x[0])) + k * row,
                      reinterpret_cast<char*>(static_cast<int64_t*>(out) + k)};
        loop.function(at, &n, nullptr, loop.data);
      }
    });
  });
}

// NaNs lie behind all numbers.
template <class T>
bool is_before(T a, T b) {
  return a < b || (b != b && a == a);
}

// As NumPy searches: from where the key before lies. What it finds in rows that are not sorted
// depends on it.
template <class T>
void search(const void* from, int64_t n, const void* keys, int64_t count, bool behind,
            int64_t* out) {
  const T *x = static_cast<const T*>(from), *key = static_cast<const T*>(keys);
  auto before = [&](T a, T b) { return behind ? !is_before(b, a) : is_before(a, b); };
  int64_t low = 0, high = n;
  for (int64_t k = 0; k < count; ++k) {
    if (before(key[k == 0 ? 0 : k - 1], key[k])) {
      high = n;
    } else {
      low = 0;
      high = high < n ? high + 1 : n;
    }
    while (low < high) {
      const int64_t middle = low + ((high - low) >> 1);
      if (before(x[middle], key[k]))
        low = middle + 1;
      else
        high = middle;
    }
    out[k] = low;
  }
}

std::unique_ptr<OpKernel> search_all(const KernelRequest& r, std::string*) {
  const int64_t n = r.in[0].shape[0], count = r.in[1].shape.numel();
  const bool behind = r.ctx().flag("behind");
  const DType t = r.in[0].dtype;
  return fn_kernel([=](const void* const* x, void* out) {
    const Unwatched unwatched(FpWatch::current());
    auto* const to = static_cast<int64_t*>(out);
    switch (t) {
      case DType::F64: return search<double>(x[0], n, x[1], count, behind, to);
      case DType::F32: return search<float>(x[0], n, x[1], count, behind, to);
      case DType::I64: return search<int64_t>(x[0], n, x[1], count, behind, to);
      default: throw InternalError("numpy_search of another dtype");
    }
  });
}

std::unique_ptr<OpKernel> accumulate(const KernelRequest& r, std::string*) {
  const ForeignLoop loop = foreign_loop(r.ctx().i("loop"));
  const int64_t outer = r.in[0].shape[0], n = r.in[0].shape[1], inner = r.in[0].shape[2];
  const auto size = static_cast<std::ptrdiff_t>(size_of(r.out.dtype));
  return fn_kernel([=](const void* const* x, void* out) {
    keep_flags();
    if (n == 0 || inner == 0) return;
    const std::ptrdiff_t row = inner * size, steps[] = {size, size, size};
    for (int64_t o = 0; o < outer; ++o) {
      char* const from = const_cast<char*>(static_cast<const char*>(x[0])) + o * n * row;
      char* const to = static_cast<char*>(out) + o * n * row;
      std::memcpy(to, from, static_cast<size_t>(row));
      if (inner == 1) {  // each element takes the one before it
        char* at[] = {to, from + size, to + size};
        const std::ptrdiff_t count = n - 1;
        if (count > 0) loop.function(at, &count, steps, loop.data);
        continue;
      }
      for (int64_t k = 1; k < n; ++k) {
        char* at[] = {to + (k - 1) * row, from + k * row, to + k * row};
        loop.function(at, &inner, steps, loop.data);
      }
    }
  });
}

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string*) {
  const ForeignLoop loop = foreign_loop(r.ctx().i("loop"));
  const bool x_turned = r.ctx().i("transposed") & 1, y_turned = r.ctx().i("transposed") & 2;
  const int64_t m = r.out.shape[0], p = r.out.shape[1], n = r.in[0].shape[x_turned ? 0 : 1];
  const auto size = static_cast<std::ptrdiff_t>(size_of(r.out.dtype));
  std::vector<std::ptrdiff_t> counts{1, m, n, p}, steps{0, 0, 0};
  auto lies = [&](int64_t rows, int64_t columns, bool turned) {
    steps.push_back(turned ? size : columns * size);
    steps.push_back(turned ? rows * size : size);
  };
  lies(m, n, x_turned);
  lies(n, p, y_turned);
  lies(m, p, false);
  return fn_kernel([=, fast = r.fast](const void* const* x, void* out) {
    keep_flags();
    char* at[] = {const_cast<char*>(static_cast<const char*>(x[0])),
                  const_cast<char*>(static_cast<const char*>(x[1])), static_cast<char*>(out)};
    if (!fast) return loop.function(at, counts.data(), steps.data(), loop.data);
    shared_product(loop, at, counts.data(), steps.data());
  });
}

}  // namespace

KernelFamily foreign_kernels() {
  return {"of another library",
          {{"numpy_loop", elementwise},
           {"numpy_reduce", reduce},
           {"numpy_masked_reduce", masked_reduce},
           {"numpy_count", count},
           {"numpy_sort", sort},
           {"numpy_extreme", extreme},
           {"numpy_search", search_all},
           {"numpy_accumulate", accumulate},
           {"numpy_matmul", matmul}}};
}

}  // namespace pijit
