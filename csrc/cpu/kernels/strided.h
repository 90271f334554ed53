// Strided regions, line by line.
#pragma once
#include <algorithm>

#include "cpu/parallel.h"
#include "graph/type.h"

namespace pijit {

// Lines of a strided region, for all indices of `dims` but the last one's:
// line(src + i.ss, dst + i.ds, elements, their strides).
template <class T, class Line>
void strided(const T* src, T* dst, const Shape& dims, const int64_t* ss, const int64_t* ds,
             Line line) {
  const int r = dims.rank();
  if (dims.numel() == 0) return;
  if (r == 0) return line(src, dst, 1, 1, 1);
  const int64_t n = dims[r - 1], outer = dims.numel() / n;
  parallel_for(outer, std::max<int64_t>(1, 65536 / n), [&](int64_t begin, int64_t end) {
    int64_t index[kMaxRank] = {}, rest = begin;
    const T* s = src;
    T* d = dst;
    for (int k = r - 2; k >= 0; --k) {
      index[k] = rest % dims[k];
      rest /= dims[k];
      s += index[k] * ss[k];
      d += index[k] * ds[k];
    }
    for (int64_t o = begin; o < end; ++o) {
      line(s, d, n, ss[r - 1], ds[r - 1]);
      for (int k = r - 2; k >= 0; --k) {
        s += ss[k];
        d += ds[k];
        if (++index[k] < dims[k]) break;
        index[k] = 0;
        s -= ss[k] * dims[k];
        d -= ds[k] * dims[k];
      }
    }
  });
}

}  // namespace pijit
