// The op table: everything the project knows about an op stands in one entry
// (graph/ops/<family>.cc).
//
// An op has tensor inputs (some optional or variadic), attributes, one output. Rules:
//   infer    output type from input types and attributes; throws OpError on misuse
//   scalar   elementwise ops: one element, in scalar IR
//   vjp      cotangents of the inputs, written with graph ops
//   jvp      tangent of the output; where an entry has none, it is derived from the flags or, by
//            transposition, from vjp (graph/jvp.cc)
//   vmap     the op for a batch of some of its inputs; derived for elementwise ops and reductions,
//            else element by element (graph/vmap.h)
//   complex  complex operands: the op on real and imaginary parts (graph/ops/complex.cc)
//   lower    the op as a combination of others, applied before kernels are chosen
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/attrs.h"
#include "graph/scalar.h"
#include "graph/type.h"

namespace pijit {

struct OpDef;
class Builder;

// A value of a Builder: a node of a Graph, or a computed array of the eager builder.
struct Val {
  Builder* b = nullptr;
  uint32_t id = 0;
  explicit operator bool() const { return b != nullptr; }
  bool operator==(const Val&) const = default;
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
};

// Receives ops one by one: Graph records them, the eager builder runs them.
class Builder {
 public:
  virtual ~Builder() = default;
  // Inputs are already promoted and their types checked by `infer`. Missing optional inputs are
  // Val{}.
  virtual Val emit(const OpDef& op, std::span<const Val> in, Attrs attrs, const Type& out) = 0;
  virtual const Type& type(Val v) const = 0;
  // A 0-d constant, value given as the raw little-endian bits of dtype.
  virtual Val constant(DType dt, uint64_t bits) = 0;

  Val constant(DType dt, double v);
  Val constant_int(DType dt, int64_t v);
  // A number that follows from sizes, as the numbers above where it holds no symbol.
  virtual Val constant(DType dt, const SizeNumber& n);
  // Cotangents of an op's inputs (Val{}: zero), where the builder has a way of its own: else false,
  // and the rule's ops are emitted one by one.
  virtual bool run_vjp(const OpDef& op, const Attrs& attrs, std::span<const Val> in, Val out,
                       Val ct, const std::vector<bool>& need, std::vector<Val>* d) {
    return false;
  }
  // For long walks: how many values a builder holds that take memory, and that nobody uses one of
  // them any more.
  virtual uint32_t values() const { return 0; }
  virtual void drop(Val v) {}

  // Infers the type and emits. `name` must exist.
  Val op(const char* name, std::initializer_list<Val> in, Attrs attrs = {});
  Val op(const OpDef& op, std::span<const Val> in, Attrs attrs);
  Val op(const OpDef& def, std::initializer_list<Val> in, Attrs attrs) {
    return op(def, std::span<const Val>(in.begin(), in.size()), std::move(attrs));
  }
  // Where values go that no operand places: to the values that came before them.
  DeviceId home() const { return settled_ == kNot ? default_device() : home_; }
  // ... or to this device, or where they go in another builder.
  void place(DeviceId d) { settled_ = kByTensor, home_ = d; }
  void place_as(const Builder& b) { settled_ = b.settled_, home_ = b.home_; }

 protected:
  // A value from outside arrives.
  void settle(const Type& t) {
    const Settled how = t.device.is_cpu() && t.shape.rank() == 0 ? kByElement : kByTensor;
    if (how > settled_) settled_ = how, home_ = t.device;
  }

