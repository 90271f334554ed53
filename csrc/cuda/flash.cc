// Attention of float32 in kernels of our own, under numerics="fast": products in TF32 on the tensor
// cores, a softmax whose scores stay in registers, and the gradient from the rows' statistics.
// Operands pass through shared memory in tiles, in order; nothing is added by atomic operations, so
// that results are the same each time. Tiles whose weights are all 0 behind a mask are left out.
#include <bit>
#include <cmath>

#include "cuda/source_kernel.h"

namespace pijit::cuda {
namespace {

Gpu* gpu = nullptr;  // of this plug-in

// A warp holds 16 rows. Of a result of mma.m16n8k8, a thread has columns 2c and 2c + 1 of rows g
// and g + 8; as the left operand of the next product it needs columns c and c + 4. That product's
// inner index is renamed instead: column 2c of the one is c of the other, and 2c + 1 is c + 4.
//
// WIDTH and DEPTH: elements of a row of q and k, and of v. MASK(z, row, key) takes the score x
// through all masks; keeps: it is not cut down. LIMITED: there is one mask, which scores are cut
// down to: LIMIT(z, row, key).
// p: q, k, v, out, statistics, ct, delta, dq, dk, dv, then masks.
// n: batch times heads, heads, rows, keys; then strides of batch, head and row of q, k, v, out.
constexpr const char* kCommon = R"(
#define ROWS 64  // of a block
#define PITCH(n) (((n) + 31) / 32 * 32 + 4)
#define ABSENT pj_bits<f32>(0xff800000u)
#define NOTHING -104.0f  // the exponential of less is 0
#define CUT(to) if ((to) < x) x = (to), keeps = false;
#define ADD(what) x += (what);
#ifdef __CUDA_ARCH__
PJ u32 pj_tf32(f32 x) {
  u32 r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
PJ void pj_mma(f32* c, const u32* a, u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#else
PJ u32 pj_tf32(f32 x) {
  const u32 u = pj_bits<u32>(x);
  return (u & 0x7f800000u) == 0x7f800000u ? u : (u + 0x1000u) & ~0x1fffu;
}
#endif
// Of the four threads that share a row.
PJ f32 pj_row_max(f32 x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
PJ f32 pj_row_sum(f32 x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}
// The first element of row `row` of operand k, for the head z.
PJ ix pj_start(const pj_args& a, int k, ix z) {
  return z / (ix)a.n[1] * (ix)a.n[4 + 3 * k] + z % (ix)a.n[1] * (ix)a.n[5 + 3 * k];
}
PJ ix pj_step(const pj_args& a, int k) { return (ix)a.n[6 + 3 * k]; }
// A row's greatest score, and one over its sum of exponentials.
PJ f32* pj_statistics(const pj_args& a, ix z, ix row) {
  return (f32*)a.p[4] + 2 * (z * (ix)a.n[2] + row);
}
// Rows of an operand, zeros beyond `end`, into shared memory.
template <int W, int COUNT>
PJ void pj_tile(u32* to, const f32* from, ix step, ix first, ix end, bool vectors) {
  if (vectors) {
#pragma unroll
    for (int i = threadIdx.x; i < COUNT * (W / 4); i += 128) {
      const int r = i / (W / 4), c = i % (W / 4) * 4;
      pj_vector<f32> x = {};
      if (first + r < end) x = *(const pj_vector<f32>*)(from + (first + r) * step + c);
      pj_vector<u32> y;
#pragma unroll
      for (int j = 0; j < 4; ++j) y.v[j] = pj_tf32(x.v[j]);
      *(pj_vector<u32>*)(to + r * PITCH(W) + c) = y;
    }
  } else {
    for (int i = threadIdx.x; i < COUNT * W; i += 128) {
      const int r = i / W, c = i % W;
      to[r * PITCH(W) + c] = first + r < end ? pj_tf32(from[(first + r) * step + c]) : 0;
    }
  }
}
// Rows `row` and `row` + 8 of an operand as left operands of products.
template <int W>
PJ void pj_rows(u32 (*to)[4], const f32* from, ix step, ix row, ix end, int c) {
#pragma unroll
  for (int k = 0; k < W / 8; ++k)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const ix r = row + j % 2 * 8;
      to[k][j] = r < end ? pj_tf32(from[r * step + k * 8 + j / 2 * 4 + c]) : 0;
    }
}
template <int W>
PJ void pj_put(f32* to, ix step, ix row, ix end, int c, const f32 (*from)[4], const f32* by) {
#pragma unroll
  for (int d = 0; d < W / 8; ++d)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (row + j / 2 * 8 < end)
        to[(row + j / 2 * 8) * step + d * 8 + 2 * c + j % 2] = from[d][j] * by[j / 2];
}
)";

constexpr const char* kForward = R"(
#define KEYS (WIDTH > 64 || DEPTH > 64 ? 32 : 64)  // of a tile
ENTRY(forward) {
  alignas(16) __shared__ u32 ks[KEYS * PITCH(WIDTH)];
  alignas(16) __shared__ u32 vs[KEYS * PITCH(DEPTH)];
  const ix heads = (ix)a.n[0], rows = (ix)a.n[2], keys = (ix)a.n[3];
  const ix down = (rows + ROWS - 1) / ROWS;
  const int lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
  for (ix b = blockIdx.x; b < heads * down; b += gridDim.x) {
    // Of a triangle of keys, the longest rows first.
    const ix z = b % heads, row = (down - 1 - b / heads) * ROWS + threadIdx.x / 32 * 16 + g;
    const f32* const k = (const f32*)a.p[1] + pj_start(a, 1, z);
    const f32* const v = (const f32*)a.p[2] + pj_start(a, 2, z);
    u32 q[WIDTH / 8][4];
    pj_rows<WIDTH>(q, (const f32*)a.p[0] + pj_start(a, 0, z), pj_step(a, 0), row, rows, c);
    f32 o[DEPTH / 8][4] = {};
    f32 top[2] = {ABSENT, ABSENT}, sum[2] = {};
    for (ix first = 0; first < keys; first += KEYS) {
#if LIMITED
      f32 limit[KEYS / 8][4];
      bool sees = false;
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const ix r = row + j / 2 * 8, key = first + n * 8 + 2 * c + j % 2;
          const bool on = r < rows && key < keys;
          limit[n][j] = on ? LIMIT(z, r, key) : ABSENT;
          sees |= on && !(limit[n][j] - top[j / 2] < NOTHING);
        }
      if (!__syncthreads_or(sees)) continue;
#else
      __syncthreads();
#endif
      pj_tile<WIDTH, KEYS>(ks, k, pj_step(a, 1), first, keys, VECTORS);
      pj_tile<DEPTH, KEYS>(vs, v, pj_step(a, 2), first, keys, VECTORS);
      __syncthreads();
      f32 s[KEYS / 8][4] = {};
#pragma unroll
      for (int i = 0; i < WIDTH / 8; ++i)
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n) {
          const u32* const at = ks + (n * 8 + g) * PITCH(WIDTH) + i * 8 + c;
          pj_mma(s[n], q[i], at[0], at[4]);
        }
      f32 now[2] = {top[0], top[1]};
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const ix r = row + j / 2 * 8, key = first + n * 8 + 2 * c + j % 2;
          f32 x = s[n][j] * SCALE;
          bool keeps = true;
#if LIMITED
          CUT(limit[n][j])
#else
          if (r < rows && key < keys) {
            MASK(z, r, key)
          } else {
            x = ABSENT;
          }
#endif
          (void)keeps;
          s[n][j] = x;
          now[j / 2] = fmaxf(now[j / 2], x);
        }
      f32 shift[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        now[h] = pj_row_max(now[h]);
        shift[h] = now[h] == ABSENT ? 0.0f : now[h];
        const f32 by = expf(top[h] - shift[h]);
        top[h] = now[h];
        sum[h] *= by;
#pragma unroll
        for (int d = 0; d < DEPTH / 8; ++d) {
          o[d][2 * h] *= by;
          o[d][2 * h + 1] *= by;
        }
      }
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n) {
        f32 w[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          w[j] = expf(s[n][j] - shift[j / 2]);
          sum[j / 2] += w[j];
        }
        const u32 left[4] = {pj_tf32(w[0]), pj_tf32(w[2]), pj_tf32(w[1]), pj_tf32(w[3])};
#pragma unroll
        for (int d = 0; d < DEPTH / 8; ++d) {
          const u32* const at = vs + (n * 8 + 2 * c) * PITCH(DEPTH) + d * 8 + g;
          pj_mma(o[d], left, at[0], at[PITCH(DEPTH)]);
        }
      }
    }
    f32 by[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      sum[h] = pj_row_sum(sum[h]);
      by[h] = 1 / sum[h];
      if (a.p[4] && c == 0 && row + 8 * h < rows)
        pj_statistics(a, z, row + 8 * h)[0] = top[h], pj_statistics(a, z, row + 8 * h)[1] = by[h];
    }
    pj_put<DEPTH>((f32*)a.p[3] + pj_start(a, 3, z), pj_step(a, 3), row, rows, c, o, by);
    __syncthreads();
  }
}
)";

