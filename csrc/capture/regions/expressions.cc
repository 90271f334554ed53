#include "capture/regions/expressions.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.h"
#include "capture/regions/numbers.h"
#include "capture/regions/ufuncs.h"
#include "objects/ndarray.h"
#include "python/convert.h"
#include "runtime/guard.h"

namespace pijit::regions {

void store_word(Emitter& e, int memory, size_t k, Op op, int value) {
  e.add(ins(op, Type::kNone, memory, e.d.icon(static_cast<int64_t>(k * sizeof(int64_t))), value));
}

void describe(Emitter& e, int memory, size_t first, const Av& part) {
  const Place p = place_of(e, part);
  store_word(e, memory, first++, Op::kStoreI64, p.array->data);
  store_word(e, memory, first++, Op::kStoreI64, p.offset);
  for (int n : p.sizes) store_word(e, memory, first++, Op::kStoreI64, n);
  for (int n : p.strides) store_word(e, memory, first++, Op::kStoreI64, n);
}

static int word_of_made(Emitter& e, int made, size_t at) {
  return e.emit(Op::kLoadI64, made, e.d.icon(static_cast<int64_t>(at)));
}

Av new_array(Emitter& e, int made, const Dtype& d, int rank) {
  e.check(e.emit(Op::kINe, made, e.d.icon(0)));
  e.d.stores = true;  // it is another object in each run
  e.arrays_were_made();
  Av r;
  r.kind = K::kNewArray;
  r.index = d.format;
  r.v = {made, word_of_made(e, made, offsetof(MadeArray, data)), kNoValue};
  for (int k = 0; k < rank; ++k) {
    Av axis;
    axis.kind = K::kExtent;
    const size_t at = static_cast<size_t>(k) * sizeof(int64_t);
    axis.v[0] = word_of_made(e, made, offsetof(MadeArray, sizes) + at);
    axis.v[1] =
        rank == 1 ? e.d.icon(d.bytes) : word_of_made(e, made, offsetof(MadeArray, strides) + at);
    r.items.push_back(std::move(axis));
  }
  return r;
}

DType element_type(const Dtype& d) {
  switch (d.format) {
    case '?': return DType::Bool;
    case 'd': return DType::F64;
    case 'f': return DType::F32;
    case 'l': return DType::I64;
    case 'i': return DType::I32;
    case 'h': return DType::I16;
    case 'b': return DType::I8;
    case 'I': return DType::U32;
    case 'H': return DType::U16;
    case 'B': return DType::U8;
    case 'D': return DType::C128;
    case 'F': return DType::C64;
    default: leave(str_cat("whole arrays of ", d.name, " are computed with"), kNumbers, true);
  }
}

bool is_element_type(const Dtype& d) {
  return d.base != K::kComplex && &d != &kByte && &d != &kText;
}

const Dtype& dtype_of_element(DType t) {
  for (const Dtype& d : kDtypes)
    if (element_type(d) == t) return d;
  PIJIT_CHECK(false, "a dtype that regions do not have");
}

const ArrayNode& node(Emitter& e, int k) { return e.d.nodes[static_cast<size_t>(k)]; }

static int add_node(Emitter& e, ArrayNode n) {
  constexpr size_t kMost = 400;
  for (int a : n.args)
    if (a >= 0) n.rank = std::max(n.rank, node(e, a).rank), n.flags |= node(e, a).flags;
  if (e.d.nodes.size() == kMost) leave("a loop has too many operations on arrays");
  e.d.nodes.push_back(std::move(n));
  return static_cast<int>(e.d.nodes.size()) - 1;
}

int op_node(Emitter& e, SOp op, DType t, int a, int b, int c, bool flags) {
  ArrayNode n;
  n.op = op;
  n.type = t;
  n.args = {a, b, c};
  n.flags = flags;
  return add_node(e, std::move(n));
}

Av array_of(int k) {
  Av a;
  a.kind = K::kArray;
  a.index = k;
  return a;
}

int leaf(Emitter& e, const Av& a) {
  if (a.kind == K::kArray) return a.index;
  ArrayNode n;
  n.leaf = part(e, a);
  n.rank = rank_of(n.leaf);
  n.type = element_type(dtype_of_part(e, n.leaf));
  return add_node(e, std::move(n));
}

int number_leaf(Emitter& e, const Av& a, const Dtype& d) {
  ArrayNode n;
  n.type = element_type(d);
  n.leaf = number_as(e, a, d);
  return add_node(e, std::move(n));
}

const Dtype& array_dtype(Emitter& e, const Av& a) {
  return a.kind == K::kArray ? dtype_of_element(node(e, a.index).type)
                             : dtype_of_part(e, part(e, a));
}

int as_type(Emitter& e, int k, DType t) {
  const DType from = node(e, k).type;
  if (from == t) return k;
  if (is_float(from) && !is_float(t)) leave("an array of floats becomes one of ints");
  if (!is_element_type(dtype_of_element(from)) || !is_element_type(dtype_of_element(t)))
    leave("an array of numbers becomes one of complex numbers, or the other way", "", true);
  return op_node(e, SOp::kCast, t, k, -1, -1, is_float(from) && size_of(t) < size_of(from));
}

Av any_number(Emitter& e, const Av& a) {
  const Av t = e.d.typed(a);
  return t.kind == K::kComplex ? t : num(e, a);
}

py::object spec_of_operand(Emitter& e, const Av& a) {
  if (!is_arrays(e, a)) return spec_of(any_number(e, a));
  const DType t =
      a.kind == K::kArray ? node(e, a.index).type : element_type(dtype_of_part(e, part(e, a)));
  return py::reinterpret_borrow<py::object>(descr_of(t));
}

std::vector<const Dtype*> types_of_call(Emitter& e, PyObject* ufunc, const std::vector<Av>& args,
                                        const std::string& told) {
  py::tuple specs(args.size() + 1);
  for (size_t k = 0; k < args.size(); ++k) specs[k] = spec_of_operand(e, args[k]);
  specs[args.size()] = py::none();
  return resolved_types(ufunc, specs, told);
}

namespace {

// Functions whose bits instructions give, by the ufunc's name.
struct Instruction {
  std::string_view name;
  int operands;
  SOp op;
  bool floats, ints, flags;
  // Of numbers, it gives bools.
  bool compares = false;
  bool bools = false;
};
constexpr Instruction kInstructions[] = {
    {"less", 2, SOp::kLt, true, true, false, true},
    {"less_equal", 2, SOp::kLe, true, true, false, true},
    {"greater", 2, SOp::kGt, true, true, false, true},
    {"greater_equal", 2, SOp::kGe, true, true, false, true},
    {"equal", 2, SOp::kEq, true, true, false, true},
    {"not_equal", 2, SOp::kNe, true, true, false, true},
    {"bitwise_and", 2, SOp::kAnd, false, false, false, false, true},
    {"bitwise_or", 2, SOp::kOr, false, false, false, false, true},
    {"bitwise_xor", 2, SOp::kXor, false, false, false, false, true},
    {"invert", 1, SOp::kNot, false, false, false, false, true},
    {"logical_and", 2, SOp::kAnd, false, false, false, false, true},
    {"logical_or", 2, SOp::kOr, false, false, false, false, true},
    {"logical_xor", 2, SOp::kXor, false, false, false, false, true},
    {"logical_not", 1, SOp::kNot, false, false, false, false, true},
    {"add", 2, SOp::kAdd, true, true, true},
    {"subtract", 2, SOp::kSub, true, true, true},
    {"multiply", 2, SOp::kMul, true, true, true},
    {"divide", 2, SOp::kDiv, true, false, true},
    {"negative", 1, SOp::kNeg, true, true, false},
    {"absolute", 1, SOp::kAbs, true, true, false},
    {"fabs", 1, SOp::kAbs, true, false, false},
    {"sqrt", 1, SOp::kSqrt, true, false, true},
    {"maximum", 2, SOp::kMax, true, true, false},
    {"minimum", 2, SOp::kMin, true, true, false},
    {"square", 1, SOp::kMul, true, true, true},
};

Av by_fast(Emitter& e, const FastUfunc& fast, DType t, const std::vector<int>& in) {
  ArrayNode n;
  n.op = SOp::kCall1;
  n.fast = &fast;
  n.type = t;
  std::copy(in.begin(), in.end(), n.args.begin());
  n.flags = true;
  return array_of(add_node(e, std::move(n)));
}

Av by_row(Emitter& e, const Instruction& row, DType t, const std::vector<int>& in) {
  const bool real = is_float(t), flags = row.flags && real;
  if (row.compares) return array_of(op_node(e, row.op, DType::Bool, in[0], in[1]));
  if (row.operands == 1 && row.op == SOp::kMul)
    return array_of(op_node(e, row.op, t, in[0], in[0], -1, flags));
  if (!real || (row.op != SOp::kMax && row.op != SOp::kMin))
    return array_of(op_node(e, row.op, t, in[0], row.operands > 1 ? in[1] : -1, -1, flags));
  const Av r = array_of(extreme(row.op == SOp::kMax ? SOp::kGt : SOp::kLt, t, in[0], in[1],
                                [&](SOp o, DType of, int a, int b, int c) {
                                  return op_node(e, o, of, a, b, o == SOp::kSelect ? c : -1);
                                }));
  e.d.nodes.back().of = in;
  return r;
}

}  // namespace

std::optional<Av> computed(Emitter& e, PyObject* ufunc, const std::vector<Av>& args) {
  const std::string_view name = ufunc_fields(ufunc)->name;
  const auto row = std::find_if(std::begin(kInstructions), std::end(kInstructions),
                                [&](const Instruction& r) { return r.name == name; });
  const std::string told = str_cat("np.", name, "()");
  const FastUfunc* const fast = e.d.fast ? fast_ufunc(name) : nullptr;
  const bool has_row = row != std::end(kInstructions);
  if (!fast && !has_row) return std::nullopt;
  const auto operands = static_cast<size_t>(ufunc_fields(ufunc)->nin);
  if (operands != args.size() || operands > ArrayNode().args.size()) return std::nullopt;
  for (const Av& a : args)
    if (is_part(e, a) && !is_element_type(dtype_of_part(e, part(e, a)))) return std::nullopt;
  if (!underflow_is_ignored(*e.d.r)) leave(str_cat(told, " has no machine code here"));
  e.d.r->numpy = true;
  const auto types = types_of_call(e, ufunc, args, told);
  if (!is_element_type(*types[0])) return std::nullopt;
  const DType t = element_type(*types[0]);
  for (size_t k = 0; k < args.size(); ++k)
    if (types[k] != types[0]) return std::nullopt;
  if (types.back() != (has_row && row->compares ? dtype_of('?') : types[0])) return std::nullopt;
  if (fast && !is_float(t)) return std::nullopt;
  if (!fast && (t == DType::Bool ? !row->bools : is_float(t) ? !row->floats : !row->ints))
    return std::nullopt;
  std::vector<int> in;
  for (const Av& a : args)
    in.push_back(is_arrays(e, a) ? as_type(e, leaf(e, a), t)
                                 : number_leaf(e, num(e, a), dtype_of_element(t)));
  return fast ? by_fast(e, *fast, t, in) : by_row(e, *row, t, in);
}

Av settled(Emitter& e, const Av& a) { return a.kind == K::kArray ? made_array(e, a) : a; }

int words_of(Emitter& e, const void* words) {
  return e.d.constant(Type::kPtr, reinterpret_cast<int64_t>(words));
}

SVal BodyMaker::make(int k) {
  if (const auto it = made_.find(k); it != made_.end()) return it->second;
  const ArrayNode n = node(e_, k);
  SVal v;
  int64_t bits = 0;
  if (n.op != SOp::kInput) {
    std::array<SVal, 3> in;
    for (size_t i = 0; i < 3; ++i)
      if (n.args[i] >= 0) in[i] = make(n.args[i]);
    if (n.fast)
      v = n.fast->scalar(body, std::span(in.data(), n.args[1] >= 0 ? 2U : 1U), n.type);
    else
      v = n.op == SOp::kCast ? s_cast(in[0], n.type) : body.op(n.op, n.type, in[0], in[1], in[2]);
  } else if (n.leaf.kind != K::kPart && n.type == DType::F64 && e_.d.is_const(n.leaf.v[0], &bits)) {
    v = body.bits(DType::F64, static_cast<uint64_t>(bits));
  } else {
    v = body.input(input(n), n.type);
  }
  made_.emplace(k, v);
  return v;
}

int BodyMaker::place_of_input(const ArrayNode& n) const {
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].type == n.type && same_part(inputs[k].leaf, n.leaf)) return static_cast<int>(k);
  return -1;
}

