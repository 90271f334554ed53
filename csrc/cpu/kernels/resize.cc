// Linear resizing of trailing axes, and its gradient. Outer axes come first on the way there and
// back: each of their lines is a weighted sum of two lines, which vectors do well, and the last
// axis has the fewest elements left. The order of sums depends on sizes alone.
#include <immintrin.h>

#include <cmath>
#include <cstring>

#include "cpu/cpu.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread
constexpr int64_t kPad = 16;       // elements past a line that may be read

// Output i of an axis is in[low[i]] * (1 - share[i]) + in[high[i]] * share[i].
template <class T>
struct Line {
  int64_t n, size;
  PoolVector<int32_t> low, high;
  PoolVector<T> share, rest;
  bool close = true;  // 8 outputs in a row read from 8 neighbours, and the 8 after them
  Line(int64_t n_, int64_t size_, double scale, bool align) : n(n_), size(size_) {
    const auto ends = static_cast<float>(size > 1 ? static_cast<double>(n - 1) / (size - 1) : 0.0);
    const auto steps = static_cast<float>(scale > 0 ? scale : static_cast<double>(n) / size);
    for (int64_t i = 0; i < size; ++i) {
      const auto f = static_cast<float>(i);
      const float at = align ? f * ends : std::max((f + 0.5f) * steps - 0.5f, 0.0f);
      const float l = std::min(std::floor(at), static_cast<float>(n - 1));
      low.push_back(static_cast<int32_t>(l));
      high.push_back(static_cast<int32_t>(std::min<int64_t>(low.back() + 1, n - 1)));
      share.push_back(static_cast<T>(at - l));
      rest.push_back(T(1) - share.back());
      close &= i < 7 || low[i] - low[i - 7] < 8;
    }
  }
};

template <class T>
class Resize {
 public:
  explicit Resize(std::vector<Line<T>> lines) : lines_(std::move(lines)) {
    in_.assign(lines_.size() + 1, 1);
    out_ = in_;
    for (size_t d = lines_.size(); d-- > 0;) {
      in_[d] = in_[d + 1] * lines_[d].n;
      out_[d] = out_[d + 1] * lines_[d].size;
    }
  }
  int64_t in_size() const { return in_[0]; }
  int64_t out_size() const { return out_[0]; }
  // Elements of scratch memory that a call takes.
  int64_t scratch() const {
    int64_t n = 0;
    for (size_t d = 0; d < lines_.size(); ++d)
      n += kPad + std::max(in_[d + 1], lines_[d].n * out_[d + 1]);
    return n + lines_.back().n + 2 * kPad;
  }

  void forward(const T* x, T* y, T* scratch, size_t d = 0) const {
    const Line<T>& l = lines_[d];
    if (d + 1 == lines_.size()) {
      std::memcpy(scratch, x, static_cast<size_t>(l.n) * sizeof(T));
      return last(l, scratch, y);
    }
    const int64_t inner = in_[d + 1];
    const bool is_last = d + 2 == lines_.size();
    for (int64_t i = 0; i < l.size; ++i) {
      const T *p = x + l.low[i] * inner, *q = x + l.high[i] * inner;
      const T s = l.share[i], rest = l.rest[i];
      for (int64_t j = 0; j < inner; ++j) scratch[j] = p[j] * rest + q[j] * s;
      if (is_last)
        last(lines_[d + 1], scratch, y + i * out_[d + 1]);
      else
        forward(scratch, y + i * out_[d + 1], scratch + inner + kPad, d + 1);
    }
  }
  // dx = the adjoint's value at dy.
  void backward(const T* dy, T* dx, T* scratch, size_t d = 0) const {
    const Line<T>& l = lines_[d];
    const int64_t inner = out_[d + 1];
    if (d + 1 == lines_.size()) return last_back(l, dy, dx, 1);
    const int64_t block = l.n * inner;
    std::fill_n(scratch, block, T(0));
    for (int64_t i = 0; i < l.size; ++i) {
      T *p = scratch + l.low[i] * inner, *q = scratch + l.high[i] * inner;
      const T* g = dy + i * inner;
      const T s = l.share[i], rest = l.rest[i];
      for (int64_t j = 0; j < inner; ++j) p[j] += g[j] * rest;
      for (int64_t j = 0; j < inner; ++j) q[j] += g[j] * s;
    }
    if (d + 2 == lines_.size()) return last_back(lines_[d + 1], scratch, dx, l.n);
    for (int64_t i = 0; i < l.n; ++i)
      backward(scratch + i * inner, dx + i * in_[d + 1], scratch + block + kPad, d + 1);
  }