// The gradient: d = weights * (ct v^T - delta), delta being the sums of out * ct over a row; then
// dq = scale * d k, dk = scale * d^T q, dv = weights^T ct.
constexpr const char* kBackward = R"(
#define SHORT 32  // rows, or keys, of a tile
ENTRY(deltas) {
  const ix heads = (ix)a.n[0], rows = (ix)a.n[2];
  const int lane = threadIdx.x % 32;
  for (ix first = (ix)blockIdx.x * 4; first < heads * rows; first += (ix)gridDim.x * 4) {
    const ix i = first + threadIdx.x / 32;
    const bool on = i < heads * rows;
    const ix z = on ? i / rows : 0, r = on ? i % rows : 0, at = pj_start(a, 3, z) + r * pj_step(a, 3);
    f32 sum = 0;
    for (int d = lane; d < DEPTH; d += 32)
      sum += ((const f32*)a.p[3])[at + d] * ((const f32*)a.p[5])[at + d];
    for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
    if (on && lane == 0) ((f32*)a.p[6])[i] = sum;
  }
}
ENTRY(rows) {
  alignas(16) __shared__ u32 ks[SHORT * PITCH(WIDTH)];
  alignas(16) __shared__ u32 vs[SHORT * PITCH(DEPTH)];
  const ix heads = (ix)a.n[0], rows = (ix)a.n[2], keys = (ix)a.n[3];
  const ix down = (rows + ROWS - 1) / ROWS;
  const int lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
  for (ix b = blockIdx.x; b < heads * down; b += gridDim.x) {
    const ix z = b % heads, row = (down - 1 - b / heads) * ROWS + threadIdx.x / 32 * 16 + g;
    const f32* const k = (const f32*)a.p[1] + pj_start(a, 1, z);
    const f32* const v = (const f32*)a.p[2] + pj_start(a, 2, z);
    u32 q[WIDTH / 8][4], ct[DEPTH / 8][4];
    pj_rows<WIDTH>(q, (const f32*)a.p[0] + pj_start(a, 0, z), pj_step(a, 0), row, rows, c);
    pj_rows<DEPTH>(ct, (const f32*)a.p[5] + pj_start(a, 3, z), pj_step(a, 3), row, rows, c);
    f32 top[2], by[2], delta[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const bool on = row + 8 * h < rows;
      top[h] = on ? pj_statistics(a, z, row + 8 * h)[0] : 0;
      by[h] = on ? pj_statistics(a, z, row + 8 * h)[1] : 0;
      delta[h] = on ? ((const f32*)a.p[6])[z * rows + row + 8 * h] : 0;
    }
    f32 dq[WIDTH / 8][4] = {};
    for (ix first = 0; first < keys; first += SHORT) {
#if LIMITED
      f32 limit[SHORT / 8][4];
      bool sees = false;
#pragma unroll
      for (int n = 0; n < SHORT / 8; ++n)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const ix r = row + j / 2 * 8, key = first + n * 8 + 2 * c + j % 2;
          const bool on = r < rows && key < keys;
          limit[n][j] = on ? LIMIT(z, r, key) : ABSENT;
          sees |= on && !(limit[n][j] - top[j / 2] < NOTHING);
        }
      if (!__syncthreads_or(sees)) continue;
#else
      __syncthreads();
#endif
      pj_tile<WIDTH, SHORT>(ks, k, pj_step(a, 1), first, keys, VECTORS);
      pj_tile<DEPTH, SHORT>(vs, v, pj_step(a, 2), first, keys, VECTORS);
      __syncthreads();
      f32 s[SHORT / 8][4] = {}, e[SHORT / 8][4] = {};
#pragma unroll
      for (int i = 0; i < WIDTH / 8; ++i)
#pragma unroll
        for (int n = 0; n < SHORT / 8; ++n) {
          const u32* const at = ks + (n * 8 + g) * PITCH(WIDTH) + i * 8 + c;
          pj_mma(s[n], q[i], at[0], at[4]);
        }
#pragma unroll
      for (int i = 0; i < DEPTH / 8; ++i)
#pragma unroll
        for (int n = 0; n < SHORT / 8; ++n) {
          const u32* const at = vs + (n * 8 + g) * PITCH(DEPTH) + i * 8 + c;
          pj_mma(e[n], ct[i], at[0], at[4]);
        }
#pragma unroll
      for (int n = 0; n < SHORT / 8; ++n) {
        f32 d[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const ix r = row + j / 2 * 8, key = first + n * 8 + 2 * c + j % 2;
          f32 x = s[n][j] * SCALE;
          bool keeps = true;
#if LIMITED
          CUT(limit[n][j])
#else
          if (r < rows && key < keys) {
            MASK(z, r, key)
          } else {
            x = ABSENT;
          }
#endif
          d[j] = r < rows && keeps ? expf(x - top[j / 2]) * by[j / 2] * (e[n][j] - delta[j / 2]) : 0;
        }
        const u32 left[4] = {pj_tf32(d[0]), pj_tf32(d[2]), pj_tf32(d[1]), pj_tf32(d[3])};
#pragma unroll
        for (int i = 0; i < WIDTH / 8; ++i) {
          const u32* const at = ks + (n * 8 + 2 * c) * PITCH(WIDTH) + i * 8 + g;
          pj_mma(dq[i], left, at[0], at[PITCH(WIDTH)]);
        }
      }
    }
    const f32 scale[2] = {SCALE, SCALE};
    pj_put<WIDTH>((f32*)a.p[7] + pj_start(a, 0, z), pj_step(a, 0), row, rows, c, dq, scale);
    __syncthreads();
  }
}
ENTRY(keys) {
  alignas(16) __shared__ u32 qs[SHORT * PITCH(WIDTH)];
  alignas(16) __shared__ u32 cs[SHORT * PITCH(DEPTH)];
  __shared__ f32 top[SHORT], by[SHORT], delta[SHORT];
  const ix heads = (ix)a.n[0], rows = (ix)a.n[2], keys = (ix)a.n[3];
  const ix down = (keys + ROWS - 1) / ROWS;
  const int lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
  for (ix b = blockIdx.x; b < heads * down; b += gridDim.x) {
    const ix z = b % heads, key = b / heads * ROWS + threadIdx.x / 32 * 16 + g;
    const f32* const q = (const f32*)a.p[0] + pj_start(a, 0, z);
    const f32* const ct = (const f32*)a.p[5] + pj_start(a, 3, z);
    u32 k[WIDTH / 8][4], v[DEPTH / 8][4];
    pj_rows<WIDTH>(k, (const f32*)a.p[1] + pj_start(a, 1, z), pj_step(a, 1), key, keys, c);
    pj_rows<DEPTH>(v, (const f32*)a.p[2] + pj_start(a, 2, z), pj_step(a, 2), key, keys, c);
    f32 dk[WIDTH / 8][4] = {}, dv[DEPTH / 8][4] = {};
    for (ix first = 0; first < rows; first += SHORT) {
#if LIMITED
      f32 limit[SHORT / 8][4];
      bool sees = false;
#pragma unroll
      for (int n = 0; n < SHORT / 8; ++n)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const ix r = first + n * 8 + 2 * c + j % 2, at = key + j / 2 * 8;
          const bool on = r < rows && at < keys;
          limit[n][j] = on ? LIMIT(z, r, at) : ABSENT;
          sees |= on && !(limit[n][j] - pj_statistics(a, z, r)[0] < NOTHING);
        }
      if (!__syncthreads_or(sees)) continue;
#else
      __syncthreads();
#endif
      pj_tile<WIDTH, SHORT>(qs, q, pj_step(a, 0), first, rows, VECTORS);
      pj_tile<DEPTH, SHORT>(cs, ct, pj_step(a, 3), first, rows, VECTORS);
      if (threadIdx.x < SHORT) {
        const bool on = first + threadIdx.x < rows;
        top[threadIdx.x] = on ? pj_statistics(a, z, first + threadIdx.x)[0] : 0;
        by[threadIdx.x] = on ? pj_statistics(a, z, first + threadIdx.x)[1] : 0;
        delta[threadIdx.x] = on ? ((const f32*)a.p[6])[z * rows + first + threadIdx.x] : 0;
      }
      __syncthreads();
      f32 s[SHORT / 8][4] = {}, e[SHORT / 8][4] = {};
#pragma unroll
      for (int i = 0; i < WIDTH / 8; ++i)
#pragma unroll
        for (int n = 0; n < SHORT / 8; ++n) {
          const u32* const at = qs + (n * 8 + g) * PITCH(WIDTH) + i * 8 + c;
          pj_mma(s[n], k[i], at[0], at[4]);
        }
#pragma unroll
      for (int i = 0; i < DEPTH / 8; ++i)
#pragma unroll
        for (int n = 0; n < SHORT / 8; ++n) {
          const u32* const at = cs + (n * 8 + g) * PITCH(DEPTH) + i * 8 + c;
          pj_mma(e[n], v[i], at[0], at[4]);
        }
#pragma unroll
      for (int n = 0; n < SHORT / 8; ++n) {
        f32 w[4], d[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int of = n * 8 + 2 * c + j % 2;
          const ix r = first + of, at = key + j / 2 * 8;
          f32 x = s[n][j] * SCALE;
          bool keeps = true;
#if LIMITED
          CUT(limit[n][j])
#else
          if (r < rows && at < keys) {
            MASK(z, r, at)
          } else {
            x = ABSENT;
          }
#endif
          w[j] = r < rows ? expf(x - top[of]) * by[of] : 0;
          d[j] = keeps ? w[j] * (e[n][j] - delta[of]) : 0;
        }
        const u32 ws[4] = {pj_tf32(w[0]), pj_tf32(w[2]), pj_tf32(w[1]), pj_tf32(w[3])};
        const u32 ds[4] = {pj_tf32(d[0]), pj_tf32(d[2]), pj_tf32(d[1]), pj_tf32(d[3])};
#pragma unroll
        for (int i = 0; i < DEPTH / 8; ++i) {
          const u32* const at = cs + (n * 8 + 2 * c) * PITCH(DEPTH) + i * 8 + g;
          pj_mma(dv[i], ws, at[0], at[PITCH(DEPTH)]);
        }
#pragma unroll
        for (int i = 0; i < WIDTH / 8; ++i) {
          const u32* const at = qs + (n * 8 + 2 * c) * PITCH(WIDTH) + i * 8 + g;
          pj_mma(dk[i], ds, at[0], at[PITCH(WIDTH)]);
        }
      }
    }
    const f32 scale[2] = {SCALE, SCALE}, one[2] = {1, 1};
    if (a.p[8])
      pj_put<WIDTH>((f32*)a.p[8] + pj_start(a, 1, z), pj_step(a, 1), key, keys, c, dk, scale);
    if (a.p[9])
      pj_put<DEPTH>((f32*)a.p[9] + pj_start(a, 2, z), pj_step(a, 2), key, keys, c, dv, one);
    __syncthreads();
  }
}
)";

