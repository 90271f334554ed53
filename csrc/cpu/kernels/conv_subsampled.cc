// Convolutions of float32 whose stride and dilation have a common divisor: they read every so
// many-th row or column of the input alone, and are convolutions of what they read with smaller
// strides and dilations. For those there is better code: oneDNN has little for strides together
// with dilation, and products with patches of the input take up to 10 times as long.
#include <algorithm>
#include <numeric>

#include "cpu/cpu.h"
#include "runtime/array.h"
#include "runtime/device.h"

namespace pijit {
namespace {

// The rows, or columns, that are read: first, first + step …
struct Axis {
  int64_t size, step, first, count;
};

struct Subsampled {
  int64_t planes;  // images * channels
  Axis rows, columns;
  Shape shape;  // of the input that is read
  Attrs attrs;

  int64_t elements() const { return planes * rows.count * columns.count; }
  void gather(const float* from, float* to) const {
    const Axis r = rows, c = columns;
    parallel_for(planes, grain(), [&](int64_t begin, int64_t end) {
      float* at = to + begin * r.count * c.count;
      for (int64_t n = begin; n < end; ++n)
        for (int64_t i = 0; i < r.count; ++i) {
          const float* row = from + (n * r.size + r.first + i * r.step) * c.size + c.first;
          for (int64_t j = 0; j < c.count; ++j) *at++ = row[j * c.step];
        }
    });
  }
  // What is not read has no gradient.
  void scatter(const float* from, float* to) const {
    const Axis r = rows, c = columns;
    parallel_for(planes, grain(), [&](int64_t begin, int64_t end) {
      std::fill(to + begin * r.size * c.size, to + end * r.size * c.size, 0.0f);
      const float* at = from + begin * r.count * c.count;
      for (int64_t n = begin; n < end; ++n)
        for (int64_t i = 0; i < r.count; ++i) {
          float* row = to + (n * r.size + r.first + i * r.step) * c.size + c.first;
          for (int64_t j = 0; j < c.count; ++j) row[j * c.step] = *at++;
        }
    });
  }
  int64_t grain() const { return 1 + (1 << 15) / (rows.size * columns.size); }
};

bool subsampled_of(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y,
                   Subsampled* s, std::string* why) {
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", false;
  if (x.numel() == 0 || w.numel() == 0 || y.numel() == 0) return *why = "empty tensor", false;
  s->attrs = r.attrs;
  auto numbers = [&](const char* name) -> Dims& {
    return std::get<Dims>(s->attrs[r.op.attr_index(name)]);
  };
  Dims &stride = numbers("stride"), &dilation = numbers("dilation"), &pad = numbers("pad");
  s->planes = x[0] * x[1];
  s->shape = x;
  bool smaller = false;
  for (int k : {0, 1}) {
    const int64_t size = x[2 + k], step = std::gcd<int64_t, int64_t>(stride[k], dilation[k]);
    const int64_t before = pad[2 * k];
    // The window's elements lie at multiples of the step less the padding.
    const int64_t first = (step - before % step) % step;
    const int64_t count = size > first ? (size - first + step - 1) / step : 0;
    if (count == 0) return *why = "reads padding alone", false;
    smaller |= step > 1;
    (k ? s->columns : s->rows) = {size, step, first, count};
    const int64_t strides = stride[k] / step, dilations = dilation[k] / step,
                  pads = (before + first) / step;
    const int64_t reach =
        (int64_t{y[2 + k]} - 1) * strides + (int64_t{w[2 + k]} - 1) * dilations + 1;
    stride[k] = strides, dilation[k] = dilations;
    pad[2 * k] = pads, pad[2 * k + 1] = std::max<int64_t>(0, reach - count - pads);
    s->shape[2 + k] = count;
  }
  if (!smaller) return *why = "reads all rows and columns", false;
  return true;
}

std::unique_ptr<OpKernel> inside(const KernelRequest& r, const Attrs& attrs, std::vector<Type> in,
                                 Type out) {
  return device(DeviceId{}).kernels.make({r.op, attrs, std::move(in), r.present, out});
}

// The convolution, or the gradient of its weights: the input comes first.
std::unique_ptr<OpKernel> of_input(const KernelRequest& r, Subsampled s) {
  std::vector<Type> in = r.in;
  in[0].shape = s.shape;
  std::shared_ptr<OpKernel> kernel = inside(r, s.attrs, in, r.out);
  return fn_kernel([s, kernel, count = r.in.size()](const void* const* in, void* out) {
    const Block read(static_cast<size_t>(s.elements()) * sizeof(float));
    s.gather(static_cast<const float*>(in[0]), reinterpret_cast<float*>(read.p));
    std::vector<const void*> from(in, in + count);
    from[0] = read.p;
    kernel->run(from.data(), out);
  });
}
std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  Subsampled s;
  if (!subsampled_of(r, r.in[0].shape, r.in[1].shape, r.out.shape, &s, why)) return nullptr;
  return of_input(r, std::move(s));
}
std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r, std::string* why) {
  Subsampled s;
  if (!subsampled_of(r, r.in[0].shape, r.out.shape, r.in[1].shape, &s, why)) return nullptr;
  return of_input(r, std::move(s));
}
std::unique_ptr<OpKernel> conv2d_dx(const KernelRequest& r, std::string* why) {
  Subsampled s;
  if (!subsampled_of(r, r.out.shape, r.in[1].shape, r.in[0].shape, &s, why)) return nullptr;
  Attrs attrs = s.attrs;
  std::get<Dims>(attrs[r.op.attr_index("shape")]) = s.shape.dims();
  std::shared_ptr<OpKernel> kernel = inside(r, attrs, r.in, {r.out.dtype, s.shape});
  return fn_kernel([s, kernel](const void* const* in, void* out) {
    const Block read(static_cast<size_t>(s.elements()) * sizeof(float));
    kernel->run(in, read.p);
    s.scatter(reinterpret_cast<const float*>(read.p), static_cast<float*>(out));
  });
}

}  // namespace

KernelFamily subsampled_conv_kernels() {
  return {"subsampled", {{"conv2d", conv2d}, {"conv2d_dx", conv2d_dx}, {"conv2d_dw", conv2d_dw}}};
}

}  // namespace pijit
