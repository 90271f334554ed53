#include "cuda/emit.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace pijit::cuda {
namespace {

constexpr int kThreads = 128;  // of a block
constexpr int kWarp = 32;
// Columns: most threads of a block compute tiles of rows of 32 of them, or 16 or 8 where blocks
// would be few, into shared memory; further warps combine a tile in order, while the next one is
// computed.
constexpr int kColThreads = 256, kColElements = 2048, kRowsEach = kColElements / kColThreads;
constexpr int kMostCombining = 4;
constexpr int64_t kColBlocks = 512, kSectorBytes = 32;
constexpr size_t kSharedBytes = 48 << 10;
constexpr int64_t kFewBlocks = 256;
// Where rows are so few, tiles: with a group of threads per row most multiprocessors would idle.
constexpr int64_t kFewRows = 2048;
constexpr int kVector = 4;  // elements that a thread takes side by side
// Rows: the threads of a block compute a tile, of one row or of several short ones, which then lies
// in shared memory, and a group of threads per row combines its lanes in order. Rows begin 16 words
// apart from multiples of 32, so that two groups of a warp read from different banks.
constexpr int kRowThreads = 256, kTileElements = 1024, kRowGap = 16, kMostRows = 16;
// Partial results of a row that a block folds at a time, and loads of a thread that go out at once.
constexpr int kFolded = 1024, kAhead = 8;

// As kernels hold an element, and as memory does.
const char* register_type(DType t) {
  switch (t) {
    case DType::Bool:
    case DType::U8: return "u8";
    case DType::I8: return "i8";
    case DType::I16: return "i16";
    case DType::U16: return "u16";
    case DType::I32: return "i32";
    case DType::U32: return "u32";
    case DType::I64: return "i64";
    case DType::U64: return "u64";
    case DType::F16:
    case DType::BF16:
    case DType::F32: return "f32";
    case DType::F64: return "f64";
    default: return nullptr;
  }
}
size_t register_bytes(DType t) { return is_half(t) ? 4 : size_of(t); }
const char* memory_type(DType t) { return is_half(t) ? "u16" : register_type(t); }
bool is_number(DType t) { return register_type(t) != nullptr; }

std::string load(DType t, const std::string& element) {
  if (t == DType::F16) return "pj_from_f16(" + element + ")";
  if (t == DType::BF16) return "pj_from_bf16(" + element + ")";
  return element;
}
std::string stored(DType t, const std::string& value) {
  if (t == DType::F16) return "pj_to_f16(" + value + ")";
  if (t == DType::BF16) return "pj_to_bf16(" + value + ")";
  return value;
}
std::string literal(DType t, uint64_t bits) {
  if (t == DType::F64) return str_cat("pj_bits<f64>(", bits, "ull)");
  if (is_float(t)) return str_cat("pj_bits<f32>(", static_cast<uint32_t>(bits), "u)");
  return str_cat("(", register_type(t), ")", bits, "ull");
}
const char* combiner_name(Combiner c) {
  switch (c) {
    case Combiner::kSum: return "pj_sum";
    case Combiner::kProd: return "pj_prod";
    case Combiner::kMax: return "pj_max";
    case Combiner::kMin: return "pj_min";
    case Combiner::kAll: return "pj_all";
    case Combiner::kAny: return "pj_any";
    case Combiner::kNone: break;
  }
  throw InternalError("no combiner");
}
std::string combined(const LoopOutput& o, const std::string& a, const std::string& b) {
  return str_cat(combiner_name(o.combine), "<", register_type(o.dt), ">(", a, ", ", b, ")");
}
std::string identity(const LoopOutput& o) {
  return literal(o.dt, combiner_identity(o.combine, o.dt));
}
const char* call_name(const SNode& n) {
  if (n.op == SOp::kCall1) switch (static_cast<Call1>(n.imm)) {
#define X(f) \
  case Call1::f: return "pj_" #f;
      PIJIT_CALLS1(X)
#undef X
    }
  if (n.op == SOp::kCall2) switch (static_cast<Call2>(n.imm)) {
#define X(f) \
  case Call2::f: return "pj_" #f;
      PIJIT_CALLS2(X)
#undef X
    }
  throw InternalError("unknown scalar call");
}

std::string cast(DType from, DType to, const std::string& x) {
  if (is_bool(to)) return "(u8)(" + x + " != 0)";
  std::string r;
  if (is_float(from) && !is_float(to)) {
    if (to == DType::U64)
      r = "pj_to_u64(" + x + ")";
    else if (to == DType::I64 || to == DType::U32)
      r = "pj_to_i64(" + x + ")";
    else
      r = "pj_to_i32(" + x + ")";
  } else {
    r = x;
  }
  r = str_cat("(", register_type(to), ")", r);
  if (is_half(to)) r = load(to, stored(to, r));
  return r;
}

std::string v(int id) { return str_cat("v", id); }

// The value of a node that is neither an input nor a table.
std::string expression(const std::vector<SNode>& nodes, const SNode& n) {
  const DType src = n.a >= 0 ? nodes[n.a].dt : n.dt;
  const std::string a = v(n.a), b = v(n.b), c = v(n.c), t = register_type(n.dt);
  auto infix = [&](const char* op) { return a + " " + op + " " + b; };
  auto compare = [&](const char* op) { return "(u8)(" + infix(op) + ")"; };
  auto call = [&](const char* f) { return str_cat(f, "<", t, ">(", a, ", ", b, ")"); };
  const bool real = is_float(n.dt);
  auto wrapped = [&](const std::string& x, const char* op, const std::string& y) {
    const char* w = size_of(n.dt) == 8 ? "u64" : "u32";
    return str_cat("(", t, ")((", w, ")", x, " ", op, " (", w, ")", y, ")");
  };
  auto unary = [&](const char* f) {
    PIJIT_CHECK(real, "a function of floats on ", name_of(n.dt));
    return std::string(f) + "(" + a + ")";
  };
  switch (n.op) {
    case SOp::kConst: return literal(n.dt, n.imm);
    case SOp::kAdd: return real ? infix("+") : wrapped(a, "+", b);
    case SOp::kSub: return real ? infix("-") : wrapped(a, "-", b);
    case SOp::kMul: return real ? infix("*") : wrapped(a, "*", b);
    case SOp::kDiv: return real ? infix("/") : call("pj_floor_div");
    case SOp::kFma: return "pj_fma(" + a + ", " + b + ", " + c + ")";
    case SOp::kMin: return infix("<") + " ? " + a + " : " + b;
    case SOp::kMax: return infix(">") + " ? " + a + " : " + b;
    case SOp::kScale: return "pj_scale(" + a + ", " + b + ")";
    case SOp::kFloorDiv: return call("pj_floor_div");
    case SOp::kFloorMod: return call("pj_floor_mod");
    case SOp::kTruncMod: return call("pj_trunc_mod");
    case SOp::kNeg: return real ? "-" + a : wrapped("0", "-", a);
    case SOp::kAbs:
      return real ? "pj_fabs(" + a + ")" : a + " < 0 ? " + wrapped("0", "-", a) + " : " + a;
    case SOp::kSqrt: return unary("pj_sqrt");
    case SOp::kFloor: return unary("pj_floor");
    case SOp::kCeil: return unary("pj_ceil");
    case SOp::kRint: return unary("pj_rint");
    case SOp::kTrunc: return unary("pj_trunc");
    case SOp::kEq: return compare("==");
    case SOp::kNe: return compare("!=");
    case SOp::kLt: return compare("<");
    case SOp::kLe: return compare("<=");
    case SOp::kGt: return compare(">");
    case SOp::kGe: return compare(">=");
    case SOp::kSelect: return a + " ? " + b + " : " + c;
    case SOp::kAnd: return str_cat("(", t, ")(", infix("&"), ")");
    case SOp::kOr: return str_cat("(", t, ")(", infix("|"), ")");
    case SOp::kXor: return str_cat("(", t, ")(", infix("^"), ")");
    case SOp::kNot: return is_bool(n.dt) ? "(u8)!" + a : str_cat("(", t, ")~", a);
    case SOp::kShl: return call("pj_shl");
    case SOp::kShr: return call("pj_shr");
    case SOp::kCast: return cast(src, n.dt, a);
    case SOp::kBitcast: return str_cat("pj_bits<", t, ">(", a, ")");
    case SOp::kCall1: {
      const std::string y = std::string(call_name(n)) + "(" + a + ")";
      return n.c >= 0 ? c + " ? " + y + " : 0.0" : y;
    }
    case SOp::kCall2: return std::string(call_name(n)) + "(" + a + ", " + b + ")";
    default: throw InternalError(str_cat("no CUDA for scalar op ", static_cast<int>(n.op)));
  }
}

}  // namespace

