// The reference of what instructions compute, and an interpreter by it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "region/ir.h"

namespace pijit::region {

namespace {

double real(int64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
int64_t bits(double x) {
  int64_t b;
  std::memcpy(&b, &x, sizeof b);
  return b;
}
template <class T>
T load(const void* from) {
  T x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
template <class T>
void store(void* to, T x) {
  std::memcpy(to, &x, sizeof x);
}
void* address(int64_t a, int64_t b, int64_t imm) {
  const uint64_t bytes = static_cast<uint64_t>(a) + (static_cast<uint64_t>(b) << log_scale_of(imm));
  return reinterpret_cast<void*>(bytes + static_cast<uint64_t>(offset_of(imm)));
}
bool load_int(const char* object, bool tagged, int64_t* r) {
  const auto word = load<int64_t>(object + kIntWordAt);
  const int64_t digits = tagged ? word >> 3 : std::abs(word);
  if (digits > kMostIntDigits) return false;
  uint64_t n = 0;
  for (int64_t k = std::max<int64_t>(digits, 1); k-- > 0;) {
    const auto digit = load<uint32_t>(object + kIntDigitsAt + 4 * k);
    if (k == kMostIntDigits - 1 && digit >= kHighDigitBelow) return false;
    n = (n << kIntDigitBits) | digit;
  }
  const bool zero = tagged ? (word & 3) == 1 : word == 0, negative = tagged ? word & 2 : word < 0;
  *r = static_cast<int64_t>(zero ? 0 : negative ? -n : n);
  return true;
}
constexpr int64_t kExactInFloat = int64_t{1} << 53;

}  // namespace

bool evaluate(const Instr& in, const int64_t* a, int64_t* r) {
  const double x = real(a[0]), y = real(a[1]);
  switch (in.op) {
    case Op::kParam:
    case Op::kInput: return false;
    case Op::kConst: *r = in.imm; return true;
    case Op::kIAdd: return !__builtin_add_overflow(a[0], a[1], r);
    case Op::kISub: return !__builtin_sub_overflow(a[0], a[1], r);
    case Op::kIMul: return !__builtin_mul_overflow(a[0], a[1], r);
    case Op::kINeg: return !__builtin_sub_overflow(int64_t{0}, a[0], r);
    case Op::kIAbs: *r = a[0] < 0 ? -a[0] : a[0]; return a[0] != INT64_MIN;
    case Op::kIDiv:
    case Op::kIMod: {
      if (a[1] == 0 || (a[0] == INT64_MIN && a[1] == -1)) return false;
      const int64_t mod = a[0] % a[1];
      const bool below = mod != 0 && (mod < 0) != (a[1] < 0);
      *r = in.op == Op::kIDiv ? a[0] / a[1] - below : mod + (below ? a[1] : 0);
      return true;
    }
    case Op::kIShl: {
      if (a[1] < 0 || a[1] > 63) return false;
      *r = static_cast<int64_t>(static_cast<uint64_t>(a[0]) << a[1]);
      return *r >> a[1] == a[0];
    }
    case Op::kIShr:
      if (a[1] < 0) return false;
      *r = a[0] >> (a[1] > 63 ? 63 : a[1]);
      return true;
    case Op::kIAnd: *r = a[0] & a[1]; return true;
    case Op::kIOr: *r = a[0] | a[1]; return true;
    case Op::kIXor: *r = a[0] ^ a[1]; return true;
    case Op::kIBelow: *r = a[0]; return true;
    case Op::kIEq: *r = a[0] == a[1]; return true;
    case Op::kINe: *r = a[0] != a[1]; return true;
    case Op::kILt: *r = a[0] < a[1]; return true;
    case Op::kILe: *r = a[0] <= a[1]; return true;
    case Op::kIGt: *r = a[0] > a[1]; return true;
    case Op::kIGe: *r = a[0] >= a[1]; return true;
    case Op::kFAdd: *r = bits(x + y); return true;
    case Op::kFSub: *r = bits(x - y); return true;
    case Op::kFMul: *r = bits(x * y); return true;
    case Op::kFDiv: *r = bits(x / y); return y != 0;
    case Op::kFNeg: *r = a[0] ^ INT64_MIN; return true;
    case Op::kFAbs: *r = a[0] & INT64_MAX; return true;
    case Op::kFSqrt: *r = bits(std::sqrt(x)); return !(x < 0);
    case Op::kFRound32: *r = bits(static_cast<float>(x)); return true;
    case Op::kFEq: *r = x == y; return true;
    case Op::kFNe: *r = x != y; return true;
    case Op::kFLt: *r = x < y; return true;
    case Op::kFLe: *r = x <= y; return true;
    case Op::kFGt: *r = x > y; return true;
    case Op::kFGe: *r = x >= y; return true;
    case Op::kBNot: *r = !a[0]; return true;
    case Op::kBToI:
    case Op::kFBits:
    case Op::kFOfBits: *r = a[0]; return true;
    case Op::kIToF: *r = bits(static_cast<double>(a[0])); return true;
    case Op::kIToFExact:
      *r = bits(static_cast<double>(a[0]));
      return a[0] >= -kExactInFloat && a[0] <= kExactInFloat;
    case Op::kFToI:
      if (!(x > -0x1p63 && x < 0x1p63)) return false;
      *r = static_cast<int64_t>(x);
      return true;
    case Op::kSelect: *r = a[0] ? a[1] : a[2]; return true;
    case Op::kCall1: {
      const double z = facts(static_cast<Function1>(in.imm)).fn(x);
      *r = bits(z);
      return !(std::isnan(z) && !std::isnan(x)) && !(std::isinf(z) && std::isfinite(x));
    }
    case Op::kCall2: {
      const double z = facts(static_cast<Function2>(in.imm)).fn(x, y);
      *r = bits(z);
      return !(std::isnan(z) && !std::isnan(x) && !std::isnan(y)) &&
             !(std::isinf(z) && std::isfinite(x) && std::isfinite(y));
    }
    case Op::kSelfI:
    case Op::kSelfF:
    case Op::kSelfB: return false;  // Interpreter
    case Op::kCheck: return a[0];
    case Op::kQuiet: {
      const double z = real(a[2]);
      return !(std::isnan(x) && !std::isnan(y) && !std::isnan(z)) &&
             !(std::isinf(x) && std::isfinite(y) && std::isfinite(z));
    }
    case Op::kPoll: return !(load<uint32_t>(reinterpret_cast<void*>(a[0])) & in.imm);
    case Op::kCallOut: *r = reinterpret_cast<CallOut>(in.imm)(a[0], a[1], a[2]); return true;
    case Op::kLoadInt:
      return load_int(reinterpret_cast<char*>(a[0]),
                      in.imm == static_cast<int64_t>(IntLayout::kTagged), r);
    case Op::kLoadF64: *r = bits(load<double>(address(a[0], a[1], in.imm))); return true;
    case Op::kLoadF32: *r = bits(load<float>(address(a[0], a[1], in.imm))); return true;
    case Op::kLoadI64: *r = load<int64_t>(address(a[0], a[1], in.imm)); return true;
    case Op::kLoadI32: *r = load<int32_t>(address(a[0], a[1], in.imm)); return true;
    case Op::kLoadU32: *r = load<uint32_t>(address(a[0], a[1], in.imm)); return true;
    case Op::kLoadI16: *r = load<int16_t>(address(a[0], a[1], in.imm)); return true;
    case Op::kLoadU16: *r = load<uint16_t>(address(a[0], a[1], in.imm)); return true;
    case Op::kLoadI8: *r = load<int8_t>(address(a[0], a[1], in.imm)); return true;
    case Op::kLoadU8: *r = load<uint8_t>(address(a[0], a[1], in.imm)); return true;
    case Op::kStoreF64: store(address(a[0], a[1], in.imm), real(a[2])); return true;
    case Op::kStoreF32:
      store(address(a[0], a[1], in.imm), static_cast<float>(real(a[2])));
      return true;
    case Op::kStoreI64: store(address(a[0], a[1], in.imm), a[2]); return true;
    case Op::kStoreI32: store(address(a[0], a[1], in.imm), static_cast<int32_t>(a[2])); return true;
    case Op::kStoreI16: store(address(a[0], a[1], in.imm), static_cast<int16_t>(a[2])); return true;
    case Op::kStoreU8: store(address(a[0], a[1], in.imm), static_cast<uint8_t>(a[2])); return true;
  }
  return false;
}

namespace {

class Interpreter : public Code {
 public:
  explicit Interpreter(Function f) : f_(std::move(f)) {}
  int run(int64_t* buffer) const override {
    std::vector<int64_t> v(f_.instrs.size()), given;
    if (f_.calls_itself()) given.assign(buffer, buffer + f_.words());
    auto leave = [&](int exit) {
      const auto& values = f_.exits[exit].values;
      for (size_t k = 0; k < values.size(); ++k) buffer[k] = v[values[k]];
      return f_.returned_by(exit);
    };
    std::vector<int64_t> moved;
    for (int at = 0;;) {
      const Block& b = f_.blocks[at];
      for (int k : b.instrs) {
        const Instr& in = f_.instrs[k];
        if (in.op == Op::kInput) {
          v[k] = buffer[in.imm];
          continue;
        }
        int64_t a[3] = {};
        for (int i = 0; i < 3; ++i)
          if (in.args[i] != kNoValue) a[i] = v[in.args[i]];
        if (is_self(in.op)) {
          if (!call_itself(given.data(), in, a, &v[k])) return leave(in.exit);
          continue;
        }
        if (!evaluate(in, a, &v[k]) && in.exit != kNoExit) return leave(in.exit);
      }
      if (b.exit != kNoExit) return leave(b.exit);
      const Edge& e = b.condition == kNoValue || v[b.condition] ? b.next : b.otherwise;
      moved.clear();
      for (int a : e.args) moved.push_back(v[a]);
      at = e.block;
      for (size_t k = 0; k < moved.size(); ++k) v[f_.blocks[at].params[k]] = moved[k];
    }
  }

 private:
  bool call_itself(const int64_t* buffer, const Instr& in, const int64_t* args,
                   int64_t* result) const {
    std::vector<int64_t> words(buffer, buffer + f_.words());
    if ((words[static_cast<size_t>(f_.depth)] -= in.imm) < 0) return false;
    std::copy(args, args + 3, words.begin());
    const int exit = run(words.data());
    *result = words[0];
    return f_.exits[static_cast<size_t>(exit)].returns;
  }
  Function f_;
};

}  // namespace

std::unique_ptr<Code> interpreted(Function f) {
  return std::make_unique<Interpreter>(std::move(f));
}

}  // namespace pijit::region