constexpr int kOperands = 4, kFirstMask = 10, kNumbers = 4 + 3 * kOperands;

// What an operand's place depends on: batch, head, row.
struct Strides {
  int64_t batch, head, row;
};

struct Request {
  bool gradient, statistics = false;
  bool apart;  // [batch, rows, heads, width]
  int64_t batch, heads, rows, keys, width, depth;
  std::string how;

  explicit Request(const KernelRequest& r)
      : gradient(r.op.role == Role::kAttentionGradient),
        apart(r.ctx().flag("apart")),
        how(r.ctx().s("how")) {
    if (!gradient) statistics = r.ctx().flag("statistics");
    const Shape &q = r.in[0].shape, &k = r.in[1].shape, &v = r.in[2].shape;
    const int rank = q.rank(), row = apart ? 1 : rank - 2;
    batch = q[0], heads = rank == 3 ? 1 : int64_t{q[apart ? 2 : 1]};
    rows = q[row], keys = k[row], width = q[rank - 1], depth = v[rank - 1];
  }
  Strides strides(int64_t length, int64_t n) const {
    if (apart) return {length * heads * n, n, heads * n};
    return {heads * length * n, length * n, n};
  }
  size_t first_mask() const { return gradient ? 6 : 3; }
};

class Attention : public OpKernel {
 public:
  Attention(std::shared_ptr<SourceKernel> k, Request r, std::vector<int64_t> n)
      : kernel_(std::move(k)), r_(std::move(r)), n_(std::move(n)) {}
  void run(const void* const* in, void* out) override { launch(in, &out); }
  void launch(const void* const* in, void* const* out) override {
    std::vector<const void*> p(kFirstMask + r_.how.size());
    const int64_t heads = r_.batch * r_.heads;
    const DeviceBlock deltas(*gpu, r_.gradient ? static_cast<size_t>(heads * r_.rows) * 4 : 0);
    for (size_t k = 0; k < 3; ++k) p[k] = in[k];
    for (size_t k = 0; k < r_.how.size(); ++k) p[kFirstMask + k] = in[r_.first_mask() + k];
    if (r_.gradient) {
      for (size_t k = 3; k < 6; ++k) p[k] = in[k];
      p[6] = deltas.p;
      for (size_t k = 7; k < 10; ++k) p[k] = out[k - 7];
    } else {
      p[3] = out[0];
      p[4] = r_.statistics ? out[1] : nullptr;
    }
    uintptr_t all = 0;
    for (size_t k = 0; k < 10; ++k) all |= reinterpret_cast<uintptr_t>(p[k]);
    std::vector<int64_t> n = n_;
    n.push_back(all % 16 == 0);
    auto blocks = [&](int64_t rows) { return (rows + 63) / 64 * heads * kThreads; };
    if (!r_.gradient) return kernel_->run(0, blocks(r_.rows), p, n);
    kernel_->run(0, heads * r_.rows * 32, p, n);
    if (out[0]) kernel_->run(1, blocks(r_.rows), p, n);
    if (out[1] || out[2]) kernel_->run(2, blocks(r_.keys), p, n);
  }