 private:
  enum Settled : uint8_t { kNot, kByElement, kByTensor } settled_ = kNot;
  DeviceId home_;
};
inline const Type& Val::type() const { return b->type(*this); }

struct OpCtx {
  const OpDef& op;
  const Attrs& attrs;
  const AttrValue& attr(std::string_view name) const;
  Dim i(std::string_view n) const { return std::get<Dim>(attr(n)); }
  double f(std::string_view n) const { return std::get<double>(attr(n)); }
  bool flag(std::string_view n) const { return std::get<bool>(attr(n)); }
  const std::string& s(std::string_view n) const { return std::get<std::string>(attr(n)); }
  const Dims& ints(std::string_view n) const { return std::get<Dims>(attr(n)); }
  // For kernels: there sizes are known.
  std::vector<int64_t> numbers(std::string_view n) const { return numbers_of(ints(n)); }
  DType dt(std::string_view n) const { return std::get<DType>(attr(n)); }
};

struct InferCtx : OpCtx {
  std::span<const Type* const> in;  // null: absent optional input
  const Type& x(int i) const { return *in[i]; }
  const Shape& shape(int i) const { return in[i]->shape; }
};

struct ScalarCtx : OpCtx {
  SBuilder& sb;
  std::span<const SVal> in;  // in compute dtype: halves arrive as float32
  DType out;                 // compute dtype of the result
  SVal x(int i) const { return in[i]; }
};

struct VjpCtx : OpCtx {
  Builder& b;
  std::span<const Val> in;
  Val out, ct;
  std::vector<Val>& d;     // to fill: cotangent per input; left empty means zero
  std::vector<bool> need;  // which inputs want one
};

struct JvpCtx : OpCtx {
  Builder& b;
  std::span<const Val> in;
  Val out;
  std::span<const Val> t;  // tangents of the inputs; Val{}: zero
};

struct VmapCtx : OpCtx {
  Builder& b;
  std::span<const Val> in;
  std::vector<bool> batched;  // the batch's axis is the first one of the input
  Dim size;
  Type out;                                                                      // of one element
  int rank(int k) const { return in[k].shape().rank() - (batched[k] ? 1 : 0); }  // of one element
  Shape with_batch(Shape s) const {
    s.insert(0, size);
    return s;
  }
  Val front(int k) const;              // with the batch's axis in front, whether batched or not
  Val aligned(int k, int rank) const;  // so that it broadcasts with values of `rank` axes
};

struct LowerCtx : OpCtx {
  Builder& b;
  std::span<const Val> in;
  Type out;
};

// A complex value by its real and its imaginary part; a real one: no imaginary part.
struct Parts {
  Val re, im;
};
struct ComplexCtx : OpCtx {
  Builder& b;
  std::span<const Parts> in;
  Type out;
};

enum OpFlag : uint32_t {
  kElementwise = 1,  // has a scalar rule; inputs broadcast to the output
  kCommutative = 2,
  kReduction = 4,  // folds axes with a combiner
  kView = 8,       // output has the input's elements in the same order
  kLinear = 16,    // linear in all its tensor inputs together: jvp applies the op to the tangents
  kMultilinear = 32,  // linear in each input alone
  kWindows = 32768,   // reads a part of its operand, or folds several by halves with a combiner
  kNoGradient = 64,   // gradient is zero or undefined by design
  kInvolution = 128,  // f(f(x)) = x, exactly
  kIdempotent = 256,  // f(f(x)) = f(x), exactly
  kCallOut = 512,     // never folded or merged
  kRegion = 2048,     // holds sub-graphs, or takes results out of them: in graphs only
  kWhole = 4096,      // lowered only where no kernel but the reference takes it as it is
  kPhysical = 8192,   // written by passes into programs; no one calls or differentiates it
  kAccumulatesF32 =
      16384,  // halves are computed in float32, where no kernel but the reference takes them
  kOwnAdjoint = 65536,     // vjp says what complex operands receive; else it is the rule of a
                           // holomorphic function, and cotangents are conjugated around it
  kTakesComplex = 131072,  // kernels take complex arrays as they are
  kPicks = 262144,     // reads some rows of its first operand, as many elements as the output has
  kSets = 524288,      // puts its last operand into places of its first one
  kOrdered = 1048576,  // collectives, which all processes must run in one order: each waits for the
                       // one before it, which its input `after` names (Graph::emit)
  kMayFail = 1024,     // may raise when it runs (an index out of range), so it runs even if unused
};

// What passes recognize an op as. Those that none looks for have none.
enum class Role : uint8_t {
  kNone,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kActivation,  // that kernels of products and convolutions take in, by the op's name
  kBounded,     // likewise on the host alone, in convolutions
  kSelect,
  kCast,
  kIdentity,  // gives its operand on
  kReshape,
  kTranspose,
  kBroadcast,
  kSlice,
  kDiagonal,
  kGather,
  kReduceSum,
  kArgmax,
  kArgmin,
  kSoftmax,
  kNormalize,
  kMatmul,
  kDense,
  kConv,
  kConvInput,    // the gradient of its input
  kConvWeights,  // and of its weights
  kCollectiveStart,
  kCollectiveWait,
  kPool,  // and its gradient
  kAttention,
  kAttentionGradient,
  kCond,
  kWhile,
  kWhileGradient,
  kResult,
};

// How mixed operand dtypes and Python scalars become one dtype before `infer` runs.
enum class Promote : uint8_t {
  kNone,    // inputs are taken as they come
  kSame,    // all inputs to their common dtype
  kFloat,   // the same, integers to float32
  kBool,    // all to bool
  kSelect,  // all but the first input to their common dtype; the first to bool
};

enum class Combiner : uint8_t { kNone, kSum, kProd, kMax, kMin, kAll, kAny };

struct InputSpec {
  std::string name;
  bool optional = false, variadic = false;
  std::vector<std::string> aliases;  // what callers may name it as well

