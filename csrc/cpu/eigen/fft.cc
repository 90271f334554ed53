// Discrete Fourier transforms along one axis, by Eigen's FFT (KISS FFT), in float64. It takes time
// in the square of the largest prime factor; where that is large, Bluestein's algorithm ("A linear
// filtering approach to the computation of the discrete Fourier transform", 1970) turns the
// transform into a convolution of a length that is a power of 2.
#include <unsupported/Eigen/FFT>

#include <complex>
#include <numbers>

#include "cpu/cpu.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

using Complex = std::complex<double>;
using Line = PoolVector<Complex>;

int64_t largest_prime(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) largest = p;
  return std::max(largest, n);
}

// Transforms of length n, unscaled, on one thread.
class Transform {
 public:
  explicit Transform(int64_t n) : n_(n) {
    fft_.SetFlag(Eigen::FFT<double>::Unscaled);
    constexpr int64_t kLargePrime = 61;
    if (n < 2 || largest_prime(n) <= kLargePrime) return;
    for (m_ = 1; m_ < 2 * n - 1; m_ *= 2) {
    }
    chirp_.resize(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) {  // exp(-i pi k^2 / n), k^2 taken mod 2n
      const auto square = static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n));
      const double angle = -std::numbers::pi * static_cast<double>(square) / static_cast<double>(n);
      chirp_[static_cast<size_t>(k)] = {std::cos(angle), std::sin(angle)};
    }
    Line filter(static_cast<size_t>(m_));
    for (int64_t k = 0; k < n; ++k)
      filter[static_cast<size_t>(k)] = filter[static_cast<size_t>((m_ - k) % m_)] =
          std::conj(chirp_[static_cast<size_t>(k)]);
    filter_.resize(filter.size());
    fft_.fwd(filter_.data(), filter.data(), m_);
    a_.resize(filter.size());
    b_.resize(filter.size());
  }
  void run(const Complex* in, Complex* out, bool inverse) {
    if (n_ == 1) {
      *out = *in;
    } else if (m_ == 0) {
      inverse ? fft_.inv(out, in, n_) : fft_.fwd(out, in, n_);
    } else {
      const auto turned = [&](Complex z) { return inverse ? std::conj(z) : z; };
      std::fill(a_.begin(), a_.end(), Complex());
      for (int64_t k = 0; k < n_; ++k)
        a_[static_cast<size_t>(k)] = turned(in[k]) * chirp_[static_cast<size_t>(k)];
      fft_.fwd(b_.data(), a_.data(), m_);
      for (size_t k = 0; k < b_.size(); ++k) b_[k] *= filter_[k];
      fft_.inv(a_.data(), b_.data(), m_);
      const double scale = 1.0 / static_cast<double>(m_);
      for (int64_t k = 0; k < n_; ++k)
        out[k] = turned(a_[static_cast<size_t>(k)] * chirp_[static_cast<size_t>(k)] * scale);
    }
  }

 private:
  int64_t n_, m_ = 0;
  Eigen::FFT<double> fft_;
  Line chirp_, filter_, a_, b_;
};

double scale_of(const std::string& norm, bool inverse, int64_t n) {
  const double d = static_cast<double>(n);
  if (norm == "ortho") return 1 / std::sqrt(d);
  return (norm == "backward") == inverse ? 1 / d : 1;
}

// f(transform, line in, line out) for all lines along an axis, whose elements are `stride` apart.
template <class In, class Out, class F>
void lines(const Shape& in, const Shape& out, int axis, int64_t n, const In* x, Out* y, F f) {
  int64_t outer = 1, stride = 1;
  for (int d = 0; d < axis; ++d) outer *= in[d];
  for (int d = axis + 1; d < in.rank(); ++d) stride *= in[d];
  const int64_t from = in[axis], to = out[axis];
  if (outer * stride * to == 0) return;
  const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n));
  parallel_for(outer * stride, grain, [&](int64_t begin, int64_t end) {
    Transform transform(n);
    Line a(static_cast<size_t>(n)), b(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i)
      f(transform, a, b, x + i / stride * stride * from + i % stride,
        y + i / stride * stride * to + i % stride, stride);
  });
}