 private:
  // `x` may be read and written beyond its end.
  static void last(const Line<T>& l, T* x, T* y) {
    int64_t i = 0;
    if constexpr (sizeof(T) == 4) {
      if (l.close) {
        // The last element has no neighbour above: it is its own.
        for (int64_t k = 0; k < kPad; ++k) x[l.n + k] = x[l.n - 1];
        for (; i + 8 <= l.size; i += 8) {
          const __m256i at =
              _mm256_sub_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(&l.low[i])),
                               _mm256_set1_epi32(l.low[i]));
          const float* from = x + l.low[i];
          const __m256 p = _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), at);
          const __m256 q = _mm256_permutevar8x32_ps(_mm256_loadu_ps(from + 1), at);
          _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_mul_ps(p, _mm256_loadu_ps(&l.rest[i])),
                                                _mm256_mul_ps(q, _mm256_loadu_ps(&l.share[i]))));
        }
      }
    }
    for (; i < l.size; ++i) y[i] = x[l.low[i]] * l.rest[i] + x[l.high[i]] * l.share[i];
  }
  // Rows of dy, a few at a time: the sums of one wait for each other.
  static void last_back(const Line<T>& l, const T* dy, T* dx, int64_t rows) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) some_rows<4>(l, dy + r * l.size, dx + r * l.n);
    for (; r < rows; ++r) some_rows<1>(l, dy + r * l.size, dx + r * l.n);
  }
  template <int kRows>
  static void some_rows(const Line<T>& l, const T* dy, T* dx) {
    T own[kRows] = {}, next[kRows] = {};  // of places `at` and `at` + 1
    int64_t at = 0;
    auto store = [&] {
      for (int r = 0; r < kRows; ++r) {
        dx[r * l.n + at] = own[r];
        own[r] = next[r];
        next[r] = 0;
      }
      ++at;
    };
    for (int64_t i = 0; i < l.size; ++i) {
      while (at < l.low[i]) store();
      const T s = l.share[i], rest = l.rest[i];
      if (l.high[i] > l.low[i])
        for (int r = 0; r < kRows; ++r) {
          const T g = dy[r * l.size + i];
          own[r] += g * rest;
          next[r] += g * s;
        }
      else
        for (int r = 0; r < kRows; ++r) {
          const T g = dy[r * l.size + i];
          own[r] = (own[r] + g * rest) + g * s;
        }
    }
    while (at < l.n) store();
  }

  std::vector<Line<T>> lines_;
  std::vector<int64_t> in_, out_;  // elements from axis d on
};

template <class T>
Resize<T> resize_of(const KernelRequest& r, const Shape& in, const Shape& out, size_t axes) {
  const double scale[] = {r.ctx().f("scale0"), r.ctx().f("scale1"), r.ctx().f("scale2")};
  std::vector<Line<T>> lines;
  for (size_t d = 0; d < axes; ++d) {
    const int a = in.rank() - static_cast<int>(axes - d);
    lines.emplace_back(in[a], out[a], scale[d], r.ctx().flag("align"));
  }
  return Resize<T>(std::move(lines));
}

template <bool kBack>
std::unique_ptr<OpKernel> resize(const KernelRequest& r, std::string*) {
  const Shape small = r.in[0].shape, large = r.out.shape;
  const Shape& in = kBack ? large : small;
  const Shape& out = kBack ? small : large;
  const size_t axes = r.ctx().ints("sizes").size();
  auto make = [&](auto zero) -> std::unique_ptr<OpKernel> {
    using T = decltype(zero);
    return fn_kernel([m = resize_of<T>(r, in, out, axes), total = int64_t{in.numel()}](
                         const void* const* x, void* y) {
      const int64_t each = std::max(m.in_size(), m.out_size());
      if (m.in_size() == 0 || m.out_size() == 0 || total == 0) return;
      parallel_for(total / m.in_size(), std::max<int64_t>(1, kGrain / each),
                   [&](int64_t b, int64_t e) {
                     const Block scratch(static_cast<size_t>(m.scratch()) * sizeof(T));
                     for (; b < e; ++b) {
                       const T* from = static_cast<const T*>(x[0]);
                       T *to = static_cast<T*>(y), *t = reinterpret_cast<T*>(scratch.p);
                       if (kBack)
                         m.backward(from + b * m.out_size(), to + b * m.in_size(), t);
                       else
                         m.forward(from + b * m.in_size(), to + b * m.out_size(), t);
                     }
                   });
    });
  };
  return r.out.dtype == DType::F32 ? make(float{}) : make(double{});
}

}  // namespace

KernelFamily resize_kernels() {
  return {
      "resize", {{"resize_linear", resize<false>}, {"resize_linear_dx", resize<true>}}, kReference};
}

}  // namespace pijit
