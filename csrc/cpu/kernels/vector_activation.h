// Included once for each set of instructions, in a namespace that has its vectors
// (cpu/kernels/vectors.h): no guard, no includes.

// One of a short epilogue. NaN stays NaN.
inline Vector activated(Activation a, Vector x) {
  if (a == Activation::kNone) return x;
  Vector y = a == Activation::kHardSwish ? add(x, broadcast(3.0f)) : x;
  y = greatest(zero(), y);
  if (a == Activation::kRelu) return y;
  y = least(broadcast(6.0f), y);
  if (a == Activation::kRelu6) return y;
  return multiply(multiply(x, y), broadcast(1.0f / 6.0f));
}
