#include "runtime/loop_spec.h"

#include <cstring>
#include <limits>

#include "base/log.h"

namespace pijit {

void LoopSpec::collapse() {
  // The trailing dims with their own meaning: the reduced one (row), the reduced one and the inner
  // (col).
  auto all = [&](auto f) {
    for (auto& o : in)
      if (!f(o.strides)) return false;
    for (auto& o : out)
      if (!f(o.strides)) return false;
    return true;
  };
  auto erase = [&](int d) {
    dims.erase(dims.begin() + d);
    for (auto& o : in) o.strides.erase(o.strides.begin() + d);
    for (auto& o : out) o.strides.erase(o.strides.begin() + d);
  };
  const int fixed = form == kMap ? 0 : form == kRow ? 1 : 2;
  for (int d = static_cast<int>(dims.size()) - 1 - fixed; d >= 0; --d)
    if (dims[d] == 1 && (fixed > 0 || dims.size() > 1)) erase(d);
  for (int d = static_cast<int>(dims.size()) - 2 - fixed; d >= 0; --d) {
    if (all([&](auto& s) { return s[d] == s[d + 1] * dims[d + 1]; })) {
      dims[d + 1] *= dims[d];
      erase(d);
    }
  }
  if (dims.empty()) {
    dims = {1};
    for (auto& o : in) o.strides = {0};
    for (auto& o : out) o.strides = {1};
  }
  if (dims.back() == 1 && form != kRow)  // any stride will do: these are what emitters know
    for (auto& o : out) o.strides.back() = 1;
  if (dims.back() == 1)
    for (auto& o : in) o.strides.back() = 0;
}

int64_t LoopSpec::footprint(const LoopOperand& o) const {
  auto n = static_cast<int64_t>(size_of(o.dt));
  for (size_t d = 0; d < dims.size(); ++d)
    if (o.strides[d]) n *= dims[d];
  return n;
}

std::string LoopSpec::describe() const {
  static const char* kForms[] = {"map", "row", "col"};
  std::string s = str_cat("loop.", kForms[form], "[");
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? "," : "") + std::to_string(dims[i]);
  return s + str_cat("] ", in.size(), " in ", out.size(), " out ", body.size(), " instructions");
}

uint64_t combiner_identity(Combiner c, DType t) {
  SBuilder sb;
  const double inf = std::numeric_limits<double>::infinity();
  auto bits = [&](double f, int64_t i) {
    return sb.nodes[(is_float(t) ? sb.constant(t, f) : sb.constant_int(t, i)).id].imm;
  };
  const int64_t width = static_cast<int64_t>(8 * size_of(t));
  const bool sign = is_signed_int(t);
  switch (c) {
    case Combiner::kSum:
    case Combiner::kAny: return bits(0, 0);
    case Combiner::kProd:
    case Combiner::kAll: return bits(1, 1);
    case Combiner::kMax:
      return bits(-inf, sign ? std::numeric_limits<int64_t>::min() >> (64 - width) : 0);
    case Combiner::kMin:
      return bits(inf, is_bool(t) ? 1
                       : sign     ? static_cast<int64_t>((uint64_t{1} << (width - 1)) - 1)
                                  : -1);
    case Combiner::kNone: break;
  }
  throw InternalError("no combiner");
}

SVal combine(SBuilder& sb, Combiner c, SVal a, SVal b) {
  const DType t = a.dtype();
  auto pick = [&](SOp o) {
    SVal r = sb.op(o, t, a, b);
    return is_float(t) ? s_select(s_is_nan(a), a, r) : r;
  };
  switch (c) {
    case Combiner::kSum: return a + b;
    case Combiner::kProd: return a * b;
    case Combiner::kMax: return pick(SOp::kMax);
    case Combiner::kMin: return pick(SOp::kMin);
    case Combiner::kAll: return a & b;
    case Combiner::kAny: return a | b;
    case Combiner::kNone: break;
  }
  throw InternalError("no combiner");
}

void combine_scalar(Combiner c, DType t, void* acc, const void* x) {
  auto go = [&](auto zero) {
    using T = decltype(zero);
    T a, b;
    std::memcpy(&a, acc, sizeof a);
    std::memcpy(&b, x, sizeof b);
    switch (c) {
      case Combiner::kSum: a = static_cast<T>(a + b); break;
      case Combiner::kProd: a = static_cast<T>(a * b); break;
      case Combiner::kMax: a = a != a ? a : a > b ? a : b; break;
      case Combiner::kMin: a = a != a ? a : a < b ? a : b; break;
      case Combiner::kAll: a = static_cast<T>(a && b); break;
      case Combiner::kAny: a = static_cast<T>(a || b); break;
      case Combiner::kNone: break;
    }
    std::memcpy(acc, &a, sizeof a);
  };
  switch (t) {
    case DType::Bool:
    case DType::U8: return go(uint8_t{});
    case DType::I8: return go(int8_t{});
    case DType::I16: return go(int16_t{});
    case DType::U16: return go(uint16_t{});
    case DType::I32: return go(int32_t{});
    case DType::U32: return go(uint32_t{});
    case DType::I64: return go(int64_t{});
    case DType::U64: return go(uint64_t{});
    case DType::F32: return go(float{});
    case DType::F64: return go(double{});
    case DType::F16:
    case DType::BF16:
    case DType::C64:
    case DType::C128: break;  // halves reduce in float32 (lower pass), complex values by parts
  }
  throw InternalError("reduction of a half or complex value");
}

}  // namespace pijit
