// Matrix products and convolutions in tiles: a block of threads computes 64 by 64 results, which it
// adds up in order of the inner dimension; where that is long and results are few, in chunks of a
// fixed length that are added in order. Convolutions are products whose operand is read from the
// images where it lies. Every dtype; halves are added in float32. cuBLASLt and cuDNN come before
// them.
#include <algorithm>

#include "cuda/source_kernel.h"

namespace pijit::cuda {
namespace {

Gpu* gpu = nullptr;  // of this plug-in

// p: left, right, bias, residual, out, partial sums. n: products, M, N, K, chunks, then what reads
// need. left(a, z, m, k), right(a, z, k, n), stored(a, z, m, n) are the request's.
constexpr const char* kTiles = R"(
PJ T pj_finish(const pj_args& a, i64 at, i64 channel, T v) {
  if (BIAS) v = MULTIPLY_ADD((T)1, LOAD(((const M*)a.p[2])[channel]), v);
  if (RESIDUAL) v += LOAD(((const M*)a.p[3])[at]);
  return ACTIVATION(v);
}
ENTRY(k) {
  __shared__ T left[8][64], right[8][64];
  const ix m = (ix)a.n[1], n = (ix)a.n[2], inner = (ix)a.n[3], chunks = (ix)a.n[4];
  const ix down = (m + 63) / 64, across = (n + 63) / 64;
  const ix blocks = (ix)a.n[0] * chunks * down * across;
  const int t = threadIdx.x;
  for (ix b = blockIdx.x; b < blocks; b += gridDim.x) {
    const ix n0 = b % across * 64, m0 = b / across % down * 64;
    const ix chunk = b / across / down % chunks, z = b / across / down / chunks;
    const ix begin = chunk * CHUNK, end = chunk + 1 == chunks ? inner : begin + CHUNK;
    T sum[8][4] = {};
    for (ix k0 = begin; k0 < end; k0 += 8) {
      for (int q = 0; q < 4; ++q) {
        const int e = q * 128 + t;
        const int lk = LEFT_ROWS ? e % 8 : e / 64, lm = LEFT_ROWS ? e / 8 : e % 64;
        left[lk][lm] = m0 + lm < m && k0 + lk < end ? pj_left(a, z, m0 + lm, k0 + lk) : (T)0;
        const int rk = RIGHT_ROWS ? e / 64 : e % 8, rn = RIGHT_ROWS ? e % 64 : e / 8;
        right[rk][rn] = n0 + rn < n && k0 + rk < end ? pj_right(a, z, k0 + rk, n0 + rn) : (T)0;
      }
      __syncthreads();
      for (int k = 0; k < 8; ++k)
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j)
            sum[i][j] = MULTIPLY_ADD(left[k][t / 16 * 8 + i], right[k][j * 16 + t % 16], sum[i][j]);
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const ix row = m0 + t / 16 * 8 + i, column = n0 + j * 16 + t % 16;
        if (row >= m || column >= n) continue;
        if (chunks > 1) {
          ((T*)a.p[5])[((chunk * (ix)a.n[0] + z) * m + row) * n + column] = sum[i][j];
        } else {
          const ix at = pj_at(a, z, row, column);
          ((M*)a.p[4])[at] = STORE(pj_finish(a, at, CHANNEL, sum[i][j]));
        }
      }
  }
}
ENTRY(fold) {
  const ix m = (ix)a.n[1], n = (ix)a.n[2], chunks = (ix)a.n[4], total = (ix)a.n[0] * m * n;
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < total; i += (ix)gridDim.x * 128) {
    const ix column = i % n, row = i / n % m, z = i / n / m;
    T sum = 0;
    for (ix c = 0; c < chunks; ++c) sum += ((const T*)a.p[5])[c * total + i];
    const ix at = pj_at(a, z, row, column);
    ((M*)a.p[4])[at] = STORE(pj_finish(a, at, CHANNEL, sum));
  }
}
)";

struct Product {
  int64_t count, m, n, k;
  Ints reads;        // numbers of the request's own
  std::string text;  // pj_left, pj_right, pj_at, CHANNEL, LEFT_ROWS, RIGHT_ROWS
  int64_t elements;  // of the largest operand
  bool bias = false, residual = false;
  std::string activation;
};

constexpr int64_t kInnerChunk = 2048;