void Arguments::set_address(size_t k, const void* p) {
  std::memcpy(&bytes[k * sizeof p], &p, sizeof p);
}

namespace {
// Whether tiles of all that is combined fit into shared memory.
bool fits_in_tiles(const LoopSpec& s) {
  const int elements =
      s.form == LoopSpec::kCol ? kColElements : kTileElements + kMostRows * kRowGap;
  size_t bytes = 0;
  for (auto& o : s.out)
    if (o.combine != Combiner::kNone) bytes += 2 * elements * register_bytes(o.dt);
  return bytes <= kSharedBytes;
}
// Whether a thread may take kVector elements side by side of all operands at once.
bool in_vectors(const LoopSpec& s) {
  if (s.form != LoopSpec::kMap || s.dims.empty() || s.dims.back() % kVector != 0) return false;
  const size_t last = s.dims.size() - 1;
  auto whole = [&](const LoopOperand& o) {
    if (o.strides[last] == 0) return true;
    bool all = o.strides[last] == 1 && o.offset % kVector == 0;
    for (size_t d = 0; d < last; ++d) all = all && o.strides[d] % kVector == 0;
    return all;
  };
  return std::all_of(s.in.begin(), s.in.end(), whole) &&
         std::all_of(s.out.begin(), s.out.end(),
                     [&](auto& o) { return o.strides[last] == 1 && whole(o); });
}
// Warps that combine columns.
int combining(const LoopSpec& s) {
  const auto n = std::count_if(s.out.begin(), s.out.end(),
                               [](auto& o) { return o.combine != Combiner::kNone; });
  return std::min<int>(kMostCombining, static_cast<int>(n));
}
// Threads that combine a row in the widest of its outputs.
int widest_group(const LoopSpec& s) {
  int threads = 1;
  for (auto& o : s.out)
    if (o.combine != Combiner::kNone)
      threads = std::max(threads, std::min(kWarp, static_cast<int>(kLaneBytes / size_of(o.dt))));
  return threads;
}
}  // namespace

std::string Loop::refusal(const LoopSpec& s) {
  for (auto& n : s.body)
    if (!is_number(n.dt)) return str_cat("values of dtype ", name_of(n.dt));
  for (auto& o : s.out)
    if (!is_number(o.dt)) return str_cat("a result of dtype ", name_of(o.dt));
  if (s.in.size() + 2 * s.out.size() > 120) return "too many operands";
  return "";
}