int BodyMaker::input(const ArrayNode& n) {
  if (const int k = place_of_input(n); k >= 0) return k;
  inputs.push_back(n);
  return static_cast<int>(inputs.size()) - 1;
}

void take_inputs(const std::vector<ArrayNode>& inputs, Statement* made) {
  if (inputs.size() + 1 > static_cast<size_t>(kMostOperands))
    leave("a line reads too many arrays", "two lines");
  for (const ArrayNode& n : inputs) {
    made->operands.push_back({n.rank, made->words.size()});
    // a number lies behind what describes it, in two words where it is complex
    made->words.resize(made->words.size() + made->operands.back().words() +
                       (n.leaf.kind != K::kPart ? 2 : 0));
  }
}

std::shared_ptr<Statement> statement_of(const BodyMaker& maker, const ArrayNode& result,
                                        const SVal& value) {
  auto made = std::make_shared<Statement>();
  take_inputs(maker.inputs, made.get());
  region::ArrayLoopSpec spec;
  for (const ArrayNode& n : maker.inputs) spec.in.push_back(n.type);
  made->flags = result.flags;
  made->dtype = spec.out = result.type;
  made->itemsize = static_cast<int64_t>(size_of(result.type));
  made->rank = result.rank;
  spec.body = maker.body.nodes;
  spec.node = value.id;
  made->copies = result.op == SOp::kInput && result.leaf.kind == K::kPart;
  // without one, it copies
  if (is_element_type(dtype_of_element(result.type)))
    made->loop = region::make_array_loop(std::move(spec));
  else if (!made->copies)
    leave("whole arrays of complex numbers are computed with", "", true);
  return made;
}