std::unique_ptr<OpKernel> product(const KernelRequest& r, Product p) {
  const DType t = r.out.dtype;
  // Chunks where a few tiles would leave most of the GPU idle.
  const int64_t tiles = p.count * ((p.m + 63) / 64) * ((p.n + 63) / 64);
  const int64_t chunks =
      tiles < 256 && p.k >= 2 * kInnerChunk ? (p.k + kInnerChunk - 1) / kInnerChunk : 1;
  const int64_t all = std::max(p.elements, chunks * p.count * p.m * p.n);
  const char* multiply_add = is_float(t) ? "pj_fma(x, y, z)" : "pj_sum<T>(z, pj_prod<T>(x, y))";
  auto kernel = std::make_shared<SourceKernel>(
      *gpu, r.op.name, 6, static_cast<int>(5 + p.reads.size()),
      str_cat(element_types(t, needs_wide(all)), define("CHUNK", kInnerChunk),
              define("BIAS", p.bias), define("RESIDUAL", p.residual),
              "#define MULTIPLY_ADD(x, y, z) ", multiply_add, "\n", activation_macro(p.activation),
              "#define P(k) (a.n[5 + (k)])\n", p.text, kTiles),
      std::vector<std::string>{"k", "fold"});
  Ints n{p.count, p.m, p.n, p.k, chunks};
  n.insert(n.end(), p.reads.begin(), p.reads.end());
  const int64_t results = p.count * p.m * p.n;
  const size_t part =
      chunks > 1 ? static_cast<size_t>(chunks * results) * (is_half(t) ? 4 : size_of(t)) : 0;
  return fn_kernel([kernel, n, results, part, blocks = tiles * chunks, chunks, bias = p.bias,
                    residual = p.residual](const void* const* in, void* out) {
    const DeviceBlock partial(*gpu, part);
    const void *b = bias ? in[2] : nullptr, *add = residual ? in[3] : nullptr;
    kernel->run(0, blocks * kThreads, {in[0], in[1], b, add, out, partial.p}, n);
    if (chunks > 1) kernel->run(1, results, {in[0], in[1], b, add, out, partial.p}, n);
  });
}

std::string activation_of(const KernelRequest& r) {
  return r.op.name.ends_with("_post") ? r.ctx().s("activation") : "";
}
bool residual_of(const KernelRequest& r) { return r.present.size() > 3 && r.present[3]; }

// reads: rank of the stack, its shape, strides of the left and of the right stack; then strides of
// left rows and columns, of right rows and columns.
constexpr const char* kMatrices = R"(
#define CHANNEL column
PJ ix pj_of_stack(const pj_args& a, ix z, int which) {
  ix at = 0;
  for (int d = STACK - 1; d >= 0; --d) {
    at += z % (ix)P(d) * (ix)P(which * STACK + d);
    z /= (ix)P(d);
  }
  return at;
}
PJ T pj_left(const pj_args& a, ix z, ix m, ix k) {
  return LOAD(((const M*)a.p[0])[pj_of_stack(a, z, 1) + m * (ix)P(3 * STACK) + k * (ix)P(3 * STACK + 1)]);
}
PJ T pj_right(const pj_args& a, ix z, ix k, ix n) {
  return LOAD(
      ((const M*)a.p[1])[pj_of_stack(a, z, 2) + k * (ix)P(3 * STACK + 2) + n * (ix)P(3 * STACK + 3)]);
}
PJ ix pj_at(const pj_args& a, ix z, ix m, ix n) { return (z * (ix)a.n[1] + m) * (ix)a.n[2] + n; }
)";
bool takes(const KernelRequest& r, std::string* why) {
  if (is_complex(r.out.dtype) || is_bool(r.out.dtype)) return *why = "no numbers", false;
  for (size_t k = 0; k < r.in.size(); ++k)
    if (r.present[k] && r.in[k].dtype != r.out.dtype)
      return *why = "operands of different dtypes", false;
  return true;
}
KERNEL(matmul) {
  if (!takes(r, why)) return nullptr;
  const bool swap_a = r.ctx().flag("trans_a"), swap_b = r.ctx().flag("trans_b");
  const Shape &a = r.in[0].shape, &b = r.in[1].shape, &out = r.out.shape;
  const int ra = a.rank(), rb = b.rank(), ro = out.rank(), stack = ro - 2;
  const auto sa = a.strides(), sb = b.strides();
  Product p{1, out[ro - 2], out[ro - 1], a[ra - (swap_a ? 2 : 1)], {}, {}, 0};
  for (int d = 0; d < stack; ++d) p.reads.push_back(out[d]), p.count *= out[d];
  for (int d = 0; d < stack; ++d) {
    const int k = d - (ro - ra);
    p.reads.push_back(k >= 0 && a[k] != 1 ? sa[k] : 0);
  }
  for (int d = 0; d < stack; ++d) {
    const int k = d - (ro - rb);
    p.reads.push_back(k >= 0 && b[k] != 1 ? sb[k] : 0);
  }
  for (int64_t s : {sa[ra - (swap_a ? 1 : 2)], sa[ra - (swap_a ? 2 : 1)], sb[rb - (swap_b ? 1 : 2)],
                    sb[rb - (swap_b ? 2 : 1)]})
    p.reads.push_back(s);
  p.elements = std::max<int64_t>({a.numel(), b.numel(), out.numel()});
  p.text = define("STACK", stack) + define("LEFT_ROWS", !swap_a) + define("RIGHT_ROWS", !swap_b) +
           kMatrices;
  return product(r, p);
}
KERNEL(dense) {
  if (!takes(r, why)) return nullptr;
  const int64_t n = r.in[1].shape[0], k = r.in[1].shape[1];
  int64_t rows = 1;
  for (int d = 0; d + 1 < r.out.shape.rank(); ++d) rows *= r.out.shape[d];
  Product p{1, rows, n, k, {k, 1, 1, k}, {}, 0};
  p.elements =
      std::max<int64_t>({r.in[0].shape.numel(), r.in[1].shape.numel(), r.out.shape.numel()});
  p.text = define("STACK", 0) + define("LEFT_ROWS", 1) + define("RIGHT_ROWS", 0) + kMatrices;
  p.bias = r.present[2];
  p.residual = residual_of(r);
  p.activation = activation_of(r);
  return product(r, p);
}

