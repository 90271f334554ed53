// What a convolution's or product's kernel does with its sums on the way out
// (compile/passes/fast_math.h).
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "runtime/kernel.h"

namespace pijit {

enum class Activation { kNone, kRelu, kRelu6, kHardSwish, kSigmoid, kTanh, kSilu };
// By the names of ops, in the order above.
inline constexpr std::array<std::string_view, 7> kActivations = {
    "", "relu", "relu6", "hardswish", "sigmoid", "tanh", "silu"};

inline Activation activation_named(std::string_view name) {
  const auto it = std::find(kActivations.begin(), kActivations.end(), name);
  PIJIT_CHECK(it != kActivations.end(), "there is no activation ", name);
  return static_cast<Activation>(it - kActivations.begin());
}

struct Epilogue {
  Activation activation = Activation::kNone;
  bool residual = false;  // operand 3
};
inline Epilogue epilogue_of(const KernelRequest& r) {
  if (!r.op.has(kPhysical) || r.present.size() < 4) return {};
  return {activation_named(r.ctx().s("activation")), r.present[3]};
}
// The same where the activation takes some instructions alone.
inline std::optional<Epilogue> short_epilogue_of(const KernelRequest& r, std::string* why) {
  const Epilogue e = epilogue_of(r);
  if (e.activation <= Activation::kHardSwish) return e;
  *why = "the activation takes more than some instructions";
  return std::nullopt;
}

// NaN stays NaN.
inline float above_zero(float x) { return 0.0f > x ? 0.0f : x; }
inline float up_to_six(float x) { return 6.0f < x ? 6.0f : x; }

// One of a short epilogue.
inline void activate(Activation a, float* x, int64_t n) {
  switch (a) {
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
    default: return;
  }
}

}  // namespace pijit