int describe_inputs(Emitter& e, const std::vector<ArrayNode>& inputs, Statement& made) {
  const int memory = words_of(e, made.words.data());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ArrayNode& n = inputs[k];
    const size_t first = made.operands[k].first;
    if (n.leaf.kind == K::kPart) {
      describe(e, memory, first, n.leaf);
      continue;
    }
    made.words[first] = reinterpret_cast<int64_t>(&made.words[first + 2]);
    const Dtype& of = dtype_of_element(n.type);
    const int x = n.leaf.kind == K::kBool ? e.emit(Op::kBToI, n.leaf.v[0]) : n.leaf.v[0];
    store_word(e, memory, first + 2, of.store, x);
    if (n.leaf.kind != K::kComplex) continue;
    const auto behind = static_cast<int64_t>((first + 2) * sizeof(int64_t)) + of.bytes / 2;
    e.add(ins(of.store, Type::kNone, memory, e.d.icon(behind), n.leaf.v[1]));
  }
  return memory;
}

// The step that makes a node, behind those of what it is made of; -1: it is a number.
static int layout_step(Emitter& e, const BodyMaker& maker, int k, std::map<int, int>* known,
                       std::vector<LayoutStep>* to) {
  if (const auto it = known->find(k); it != known->end()) return it->second;
  const ArrayNode n = node(e, k);
  // NumPy casts some elements at a time
  if (n.op == SOp::kCast) return layout_step(e, maker, n.args[0], known, to);
  LayoutStep step;
  step.itemsize = static_cast<int64_t>(size_of(n.type));
  if (n.op == SOp::kInput) {
    if (n.leaf.kind != K::kPart) return -1;
    step.operand = maker.place_of_input(n);
  } else {
    for (int a : n.of.empty() ? std::vector<int>(n.args.begin(), n.args.end()) : n.of)
      if (const int of = a < 0 ? -1 : layout_step(e, maker, a, known, to); of >= 0)
        step.made.push_back(of);
  }
  to->push_back(std::move(step));
  const int at = static_cast<int>(to->size()) - 1;
  known->emplace(k, at);
  return at;
}

void add_layout(Emitter& e, const BodyMaker& maker, int k, Statement* made) {
  std::map<int, int> known;
  layout_step(e, maker, k, &known, &made->layout);
}

Av made_array(Emitter& e, const Av& a) {
  BodyMaker maker(e);
  const SVal value = maker.make(a.index);
  const ArrayNode n = node(e, a.index);
  if (n.rank > kMostAxes) leave("an array has too many axes");
  auto made = statement_of(maker, n, value);
  const Dtype& d = dtype_of_element(n.type);
  made->format = d.format;
  add_layout(e, maker, a.index, made.get());
  describe_inputs(e, maker.inputs, *made);
  return made_by(e, make_array, std::move(made), d, n.rank);
}

UfuncLoop loop_of(PyObject* ufunc, std::span<const Dtype* const> types, void** data) {
  const UfuncFields* u = ufunc_fields(ufunc);
  const int k = ufunc_loop(u, [&](const char* codes) {
    for (size_t i = 0; i < types.size(); ++i)
      if (codes[i] != static_cast<char>(descr_number(element_type(*types[i])))) return false;
    return true;
  });
  if (k < 0) return nullptr;
  *data = data_of_loop(u, k);
  return u->functions[k];
}

}  // namespace pijit::regions