Loop::Loop(LoopSpec s, bool vectors) : spec_(std::move(s)) {
  const std::string why = refusal(spec_);
  PIJIT_CHECK(why.empty(), why);
  spec_.collapse();
  outer_ = static_cast<int>(spec_.dims.size()) - (spec_.form == LoopSpec::kCol ? 2 : 1);
  vector_ = vectors && in_vectors(spec_) ? kVector : 1;
  tiled_ = spec_.form != LoopSpec::kMap && fits_in_tiles(spec_) &&
           (spec_.form == LoopSpec::kCol || sizes().total < kFewRows);
  if (spec_.form == LoopSpec::kCol) columns_ = columns();
  key_ = source("k");
}

bool Loop::wide() const {
  int64_t most = 1;
  for (auto d : spec_.dims) most *= std::max<int64_t>(d, 1);
  auto reach = [&](const LoopOperand& o) {
    int64_t last = std::abs(o.offset);
    for (size_t d = 0; d < spec_.dims.size(); ++d)
      last += std::abs(o.strides[d]) * std::max<int64_t>(spec_.dims[d], 1);
    most = std::max(most, last);
  };
  for (auto& o : spec_.in) reach(o);
  for (auto& o : spec_.out) reach(o);
  return most >= int64_t{1} << 30;
}

int Loop::group() const {
  int lanes = kWarp;
  for (auto& o : spec_.out)
    if (o.combine != Combiner::kNone)
      lanes = std::min(lanes, static_cast<int>(kLaneBytes / static_cast<int64_t>(size_of(o.dt))));
  return lanes;
}

// Of a tile: as few as whole sectors of memory allow, until blocks are many.
int Loop::columns() const {
  int64_t narrowest = 8;
  for (auto& o : spec_.in)
    if (o.strides.back() == 1) narrowest = std::min<int64_t>(narrowest, size_of(o.dt));
  const int64_t least = std::min<int64_t>(kWarp, std::max<int64_t>(8, kSectorBytes / narrowest));
  const Sizes z = sizes();
  int64_t r = kWarp;
  while (r > least && (z.total / z.chunks + r - 1) / r * z.chunks < kColBlocks) r /= 2;
  return static_cast<int>(r);
}

Loop::Sizes Loop::sizes() const {
  Sizes z{0, 1, spec_.dims.back(), 1, 0};
  for (int d = 0; d < outer_; ++d) z.rows *= spec_.dims[d];
  switch (spec_.form) {
    case LoopSpec::kMap: z.total = z.rows * z.n; break;
    case LoopSpec::kRow:
      z.chunks = std::max<int64_t>(1, (z.n + row_chunk(z.n) - 1) / row_chunk(z.n));
      z.total = z.rows * z.chunks;
      z.shift = std::countr_zero(static_cast<unsigned>(kTileElements));
      // As many rows in a tile as fit, while there are blocks for all multiprocessors.
      for (int rows = 2; rows <= kMostRows && rows * widest_group(spec_) <= kRowThreads &&
                         z.n * rows <= kTileElements && z.total / rows >= kFewBlocks;
           rows *= 2)
        --z.shift;
      break;
    case LoopSpec::kCol:
      z.total = z.rows * z.n;  // columns
      z.n = spec_.dims[outer_];
      z.chunks = std::max<int64_t>(1, (z.n + kRowChunk - 1) / kRowChunk);
      z.total *= z.chunks;
      break;
  }
  return z;
}

Arguments Loop::arguments() const {
  Arguments a;
  size_t reduced = 0;
  for (auto& o : spec_.out) reduced += o.combine != Combiner::kNone;
  a.bytes.assign((spec_.in.size() + spec_.out.size() + reduced) * sizeof(void*), 0);
  const bool w = wide();
  auto put = [&](int64_t x) {
    const auto narrow = static_cast<int32_t>(x);
    const auto* p = w ? reinterpret_cast<const char*>(&x) : reinterpret_cast<const char*>(&narrow);
    a.bytes.insert(a.bytes.end(), p, p + (w ? 8 : 4));
  };
  const Sizes z = sizes();
  for (int64_t x : {z.total, z.n, z.chunks, z.shift}) put(x);
  for (auto d : spec_.dims) put(d);
  auto operand = [&](const LoopOperand& o) {
    put(o.offset);
    for (auto s : o.strides) put(s);
  };
  for (auto& o : spec_.in) operand(o);
  for (auto& o : spec_.out) operand(o);
  a.bytes.resize((a.bytes.size() + 7) / 8 * 8);
  return a;
}

std::vector<size_t> Loop::partial_bytes() const {
  const Sizes z = sizes();
  std::vector<size_t> r;
  for (auto& o : spec_.out)
    if (o.combine != Combiner::kNone)
      r.push_back(z.chunks > 1 ? static_cast<size_t>(z.total) * size_of(o.dt) : 0);
  return r;
}

std::vector<Launch> Loop::launches(const std::string& name) const {
  constexpr int64_t kMaxBlocks = 1 << 16;  // threads take several turns then
  auto blocks = [&](int64_t n, int64_t per_block) {
    return static_cast<unsigned>(
        std::clamp<int64_t>((n + per_block - 1) / per_block, 1, kMaxBlocks));
  };
  const Sizes z = sizes();
  if (z.total == 0) return {};
  std::vector<Launch> r;
  if (spec_.form == LoopSpec::kCol && tiled_) {
    const int64_t groups = (z.total / z.chunks + columns_ - 1) / columns_;
    r.push_back({name, blocks(groups * z.chunks, 1),
                 static_cast<unsigned>(kColThreads + kWarp * combining(spec_))});
  } else if (spec_.form == LoopSpec::kRow && tiled_) {
    r.push_back({name, blocks(z.total, kTileElements >> z.shift), kRowThreads});
  } else {
    r.push_back(
        {name,
         blocks(z.total / vector_, spec_.form == LoopSpec::kRow ? kThreads / group() : kThreads),
         kThreads});
  }
  if (z.chunks > 1)
    r.push_back({name + "_fold",
                 blocks(z.total / z.chunks, spec_.form == LoopSpec::kRow ? 1 : kThreads),
                 kThreads});
  return r;
}

