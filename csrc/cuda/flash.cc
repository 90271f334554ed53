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
// through all masks, and calls HIDE where it is cut down. LIMITED: there is one mask, which scores
// are cut down to; `bounds` has its least and greatest element of each 32 rows and keys.
// p: q, k, v, out, statistics, ct, delta, dq, dk, dv, bounds, then masks.
// n: batch times heads, heads, rows, keys; strides of batch, head and row of q, k, v, out; bounds:
// batches and heads.
constexpr const char* kCommon = R"(
#define ROWS 64  // of a block
#define PITCH(n) (((n) + 31) / 32 * 32 + 4)
#define INFINITE pj_bits<f32>(0x7f800000u)
#define ABSENT pj_bits<f32>(0xff800000u)
#define NOTHING -104.0f  // the exponential of less is 0
#define CUT(to) if ((to) < x) { x = (to); HIDE }
#define ADD(what) x += (what);
#define LOG2_E 1.44269504f
#ifdef __CUDA_ARCH__
PJ u32 pj_tf32(f32 x) {
  u32 r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
PJ f32 pj_exp(f32 x) {
  f32 r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * LOG2_E));
  return r;
}
PJ void pj_mma(f32* c, const u32* a, u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// Copies that arrive by pj_arrived(), or zeros.
PJ void pj_copy4(u32* to, const f32* from, bool on) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                   (u32)__cvta_generic_to_shared(to)),
               "l"(from), "r"(on ? 4 : 0)
               : "memory");
}
PJ void pj_copy16(u32* to, const f32* from, bool on) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                   (u32)__cvta_generic_to_shared(to)),
               "l"(from), "r"(on ? 16 : 0)
               : "memory");
}
PJ void pj_arrived() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
PJ u32 pj_tf32(f32 x) {
  const u32 u = pj_bits<u32>(x);
  return (u & 0x7f800000u) == 0x7f800000u ? u : (u + 0x1000u) & ~0x1fffu;
}
PJ f32 pj_exp(f32 x) { return exp2f(x * LOG2_E); }
PJ void pj_copy4(u32* to, const f32* from, bool on) { *to = on ? pj_bits<u32>(*from) : 0; }
PJ void pj_copy16(u32* to, const f32* from, bool on) {
  for (int j = 0; j < 4; ++j) pj_copy4(to + j, from + j, on);
}
PJ void pj_arrived() {}
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
// The first element of operand k for the head z, and the distance of its rows.
PJ ix pj_start(const pj_args& a, int k, ix z) {
  return z / (ix)a.n[1] * (ix)a.n[4 + 3 * k] + z % (ix)a.n[1] * (ix)a.n[5 + 3 * k];
}
PJ ix pj_step(const pj_args& a, int k) { return (ix)a.n[6 + 3 * k]; }
// A row's greatest score, and one over its sum of exponentials.
PJ f32* pj_statistics(const pj_args& a, ix z, ix row) {
  return (f32*)a.p[4] + 2 * (z * (ix)a.n[2] + row);
}
// The first of the bounds for the head z: rows of cells.
PJ const f32* pj_bounds(const pj_args& a, ix z) {
  const ix batch = a.n[16] > 1 ? z / (ix)a.n[1] : 0, head = a.n[17] > 1 ? z % (ix)a.n[1] : 0;
  const ix cells = (((ix)a.n[2] + 31) / 32) * (((ix)a.n[3] + 31) / 32);
  return (const f32*)a.p[10] + 2 * (batch * (ix)a.n[17] + head) * cells;
}
// The least and the greatest of a mask from row `row` and key `key` on, `high` cells and `wide`.
PJ void pj_bounds_of(const pj_args& a, const f32* bounds, ix row, ix key, int high, int wide,
                     f32* least, f32* most) {
  const ix down = ((ix)a.n[2] + 31) / 32, across = ((ix)a.n[3] + 31) / 32;
  *least = INFINITE, *most = ABSENT;
  for (int i = 0; i < high; ++i)
    for (int j = 0; j < wide; ++j) {
      const ix r = row / 32 + i, k = key / 32 + j;
      if (r >= down || k >= across) continue;
      *least = fminf(*least, bounds[2 * (r * across + k)]);
      *most = fmaxf(*most, bounds[2 * (r * across + k) + 1]);
    }
}
// Rows of an operand, zeros beyond `end`, into shared memory; and their rounding by the threads
// that copied them.
template <int W, int COUNT>
PJ void pj_tile(u32* to, const f32* from, ix step, ix first, ix end, bool vectors) {
  if (vectors) {
#pragma unroll
    for (int i = threadIdx.x; i < COUNT * (W / 4); i += 128) {
      const int r = i / (W / 4), c = i % (W / 4) * 4;
      const bool on = first + r < end;
      pj_copy16(to + r * PITCH(W) + c, on ? from + (first + r) * step + c : from, on);
    }
  } else {
    for (int i = threadIdx.x; i < COUNT * W; i += 128) {
      const int r = i / W, c = i % W;
      const bool on = first + r < end;
      pj_copy4(to + r * PITCH(W) + c, on ? from + (first + r) * step + c : from, on);
    }
  }
}
template <int W, int COUNT>
PJ void pj_round(u32* at, bool vectors) {
  if (vectors) {
#pragma unroll
    for (int i = threadIdx.x; i < COUNT * (W / 4); i += 128) {
      pj_vector<u32>* const p = (pj_vector<u32>*)(at + i / (W / 4) * PITCH(W) + i % (W / 4) * 4);
      pj_vector<u32> x = *p;
#pragma unroll
      for (int j = 0; j < 4; ++j) x.v[j] = pj_tf32(pj_bits<f32>(x.v[j]));
      *p = x;
    }
  } else {
    for (int i = threadIdx.x; i < COUNT * W; i += 128) {
      u32* const p = at + i / W * PITCH(W) + i % W;
      *p = pj_tf32(pj_bits<f32>(*p));
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
// Products of a warp's rows and those of a tile: [16, 8 * N].
template <int W, int N>
PJ void pj_scores(f32 (*to)[4], const u32 (*left)[4], const u32* tile, int g, int c) {
#pragma unroll
  for (int i = 0; i < W / 8; ++i)
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const u32* const at = tile + (n * 8 + g) * PITCH(W) + i * 8 + c;
      pj_mma(to[n], left[i], at[0], at[4]);
    }
}
// Adds the product of eight columns of weights and a tile's rows from 8 * n on.
template <int W>
PJ void pj_weighted(f32 (*to)[4], const f32* w, const u32* tile, int n, int g, int c) {
  const u32 left[4] = {pj_tf32(w[0]), pj_tf32(w[2]), pj_tf32(w[1]), pj_tf32(w[3])};
#pragma unroll
  for (int i = 0; i < W / 8; ++i) {
    const u32* const at = tile + (n * 8 + 2 * c) * PITCH(W) + i * 8 + g;
    pj_mma(to[i], left, at[0], at[PITCH(W)]);
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

constexpr const char* kLimits = R"(
ENTRY(bounds) {
  const ix rows = (ix)a.n[2], keys = (ix)a.n[3], heads = (ix)a.n[16] * (ix)a.n[17];
  const ix down = (rows + 31) / 32, across = (keys + 31) / 32, cells = heads * down * across;
  const int lane = threadIdx.x % 32;
  for (ix first = (ix)blockIdx.x * 4; first < cells; first += (ix)gridDim.x * 4) {
    const ix i = first + threadIdx.x / 32, cell = i < cells ? i : 0;
    const ix of = cell / across / down, key = cell % across * 32 + lane;
    const ix z = of / (ix)a.n[17] * (ix)a.n[1] + of % (ix)a.n[17];
    f32 least = INFINITE, most = ABSENT;
#pragma unroll 8
    for (int j = 0; j < 32; ++j) {
      const ix row = cell / across % down * 32 + j;
      if (row < rows && key < keys) {
        const f32 x = MASK0(z, row, key);
        least = fminf(least, x);
        most = fmaxf(most, x);
      }
    }
    for (int h = 16; h > 0; h /= 2) {
      least = fminf(least, __shfl_xor_sync(~0u, least, h));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, h));
    }
    if (i < cells && lane == 0) {
      ((f32*)a.p[10])[2 * i] = least;
      ((f32*)a.p[10])[2 * i + 1] = most;
    }
  }
}
)";

constexpr const char* kForward = R"(
#define KEYS (WIDTH > 64 || DEPTH > 64 ? 16 : 32)  // of a tile
#define HIDE
ENTRY(forward, 4) {
  alignas(16) __shared__ u32 ks[2][KEYS * PITCH(WIDTH)];
  alignas(16) __shared__ u32 vs[2][KEYS * PITCH(DEPTH)];
  const ix heads = (ix)a.n[0], rows = (ix)a.n[2], keys = (ix)a.n[3];
  const ix down = (rows + ROWS - 1) / ROWS;
  const int lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
  for (ix b = blockIdx.x; b < heads * down; b += gridDim.x) {
    // Of a triangle of keys, the longest rows first.
    const ix z = b % heads, tile = (down - 1 - b / heads) * ROWS;
    const ix row = tile + threadIdx.x / 32 * 16 + g;
    const f32* const k = (const f32*)a.p[1] + pj_start(a, 1, z);
    const f32* const v = (const f32*)a.p[2] + pj_start(a, 2, z);
    pj_tile<WIDTH, KEYS>(ks[0], k, pj_step(a, 1), 0, keys, VECTORS);
    pj_tile<DEPTH, KEYS>(vs[0], v, pj_step(a, 2), 0, keys, VECTORS);
    u32 q[WIDTH / 8][4];
    pj_rows<WIDTH>(q, (const f32*)a.p[0] + pj_start(a, 0, z), pj_step(a, 0), row, rows, c);
    f32 o[DEPTH / 8][4] = {};
    f32 top[2] = {ABSENT, ABSENT}, sum[2] = {};
#if LIMITED
    const f32* const bounds = pj_bounds(a, z);
#endif
    int buffer = 0;
    for (ix first = 0, next; first < keys; first = next, buffer ^= 1) {
      pj_arrived();
      pj_round<WIDTH, KEYS>(ks[buffer], VECTORS);
      pj_round<DEPTH, KEYS>(vs[buffer], VECTORS);
      __syncthreads();
      // The next tile that some row sees, as far as its greatest score is known.
      for (next = first + KEYS; next < keys; next += KEYS) {
#if LIMITED
        f32 least, most;
        pj_bounds_of(a, bounds, tile, next, 2, 1, &least, &most);
        if (most == INFINITE) break;
        if (__syncthreads_or((row < rows && !(most - top[0] < NOTHING)) ||
                             (row + 8 < rows && !(most - top[1] < NOTHING))))
          break;
#else
        break;
#endif
      }
      if (next < keys) {
        pj_tile<WIDTH, KEYS>(ks[buffer ^ 1], k, pj_step(a, 1), next, keys, VECTORS);
        pj_tile<DEPTH, KEYS>(vs[buffer ^ 1], v, pj_step(a, 2), next, keys, VECTORS);
      }
      f32 s[KEYS / 8][4] = {};
      pj_scores<WIDTH, KEYS / 8>(s, q, ks[buffer], g, c);
      bool whole = !MASKED && first + KEYS <= keys;
#if LIMITED
      f32 least, most;
      pj_bounds_of(a, bounds, tile, first, 2, 1, &least, &most);
      whole = least == INFINITE && first + KEYS <= keys;
#endif
      f32 now[2] = {top[0], top[1]};
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          f32 x = s[n][j] * SCALE;
          if (!whole) {
            const ix r = row + j / 2 * 8, key = first + n * 8 + 2 * c + j % 2;
            if (r < rows && key < keys) {
              MASK(z, r, key)
            } else {
              x = ABSENT;
            }
          }
          s[n][j] = x;
          now[j / 2] = fmaxf(now[j / 2], x);
        }
      f32 shift[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        now[h] = pj_row_max(now[h]);
        shift[h] = now[h] == ABSENT ? 0.0f : now[h];
        const f32 by = pj_exp(top[h] - shift[h]);
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
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          s[n][j] = pj_exp(s[n][j] - shift[j / 2]);
          sum[j / 2] += s[n][j];
        }
        pj_weighted<DEPTH>(o, s[n], vs[buffer], n, g, c);
      }
    }
    f32 by[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      sum[h] = pj_row_sum(sum[h]);
      by[h] = 1 / sum[h];
      if (a.p[4] && c == 0 && row + 8 * h < rows) {
        pj_statistics(a, z, row + 8 * h)[0] = top[h];
        pj_statistics(a, z, row + 8 * h)[1] = by[h];
      }
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
    const ix z = on ? i / rows : 0, r = on ? i % rows : 0;
    const ix at = pj_start(a, 3, z) + r * pj_step(a, 3);
    f32 sum = 0;
    for (int d = lane; d < DEPTH; d += 32)
      sum += ((const f32*)a.p[3])[at + d] * ((const f32*)a.p[5])[at + d];
    for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);
    if (on && lane == 0) ((f32*)a.p[6])[i] = sum;
  }
}
ENTRY(rows, 3) {
  alignas(16) __shared__ u32 ks[2][SHORT * PITCH(WIDTH)];
  alignas(16) __shared__ u32 vs[2][SHORT * PITCH(DEPTH)];
  const ix heads = (ix)a.n[0], rows = (ix)a.n[2], keys = (ix)a.n[3];
  const ix down = (rows + ROWS - 1) / ROWS;
  const int lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
  for (ix b = blockIdx.x; b < heads * down; b += gridDim.x) {
    const ix z = b % heads, tile = (down - 1 - b / heads) * ROWS;
    const ix row = tile + threadIdx.x / 32 * 16 + g;
    const f32* const k = (const f32*)a.p[1] + pj_start(a, 1, z);
    const f32* const v = (const f32*)a.p[2] + pj_start(a, 2, z);
    f32 top[2], by[2], delta[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const bool on = row + 8 * h < rows;
      top[h] = on ? pj_statistics(a, z, row + 8 * h)[0] : 0;
      by[h] = on ? pj_statistics(a, z, row + 8 * h)[1] : 0;
      delta[h] = on ? ((const f32*)a.p[6])[z * rows + row + 8 * h] : 0;
    }
    pj_tile<WIDTH, SHORT>(ks[0], k, pj_step(a, 1), 0, keys, VECTORS);
    pj_tile<DEPTH, SHORT>(vs[0], v, pj_step(a, 2), 0, keys, VECTORS);
    u32 q[WIDTH / 8][4], ct[DEPTH / 8][4];
    pj_rows<WIDTH>(q, (const f32*)a.p[0] + pj_start(a, 0, z), pj_step(a, 0), row, rows, c);
    pj_rows<DEPTH>(ct, (const f32*)a.p[5] + pj_start(a, 3, z), pj_step(a, 3), row, rows, c);
    f32 dq[WIDTH / 8][4] = {};
#if LIMITED
    const f32* const bounds = pj_bounds(a, z);
#endif
    int buffer = 0;
    for (ix first = 0, next; first < keys; first = next, buffer ^= 1) {
      pj_arrived();
      pj_round<WIDTH, SHORT>(ks[buffer], VECTORS);
      pj_round<DEPTH, SHORT>(vs[buffer], VECTORS);
      __syncthreads();
      for (next = first + SHORT; next < keys; next += SHORT) {
#if LIMITED
        f32 least, most;
        pj_bounds_of(a, bounds, tile, next, 2, 1, &least, &most);
        if (most == INFINITE) break;
        if (__syncthreads_or((row < rows && !(most - top[0] < NOTHING)) ||
                             (row + 8 < rows && !(most - top[1] < NOTHING))))
          break;
#else
        break;
#endif
      }
      if (next < keys) {
        pj_tile<WIDTH, SHORT>(ks[buffer ^ 1], k, pj_step(a, 1), next, keys, VECTORS);
        pj_tile<DEPTH, SHORT>(vs[buffer ^ 1], v, pj_step(a, 2), next, keys, VECTORS);
      }
      f32 s[SHORT / 8][4] = {}, e[SHORT / 8][4] = {};
      pj_scores<WIDTH, SHORT / 8>(s, q, ks[buffer], g, c);
      pj_scores<DEPTH, SHORT / 8>(e, ct, vs[buffer], g, c);
      bool whole = !MASKED && first + SHORT <= keys && tile + ROWS <= rows;
#if LIMITED
      f32 least, most;
      pj_bounds_of(a, bounds, tile, first, 2, 1, &least, &most);
      whole = least == INFINITE && first + SHORT <= keys && tile + ROWS <= rows;
#endif
#define HIDE e[n][j] = delta[j / 2];
#pragma unroll
      for (int n = 0; n < SHORT / 8; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          f32 x = s[n][j] * SCALE;
          if (!whole) {
            const ix r = row + j / 2 * 8, key = first + n * 8 + 2 * c + j % 2;
            if (r < rows && key < keys) {
              MASK(z, r, key)
            } else {
              x = ABSENT;
            }
          }
          s[n][j] = pj_exp(x - top[j / 2]) * by[j / 2] * (e[n][j] - delta[j / 2]);
        }
        pj_weighted<WIDTH>(dq, s[n], ks[buffer], n, g, c);
      }
#undef HIDE
    }
    const f32 scale[2] = {SCALE, SCALE};
    pj_put<WIDTH>((f32*)a.p[7] + pj_start(a, 0, z), pj_step(a, 0), row, rows, c, dq, scale);
    __syncthreads();
  }
}
// The statistics and deltas of a tile's rows.
PJ void pj_about(const pj_args& a, u32* to, ix z, ix first) {
  const ix rows = (ix)a.n[2];
  const int t = threadIdx.x, of = t < 2 * SHORT ? t / 2 : t - 2 * SHORT;
  const bool on = first + of < rows;
  if (t < 2 * SHORT)
    pj_copy4(to + t, pj_statistics(a, z, on ? first + of : 0) + t % 2, on);
  else if (t < 3 * SHORT)
    pj_copy4(to + t, (const f32*)a.p[6] + z * rows + (on ? first + of : 0), on);
}
ENTRY(keys) {
  alignas(16) __shared__ u32 qs[2][SHORT * PITCH(WIDTH)];
  alignas(16) __shared__ u32 cs[2][SHORT * PITCH(DEPTH)];
  __shared__ u32 about[2][3 * SHORT];
  const ix heads = (ix)a.n[0], rows = (ix)a.n[2], keys = (ix)a.n[3];
  const ix down = (keys + ROWS - 1) / ROWS;
  const int lane = threadIdx.x % 32, g = lane / 4, c = lane % 4;
  for (ix b = blockIdx.x; b < heads * down; b += gridDim.x) {
    const ix z = b % heads, tile = b / heads * ROWS, key = tile + threadIdx.x / 32 * 16 + g;
    const f32* const q = (const f32*)a.p[0] + pj_start(a, 0, z);
    const f32* const ct = (const f32*)a.p[5] + pj_start(a, 3, z);
    // From the last rows on, which see most keys.
    const ix last = (rows - 1) / SHORT * SHORT;
    pj_tile<WIDTH, SHORT>(qs[0], q, pj_step(a, 0), last, rows, VECTORS);
    pj_tile<DEPTH, SHORT>(cs[0], ct, pj_step(a, 3), last, rows, VECTORS);
    pj_about(a, about[0], z, last);
    u32 k[WIDTH / 8][4], v[DEPTH / 8][4];
    pj_rows<WIDTH>(k, (const f32*)a.p[1] + pj_start(a, 1, z), pj_step(a, 1), key, keys, c);
    pj_rows<DEPTH>(v, (const f32*)a.p[2] + pj_start(a, 2, z), pj_step(a, 2), key, keys, c);
    f32 dk[WIDTH / 8][4] = {}, dv[DEPTH / 8][4] = {};
#if LIMITED
    const f32* const bounds = pj_bounds(a, z);
#endif
    int buffer = 0;
    for (ix first = last, next; first >= 0; first = next, buffer ^= 1) {
      pj_arrived();
      pj_round<WIDTH, SHORT>(qs[buffer], VECTORS);
      pj_round<DEPTH, SHORT>(cs[buffer], VECTORS);
      __syncthreads();
      for (next = first - SHORT; next >= 0; next -= SHORT) {
#if LIMITED
        f32 least, most;
        pj_bounds_of(a, bounds, next, tile, 1, 2, &least, &most);
        if (most == INFINITE) break;
        const ix r = next + lane;  // each warp asks for all rows of the tile
        if (__syncthreads_or(r < rows && !(most - pj_statistics(a, z, r)[0] < NOTHING))) break;
#else
        break;
#endif
      }
      if (next >= 0) {
        pj_tile<WIDTH, SHORT>(qs[buffer ^ 1], q, pj_step(a, 0), next, rows, VECTORS);
        pj_tile<DEPTH, SHORT>(cs[buffer ^ 1], ct, pj_step(a, 3), next, rows, VECTORS);
        pj_about(a, about[buffer ^ 1], z, next);
      }
      f32 s[SHORT / 8][4] = {}, e[SHORT / 8][4] = {};
      pj_scores<WIDTH, SHORT / 8>(s, k, qs[buffer], g, c);
      pj_scores<DEPTH, SHORT / 8>(e, v, cs[buffer], g, c);
      bool whole = !MASKED && first + SHORT <= rows && tile + ROWS <= keys;
#if LIMITED
      f32 least, most;
      pj_bounds_of(a, bounds, first, tile, 1, 2, &least, &most);
      whole = least == INFINITE && first + SHORT <= rows && tile + ROWS <= keys;
#endif
#define HIDE e[n][j] = delta;
#pragma unroll
      for (int n = 0; n < SHORT / 8; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int of = n * 8 + 2 * c + j % 2;
          const f32 top = pj_bits<f32>(about[buffer][2 * of]);
          const f32 by = pj_bits<f32>(about[buffer][2 * of + 1]);
          const f32 delta = pj_bits<f32>(about[buffer][2 * SHORT + of]);
          f32 x = s[n][j] * SCALE;
          if (!whole) {
            const ix r = first + of, at = key + j / 2 * 8;
            if (r < rows && at < keys) {
              MASK(z, r, at)
            } else {
              x = ABSENT;
            }
          }
          s[n][j] = pj_exp(x - top) * by;
          e[n][j] = s[n][j] * (e[n][j] - delta);
        }
        pj_weighted<DEPTH>(dv, s[n], cs[buffer], n, g, c);
        pj_weighted<WIDTH>(dk, e[n], qs[buffer], n, g, c);
      }
#undef HIDE
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

constexpr int kOperands = 4, kBounds = 10, kFirstMask = 11, kNumbers = 6 + 3 * kOperands;

// What an operand's place depends on: batch, head, row.
struct Strides {
  int64_t batch, head, row;
};

struct Request {
  bool gradient, statistics = false;
  bool apart;  // [batch, rows, heads, width]
  int64_t batch, heads, rows, keys, width, depth;
  std::string how;
  int64_t cells = 0;  // of 32 rows and keys of the mask that scores are cut down to

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
    const DeviceBlock bounds(*gpu, static_cast<size_t>(r_.cells) * 8);
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
    p[kBounds] = bounds.p;
    uintptr_t all = 0;
    for (size_t k : {0, 1, 2, 5}) all |= reinterpret_cast<uintptr_t>(p[k]);
    std::vector<int64_t> n = n_;
    n.push_back(all % 16 == 0);
    auto blocks = [&](int64_t rows) { return (rows + 63) / 64 * heads * kThreads; };
    size_t entry = 0;
    if (r_.cells) kernel_->run(entry++, r_.cells * 32, p, n);
    if (!r_.gradient) return kernel_->run(entry, blocks(r_.rows), p, n);
    kernel_->run(entry, heads * r_.rows * 32, p, n);
    if (out[0]) kernel_->run(entry + 1, blocks(r_.rows), p, n);
    if (out[1] || out[2]) kernel_->run(entry + 2, blocks(r_.keys), p, n);
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
  Request q(r);
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
  const bool limited = q.how == "m";
  const size_t bounds = n.size();
  n.insert(n.end(), {1, 1});
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
    if (limited) {
      if (by[0]) n[bounds] = q.batch;
      if (by[1]) n[bounds + 1] = q.heads;
      q.cells = n[bounds] * n[bounds + 1] * ((q.rows + 31) / 32) * ((q.keys + 31) / 32);
    }
    const size_t at = static_cast<size_t>(kNumbers) + 4 * k;
    masks += str_cat("#define MASK", k, "(z, r, key) (((const f32*)a.p[", kFirstMask + k,
                     "])[(z) / (ix)a.n[1] * (ix)a.n[", at, "] + (z) % (ix)a.n[1] * (ix)a.n[",
                     at + 1, "] + (r) * (ix)a.n[", at + 2, "] + (key) * (ix)a.n[", at + 3, "]])\n");
    masked += str_cat(q.how[k] == 'a' ? "ADD" : "CUT", "(MASK", k, "(z, r, key)) ");
  }
  masks += str_cat("#define MASK(z, r, key) ", masked, "\n");
  const auto scale = static_cast<float>(r.ctx().f("scale"));
  const std::string head = str_cat(
      needs_wide(elements) ? "typedef i64 ix;\n" : "typedef i32 ix;\n", define("WIDTH", q.width),
      define("DEPTH", q.depth), define("LIMITED", limited), define("MASKED", !q.how.empty()),
      "#define SCALE pj_bits<f32>(", std::bit_cast<uint32_t>(scale), "u)\n", masks,
      "#define VECTORS (a.n[", n.size(), "] != 0)\n", kCommon);
  std::vector<std::string> entries;
  if (limited) entries.push_back("bounds");
  if (q.gradient)
    entries.insert(entries.end(), {"deltas", "rows", "keys"});
  else
    entries.push_back("forward");
  auto made = std::make_shared<SourceKernel>(
      *gpu, r.op.name, static_cast<int>(kFirstMask + q.how.size()), static_cast<int>(n.size()) + 1,
      head + (limited ? kLimits : "") + (q.gradient ? kBackward : kForward), std::move(entries));
  return std::make_unique<Attention>(std::move(made), q, std::move(n));
}

}  // namespace

void register_flash(Gpu& g) {
  gpu = &g;
  for (const char* name : {"attention", "attention_gradient"})
    g.kernels.add(name, {"flash", kernel});
}

}  // namespace pijit::cuda
