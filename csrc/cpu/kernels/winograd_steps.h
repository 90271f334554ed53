// Steps of Winograd's convolutions. conv_winograd.cc includes this once for each set of
// instructions, in a namespace that has its vectors; so there is no guard, and there are no
// includes. kMostTiles: sums of that many tiles and two vectors of filters stay in registers.

// A line of 6 inputs: values of its polynomials at the points.
inline void input_line(const Vector (&d)[kPoints], Vector (&v)[kPoints]) {
  const Vector a = broadcast(kA), b = broadcast(kB), minus_a2 = broadcast(-kA * kA),
               minus_b2 = broadcast(-kB * kB), ab2 = broadcast(kA * kA * kB * kB),
               minus_sum = broadcast(-(kA * kA + kB * kB));
  const Vector even_a = fma(minus_b2, d[2], d[4]), odd_a = fma(minus_b2, d[1], d[3]),
               even_b = fma(minus_a2, d[2], d[4]), odd_b = fma(minus_a2, d[1], d[3]);
  v[0] = fma(ab2, d[0], fma(minus_sum, d[2], d[4]));
  v[1] = fma(a, odd_a, even_a);
  v[2] = fma(broadcast(-kA), odd_a, even_a);
  v[3] = fma(b, odd_b, even_b);
  v[4] = fma(broadcast(-kB), odd_b, even_b);
  v[5] = fma(ab2, d[1], fma(minus_sum, d[3], d[5]));
}
// A line of 4 outputs, of the products at the points.
inline void output_line(const Vector (&m)[kPoints], Vector (&y)[kOut]) {
  const Vector even_a = add(m[1], m[2]), odd_a = subtract(m[1], m[2]), even_b = add(m[3], m[4]),
               odd_b = subtract(m[3], m[4]);
  y[0] = add(add(m[0], even_a), even_b);
  y[1] = fma(broadcast(kA), odd_a, multiply(broadcast(kB), odd_b));
  y[2] = fma(broadcast(kA * kA), even_a, multiply(broadcast(kB * kB), even_b));
  y[3] = fma(broadcast(kA * kA * kA), odd_a, fma(broadcast(kB * kB * kB), odd_b, m[5]));
}
// A line of 3 weights at the points.
inline void weight_line(const Vector (&g)[kTaps], Vector (&u)[kPoints]) {
  constexpr float kA2 = kA * kA, kB2 = kB * kB;
  const Vector of_a = broadcast(0.5f / (kA2 * (kA2 - kB2))),
               of_b = broadcast(0.5f / (kB2 * (kB2 - kA2)));
  const Vector even_a = multiply(of_a, fma(broadcast(kA2), g[2], g[0])),
               odd_a = multiply(of_a, multiply(broadcast(kA), g[1])),
               even_b = multiply(of_b, fma(broadcast(kB2), g[2], g[0])),
               odd_b = multiply(of_b, multiply(broadcast(kB), g[1]));
  u[0] = multiply(broadcast(1.0f / (kA2 * kB2)), g[0]);
  u[1] = add(even_a, odd_a);
  u[2] = subtract(even_a, odd_a);
  u[3] = add(even_b, odd_b);
  u[4] = subtract(even_b, odd_b);
  u[5] = g[2];
}

// A block of channels of one tile. `rows` and `columns`: which of its 6 x 6 inputs lie on the
// image, [first, past). `to`: by point, `step` floats apart.
inline void transform_input(const float* x, int64_t width, Span rows, Span columns, float* to,
                            int64_t step) {
  Vector lines[kPoints][kPoints];  // [column][point of rows]
  const bool inside = rows.first == 0 && rows.past == kPoints;
  for (int j = 0; j < kPoints; ++j) {
    if (j < columns.first || j >= columns.past) {
      for (auto& v : lines[j]) v = zero();
      continue;
    }
    Vector d[kPoints];
    const float* const column = x + j * kVectorFloats;
    if (inside) {
#pragma GCC unroll 6
      for (int i = 0; i < kPoints; ++i) d[i] = load(column + i * width * kVectorFloats);
    } else {
#pragma GCC unroll 6
      for (int i = 0; i < kPoints; ++i)
        d[i] = i >= rows.first && i < rows.past ? load(column + i * width * kVectorFloats) : zero();
    }
    input_line(d, lines[j]);
  }
  for (int i = 0; i < kPoints; ++i) {
    Vector d[kPoints], v[kPoints];
#pragma GCC unroll 6
    for (int j = 0; j < kPoints; ++j) d[j] = lines[j][i];
    input_line(d, v);
#pragma GCC unroll 6
    for (int j = 0; j < kPoints; ++j) store(to + (i * kPoints + j) * step, v[j]);
  }
}