  bool called(std::string_view key) const {
    return key == name || std::find(aliases.begin(), aliases.end(), key) != aliases.end();
  }
};

using InferFn = std::function<Type(const InferCtx&)>;
using ScalarFn = std::function<SVal(const ScalarCtx&)>;
using VjpFn = std::function<void(VjpCtx&)>;
using JvpFn = std::function<Val(JvpCtx&)>;  // Val{}: zero
using VmapFn = std::function<Val(const VmapCtx&)>;
using LowerFn = std::function<Val(const LowerCtx&)>;
// Multiplications and additions that the kernel does.
using FlopsFn = std::function<int64_t(const InferCtx&, const Shape& out)>;
using ComplexFn = std::function<Parts(const ComplexCtx&)>;

struct OpDef {
  std::string name;
  int id = 0;
  std::vector<InputSpec> inputs;
  std::vector<AttrSpec> attrs;
  uint32_t flags = 0;
  int after = -1;   // of kOrdered: the input of that name
  int outputs = 1;  // that a kernel stores; those behind the first: `output` nodes (ops/matmul.cc)
  Promote promote = Promote::kNone;
  Combiner combiner = Combiner::kNone;
  Role role = Role::kNone;
  const OpDef* post = nullptr;     // the op with a residual and an activation behind it
  const OpDef* blocked = nullptr;  // the op on maps whose channels stand in blocks
  const OpDef* fast = nullptr;     // the same function of float32, but for last digits
  InferFn infer;
  ScalarFn scalar;
  VjpFn vjp;
  JvpFn jvp;
  VmapFn vmap;
  LowerFn lower;
  FlopsFn flops;      // none: no simple count says what the kernel does
  ComplexFn complex;  // of complex operands, by their parts (compile/passes/complex.cc)
  bool takes_complex() const { return complex || has(kTakesComplex) || has(kRegion); }
  bool has(OpFlag f) const { return flags & f; }
  // Whether it has to do with other processes.
  bool is_collective() const { return has(kOrdered) || role == Role::kCollectiveWait; }
  bool variadic() const { return !inputs.empty() && inputs.back().variadic; }
  int attr_index(std::string_view n) const {
    for (size_t k = 0; k < attrs.size(); ++k)
      if (attrs[k].name == n) return static_cast<int>(k);
    throw InternalError(str_cat("op ", name, " has no attribute ", n));
  }
};
inline const AttrValue& OpCtx::attr(std::string_view n) const { return attrs[op.attr_index(n)]; }

// Fluent construction of entries.
class OpEntry {
 public:
  explicit OpEntry(OpDef& d) : d_(d) {}
  OpEntry& in(std::initializer_list<const char*>
                  names) {  // "x", "b?" optional, "xs*" variadic, "x|input": a further name
    for (std::string n : names) {
      InputSpec s;
      if (n.back() == '?')
        s.optional = true, n.pop_back();
      else if (n.back() == '*')
        s.variadic = true, n.pop_back();
      for (size_t bar; (bar = n.rfind('|')) != std::string::npos; n.resize(bar))
        s.aliases.push_back(n.substr(bar + 1));
      s.name = n;
      if (n == "after") d_.after = static_cast<int>(d_.inputs.size());
      d_.inputs.push_back(s);
    }
    return *this;
  }
  OpEntry& like(const OpDef& o) {  // the same inputs and attributes
    d_.inputs = o.inputs;
    d_.attrs = o.attrs;
    return *this;
  }
  OpEntry& attr(const char* name, AttrKind k) {
    d_.attrs.push_back({name, k});
    return *this;
  }
  OpEntry& attr(const char* name, AttrKind k, AttrValue def) {
    d_.attrs.push_back({name, k, false, std::move(def)});
    return *this;
  }
  OpEntry& flags(uint32_t f) {
    d_.flags |= f;
    return *this;
  }
  OpEntry& outputs(int n) {
    d_.outputs = n;
    return *this;
  }
  OpEntry& promote(Promote p) {
    d_.promote = p;
    return *this;
  }
  OpEntry& combiner(Combiner c) {
    d_.combiner = c;
    return *this;
  }
  OpEntry& role(Role r) {
    d_.role = r;
    return *this;
  }
  OpEntry& post(const OpDef& o) {
    d_.post = &o;
    return *this;
  }
  OpEntry& blocked(const OpDef& o) {
    d_.blocked = &o;
    return *this;
  }
  OpEntry& fast(const OpDef& o) {
    d_.fast = &o;
    return *this;
  }
  OpEntry& flops(FlopsFn f) {
    d_.flops = std::move(f);
    return *this;
  }
  OpEntry& infer(InferFn f) {
    d_.infer = std::move(f);
    return *this;
  }
  OpEntry& scalar(ScalarFn f) {
    d_.scalar = std::move(f);
    return *this;
  }
  OpEntry& vjp(VjpFn f) {
    d_.vjp = std::move(f);
    return *this;
  }
  OpEntry& jvp(JvpFn f) {
    d_.jvp = std::move(f);
    return *this;
  }
  OpEntry& vmap(VmapFn f) {
    d_.vmap = std::move(f);
    return *this;
  }
  OpEntry& lower(LowerFn f) {
    d_.lower = std::move(f);
    return *this;
  }
  OpEntry& complex(ComplexFn f) {
    d_.complex = std::move(f);
    return *this;
  }

