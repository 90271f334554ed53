#include "cuda/source_kernel.h"

#include <cstring>

#include "base/error.h"
#include "graph/number_cast.h"

namespace pijit::cuda {
namespace {
static_assert(kThreads == 128);
// A loop over so many elements, by all threads together.
constexpr const char* kEach = R"(#define EACH(i, total) \
  for (ix i = (ix)blockIdx.x * 128 + threadIdx.x; i < (total); i += (ix)gridDim.x * 128)
)";
}  // namespace

SourceKernel::SourceKernel(Gpu& gpu, std::string op, int addresses, int numbers,
                           const std::string& text, std::vector<std::string> entries)
    : gpu_(gpu),
      op_(std::move(op)),
      addresses_(addresses),
      numbers_(numbers),
      entries_(std::move(entries)) {
  std::string source = str_cat("struct pj_args {\n  void* p[", addresses, "];\n  i64 n[",
                               std::max(1, numbers), "];\n};\n", kEach, text);
  constexpr std::string_view kMark = "ENTRY(";
  for (size_t at; (at = source.find(kMark)) != std::string::npos;) {
    const size_t end = source.find(')', at);
    const std::string what = source.substr(at + kMark.size(), end - at - kMark.size());
    const size_t comma = std::min(what.find(','), what.size());
    source.replace(at, end + 1 - at,
                   str_cat("extern \"C\" __global__ void __launch_bounds__(", kThreads,
                           what.substr(comma), ") ", what.substr(0, comma), "(const pj_args a)"));
  }
  source_ = std::move(source);
  gpu_.prepare(source_);
}

void SourceKernel::run(size_t entry, int64_t threads, std::span<const void* const> addresses,
                       const std::vector<int64_t>& numbers) const {
  if (threads <= 0) return;
  std::call_once(loaded_, [this] {
    std::vector<Function> all;
    for (auto& e : entries_) all.push_back(gpu_.function(source_, e));
    functions_ = std::move(all);
  });
  PIJIT_CHECK(addresses.size() <= static_cast<size_t>(addresses_) &&
                  numbers.size() <= static_cast<size_t>(numbers_),
              "too many arguments of ", entries_[entry]);
  Arguments a;
  a.bytes.assign(static_cast<size_t>(addresses_ + std::max(1, numbers_)) * 8, 0);
  size_t k = 0;
  for (auto* p : addresses) a.set_address(k++, p);
  std::memcpy(a.bytes.data() + 8 * addresses_, numbers.data(), numbers.size() * 8);
  constexpr int64_t kMaxBlocks = 1 << 16;
  const int64_t blocks = std::min(kMaxBlocks, (threads + kThreads - 1) / kThreads);
  gpu_.launch(functions_[entry], {entries_[entry], static_cast<unsigned>(blocks), kThreads}, a,
              op_);
}

namespace {
const char* index_type(bool wide) { return wide ? "typedef i64 ix;\n" : "typedef i32 ix;\n"; }
}  // namespace

std::string element_types(DType t, bool wide) {
  const std::string half = t == DType::F16 ? "f16" : "bf16";
  if (is_half(t))
    return str_cat("typedef u16 M;\ntypedef f32 T;\n#define LOAD(x) pj_from_", half,
                   "(x)\n#define STORE(x) pj_to_", half, "(x)\n", index_type(wide));
  const std::string name = is_bool(t) ? "u8"
                                      : str_cat(is_float(t)        ? "f"
                                                : is_signed_int(t) ? "i"
                                                                   : "u",
                                                8 * size_of(t));
  return str_cat("typedef ", name, " M;\ntypedef ", name,
                 " T;\n#define LOAD(x) (x)\n#define STORE(x) ((M)(x))\n", index_type(wide));
}
std::string word_type(DType t, bool wide) {
  return str_cat("typedef u", 8 * std::min<size_t>(8, size_of(t)), " W;\n", index_type(wide));
}
std::string define(const char* name, int64_t value) {
  return str_cat("#define ", name, " ", value, "\n");
}

std::string activation_macro(const std::string& name) {
  const char* text = name == "relu"      ? "((v) > 0 || (v) != (v) ? (v) : (T)0)"
                     : name == "sigmoid" ? "(1 / (1 + expf(-(v))))"
                     : name == "tanh"    ? "tanhf(v)"
                     : name == "silu"    ? "((v) / (1 + expf(-(v))))"
                                         : "(v)";
  return str_cat("#define ACTIVATION(v) ", text, "\n");
}

// The place that an index means, or -1, which is noted.
const char* const kPlace = R"(
struct pj_error {
  u32 set, op;
  i64 index, size;
};
PJ i64 pj_place(I raw, i64 size, void* error, i64 op) {
  const i64 i = (i64)raw, c = i < 0 ? i + size : i;
  if (c >= 0 && c < size) return c;
  pj_error* const e = (pj_error*)error;
  if (atomicCAS(&e->set, 0u, 1u) == 0u) {
    e->op = (u32)op;
    e->index = i;
    e->size = size;
  }
  return -1;
}
)";

uint64_t bits_of(DType t, double v) {
  uint64_t bits = 0;
  const auto f = static_cast<float>(v);
  switch (t) {
    case DType::F16: return float_to_half(f);
    case DType::BF16: return float_to_bf16(f);
    case DType::F32:
    case DType::C64: std::memcpy(&bits, &f, 4); return bits;
    case DType::F64:
    case DType::C128: std::memcpy(&bits, &v, 8); return bits;
    default: return integer_bits(t, v);
  }
}

bool computes_as_stored(const KernelRequest& r, std::string* why) {
  if (is_half(r.out.dtype)) return *why = "halves are computed in float32", false;
  if (is_complex(r.out.dtype)) return *why = "complex numbers", false;
  return true;
}

}  // namespace pijit::cuda