// A block of filters of one tile, of which `rows` by `columns` pixels are on the map. Pixels are a
// vector apart, rows of them `width`.
inline void transform_output(const float* m, int64_t step, const Finish& f, float* y, int64_t width,
                             int rows, int columns) {
  Vector lines[kPoints][kOut];  // [column][row]
  for (int j = 0; j < kPoints; ++j) {
    Vector of[kPoints];
#pragma GCC unroll 6
    for (int i = 0; i < kPoints; ++i) of[i] = load(m + (i * kPoints + j) * step);
    output_line(of, lines[j]);
  }
  const Vector start = f.bias ? load(f.bias) : zero();
  for (int i = 0; i < rows; ++i) {
    Vector of[kPoints], out[kOut];
#pragma GCC unroll 6
    for (int j = 0; j < kPoints; ++j) of[j] = lines[j][i];
    output_line(of, out);
    for (int j = 0; j < columns; ++j) {
      const int64_t at = (i * width + j) * kVectorFloats;
      Vector v = add(out[j], start);
      if (f.residual) v = add(v, load(f.residual + at));
      store(y + at, activated(f.activation, v));
    }
  }
}
// Of a block of filters and one channel; g: their 3 x 3 weights, a vector each; `to`: by point.
inline void transform_weights(const float* g, float* to, int64_t step) {
  Vector lines[kTaps][kPoints];  // [column][point of rows]
  for (int j = 0; j < kTaps; ++j) {
    Vector of[kTaps];
    for (int i = 0; i < kTaps; ++i) of[i] = load(g + (i * kTaps + j) * kVectorFloats);
    weight_line(of, lines[j]);
  }
  for (int i = 0; i < kPoints; ++i) {
    Vector of[kTaps], u[kPoints];
    for (int j = 0; j < kTaps; ++j) of[j] = lines[j][i];
    weight_line(of, u);
    for (int j = 0; j < kPoints; ++j) store(to + (i * kPoints + j) * step, u[j]);
  }
}

// The products of R tiles and V vectors of filters: m = sum over channels of v u. `ahead`: weights
// that come next.
template <int R, int V>
void multiply_tiles(const float* v, int64_t v_step, const float* u, float* m, int64_t m_step,
                    int64_t channels, const float* ahead) {
  Vector sum[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int k = 0; k < V; ++k) sum[r][k] = zero();
#pragma GCC unroll 4
  for (int64_t c = 0; c < channels; ++c, u += V * kVectorFloats, ahead += V * kVectorFloats) {
    Vector w[V];
    _mm_prefetch(ahead, _MM_HINT_T0);
    if (V * kVectorFloats > 16) _mm_prefetch(ahead + 16, _MM_HINT_T0);
#pragma GCC unroll 2
    for (int k = 0; k < V; ++k) w[k] = load(u + k * kVectorFloats);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vector x = broadcast(v[r * v_step + c]);
#pragma GCC unroll 2
      for (int k = 0; k < V; ++k) sum[r][k] = fma(x, w[k], sum[r][k]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int k = 0; k < V; ++k) store(m + r * m_step + k * kVectorFloats, sum[r][k]);
}
template <int V, size_t... R>
constexpr std::array<Steps::Multiply, 14> products_of(std::index_sequence<R...>) {
  return {multiply_tiles<static_cast<int>(R) + 1, V>...};
}
inline constexpr Steps kSteps = {kVectorFloats,
                                 kMostTiles,
                                 {products_of<1>(std::make_index_sequence<kMostTiles>()),
                                  products_of<2>(std::make_index_sequence<kMostTiles>())},
                                 transform_input,
                                 transform_output,
                                 transform_weights};
