// Tiles of left rows by rows of a matrix that lie along the sums, for gemm_few_rows.cc: included by
// each namespace of instructions, which has Vectors<T>.

// R left rows by C rows of the matrix, over a part of the depth.
template <DType T, int R, int C>
void dots(const Dots<T>& d) {
  using Of = Vectors<T>;
  typename Of::Vector sum[R][C];
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) sum[r][c] = d.first ? Of::zero() : Of::load(kept(d, r, c));
  constexpr int64_t kStep = kLanes<T>;
  int64_t k = 0;
  for (; k + kStep <= d.depth; k += kStep) {
    typename Of::Vector x[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) x[r] = Of::load(d.x + r * d.x_row + k);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const Stored<T>* at = d.w + c * d.w_row + k;
      read_soon(at + d.ahead);
      const auto w = Of::numbers(at);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[r][c] = Of::fma(x[r], w, sum[r][c]);
    }
  }
  if (const int64_t left = d.depth - k; left > 0)
    for (int c = 0; c < C; ++c) {
      const auto w = Of::numbers(d.w + c * d.w_row + k, left);
      for (int r = 0; r < R; ++r)
        sum[r][c] = Of::fma(Of::load(d.x + r * d.x_row + k, left), w, sum[r][c]);
    }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c)
      if (d.last)
        store(d, r, c, Of::tree(sum[r][c]));
      else
        Of::store(kept(d, r, c), sum[r][c]);
}