// --- Source

namespace {

class Writer {
 public:
  Writer(const LoopSpec& s, int outer, bool wide, int group, bool tiled, int vector, int columns,
         bool folds)
      : s_(s),
        outer_(outer),
        wide_(wide),
        group_(group),
        tiled_(tiled),
        vector_(vector),
        columns_(columns),
        folds_(folds) {}

  std::string write(const std::string& name) {
    name_ = name;
    tables();
    wide_functions();
    arguments();
    switch (s_.form) {
      case LoopSpec::kMap: map(); break;
      case LoopSpec::kRow: row(); break;
      case LoopSpec::kCol: col(); break;
    }
    if (folds_) fold();
    return text_;
  }

 private:
  template <class... A>
  void line(const A&... a) {
    text_ += std::string(2 * depth_, ' ') + str_cat(a...) + "\n";
  }
  template <class... A>
  void open(const A&... a) {
    line(a..., " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }
  size_t operands() const { return s_.in.size() + s_.out.size(); }
  const LoopOperand& operand(size_t k) const {
    return k < s_.in.size() ? s_.in[k] : s_.out[k - s_.in.size()];
  }
  static bool reduced(const LoopOutput& o) { return o.combine != Combiner::kNone; }

  void tables() {
    std::vector<uint64_t> done;
    for (auto& n : s_.body) {
      if (n.op != SOp::kTable || std::count(done.begin(), done.end(), n.imm)) continue;
      done.push_back(n.imm);
      uint32_t bits[16];
      std::memcpy(bits, reinterpret_cast<const void*>(n.imm), sizeof bits);
      // Named by contents: an address would make equal sources differ from run to run.
      std::string values;
      uint64_t h = 1469598103934665603ull;
      for (auto b : bits) {
        values += str_cat(values.empty() ? "" : ", ", b, "u");
        h = (h ^ b) * 1099511628211ull;
      }
      line("static __device__ const u32 ", name_, "_table_", h, "[16] = {", values, "};");
      table_names_.push_back({n.imm, str_cat("pj_bits<f32>(", name_, "_table_", h, "[")});
    }
  }

  std::string wide_name(const SNode& n) const { return str_cat(name_, "_wide_", n.imm); }
  void wide_functions() {
    std::vector<uint64_t> done;
    for (auto& n : s_.body) {
      if (n.op != SOp::kWide || std::count(done.begin(), done.end(), n.imm)) continue;
      done.push_back(n.imm);
      const ScalarBody& f = wide_body(static_cast<Wide>(n.imm));
      open("static __device__ f32 ", wide_name(n), "(f32 v0)");
      for (size_t id = 1; id < f.nodes.size(); ++id)
        line("const ", register_type(f.nodes[id].dt), " ", v(static_cast<int>(id)), " = ",
             expression(f.nodes, f.nodes[id]), ";");
      line("return ", v(f.result), ";");
      close();
    }
  }

  void arguments() {
    size_t n = operands(), part = 0;
    for (auto& o : s_.out) part += reduced(o);
    open("struct ", name_, "_args");
    line("void* p[", n + part, "];");
    line(index(), " total, n, chunks, shift, dims[", s_.dims.size(), "];");
    line("struct { ", index(), " offset, strides[", s_.dims.size(), "]; } at[", n, "];");
    --depth_;
    line("};");
  }
  const char* index() const { return wide_ ? "i64" : "i32"; }
  void begin_kernel(const std::string& name, int threads = kThreads) {
    open("extern \"C\" __global__ void __launch_bounds__(", threads, ") ", name, "(const ", name_,
         "_args a)");
  }
  // A loop over [0, count), a thread per element.
  void each(const std::string& i, const std::string& count) {
    line("#pragma unroll 1");  // few threads take another turn, and compiling takes longer
    open("for (", index(), " ", i, " = (", index(), ")blockIdx.x * ", kThreads, " + threadIdx.x; ",
         i, " < ", count, "; ", i, " += (", index(), ")gridDim.x * ", kThreads, ")");
  }
  // Coordinates x0 … of dims [0, end) from the index `from`.
  void coordinates(const std::string& from, int end) {
    line(index(), " rest = ", from, ";");
    for (int d = end - 1; d > 0; --d)
      line("const ", index(), " x", d, " = rest % a.dims[", d, "]; rest /= a.dims[", d, "];");
    if (end > 0)
      line("const ", index(), " x0 = rest;");
    else
      line("(void)rest;");
  }
  // q<k>: the first element of operand k at the coordinates of dims [0, end).
  void addresses(int end) {
    for (size_t k = 0; k < operands(); ++k) {
      std::string offset = str_cat("a.at[", k, "].offset");
      for (int d = 0; d < end; ++d)
        offset += str_cat(" + x", d, " * a.at[", k, "].strides[", d, "]");
      const bool in = k < s_.in.size();
      // A result may lie over an operand, but then each element over its own: loads of others need
      // not wait for its store.
      const bool apart = in && stores() && s_.form != LoopSpec::kMap;
      line(in ? "const " : "", memory_type(operand(k).dt), apart ? "* __restrict__" : "*",
           " const q", k, " = (", in ? "const " : "", memory_type(operand(k).dt), "*)a.p[", k,
           "] + (", offset, ");");
    }
  }
  // The element of operand k where the innermost coordinate is `i`, and in columns the row `r`.
  std::string element(size_t k, const std::string& i) const {
    const auto& st = operand(k).strides;
    if (vector_ > 1) return str_cat("w", k, st.back() ? ".v[u]" : "");
    const size_t last = st.size() - 1;
    std::string at;
    if (s_.form == LoopSpec::kCol) at = str_cat("r * a.at[", k, "].strides[", last - 1, "]");
    if (st[last] != 0) {
      if (!at.empty()) at += " + ";
      at += st[last] == 1 ? i : str_cat(i, " * a.at[", k, "].strides[", last, "]");
    }
    return str_cat("q", k, "[", at.empty() ? "0" : at, "]");
  }
  // Computes the body; stores what is stored at every index, under a condition if there is one.
  void body(const std::string& i, const std::string& condition = "") {
    for (size_t id = 0; id < s_.body.size(); ++id) {
      const SNode& n = s_.body[id];
      std::string x;
      if (n.op == SOp::kInput) {
        x = load(n.dt, element(n.imm, i));
      } else if (n.op == SOp::kTable) {
        for (auto& [address, name] : table_names_)
          if (address == n.imm) x = name + v(n.a) + " & 15])";
      } else if (n.op == SOp::kWide) {
        x = str_cat(v(n.c), " ? ", wide_name(n), "(", v(n.a), ") : 0.0f");
      } else {
        x = expression(s_.body, n);
      }
      line("const ", register_type(n.dt), " ", v(static_cast<int>(id)), " = ", x, ";");
    }
    for (size_t k = 0; k < s_.out.size(); ++k)
      if (!reduced(s_.out[k]))
        line(condition, element(s_.in.size() + k, i), " = ",
             stored(s_.out[k].dt, v(s_.out[k].node)), ";");
  }

  void map() {
    begin_kernel(name_);
    const int last = static_cast<int>(s_.dims.size()) - 1;
    if (vector_ == 1) {
      each("i", "a.total");
      if (last > 0)
        coordinates("i", last + 1);
      else
        line("const ", index(), " x0 = i;");
      addresses(last);
      body(str_cat("x", last));
    } else {
      each("i", str_cat("a.total / ", vector_));
      line("const ", index(), " vectors = a.dims[", last, "] / ", vector_, ", x", last,
           " = i % vectors * ", vector_, ";");
      coordinates("i / vectors", last);
      addresses(last);
      vectors(str_cat("x", last));
    }
    close();
    close();
  }
  // Loads of vectors, the body for each element, stores.
  void vectors(const std::string& x) {
    for (size_t k = 0; k < operands(); ++k) {
      const char* t = memory_type(operand(k).dt);
      if (k >= s_.in.size())
        line("pj_vector<", t, "> w", k, ";");
      else if (operand(k).strides.back() == 0)
        line("const ", t, " w", k, " = q", k, "[0];");
      else
        line("const pj_vector<", t, "> w", k, " = *(const pj_vector<", t, ">*)(q", k, " + ", x,
             ");");
    }
    line("#pragma unroll");
    open("for (int u = 0; u < ", vector_, "; ++u)");
    body(x);
    close();
    for (size_t k = s_.in.size(); k < operands(); ++k)
      line("*(pj_vector<", memory_type(operand(k).dt), ">*)(q", k, " + ", x, ") = w", k, ";");
  }

  // Is a result stored at every index, too?
  bool stores() const { return !std::all_of(s_.out.begin(), s_.out.end(), reduced); }
  // Declares shared memory of this shape for each reduced output, twice.
  void share(const std::string& shape) {
    for (size_t k = 0; k < s_.out.size(); ++k)
      if (reduced(s_.out[k]))
        line("__shared__ ", register_type(s_.out[k].dt), " s", k, "[2]", shape, ";");
  }
  // Computes the element at `index_of`, which `name` is called, into its place in shared memory.
  // Threads beyond the end, where it is not `inside`, compute the last element again, and store
  // nothing: loads need not wait for a condition then.
  void compute(const char* name, const char* index_of, const char* inside, const char* last,
               const char* innermost, const char* place) {
    line("const bool inside = ", inside, ";");
    line("const ", index(), " ", name, " = inside ? ", index_of, " : ", last, ";");
    body(innermost, "if (on && inside) ");
    for (size_t k = 0; k < s_.out.size(); ++k)
      if (reduced(s_.out[k])) line("s", k, "[buffer]", place, " = ", v(s_.out[k].node), ";");
  }
  // Declares a running result for each reduced output.
  void results() {
    for (size_t k = 0; k < s_.out.size(); ++k)
      if (reduced(s_.out[k]))
        line(register_type(s_.out[k].dt), " r", k, " = ", identity(s_.out[k]), ";");
  }
  // Stores r<k> of column c: the result, or at index `i` of the partial ones. `by`: the condition
  // for output k to be this thread's.
  template <class F>
  void store_column(const std::string& i, F by) {
    const size_t last = s_.dims.size() - 1;
    for (size_t k = 0, part = operands(), at; k < s_.out.size(); ++k) {
      if (!reduced(s_.out[k])) continue;
      at = s_.in.size() + k;
      open("if (", by(k), ")");
      line("if (a.chunks == 1) q", at, "[c * a.at[", at, "].strides[", last,
           "]] = ", stored(s_.out[k].dt, str_cat("r", k)), ";");
      line("else ((", register_type(s_.out[k].dt), "*)a.p[", part, "])[", i, "] = r", k, ";");
      close();
      ++part;
    }
  }

  void col() {
    if (tiled_) return tiled_col();
    begin_kernel(name_);
    each("i", "a.total");
    const size_t last = s_.dims.size() - 1;
    line("const ", index(), " c = i % a.dims[", last, "], of = i / a.dims[", last, "];");
    line("const ", index(), " begin = of % a.chunks * ", kRowChunk, ";");
    line("const ", index(), " end = a.n - begin < ", kRowChunk, " ? a.n : begin + ", kRowChunk,
         ";");
    coordinates("of / a.chunks", outer_);
    addresses(outer_);
    results();
    open("for (", index(), " r = begin; r < end; ++r)");
    body("c");
    for (size_t k = 0; k < s_.out.size(); ++k)
      if (reduced(s_.out[k]))
        line("r", k, " = ", combined(s_.out[k], str_cat("r", k), v(s_.out[k].node)), ";");
    close();
    store_column("i", [](size_t) { return "true"; });
    close();
    close();
  }

  void tiled_col() {
    const int warps = combining(s_), side = kWarp / columns_;
    begin_kernel(name_, kColThreads + kWarp * warps);
    const size_t last = s_.dims.size() - 1;
    const int rows = kColElements / columns_, at_once = kColThreads / columns_;
    share(str_cat("[", rows, "][", columns_, "]"));
    line("const int lane = threadIdx.x % ", columns_, ", high = threadIdx.x / ", columns_, ";");
    line("const ", index(), " columns = a.total / a.chunks, groups = (columns + ", columns_ - 1,
         ") / ", columns_, ";");
    line("int buffer = 0;");
    open("for (", index(), " g = blockIdx.x; g < groups * a.chunks; g += gridDim.x)");
    line("const ", index(), " column = g % groups * ", columns_, " + lane, chunk = g / groups;");
    line("const bool on = column < columns;");
    line("const ", index(), " c = on ? column % a.dims[", last, "] : 0, of = on ? column / a.dims[",
         last, "] : 0;");
    line("const ", index(), " begin = chunk * ", kRowChunk, ";");
    line("const ", index(), " end = a.n - begin < ", kRowChunk, " ? a.n : begin + ", kRowChunk,
         ";");
    coordinates("of", outer_);
    addresses(outer_);
    results();
    // Results take turns at the warps, then at what is side by side in a warp.
    size_t turn = 0;
    auto combines = [&] {
      const auto k = static_cast<int>(turn++);
      return str_cat("high == ", at_once + k % warps * side + k / warps % side);
    };
    open("for (", index(), " first = begin; first < end + ", rows, "; first += ", rows, ")");
    open("if (threadIdx.x < ", kColThreads, ")");
    open("if (first < end)");
    line("#pragma unroll");
    open("for (int j = 0; j < ", kRowsEach, "; ++j)");
    line("const int place = j * ", at_once, " + high;");
    compute("r", "first + place", "first + place < end", "end - 1", "c", "[place][lane]");
    close();
    close();
    --depth_;
    open("} else if (first > begin)");
    line("const ", index(), " left = end - first + ", rows, ";");
    line("const int count = left < ", rows, " ? (int)left : ", rows, ";");
    for (size_t k = 0; k < s_.out.size(); ++k) {
      if (!reduced(s_.out[k])) continue;
      open("if (", combines(), ")");
      line("#pragma unroll 32");
      line("for (int j = 0; j < count; ++j) r", k, " = ",
           combined(s_.out[k], str_cat("r", k), str_cat("s", k, "[buffer ^ 1][j][lane]")), ";");
      close();
    }
    close();
    line("buffer ^= 1;");
    line("__syncthreads();");
    close();
    turn = 0;
    store_column(str_cat("(of * a.chunks + chunk) * a.dims[", last, "] + c"),
                 [&](size_t) { return "on && " + combines(); });
    close();
    close();
  }

  int lanes(const LoopOutput& o) const {
    return static_cast<int>(kLaneBytes / static_cast<int64_t>(size_of(o.dt)));
  }
  // The item's row, where its elements begin, and how many they are.
  void item(const std::string& condition) {
    line("const bool on = ", condition, ";");
    line("const ", index(), " row = !on ? 0 : a.chunks == 1 ? item : item / a.chunks;");
    line("const ", index(), " begin = on ? (item - row * a.chunks) * chunk : 0;");
    line("const ", index(), " left = a.n - begin, n = left < chunk ? left : chunk;");
  }
  // As row_chunk says.
  void chunk() {
    line("const ", index(), " chunk = a.n % (a.chunks * ", kLaneBytes, ") ? ", kChunk,
         " : a.n / a.chunks;");
  }
  void tiled_row() {
    begin_kernel(name_, kRowThreads);
    constexpr int kEach = kTileElements / kRowThreads;
    share(str_cat("[", kTileElements + kMostRows * kRowGap, "]"));
    line("const int tile = 1 << a.shift, rows = ", kTileElements, " >> a.shift, pitch = tile + ",
         kRowGap, ";");
    chunk();
    line("const ", index(), " longest = a.n < chunk ? a.n : chunk;");
    line("int buffer = 0;");
    open("for (", index(), " g = (", index(), ")blockIdx.x * rows; g < a.total; g += (", index(),
         ")gridDim.x * rows)");
    for (size_t k = 0; k < s_.out.size(); ++k) {
      if (!reduced(s_.out[k])) continue;
      const int own = std::max(1, lanes(s_.out[k]) / kWarp);
      std::string init;
      for (int j = 0; j < own; ++j) init += (j ? ", " : "") + identity(s_.out[k]);
      line(register_type(s_.out[k].dt), " r", k, "[", own, "] = {", init, "};");
    }
    open("for (", index(), " first = 0; first < longest; first += tile)");
    line("#pragma unroll");
    open("for (int j = 0; j < ", kEach, "; ++j)");
    line("const int f = j * ", kRowThreads,
         " + threadIdx.x, e = f & (tile - 1), slot = f >> a.shift;");
    line("const ", index(), " item = g + slot;");
    item("item < a.total");
    coordinates("row", outer_);
    addresses(outer_);
    compute("i", "begin + first + e", "first + e < n", "begin + n - 1", "i", "[slot * pitch + e]");
    close();
    line("__syncthreads();");
    for (size_t k = 0; k < s_.out.size(); ++k) {
      const LoopOutput& o = s_.out[k];
      if (!reduced(o)) continue;
      const int group = std::min(lanes(o), kWarp), own = lanes(o) / group;
      open("");
      line("const int slot = threadIdx.x / ", group, ";");
      line("const ", index(), " item = g + slot;");
      item("slot < rows && item < a.total");
      line("const ", index(), " rest = on ? n - first : 0;");
      line("const int count = rest < tile ? (int)rest : tile;");
      line("#pragma unroll 8");
      open("for (int e = threadIdx.x % ", group, "; e < count; e += ", lanes(o), ")");
      for (int j = 0; j < own; ++j) {
        const std::string r = str_cat("r", k, "[", j, "]");
        line(j ? str_cat("if (e + ", j * group, " < count) ") : "", r, " = ",
             combined(o, r, str_cat("s", k, "[buffer][slot * pitch + e + ", j * group, "]")), ";");
      }
      close();
      close();
    }
    line("buffer ^= 1;");
    close();
    for (size_t k = 0, part = operands(); k < s_.out.size(); ++k) {
      const LoopOutput& o = s_.out[k];
      if (!reduced(o)) continue;
      const int group = std::min(lanes(o), kWarp), own = lanes(o) / group;
      for (int h = own / 2; h > 0; h /= 2)
        for (int j = 0; j < h; ++j) {
          const std::string r = str_cat("r", k, "[", j, "]");
          line(r, " = ", combined(o, r, str_cat("r", k, "[", j + h, "]")), ";");
        }
      const std::string r = str_cat("r", k, "[0]");
      for (int h = group / 2; h > 0; h /= 2)
        line(r, " = ", combined(o, r, str_cat("pj_down(", r, ", ", h, ", ", group, ")")), ";");
      open("");
      line("const int slot = threadIdx.x / ", group, ";");
      line("const ", index(), " item = g + slot;");
      open("if (slot < rows && item < a.total && threadIdx.x % ", group, " == 0)");
      line("const ", index(), " row = a.chunks == 1 ? item : item / a.chunks;");
      coordinates("row", outer_);
      line("if (a.chunks == 1) ", place_of(k), " = ", stored(o.dt, r), ";");
      line("else ((", register_type(o.dt), "*)a.p[", part++, "])[item] = ", r, ";");
      close();
      close();
    }
    close();
    close();
  }

  void row() {
    if (tiled_) return tiled_row();
    int turns = 1;  // elements of a thread until every lane has had its own
    for (auto& o : s_.out)
      if (reduced(o)) turns = std::max(turns, lanes(o) / group_);
    const int groups = kThreads / group_;
    begin_kernel(name_);
    chunk();
    line("const int t = threadIdx.x % ", group_, ";");
    open("for (", index(), " first = (", index(), ")blockIdx.x * ", groups,
         "; first < a.total; first += (", index(), ")gridDim.x * ", groups, ")");
    line("const ", index(), " item = first + threadIdx.x / ", group_, ";");
    line("const bool on = item < a.total;");
    line("const ", index(),
         " row = on ? item / a.chunks : 0, begin = on ? item % a.chunks * chunk : 0;");
    line("const ", index(), " left = a.n - begin, n = !on ? 0 : left < chunk ? left : chunk;");
    coordinates("row", outer_);
    addresses(outer_);
    for (size_t k = 0; k < s_.out.size(); ++k) {
      if (!reduced(s_.out[k])) continue;
      const int own = lanes(s_.out[k]) / group_;
      std::string init;
      for (int j = 0; j < own; ++j) init += (j ? ", " : "") + identity(s_.out[k]);
      line(register_type(s_.out[k].dt), " r", k, "[", own, "] = {", init, "};");
    }
    auto element_of_row = [&] {
      line("const ", index(), " i = begin + e;");
      body("i");
      for (size_t k = 0; k < s_.out.size(); ++k) {
        if (!reduced(s_.out[k])) continue;
        const std::string r = str_cat("r", k, "[j % ", lanes(s_.out[k]) / group_, "]");
        line(r, " = ", combined(s_.out[k], r, v(s_.out[k].node)), ";");
      }
    };
    // Several elements at a time, so that their loads go out together; then what is left.
    const int ahead = std::max(turns, s_.body.size() > 48 ? 2 : s_.body.size() > 16 ? 4 : kAhead);
    line(index(), " at = 0;");
    open("for (; at + ", group_ * ahead, " <= n; at += ", group_ * ahead, ")");
    line("#pragma unroll");
    open("for (int j = 0; j < ", ahead, "; ++j)");
    line("const ", index(), " e = at + j * ", group_, " + t;");
    element_of_row();
    close();
    close();
    const int rest = stores() ? turns : ahead;
    open("for (; at < n; at += ", group_ * rest, ")");
    line("#pragma unroll");
    open("for (int j = 0; j < ", rest, "; ++j)");
    line("const ", index(), " wanted = at + j * ", group_, " + t;");
    if (stores()) {
      line("if (wanted >= n) break;");
      line("const ", index(), " e = wanted;");
      element_of_row();
    } else {  // the last element again, which is not combined: loads go out together
      line("const ", index(), " e = wanted < n ? wanted : n - 1;");
      line("const ", index(), " i = begin + e;");
      body("i");
      for (size_t k = 0; k < s_.out.size(); ++k) {
        const std::string r = str_cat("r", k, "[j % ", lanes(s_.out[k]) / group_, "]");
        line("if (wanted < n) ", r, " = ", combined(s_.out[k], r, v(s_.out[k].node)), ";");
      }
    }
    close();
    close();
    for (size_t k = 0, part = operands(); k < s_.out.size(); ++k) {
      const LoopOutput& o = s_.out[k];
      if (!reduced(o)) continue;
      for (int h = lanes(o) / group_ / 2; h > 0; h /= 2)
        for (int j = 0; j < h; ++j) {
          const std::string own = str_cat("r", k, "[", j, "]");
          line(own, " = ", combined(o, own, str_cat("r", k, "[", j + h, "]")), ";");
        }
      const std::string r = str_cat("r", k, "[0]");
      for (int h = group_ / 2; h > 0; h /= 2)
        line(r, " = ", combined(o, r, str_cat("pj_down(", r, ", ", h, ", ", group_, ")")), ";");
      const char* t = register_type(o.dt);
      open("if (on && t == 0)");
      line("if (a.chunks == 1) *q", s_.in.size() + k, " = ", r, ";");
      line("else ((", t, "*)a.p[", part, "])[item] = ", r, ";");
      close();
      ++part;
    }
    close();
    close();
  }

  // Chunks in order: of a row, from the identity on; of a column, from the first one on.
  void fold() {
    begin_kernel(name_ + "_fold");
    if (s_.form == LoopSpec::kCol)
      fold_columns();
    else
      fold_rows();
    close();
  }
  // The place of reduced output k for outer coordinates, and column c.
  std::string place_of(size_t k) const {
    const size_t at = s_.in.size() + k;
    std::string offset = str_cat("a.at[", at, "].offset");
    for (int d = 0; d < outer_; ++d)
      offset += str_cat(" + x", d, " * a.at[", at, "].strides[", d, "]");
    if (s_.form == LoopSpec::kCol)
      offset += str_cat(" + c * a.at[", at, "].strides[", s_.dims.size() - 1, "]");
    return str_cat("((", memory_type(s_.out[k].dt), "*)a.p[", at, "])[", offset, "]");
  }
  void fold_columns() {
    each("i", "a.total / a.chunks");
    line("const ", index(), " step = a.dims[", s_.dims.size() - 1,
         "], c = i % step, of = i / step;");
    coordinates("of", outer_);
    for (size_t k = 0, part = operands(); k < s_.out.size(); ++k) {
      const LoopOutput& o = s_.out[k];
      if (!reduced(o)) continue;
      const char* t = register_type(o.dt);
      open("");
      line("const ", t, "* const part = (const ", t, "*)a.p[", part++,
           "] + of * a.chunks * step + c;");
      line(t, " r = part[0];");
      line("#pragma unroll ", kAhead);
      line("for (", index(), " j = 1; j < a.chunks; ++j) r = ", combined(o, "r", "part[j * step]"),
           ";");
      line(place_of(k), " = ", stored(o.dt, "r"), ";");
      close();
    }
    close();
  }
  // A block per row: a thread of the last warp adds, while the other warps load what comes next.
  void fold_rows() {
    constexpr int kLoading = kThreads - kWarp;
    // Of the widest elements, for one output after the other: blocks have 48 KiB.
    line("__shared__ u64 held[", 2 * kFolded, "];");
    open("for (", index(), " of = blockIdx.x; of < a.total / a.chunks; of += gridDim.x)");
    coordinates("of", outer_);
    for (size_t k = 0, part = operands(); k < s_.out.size(); ++k) {
      const LoopOutput& o = s_.out[k];
      if (!reduced(o)) continue;
      const char* t = register_type(o.dt);
      open("");
      line(t, "(*const s)[", kFolded, "] = (", t, "(*)[", kFolded, "])held;");
      line("const ", t, "* const part = (const ", t, "*)a.p[", part++, "] + of * a.chunks;");
      line(t, " r = ", identity(o), ";");
      line("int buffer = 0;");
      open("for (", index(), " first = -", kFolded, "; first < a.chunks; first += ", kFolded, ")");
      line("const ", index(), " next = first + ", kFolded, ";");
      line("#pragma unroll");
      open("for (int at = threadIdx.x; at < ", kFolded, "; at += ", kLoading, ")");
      line("if (threadIdx.x < ", kLoading,
           " && next + at < a.chunks) s[buffer][at] = part[next + at];");
      close();
      open("if (first >= 0 && threadIdx.x == ", kLoading, ")");
      line("const int count = a.chunks - first < ", kFolded,
           " ? (int)(a.chunks - first) : ", kFolded, ";");
      line("#pragma unroll 32");
      line("for (int j = 0; j < count; ++j) r = ", combined(o, "r", "s[buffer ^ 1][j]"), ";");
      close();
      line("buffer ^= 1;");
      line("__syncthreads();");
      close();
      line("if (threadIdx.x == ", kLoading, ") ", place_of(k), " = ", stored(o.dt, "r"), ";");
      close();
    }
    close();
  }

  const LoopSpec& s_;
  const int outer_;
  const bool wide_;
  const int group_;
  const bool tiled_;
  const int vector_;
  const int columns_;  // of a tile
  const bool folds_;   // there is more than one chunk
  std::string name_, text_;
  int depth_ = 0;
  std::vector<std::pair<uint64_t, std::string>> table_names_;
};

}  // namespace

std::string Loop::source(const std::string& name) const {
  return Writer(spec_, outer_, wide(), group(), tiled_, vector_, columns_, sizes().chunks > 1)
      .write(name);
}

}  // namespace pijit::cuda
