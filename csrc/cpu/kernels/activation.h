// What a convolution's kernel does with its sums on the way out (compile/passes/fast_math.h): the
// activations that take some instructions.
#pragma once
#include <algorithm>
#include <optional>
#include <string>

#include "runtime/kernel.h"

namespace pijit {

enum class Activation { kNone, kRelu, kRelu6, kHardSwish };

struct Epilogue {
  Activation activation = Activation::kNone;
  bool residual = false;  // operand 3
};

// None: the kernel does not take the activation in.
inline std::optional<Epilogue> epilogue_of(const KernelRequest& r) {
  if (!r.op.has(kPhysical) || r.present.size() < 4) return Epilogue{};
  const std::string& name = r.ctx().s("activation");
  Epilogue e{Activation::kNone, r.present[3]};
  if (name.empty()) return e;
  if (name == "relu") return e.activation = Activation::kRelu, e;
  if (name == "relu6") return e.activation = Activation::kRelu6, e;
  if (name == "hardswish") return e.activation = Activation::kHardSwish, e;
  return std::nullopt;
}

// NaN stays NaN.
inline float above_zero(float x) { return 0.0f > x ? 0.0f : x; }
inline float up_to_six(float x) { return 6.0f < x ? 6.0f : x; }

inline void activate(Activation a, float* x, int64_t n) {
  switch (a) {
    case Activation::kNone: return;
    case Activation::kRelu:
      for (int64_t i = 0; i < n; ++i) x[i] = above_zero(x[i]);
      return;
    case Activation::kRelu6:
      for (int64_t i = 0; i < n; ++i) x[i] = up_to_six(above_zero(x[i]));
      return;
    case Activation::kHardSwish:
      for (int64_t i = 0; i < n; ++i)
        x[i] = x[i] * up_to_six(above_zero(x[i] + 3.0f)) * (1.0f / 6.0f);
      return;
  }
}

}  // namespace pijit