 private:
  OpDef& d_;
};

class OpTable {
 public:
  static const OpTable& get();
  const OpDef* find(std::string_view name) const;
  const OpDef& at(std::string_view name) const;
  const std::vector<std::unique_ptr<OpDef>>& all() const { return ops_; }
  OpEntry add(const char* name);
  // An entry of another file, to say what it does to complex operands.
  OpEntry extend(const char* name) { return OpEntry(const_cast<OpDef&>(at(name))); }

 private:
  OpTable();
  std::vector<std::unique_ptr<OpDef>> ops_;
  absl::flat_hash_map<std::string_view, OpDef*, std::hash<std::string_view>,
                      std::equal_to<std::string_view>>
      by_name_;
};

JvpFn derived_jvp(const OpDef& op);
VmapFn derived_vmap(const OpDef& op);

// Families, one per file of graph/ops.
void register_elementwise(OpTable&);
void register_reduce(OpTable&);
void register_shape(OpTable&);
void register_index(OpTable&);
void register_matmul(OpTable&);
void register_conv(OpTable&);
void register_norm(OpTable&);
void register_random(OpTable&);
void register_control(OpTable&);
void register_numpy(OpTable&);
void register_collective(OpTable&);
void register_complex(OpTable&);  // after all others: it extends their entries
ComplexFn derived_complex(const OpDef& op);

// An operand of a user's call: a value, or a Python scalar (bool, int, float), whose dtype gives
// way to the tensors' dtype.
struct Operand {
  Val v;
  enum Kind : uint8_t { kAbsent, kValue, kPyBool, kPyInt, kPyFloat } kind = kAbsent;
  Dim i;
  Real f;
  Operand() = default;
  Operand(Val v) : v(v), kind(v ? kValue : kAbsent) {}
  static Operand py_bool(bool x) {
    Operand o;
    o.kind = kPyBool;
    o.i = x ? 1 : 0;
    return o;
  }
  static Operand py_int(Dim x) {
    Operand o;
    o.kind = kPyInt;
    o.i = x;
    return o;
  }
  static Operand py_float(Real x) {
    Operand o;
    o.kind = kPyFloat;
    o.f = x;
    return o;
  }
  // A Python number that is known at run time only: a 0-d int64 or float64 value.
  static Operand weak_value(Val v) {
    Operand o;
    o.kind = is_float(v.dtype()) ? kPyFloat : kPyInt;
    o.v = v;
    return o;
  }
  bool weak() const { return kind >= kPyBool; }
  DType dtype() const {
    return kind == kValue    ? v.dtype()
           : kind == kPyBool ? DType::Bool
           : kind == kPyInt  ? DType::I64
                             : DType::F64;
  }
};
// The dtype in which this thread's calls of ops compute, whatever floating dtypes their operands
// have (Cell.to_float); empty: in their operands'. What gives back elements as they are (a cast, a
// shape, a part) leaves them alone. A capture keeps it as the code that it follows would.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local std::optional<DType> compute_dtype;
// x, cast to it where it is floating and there is one.
Val in_compute_dtype(Builder& b, Val x);
// The road of every user-visible call, eager or captured: promotion, inference, emission.
Val call_op(Builder& b, const OpDef& op, std::span<const Operand> in, Attrs attrs);
DType result_dtype(const OpDef& op, std::span<const Operand> in);
Val materialize(Builder& b, const Operand& o, DType t);

}  // namespace pijit