// reads: images, channels of a group and results of a group, groups, H, W, OH, OW, the kernel's
// height and width, stride, low padding and dilation of both axes. Products are groups.
constexpr const char* kImages = R"(
#define IMAGES (ix)P(0)
#define CHANNELS (ix)P(1)
#define RESULTS (ix)P(2)
#define GROUPS (ix)P(3)
#define H (ix)P(4)
#define WIDTH (ix)P(5)
#define OH (ix)P(6)
#define OW (ix)P(7)
#define KH (ix)P(8)
#define KW (ix)P(9)
PJ ix pj_image(const pj_args& a, ix image, ix z, ix c, ix h, ix w) {
  return ((image * GROUPS * CHANNELS + z * CHANNELS + c) * H + h) * WIDTH + w;
}
PJ ix pj_result(const pj_args& a, ix image, ix z, ix o, ix i, ix j) {
  return ((image * GROUPS * RESULTS + z * RESULTS + o) * OH + i) * OW + j;
}
PJ ix pj_weight(const pj_args& a, ix z, ix o, ix c, ix p, ix q) {
  return (((z * RESULTS + o) * CHANNELS + c) * KH + p) * KW + q;
}
// What window (i, j) of an image reads for the weight (c, p, q).
PJ T pj_patch(const pj_args& a, const M* x, ix image, ix z, ix patch, ix i, ix j) {
  const ix q = patch % KW, p = patch / KW % KH, c = patch / KW / KH;
  const ix h = i * (ix)P(10) - (ix)P(12) + p * (ix)P(14);
  const ix w = j * (ix)P(11) - (ix)P(13) + q * (ix)P(15);
  if (h < 0 || h >= H || w < 0 || w >= WIDTH) return (T)0;
  return LOAD(x[pj_image(a, image, z, c, h, w)]);
}
)";
constexpr const char* kForward = R"(
#define CHANNEL (z * RESULTS + row)
PJ T pj_left(const pj_args& a, ix z, ix m, ix k) {
  return LOAD(((const M*)a.p[1])[(z * RESULTS + m) * (CHANNELS * KH * KW) + k]);
}
PJ T pj_right(const pj_args& a, ix z, ix k, ix n) {
  return pj_patch(a, (const M*)a.p[0], n / OW / OH, z, k, n / OW % OH, n % OW);
}
PJ ix pj_at(const pj_args& a, ix z, ix m, ix n) {
  return pj_result(a, n / OW / OH, z, m, n / OW % OH, n % OW);
}
)";
constexpr const char* kBackward = R"(
#define CHANNEL 0
PJ T pj_left(const pj_args& a, ix z, ix m, ix k) {
  return LOAD(((const M*)a.p[1])[pj_weight(a, z, k / KW / KH, m, k / KW % KH, k % KW)]);
}
PJ T pj_right(const pj_args& a, ix z, ix k, ix n) {
  const ix h = n / WIDTH % H + (ix)P(12) - k / KW % KH * (ix)P(14);
  const ix w = n % WIDTH + (ix)P(13) - k % KW * (ix)P(15);
  if (h < 0 || w < 0 || h % (ix)P(10) || w % (ix)P(11)) return (T)0;
  const ix i = h / (ix)P(10), j = w / (ix)P(11);
  if (i >= OH || j >= OW) return (T)0;
  return LOAD(((const M*)a.p[0])[pj_result(a, n / WIDTH / H, z, k / KW / KH, i, j)]);
}
PJ ix pj_at(const pj_args& a, ix z, ix m, ix n) {
  return pj_image(a, n / WIDTH / H, z, m, n / WIDTH % H, n % WIDTH);
}
)";
constexpr const char* kWeights = R"(
#define CHANNEL 0
PJ T pj_left(const pj_args& a, ix z, ix m, ix k) {
  return LOAD(((const M*)a.p[1])[pj_result(a, k / OW / OH, z, m, k / OW % OH, k % OW)]);
}
PJ T pj_right(const pj_args& a, ix z, ix k, ix n) {
  return pj_patch(a, (const M*)a.p[0], k / OW / OH, z, n, k / OW % OH, k % OW);
}
PJ ix pj_at(const pj_args& a, ix z, ix m, ix n) {
  return (z * RESULTS + m) * (CHANNELS * KH * KW) + n;
}
)";
struct Images {
  int64_t images, channels, results, groups, patch, places, windows;
  Product p;
  Images(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y) : p{} {
    const OpCtx c = r.ctx();
    const Ints s = c.numbers("stride"), pad = c.numbers("pad"), d = c.numbers("dilation");
    groups = c.i("group");
    images = x[0], channels = w[1], results = w[0] / Dim(groups);
    patch = w[2] * w[3], places = x[0] * x[2] * x[3], windows = y[0] * y[2] * y[3];
    p.reads = {images, channels, results, groups, x[2],   x[3],   y[2], y[3],
               w[2],   w[3],     s[0],    s[1],   pad[0], pad[2], d[0], d[1]};
    p.count = groups;
    p.elements = std::max<int64_t>({x.numel(), w.numel(), y.numel()});
  }
};
KERNEL(conv2d) {
  if (!takes(r, why)) return nullptr;
  Images g(r, r.in[0].shape, r.in[1].shape, r.out.shape);
  g.p.m = g.results, g.p.n = g.windows, g.p.k = g.channels * g.patch;
  g.p.text = define("LEFT_ROWS", 1) + define("RIGHT_ROWS", 1) + kImages + kForward;
  g.p.bias = r.present[2];
  g.p.residual = residual_of(r);
  g.p.activation = activation_of(r);
  return product(r, g.p);
}
KERNEL(conv2d_dx) {
  if (!takes(r, why)) return nullptr;
  Images g(r, r.out.shape, r.in[1].shape, r.in[0].shape);
  g.p.m = g.channels, g.p.n = g.places, g.p.k = g.results * g.patch;
  g.p.text = define("LEFT_ROWS", 0) + define("RIGHT_ROWS", 1) + kImages + kBackward;
  return product(r, g.p);
}
KERNEL(conv2d_dw) {
  if (!takes(r, why)) return nullptr;
  Images g(r, r.in[0].shape, r.out.shape, r.in[1].shape);
  g.p.m = g.results, g.p.n = g.channels * g.patch, g.p.k = g.windows;
  g.p.text = define("LEFT_ROWS", 1) + define("RIGHT_ROWS", 0) + kImages + kWeights;
  return product(r, g.p);
}

}  // namespace

void register_gemm(Gpu& g) {
  gpu = &g;
  const std::pair<const char*, KernelFactory> all[] = {
      {"matmul", matmul},      {"dense", dense},        {"dense_post", dense},
      {"conv2d", conv2d},      {"conv2d_post", conv2d}, {"conv2d_dx", conv2d_dx},
      {"conv2d_dw", conv2d_dw}};
  for (auto& [name, make] : all) g.kernels.add(name, {"tiles", make});
}

}  // namespace pijit::cuda
