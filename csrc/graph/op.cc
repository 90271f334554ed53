#include "graph/op.h"

#include <algorithm>
#include <cstring>

#include "graph/infer.h"

namespace pijit {

void register_linalg(OpTable&);
void register_special(OpTable&);
void register_fft(OpTable&);
void register_recurrent(OpTable&);

OpTable::OpTable() {
  register_elementwise(*this);
  register_reduce(*this);
  register_shape(*this);
  register_index(*this);
  register_matmul(*this);
  register_linalg(*this);
  register_special(*this);
  register_conv(*this);
  register_norm(*this);
  register_random(*this);
  register_control(*this);
  register_numpy(*this);
  register_collective(*this);
  register_fft(*this);
  register_recurrent(*this);
  register_complex(*this);
  for (auto& op : ops_) {
    if (op->vjp && !op->jvp) op->jvp = derived_jvp(*op);
    if (!op->complex) op->complex = derived_complex(*op);
    if (!op->vmap) op->vmap = derived_vmap(*op);
  }
  for (auto& op : ops_) PIJIT_CHECK(op->infer, "op ", op->name, " has no shape rule");
}

const OpTable& OpTable::get() {
  static const OpTable t;
  return t;
}

OpEntry OpTable::add(const char* name) {
  ops_.push_back(std::make_unique<OpDef>());
  OpDef& d = *ops_.back();
  d.name = name;
  d.id = static_cast<int>(ops_.size()) - 1;
  PIJIT_CHECK(by_name_.emplace(d.name, &d).second, "op ", name, " registered twice");
  return OpEntry(d);
}

const OpDef* OpTable::find(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}
const OpDef& OpTable::at(std::string_view name) const {
  const OpDef* d = find(name);
  PIJIT_CHECK(d, "unknown op ", name);
  return *d;
}

Val Builder::constant(DType dt, double v) {
  if (is_complex(dt)) return op("complex", {constant(part_of(dt), v), constant(part_of(dt), 0.0)});
  SBuilder sb;
  SVal c = sb.constant(dt, v);
  uint64_t raw = sb.nodes[c.id].imm;
  if (is_half(dt)) {  // scalar IR holds halves as float32
    float f;
    std::memcpy(&f, &raw, 4);
    raw = dt == DType::F16 ? float_to_half(f) : float_to_bf16(f);
  }
  return constant(dt, raw);
}

Type infer_on_device(const OpDef& def, const Attrs& attrs, std::span<const Type* const> in,
                     DeviceId home) {
  const Type* placed = nullptr;
  for (auto* t : in) {
    if (!t || (t->device.is_cpu() && t->shape.rank() == 0)) continue;
    OP_CHECK(!placed || placed->device == t->device, kRuntime, "[", def.name,
             "] operands lie on different devices, ", name_of(placed->device), " and ",
             name_of(t->device), "; move one with Tensor.to");
    placed = t;
  }
  const DeviceId device = placed ? placed->device : home;
  if (!placed || device.is_cpu()) {
    Type out = def.infer(InferCtx{{def, attrs}, in});
    out.device = device;
    return out;
  }
  std::vector<Type> bare;
  bare.reserve(in.size());
  std::vector<const Type*> refs;
  for (auto* t : in) {
    if (t) bare.push_back({t->dtype, t->shape});
    refs.push_back(t ? &bare.back() : nullptr);
  }
  Type out = def.infer(InferCtx{{def, attrs}, refs});
  out.device = device;
  return out;
}

Val placed(Val v, DeviceId d) {
  static const OpDef& identity = OpTable::get().at("identity");
  const Type& t = v.type();
  if (t.device == d || !t.device.is_cpu() || t.shape.rank() > 0) return v;
  return v.b->emit(identity, std::span(&v, 1), {}, Type{t.dtype, {}, d});
}

Val Builder::op(const OpDef& def, std::span<const Val> in, Attrs attrs) {
  for (size_t k = attrs.size(); k < def.attrs.size(); ++k) {
    PIJIT_CHECK(!def.attrs[k].required, "op ", def.name, ": attribute ", def.attrs[k].name,
                " missing");
    attrs.push_back(def.attrs[k].def);
  }
  const Type* types[16];
  std::vector<const Type*> many;
  std::span<const Type*> ts(types, std::min<size_t>(in.size(), 16));
  if (in.size() > 16) {
    many.resize(in.size());
    ts = many;
  }
  for (size_t i = 0; i < in.size(); ++i) ts[i] = in[i] ? &type(in[i]) : nullptr;
  const Type out = infer_on_device(def, attrs, ts, home());
  if (!out.shape.symbolic()) (void)out.bytes();  // throws where they do not fit a number
  if (!def.takes_complex()) {
    OP_CHECK(!is_complex(out.dtype), kType, "[", def.name, "] has no rule for a result of ",
             public_name_of(out.dtype),
             "; take real and imaginary parts apart (ops.abs of complex numbers is complex: its "
             "real part is ops.real of it)");
    for (size_t i = 0; i < in.size(); ++i)
      OP_CHECK(!ts[i] || !is_complex(ts[i]->dtype), kType, "[", def.name, "] has no rule for ",
               public_name_of(ts[i]->dtype), " operands; take real and imaginary parts apart");
  }
  return emit(def, in, std::move(attrs), out);
}

Val Builder::op(const char* name, std::initializer_list<Val> in, Attrs attrs) {
  return op(OpTable::get().at(name), std::span<const Val>(in.begin(), in.size()), std::move(attrs));
}

Val Builder::constant_int(DType dt, int64_t v) {
  if (is_inexact(dt)) return constant(dt, static_cast<double>(v));
  SBuilder sb;
  return constant(dt, sb.nodes[sb.constant_int(dt, v).id].imm);
}

Val Builder::constant(DType dt, const SizeNumber& n) {
  if (n.index()) return constant(dt, std::get<Real>(n).value);
  return constant_int(dt, std::get<Dim>(n));
}

// A product or quotient of a floating Tensor of some dimensions and one of none has the dtype of
// the former, as in MindSpore; null: it is no such.
static const Operand* of_some_dimensions(const OpDef& op, std::span<const Operand> in) {
  if (op.role != Role::kMul && op.role != Role::kDiv) return nullptr;
  if (in.size() != 2 || !in[0].v || !in[1].v) return nullptr;
  if (!is_float(in[0].dtype()) || !is_float(in[1].dtype())) return nullptr;
  const bool first = in[0].v.shape().rank() > 0, second = in[1].v.shape().rank() > 0;
  return first == second ? nullptr : &in[first ? 0 : 1];
}

DType result_dtype(const OpDef& op, std::span<const Operand> in) {
  if (op.promote == Promote::kBool) return DType::Bool;
  if (const Operand* o = of_some_dimensions(op, in)) return o->dtype();
  const bool select = op.promote == Promote::kSelect;
  std::optional<DType> strong, weak;
  for (size_t i = select ? 1 : 0; i < in.size(); ++i) {
    if (in[i].kind == Operand::kAbsent) continue;
    auto& slot = in[i].weak() ? weak : strong;
    const DType t = in[i].dtype();
    slot = slot ? promote(*slot, t) : t;
  }
  DType r;
  if (!strong) {
    r = weak.value_or(DType::F32);
    if (r == DType::F64) r = DType::F32;  // Python floats alone make float32 tensors
  } else {
    r = *strong;
    if (weak) {  // only the category of a Python scalar counts
      if (is_float(*weak) && !is_inexact(r))
        r = DType::F32;
      else if (!is_bool(*weak) && is_bool(r))
        r = DType::I64;
    }
  }
  if (op.promote == Promote::kFloat && !is_inexact(r)) r = DType::F32;
  return r;
}

Val materialize(Builder& b, const Operand& o, DType t) {
  if (o.v) return o.v.dtype() == t ? o.v : b.op("cast", {o.v}, {t});
  switch (o.kind) {
    case Operand::kAbsent:
    case Operand::kValue: return {};
    case Operand::kPyBool:
    case Operand::kPyInt: return b.constant(t, SizeNumber(o.i));
    case Operand::kPyFloat: return b.constant(t, SizeNumber(o.f));
  }
  return {};
}

static bool is_two(const Operand& o) {
  if (o.v) return false;
  if (o.kind == Operand::kPyInt) return o.i == 2;
  if (o.kind != Operand::kPyFloat) return false;
  return o.f.symbolic() ? SizeEnv::current().decide(o.f, "eq", Real(2.0)) : o.f.value == 2.0;
}

constinit thread_local std::optional<DType> compute_dtype;

Val in_compute_dtype(Builder& b, Val x) {
  return compute_dtype && is_float(x.dtype()) && x.dtype() != *compute_dtype
             ? b.op("cast", {x}, {*compute_dtype})
             : x;
}

namespace {

Val call_as_given(Builder& b, const OpDef& op, std::span<const Operand> in, Attrs attrs) {
  Val small[8];
  std::vector<Val> many;
  std::span<Val> vals(small, std::min<size_t>(in.size(), 8));
  if (in.size() > 8) {
    many.resize(in.size());
    vals = many;
  }
  static const OpDef &pow = OpTable::get().at("pow"), &mul = OpTable::get().at("mul"),
                     &cast = OpTable::get().at("cast");
  const bool promoting = op.promote != Promote::kNone;
  const DType t = promoting ? result_dtype(op, in) : DType::F32;
  for (size_t i = 0; i < in.size(); ++i) {
    DType want = t;
    if (!promoting) {
      const DType own = in[i].kind == Operand::kAbsent ? t : in[i].dtype();
      // (a cast takes the whole number: 2^24 + 1 is an int32)
      want = in[i].weak() && own == DType::F64 && &op != &cast ? DType::F32 : own;
    } else if (op.promote == Promote::kSelect && i == 0) {
      want = DType::Bool;
    }
    vals[i] = materialize(b, in[i], want);
  }
  // A square, by the rule of pow itself; said here so that eager mode, to which exponents are
  // operands like any other, need not call pow for it.
  if (&op == &pow && is_two(in[1])) return b.op(mul, std::vector<Val>{vals[0], vals[0]}, {});
  return b.op(op, vals, std::move(attrs));
}

bool computes(const OpDef& op) {
  static const OpDef& identity = OpTable::get().at("identity");
  switch (op.role) {
    case Role::kIdentity: return &op != &identity;
    case Role::kCast:
    case Role::kReshape:
    case Role::kTranspose:
    case Role::kBroadcast:
    case Role::kSlice:
    case Role::kDiagonal: return false;
    default: return true;
  }
}

// Under compute_dtype: its floating operands are cast first, and its floating numbers count as
// such.
Val call_in_compute_dtype(Builder& b, const OpDef& op, std::span<const Operand> in, Attrs attrs) {
  const DType t = *compute_dtype;
  std::vector<Operand> cast(in.begin(), in.end());
  const auto number = [](const Operand& o) { return o.weak() && is_float(o.dtype()); };
  const bool weak = op.promote != Promote::kNone && std::any_of(in.begin(), in.end(), number) &&
                    std::all_of(in.begin(), in.end(), [&](const Operand& o) {
                      return number(o) || o.kind == Operand::kAbsent || !is_inexact(o.dtype());
                    });
  for (auto& o : cast) {
    if (o.kind == Operand::kValue)
      o = Operand(in_compute_dtype(b, o.v));
    else if (number(o) && (weak || op.promote == Promote::kNone))
      o = Operand(materialize(b, o, t));
  }
  return call_as_given(b, op, cast, std::move(attrs));
}

}  // namespace

Val call_op(Builder& b, const OpDef& op, std::span<const Operand> in, Attrs attrs) {
  if (compute_dtype && computes(op)) return call_in_compute_dtype(b, op, in, std::move(attrs));
  return call_as_given(b, op, in, std::move(attrs));
}

}  // namespace pijit
