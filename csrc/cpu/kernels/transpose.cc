// Transposition of matrices of 4-byte elements, alone or stacked, as of [N,C,H,W] to [N,H,W,C]:
// some rows at a time are read side by side, and written as whole lines. oneDNN's reorder takes two
// to four times as long (measured: 9 to 50,257 rows, 9 to 3072 columns).
#include <algorithm>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/kernels/blocks.h"

namespace pijit {
namespace {

// The axes of the input without those of size 1, and those that stay side by side as one.
struct Axis {
  int64_t size, first;  // the first of its axes
};
std::vector<Axis> collapsed(const Shape& in, const std::vector<int64_t>& perm) {
  std::vector<Axis> axes;  // in the order of the output
  int64_t last = -2;
  for (const int64_t p : perm) {
    if (in[static_cast<int>(p)] == 1) continue;
    bool joins = !axes.empty() && p > last;
    for (int64_t k = last + 1; k < p && joins; ++k) joins = in[static_cast<int>(k)] == 1;
    if (joins)
      axes.back().size *= in[static_cast<int>(p)];
    else
      axes.push_back({in[static_cast<int>(p)], p});
    last = p;
  }
  return axes;
}

// Rows at a time: more where memory is far, or rows share few sets of the cache.
int64_t rows_together(int64_t rows, int64_t columns) {
  return rows * columns > 1 << 22 ? 128 : columns % 512 == 0 ? 64 : 32;
}

// Rows [first, past) of a matrix of `rows` x `columns`.
void turn(const float* from, int64_t rows, int64_t columns, int64_t first, int64_t past,
          float* to) {
  int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
    int64_t r = first;
    for (; r + kLanes <= past; r += kLanes) {
      __m256 v[kLanes];
      for (int k = 0; k < kLanes; ++k) v[k] = _mm256_loadu_ps(from + (r + k) * columns + c);
      transpose(v);
      for (int k = 0; k < kLanes; ++k) _mm256_storeu_ps(to + (c + k) * rows + r, v[k]);
    }
    for (; r < past; ++r)
      for (int k = 0; k < kLanes; ++k) to[(c + k) * rows + r] = from[r * columns + c + k];
  }
  for (; c < columns; ++c)
    for (int64_t r = first; r < past; ++r) to[c * rows + r] = from[r * columns + c];
}

std::unique_ptr<OpKernel> transpose_of(const KernelRequest& r, std::string* why) {
  if (size_of(r.out.dtype) != 4) return *why = "elements of other than 4 bytes", nullptr;
  if (!generates_code()) return *why = "not for this processor's instructions", nullptr;
  if (r.out.shape.numel() < 4096) return *why = "small", nullptr;
  const auto axes = collapsed(r.in[0].shape, r.ctx().numbers("perm"));
  const size_t n = axes.size();
  const bool matrices = (n == 2 && axes[1].first < axes[0].first) ||
                        (n == 3 && axes[0].first < axes[2].first && axes[2].first < axes[1].first);
  if (!matrices) return *why = "not of matrices", nullptr;
  const int64_t count = n == 3 ? axes[0].size : 1, columns = axes[n - 2].size,
                rows = axes[n - 1].size, together = rows_together(rows, columns),
                parts = (rows + together - 1) / together;
  if (std::min(rows, columns) < kLanes) return *why = "few rows or columns", nullptr;
  return fn_kernel([=](const void* const* in, void* out) {
    parallel_for(
        count * parts, 1 + (1 << 16) / (together * columns), [&](int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; ++k) {
            const int64_t matrix = k / parts * rows * columns, first = k % parts * together;
            turn(static_cast<const float*>(in[0]) + matrix, rows, columns, first,
                 std::min(rows, first + together), static_cast<float*>(out) + matrix);
          }
        });
  });
}

}  // namespace

KernelFamily transpose_kernels() { return {"matrices", {{"transpose", transpose_of}}}; }

}  // namespace pijit