template <class F>
void by_precision(DType complex, F f) {
  complex == DType::C64 ? f(float{}) : f(double{});
}

std::unique_ptr<OpKernel> fft(const KernelRequest& r, std::string*) {
  const Type in = r.in[0], out = r.out;
  const int axis = normalize_axis("fft", r.ctx().i("axis"), in.shape.rank());
  const bool inverse = r.ctx().flag("inverse");
  const int64_t n = in.shape[axis];
  const double scale = scale_of(r.ctx().s("norm"), inverse, n);
  return fn_kernel([=](const void* const* x, void* y) {
    by_precision(out.dtype, [&](auto z) {
      using T = std::complex<decltype(z)>;
      lines(in.shape, out.shape, axis, n, static_cast<const T*>(x[0]), static_cast<T*>(y),
            [&](Transform& t, Line& a, Line& b, const T* from, T* to, int64_t stride) {
              for (int64_t k = 0; k < n; ++k) a[static_cast<size_t>(k)] = Complex(from[k * stride]);
              t.run(a.data(), b.data(), inverse);
              for (int64_t k = 0; k < n; ++k) to[k * stride] = T(b[static_cast<size_t>(k)] * scale);
            });
    });
  });
}
std::unique_ptr<OpKernel> rfft(const KernelRequest& r, std::string*) {
  const Type in = r.in[0], out = r.out;
  const int axis = normalize_axis("rfft", r.ctx().i("axis"), in.shape.rank());
  const int64_t n = in.shape[axis], half = out.shape[axis];
  const double scale = scale_of(r.ctx().s("norm"), false, n);
  return fn_kernel([=](const void* const* x, void* y) {
    by_precision(out.dtype, [&](auto z) {
      using T = decltype(z);
      lines(
          in.shape, out.shape, axis, n, static_cast<const T*>(x[0]),
          static_cast<std::complex<T>*>(y),
          [&](Transform& t, Line& a, Line& b, const T* from, std::complex<T>* to, int64_t stride) {
            for (int64_t k = 0; k < n; ++k) a[static_cast<size_t>(k)] = from[k * stride];
            t.run(a.data(), b.data(), false);
            for (int64_t k = 0; k < half; ++k)
              to[k * stride] = std::complex<T>(b[static_cast<size_t>(k)] * scale);
          });
    });
  });
}
std::unique_ptr<OpKernel> irfft(const KernelRequest& r, std::string*) {
  const Type in = r.in[0], out = r.out;
  const int axis = normalize_axis("irfft", r.ctx().i("axis"), in.shape.rank());
  const int64_t n = out.shape[axis];
  const double scale = scale_of(r.ctx().s("norm"), true, n);
  return fn_kernel([=](const void* const* x, void* y) {
    by_precision(in.dtype, [&](auto z) {
      using T = decltype(z);
      lines(
          in.shape, out.shape, axis, n, static_cast<const std::complex<T>*>(x[0]),
          static_cast<T*>(y),
          [&](Transform& t, Line& a, Line& b, const std::complex<T>* from, T* to, int64_t stride) {
            for (int64_t k = 0; k <= n / 2; ++k) {  // the rest mirrors it
              Complex c(from[k * stride]);
              if (k == 0 || 2 * k == n) c = c.real();
              a[static_cast<size_t>(k)] = c;
              if (k > 0) a[static_cast<size_t>(n - k)] = std::conj(c);
            }
            t.run(a.data(), b.data(), true);
            for (int64_t k = 0; k < n; ++k)
              to[k * stride] = static_cast<T>(b[static_cast<size_t>(k)].real() * scale);
          });
    });
  });
}

}  // namespace

KernelFamily eigen_fft_kernels() {
  return {"eigen", {{"fft", fft}, {"rfft", rfft}, {"irfft", irfft}}, kReference};
}

}  // namespace pijit