 private:
  const std::shared_ptr<SourceKernel> kernel_;
  const Request r_;
  const std::vector<int64_t> n_;
};

std::unique_ptr<OpKernel> kernel(const KernelRequest& r, std::string* why) {
  NEED(r.fast, "it is rounded otherwise than products and a softmax");
  NEED(gpu->capability() >= 80, "compute capability 8.0 is needed");
  for (auto& t : r.in) {
    NEED(t.dtype == DType::F32, "not of float32");
    NEED(t.shape.numel() > 0, "nothing to attend to");
  }
  const Request q(r);
  const int64_t widest = std::max(q.width, q.depth);
  NEED(q.width % 8 == 0 && q.depth % 8 == 0, "heads that are not of elements in eights");
  NEED(widest <= (q.gradient ? 64 : 128), "heads that are too wide for registers");
  NEED(!q.gradient || !r.ctx().flag("bias"), "a mask has a gradient");

  std::vector<int64_t> n{q.batch * q.heads, q.heads, q.rows, q.keys};
  const std::pair<int64_t, int64_t> operands[kOperands] = {
      {q.rows, q.width}, {q.keys, q.width}, {q.keys, q.depth}, {q.rows, q.depth}};
  int64_t elements = 0;
  for (auto [length, columns] : operands) {
    const Strides s = q.strides(length, columns);
    n.insert(n.end(), {s.batch, s.head, s.row});
    elements = std::max(elements, q.batch * q.heads * length * columns);
  }
  // Masks broadcast to [batch, heads, rows, keys].
  std::string masks, masked;
  for (size_t k = 0; k < q.how.size(); ++k) {
    const Shape& s = r.in[q.first_mask() + k].shape;
    const auto strides = s.strides();
    elements = std::max(elements, int64_t{s.numel()});
    const int rank = r.in[0].shape.rank();
    int64_t by[4] = {0, 0, 0, 0};
    for (int d = 0; d < s.rank(); ++d) {
      const int axis = rank - s.rank() + d;
      if (s[d] != 1) by[rank == 3 && axis > 0 ? axis + 1 : axis] = strides[d];
    }
    n.insert(n.end(), by, by + 4);
    const size_t at = static_cast<size_t>(kNumbers) + 4 * k;
    masks += str_cat("#define MASK", k, "(z, r, key) (((const f32*)a.p[", kFirstMask + k,
                     "])[(z) / (ix)a.n[1] * (ix)a.n[", at, "] + (z) % (ix)a.n[1] * (ix)a.n[",
                     at + 1, "] + (r) * (ix)a.n[", at + 2, "] + (key) * (ix)a.n[", at + 3, "]])\n");
    masked += str_cat(q.how[k] == 'a' ? "ADD" : "CUT", "(MASK", k, "(z, r, key)) ");
  }
  const bool limited = q.how == "m";
  masks += limited ? "#define LIMIT MASK0\n" : str_cat("#define MASK(z, r, key) ", masked, "\n");
  const auto scale = static_cast<float>(r.ctx().f("scale"));
  const std::string head =
      str_cat(needs_wide(elements) ? "typedef i64 ix;\n" : "typedef i32 ix;\n",
              define("WIDTH", q.width), define("DEPTH", q.depth), define("LIMITED", limited),
              "#define SCALE pj_bits<f32>(", std::bit_cast<uint32_t>(scale), "u)\n", masks,
              "#define VECTORS (a.n[", n.size(), "] != 0)\n", kCommon);
  auto made = std::make_shared<SourceKernel>(
      *gpu, r.op.name, static_cast<int>(kFirstMask + q.how.size()), static_cast<int>(n.size()) + 1,
      head + (q.gradient ? kBackward : kForward),
      q.gradient ? std::vector<std::string>{"deltas", "rows", "keys"}
                 : std::vector<std::string>{"forward"});

  return std::make_unique<Attention>(std::move(made), q, std::move(n));
}

}  // namespace

void register_flash(Gpu& g) {
  gpu = &g;
  for (const char* name : {"attention", "attention_gradient"})
    g.kernels.add(name, {"flash", kernel});
}

}  // namespace pijit::cuda
