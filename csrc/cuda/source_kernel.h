// Kernels that are written in CUDA C instead of emitted from loops: what moves, picks, sorts and
// slides windows. A source has one or more entries; they all take a pj_args, addresses and then
// numbers. Types and constants of a request go in front of the text as typedefs and macros, so that
// one text serves all dtypes; sizes are numbers.
#pragma once
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cuda/gpu.h"

namespace pijit::cuda {

constexpr int kThreads = 128;  // of a block
using Ints = std::vector<int64_t>;

// A factory of kernels: the head of one, and what it asks of a request.
#define KERNEL(name) std::unique_ptr<OpKernel> name(const KernelRequest& r, std::string* why)
#define NEED(cond, reason) \
  if (!(cond)) return *why = reason, nullptr

class SourceKernel {
 public:
  // `op` is named in errors. Text says ENTRY(name) for the head of an entry, or ENTRY(name, n)
  // where n blocks are to have room on a multiprocessor, and EACH(i, total) for a loop over
  // elements.
  SourceKernel(Gpu& gpu, std::string op, int addresses, int numbers, const std::string& text,
               std::vector<std::string> entries);
  // Runs an entry on so many blocks (at least as many threads as `threads`; more turns where there
  // are too many for a grid).
  void run(size_t entry, int64_t threads, std::span<const void* const> addresses,
           const std::vector<int64_t>& numbers) const;
  void run(size_t entry, int64_t threads, std::initializer_list<const void*> addresses,
           const std::vector<int64_t>& numbers) const {
    run(entry, threads, std::span(addresses.begin(), addresses.size()), numbers);
  }
  Gpu& gpu() const { return gpu_; }

 private:
  Gpu& gpu_;
  const std::string op_;
  const int addresses_, numbers_;
  std::vector<std::string> entries_;
  std::string source_;
  mutable std::once_flag loaded_;
  mutable std::vector<Function> functions_;
};

// typedefs M (an element in memory), T (as it is computed on), the macros LOAD and STORE between
// them, and ix, the type of indices.
std::string element_types(DType t, bool wide);
// The same for elements that are only moved: W.
std::string word_type(DType t, bool wide);
std::string define(const char* name, int64_t value);
// ACTIVATION(v), of what ops called <op>_post name; last digits may differ from the op's own.
std::string activation_macro(const std::string& name);
// pj_place(index, size, record, op): the place that an index of type I means, or -1, which is
// noted.
extern const char* const kPlace;
inline bool needs_wide(int64_t elements) { return elements >= int64_t{1} << 30; }
// An element of dtype t, as memory has it.
uint64_t bits_of(DType t, double v);

// An axis of a shape: [outer, n, inner].
struct Axis {
  int64_t outer = 1, n, inner = 1;
  Axis(const Shape& s, int axis) : n(s[axis]) {
    for (int i = 0; i < axis; ++i) outer *= s[i];
    for (int i = axis + 1; i < s.rank(); ++i) inner *= s[i];
  }
};

// The places of lines' elements in order, stably; NaN is greater than all numbers.
class Sort {
 public:
  Sort(Gpu& gpu, const std::string& op, DType t, bool descending, int64_t lines, int64_t n);
  struct Order {
    std::vector<std::unique_ptr<DeviceBlock>> memory;
    const void* p;  // n places of each line, 32-bit ones unless needs_wide(lines * n)
  };
  // x's line l begins at l / inner * n * inner + l % inner; its elements are `inner` apart.
  Order run(const void* x, int64_t inner) const;

 private:
  const int64_t lines_, n_;
  const size_t key_, place_;  // bytes
  const SourceKernel kernels_;
};

// For kernels that compute in the dtype that is stored: no halves, no complex numbers.
bool computes_as_stored(const KernelRequest& r, std::string* why);

}  // namespace pijit::cuda
