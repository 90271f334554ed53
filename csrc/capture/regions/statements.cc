#include "capture/regions/statements.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "capture/regions/array_runs.h"
#include "capture/regions/numbers.h"
#include "capture/regions/numpy_calls.h"
#include "capture/regions/ufuncs.h"
#include "objects/ndarray.h"
#include "python/convert.h"
#include "python/names.h"
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

namespace {

constexpr int kMostAxes = region::ArrayLoop::kMostAxes;
constexpr int kMostOperands = region::ArrayLoop::kMostOperands;

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

int add_node(Emitter& e, ArrayNode n) {
  constexpr size_t kMost = 400;
  for (int a : n.args)
    if (a >= 0) n.rank = std::max(n.rank, node(e, a).rank), n.flags |= node(e, a).flags;
  if (e.d.nodes.size() == kMost) leave("a loop has too many operations on arrays");
  e.d.nodes.push_back(std::move(n));
  return static_cast<int>(e.d.nodes.size()) - 1;
}

int op_node(Emitter& e, SOp op, DType t, int a, int b = -1, int c = -1, bool flags = false) {
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

// An operand, in its own dtype; a Python number has none.
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

}  // namespace

const Dtype& array_dtype(Emitter& e, const Av& a) {
  return a.kind == K::kArray ? dtype_of_element(node(e, a.index).type)
                             : dtype_of_part(e, part(e, a));
}

namespace {

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

// What NumPy is asked of an operand.
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

// Functions whose bits instructions give, by the ufunc's name.
struct Row {
  std::string_view name;
  int operands;
  SOp op;
  bool floats, ints, flags;
  // Of numbers, it gives bools.
  bool compares = false;
  bool bools = false;
};
constexpr Row kRows[] = {
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

Av by_row(Emitter& e, const Row& row, DType t, const std::vector<int>& in) {
  const bool real = is_float(t), flags = row.flags && real;
  if (row.compares) return array_of(op_node(e, row.op, DType::Bool, in[0], in[1]));
  if (row.operands == 1 && row.op == SOp::kMul)
    return array_of(op_node(e, row.op, t, in[0], in[0], -1, flags));
  if (!real || (row.op != SOp::kMax && row.op != SOp::kMin))
    return array_of(op_node(e, row.op, t, in[0], row.operands > 1 ? in[1] : -1, -1, flags));
  // the first one where it is no number, and no flags
  const SOp wins = row.op == SOp::kMax ? SOp::kGt : SOp::kLt;
  const int first = op_node(e, SOp::kOr, DType::Bool, op_node(e, wins, DType::Bool, in[0], in[1]),
                            op_node(e, SOp::kNe, DType::Bool, in[0], in[0]));
  const Av r = array_of(op_node(e, SOp::kSelect, t, first, in[0], in[1]));
  e.d.nodes.back().of = in;
  return r;
}

// Nothing: code has no instructions that do it.
std::optional<Av> computed(Emitter& e, PyObject* ufunc, const std::vector<Av>& args) {
  const std::string_view name = ufunc_fields(ufunc)->name;
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.name == name; });
  const std::string told = str_cat("np.", name, "()");
  if (row == std::end(kRows) || static_cast<size_t>(row->operands) != args.size())
    return std::nullopt;
  for (const Av& a : args)
    if (is_part(e, a) && !is_element_type(dtype_of_part(e, part(e, a)))) return std::nullopt;
  if (!underflow_is_ignored(*e.d.r)) leave(str_cat(told, " has no machine code here"));
  e.d.r->numpy = true;
  const auto types = types_of_call(e, ufunc, args, told);
  if (!is_element_type(*types[0])) return std::nullopt;
  const DType t = element_type(*types[0]);
  for (size_t k = 0; k < args.size(); ++k)
    if (types[k] != types[0]) return std::nullopt;
  if (types.back() != (row->compares ? dtype_of('?') : types[0])) return std::nullopt;
  if (t == DType::Bool ? !row->bools : is_float(t) ? !row->floats : !row->ints) return std::nullopt;
  std::vector<int> in;
  for (const Av& a : args)
    in.push_back(is_arrays(e, a) ? as_type(e, leaf(e, a), t)
                                 : number_leaf(e, num(e, a), dtype_of_element(t)));
  return by_row(e, *row, t, in);
}

// What is computed, as an array.
Av settled(Emitter& e, const Av& a) { return a.kind == K::kArray ? made_array(e, a) : a; }

// --- stores

int words_of(Emitter& e, const void* words) {
  return e.d.constant(Type::kPtr, reinterpret_cast<int64_t>(words));
}

// The body of a statement, and what it reads.
class BodyMaker {
 public:
  explicit BodyMaker(Emitter& e) : e_(e) {}
  SVal make(int k) {
    if (const auto it = made_.find(k); it != made_.end()) return it->second;
    const ArrayNode n = node(e_, k);
    SVal v;
    int64_t bits = 0;
    if (n.op != SOp::kInput) {
      std::array<SVal, 3> in;
      for (size_t i = 0; i < 3; ++i)
        if (n.args[i] >= 0) in[i] = make(n.args[i]);
      v = n.op == SOp::kCast ? s_cast(in[0], n.type) : body.op(n.op, n.type, in[0], in[1], in[2]);
    } else if (n.leaf.kind != K::kPart && n.type == DType::F64 &&
               e_.d.is_const(n.leaf.v[0], &bits)) {
      v = body.bits(DType::F64, static_cast<uint64_t>(bits));
    } else {
      v = body.input(input(n), n.type);
    }
    made_.emplace(k, v);
    return v;
  }
  SBuilder body;
  std::vector<ArrayNode> inputs;
  int place_of_input(const ArrayNode& n) const {
    for (size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].type == n.type && same_part(inputs[k].leaf, n.leaf)) return static_cast<int>(k);
    return -1;
  }

 private:
  int input(const ArrayNode& n) {
    if (const int k = place_of_input(n); k >= 0) return k;
    inputs.push_back(n);
    return static_cast<int>(inputs.size()) - 1;
  }
  Emitter& e_;
  std::map<int, SVal> made_;
};

// Room for what tells where a statement's inputs lie.
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

// What a statement reads; it stores nothing yet.
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

// Code that tells a statement where its operands lie. Its words.
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
int add_layout(Emitter& e, const BodyMaker& maker, int k, std::map<int, int>* known,
               std::vector<LayoutStep>* to) {
  if (const auto it = known->find(k); it != known->end()) return it->second;
  const ArrayNode n = node(e, k);
  // NumPy casts some elements at a time
  if (n.op == SOp::kCast) return add_layout(e, maker, n.args[0], known, to);
  LayoutStep step;
  step.itemsize = static_cast<int64_t>(size_of(n.type));
  if (n.op == SOp::kInput) {
    if (n.leaf.kind != K::kPart) return -1;
    step.operand = maker.place_of_input(n);
  } else {
    for (int a : n.of.empty() ? std::vector<int>(n.args.begin(), n.args.end()) : n.of)
      if (const int of = a < 0 ? -1 : add_layout(e, maker, a, known, to); of >= 0)
        step.made.push_back(of);
  }
  to->push_back(std::move(step));
  const int at = static_cast<int>(to->size()) - 1;
  known->emplace(k, at);
  return at;
}

void store_array(Emitter& e, const Av& target, int value) {
  if (!e.may_store)
    leave("a function sets items of an array", "write the function's lines into the loop");
  const int need = array_of_part(e, target).need;
  if (need >= 0 && !array_view(e.d.object_at(target.index), true))
    leave("an array is set that is not writeable");
  const Dtype& d = dtype_of_part(e, target);
  const DType t = element_type(d);
  const int stored = as_type(e, value, t);
  if (node(e, stored).rank > rank_of(target))
    leave("an array is set to one of more axes", "", true);
  BodyMaker maker(e);
  const SVal result = maker.make(stored);
  if (rank_of(target) > kMostAxes) leave("an array has too many axes");
  auto made = statement_of(maker, node(e, stored), result);
  made->operands.push_back({rank_of(target), made->words.size()});
  made->words.resize(made->words.size() + made->operands.back().words());
  const int memory = describe_inputs(e, maker.inputs, *made);
  describe(e, memory, made->operands.back().first, target);
  if (need >= 0) e.d.r->needs[static_cast<size_t>(need)].written = true;
  const int told = e.call(run_statement, e.d.icon(reinterpret_cast<int64_t>(made.get())),
                          e.d.icon(0), e.d.icon(0));
  e.check(e.emit(Op::kIEq, told, e.d.icon(0)));
  e.d.r->statements.push_back(std::move(made));
  e.note_change();
}

// Nothing: it is not one of two vectors.
std::optional<Av> dot(Emitter& e, const Av& given_a, const Av& given_b, bool is_dot) {
  const char* what = "a product of such arrays has no machine code in loops";
  const Av a = settled(e, given_a), b = settled(e, given_b);
  if (!is_part(e, a) || !is_part(e, b)) return std::nullopt;
  const Av x = part(e, a), y = part(e, b);
  const Dtype& d = dtype_of_part(e, x);
  if (rank_of(x) != 1 || rank_of(y) != 1 || d.base != K::kFloat || &d != &dtype_of_part(e, y))
    return std::nullopt;
  if (!underflow_is_ignored(*e.d.r)) leave(what);
  e.d.r->numpy = true;
  PyObject* const matmul = numpy_attribute("matmul");
  const UfuncFields* u = ufunc_fields(matmul);
  const auto code = static_cast<char>(descr_number(element_type(d)));
  const int k = ufunc_loop(u, [&](const char* codes) {
    return codes[0] == code && codes[1] == code && codes[2] == code;
  });
  if (k < 0) return std::nullopt;
  auto made = std::make_shared<Product>();
  made->loop = u->functions[k];
  made->data = data_of_loop(u, k);
  made->a = {1, 0};
  made->b = {1, 4};
  made->is_dot = is_dot;
  made->itemsize = d.bytes;
  const int memory = words_of(e, made->words.data());
  describe(e, memory, 0, x);
  describe(e, memory, made->b.first, y);
  const int told = e.call(run_product, e.d.icon(reinterpret_cast<int64_t>(made.get())), e.d.icon(0),
                          e.d.icon(0));
  e.check(e.emit(Op::kIEq, told, e.d.icon(0)));
  const int at = words_of(e, made->result.data());
  e.d.r->statements.push_back(std::move(made));
  e.d.stores = true;  // of words that the interpreter of regions would have, too
  return loaded(e, d, at, e.d.icon(0));
}

}  // namespace

template <class T>
static Av made_by(Emitter& e, region::CallOut make, std::shared_ptr<T> what, const Dtype& d,
                  int rank) {
  const int made =
      e.call(make, e.d.icon(reinterpret_cast<int64_t>(what.get())), e.d.arena(), e.d.icon(0));
  e.d.r->statements.push_back(std::move(what));
  return new_array(e, made, d, rank);
}

Av made_array(Emitter& e, const Av& a) {
  BodyMaker maker(e);
  const SVal value = maker.make(a.index);
  const ArrayNode n = node(e, a.index);
  if (n.rank > kMostAxes) leave("an array has too many axes");
  auto made = statement_of(maker, n, value);
  const Dtype& d = dtype_of_element(n.type);
  made->format = d.format;
  std::map<int, int> known;
  add_layout(e, maker, a.index, &known, &made->layout);
  describe_inputs(e, maker.inputs, *made);
  return made_by(e, make_array, std::move(made), d, n.rank);
}

namespace {

// An operand of NumPy's own loop, in the loop's dtype.
ArrayNode operand_of(Emitter& e, const Av& a, const Dtype& d) {
  if (!is_arrays(e, a)) return node(e, number_leaf(e, any_number(e, a), d));
  int k = leaf(e, settled(e, a));
  const DType t = element_type(d);
  if (node(e, k).type == t) return node(e, k);
  return node(e, leaf(e, made_array(e, array_of(as_type(e, k, t)))));
}

// A loop of NumPy's own for these dtypes; null: there is none.
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

// By NumPy's own loop; nothing: there is none that code can call.
std::optional<Av> by_loop(Emitter& e, PyObject* ufunc, const std::vector<Av>& args) {
  const UfuncFields* u = ufunc_fields(ufunc);
  if (!is_of_numpy(ufunc) || u->nout != 1 || args.size() != static_cast<size_t>(u->nin))
    return std::nullopt;
  const std::string told = str_cat("np.", u->name, "()");
  if (!underflow_is_ignored(*e.d.r)) leave(str_cat(told, " has no machine code here"));
  e.d.r->numpy = true;
  const auto types = types_of_call(e, ufunc, args, told);
  for (size_t k = 0; k < args.size(); ++k)
    if (is_arrays(e, args[k]) &&
        is_element_type(array_dtype(e, args[k])) != is_element_type(*types[k]))
      return std::nullopt;
  auto made = std::make_shared<Statement>();
  region::ArrayLoopSpec spec;
  spec.foreign = loop_of(ufunc, types, &spec.data);
  if (!spec.foreign) return std::nullopt;
  std::vector<ArrayNode> inputs;
  LayoutStep all;
  for (size_t k = 0; k < args.size(); ++k) {
    inputs.push_back(operand_of(e, args[k], *types[k]));
    spec.in.push_back(inputs.back().type);
    made->rank = std::max(made->rank, inputs.back().rank);
    if (inputs.back().leaf.kind != K::kPart) continue;
    all.made.push_back(static_cast<int>(made->layout.size()));
    made->layout.push_back(
        {static_cast<int>(k), static_cast<int64_t>(size_of(inputs.back().type)), {}});
  }
  made->layout.push_back(std::move(all));
  take_inputs(inputs, made.get());
  const Dtype& d = *types.back();
  made->layout.back().itemsize = d.bytes;
  made->dtype = element_type(d);
  made->format = d.format;
  made->itemsize = d.bytes;
  made->flags = true;
  made->ufunc = ufunc;
  e.d.keep(ufunc);
  for (const ArrayNode& n : inputs) {
    made->descrs.push_back(descr_of(n.type));
    e.d.keep(made->descrs.back());
  }
  spec.out = made->dtype;
  made->loop = region::make_array_loop(std::move(spec));
  describe_inputs(e, inputs, *made);
  return made_by(e, make_array, made, d, made->rank);
}

Av elementwise(Emitter& e, PyObject* ufunc, const std::vector<Av>& args) {
  if (const auto r = computed(e, ufunc, args)) return *r;
  if (const auto r = by_loop(e, ufunc, args)) return *r;
  return called_numpy(e, ufunc, args, nullptr);
}

// Of two matrices, or one and a vector.
std::optional<Av> matrix_product(Emitter& e, const Av& given_a, const Av& given_b) {
  const Av a = settled(e, given_a), b = settled(e, given_b);
  if (!is_part(e, a) || !is_part(e, b)) return std::nullopt;
  const ArrayNode x = node(e, leaf(e, a)), y = node(e, leaf(e, b));
  const Dtype& d = dtype_of_element(x.type);
  if (x.rank > 2 || y.rank > 2 || x.type != y.type || d.base == K::kInt || d.base == K::kBool)
    return std::nullopt;
  if (!underflow_is_ignored(*e.d.r)) return std::nullopt;
  auto made = std::make_shared<MatrixProduct>();
  const Dtype* const types[] = {&d, &d, &d};
  made->loop = loop_of(numpy_attribute("matmul"), types, &made->data);
  if (!made->loop) return std::nullopt;
  e.d.r->numpy = true;
  Statement& s = made->made;
  s.dtype = x.type;
  s.format = d.format;
  s.itemsize = d.bytes;
  s.rank = x.rank + y.rank - 2;
  take_inputs({x, y}, &s);
  describe_inputs(e, {x, y}, s);
  return made_by(e, make_product, made, d, s.rank);
}

// As the operator of arrays does it, which has ways of its own for some exponents.
Av power(Emitter& e, const Av& a, const Av& b) {
  const Av n = is_arrays(e, b) || e.d.typed(b).kind == K::kComplex ? Av{} : num(e, b);
  int64_t by = 0;
  if (!n.of_numpy() && n.kind == K::kInt && e.d.is_const(n.v[0], &by) && by == 2)
    if (array_dtype(e, a).base != K::kBool) return elementwise(e, numpy_attribute("square"), {a});
  const bool of_a = is_arrays(e, a);
  PyObject* const method = type_lookup(reinterpret_cast<PyTypeObject*>(numpy_attribute("ndarray")),
                                       py::object(str_of(of_a ? "__pow__" : "__rpow__")).ptr());
  return called_numpy(e, method, of_a ? std::vector{a, b} : std::vector{b, a}, nullptr);
}

Av by_operator(Emitter& e, BinaryOp op, const Av& a, const Av& b) {
  if (op == BinaryOp::kMatmul) {
    if (const auto r = dot(e, a, b, false)) return *r;
    if (const auto r = matrix_product(e, a, b)) return *r;
    return called_numpy(e, numpy_attribute("matmul"), {a, b}, nullptr);
  }
  if (op == BinaryOp::kPow) return power(e, a, b);
  const char* ufunc = ufunc_of(op);
  if (!ufunc) leave("an operator of arrays has no machine code in loops", "", true);
  return elementwise(e, numpy_attribute(ufunc), {a, b});
}

}  // namespace

Av array_binary(Emitter& e, BinaryOp op, bool in_place, const Av& a, const Av& b) {
  if (!in_place || !is_arrays(e, a)) return by_operator(e, op, a, b);
  if (op == BinaryOp::kMatmul || op == BinaryOp::kPow) leave("an array changes in place", "", true);
  const Av r = by_operator(e, op, a, b);
  const DType t = node(e, leaf(e, r)).type;
  if (a.kind == K::kArray) {
    if (t != node(e, a.index).type) leave("an array changes in place");
    return r;
  }
  const Av target = part(e, a);
  if (is_float(t) != is_float(element_type(dtype_of_part(e, target))) || t == DType::Bool)
    leave("an array changes in place");  // NumPy raises
  store_array(e, target, leaf(e, r));
  return a;
}

std::optional<Av> outer(Emitter& e, PyObject* ufunc, const Av& given_a, const Av& given_b) {
  const Av a = settled(e, given_a), b = settled(e, given_b);
  if (!is_part(e, a) || !is_part(e, b) || rank_of(part(e, a)) != 1 || rank_of(part(e, b)) != 1)
    return std::nullopt;
  Av all, column, row;
  all.kind = K::kSlice;
  all.items.assign(3, e.d.object(Py_None));
  column.kind = row.kind = K::kTuple;
  column.items = {all, e.d.object(Py_None)};
  row.items = {e.d.object(Py_None), all};
  return elementwise(e, ufunc, {taken(e, a, column), taken(e, b, row)});
}

Av array_unary(Emitter& e, UnaryOp op, const Av& a) {
  if (op == UnaryOp::kNot) leave("the truth of an array is asked for");
  const char* ufunc = op == UnaryOp::kNeg   ? "negative"
                      : op == UnaryOp::kPos ? "positive"
                                            : "invert";
  return elementwise(e, numpy_attribute(ufunc), {a});
}

Av array_abs(Emitter& e, const Av& a) { return elementwise(e, numpy_attribute("absolute"), {a}); }

Av array_compare(Emitter& e, CompareOp op, const Av& a, const Av& b) {
  return elementwise(e, numpy_attribute(ufunc_of(op)), {a, b});
}

// Nothing: the condition is none, or NumPy has the result in a dtype that code has not.
static std::optional<Av> where(Emitter& e, const std::vector<Av>& args) {
  for (const Av& a : args)
    if (is_part(e, a) && !is_element_type(dtype_of_part(e, part(e, a)))) return std::nullopt;
  if (!is_arrays(e, args[0])) return std::nullopt;
  const int condition = leaf(e, args[0]);
  if (node(e, condition).type != DType::Bool) return std::nullopt;
  std::vector<py::object> of;
  for (size_t k = 1; k < 3; ++k) {
    const Av a = e.d.typed(args[k]);
    if (!is_arrays(e, a) && !a.is_number()) return std::nullopt;
    const py::object spec = spec_of_operand(e, a);
    // a number of Python's takes the other one's dtype, where it fits
    of.push_back(PyType_Check(spec.ptr()) ? spec(1) : spec);
  }
  const py::object type = py::handle(numpy_attribute("result_type"))(of[0], of[1]);
  const Dtype* d = dtype_of(text_of(py::object(type.attr("char")).ptr())[0]);
  if (!d || !is_element_type(*d)) return std::nullopt;
  std::vector<int> in{condition};
  for (size_t k = 1; k < 3; ++k)
    in.push_back(is_arrays(e, args[k]) ? as_type(e, leaf(e, args[k]), element_type(*d))
                                       : number_leaf(e, num(e, args[k]), *d));
  const Av r = array_of(op_node(e, SOp::kSelect, element_type(*d), in[0], in[1], in[2]));
  e.d.nodes.back().of = std::move(in);
  return r;
}

void store_part(Emitter& e, const Av& value, const Av& of, const Av& index) {
  if (!is_part(e, of)) leave(str_cat("a part of ", a_(e.d.described(e.d.typed(of))), " is set"));
  const Av target = taken(e, of, index);
  if (target.kind != K::kPart) leave("an element is set to an array", "", true);
  if (value.kind == K::kPart && same_part(value, target)) return;  // it was changed in place
  int x = -1;
  if (is_arrays(e, value)) {
    x = leaf(e, value);
    for (const Av& a : e.now().stack)
      if (&a != &value && a.kind == K::kArray && a.index != value.index)
        leave("an array is computed while another one is set");
  } else {
    const Av n = num(e, value);
    const Dtype& d = dtype_of_part(e, target);
    if (d.base == K::kInt && n.kind == K::kFloat)
      leave("a part of an array of ints is set to a float");
    x = number_leaf(e, n, d);
  }
  store_array(e, target, x);
}

Av gathered(Emitter& e, const Av& given, const Av& index) {
  const Av of = settled(e, given), by = settled(e, index);
  const int from = leaf(e, of), places = is_part(e, by) ? leaf(e, by) : -1;
  const DType t = places < 0 ? DType::F64 : node(e, places).type;
  const bool native = t == DType::Bool || t == DType::I64 || t == DType::I32;
  const int rank = places < 0 ? 0 : node(e, places).rank;
  if (!native || node(e, from).rank != rank || (rank != 1 && t != DType::Bool)) {
    PyObject* const get = type_lookup(reinterpret_cast<PyTypeObject*>(numpy_attribute("ndarray")),
                                      py::object(str_of("__getitem__")).ptr());
    return called_numpy(e, get, {of, by}, nullptr);
  }
  auto made = std::make_shared<Gather>();
  made->is_mask = t == DType::Bool;
  for (int k : {from, places}) {
    made->descrs.push_back(descr_of(node(e, k).type));
    e.d.keep(made->descrs.back());
  }
  made->wide = t == DType::I64;
  Statement& s = made->made;
  const Dtype& d = dtype_of_element(node(e, from).type);
  s.dtype = node(e, from).type;
  s.format = d.format;
  s.itemsize = d.bytes;
  s.rank = 1;
  const std::vector<ArrayNode> inputs{node(e, from), node(e, places)};
  take_inputs(inputs, &s);
  describe_inputs(e, inputs, s);
  return made_by(e, make_gathered, made, d, 1);
}

// A sum, mean, largest or smallest element; nothing: it is none of these that code has.
static std::optional<Av> reduced(Emitter& e, PyObject* fn, const Av& of) {
  struct Row {
    std::string_view name, ufunc;
    bool has_start, divides;
  };
  constexpr Row kReductions[] = {
      {"sum", "add", true, false},      {"mean", "add", true, true},
      {"max", "maximum", false, false}, {"amax", "maximum", false, false},
      {"min", "minimum", false, false}, {"amin", "minimum", false, false}};
  const std::string name = text_of(py::object(py::getattr(py::handle(fn), "__name__")).ptr());
  const auto row = std::find_if(std::begin(kReductions), std::end(kReductions),
                                [&](const Row& r) { return r.name == name; });
  if (row == std::end(kReductions) || !is_arrays(e, of)) return std::nullopt;
  if (!numpy_reduces_at_once() || !underflow_is_ignored(*e.d.r)) return std::nullopt;
  const Av a = settled(e, of);
  const Dtype& d = dtype_of_part(e, part(e, a));
  if (d.format != 'd' || rank_of(part(e, a)) != 1) return std::nullopt;
  auto made = std::make_shared<Reduction>();
  const Dtype* const types[] = {&d, &d, &d};
  made->loop = loop_of(numpy_attribute(std::string(row->ufunc).c_str()), types, &made->data);
  if (!made->loop) return std::nullopt;
  made->of = {1, 0};
  made->has_start = row->has_start;
  made->divides = row->divides;
  e.d.r->numpy = true;
  describe(e, words_of(e, made->words.data()), 0, part(e, a));
  const int told = e.call(run_reduction, e.d.icon(reinterpret_cast<int64_t>(made.get())),
                          e.d.icon(0), e.d.icon(0));
  e.check(e.emit(Op::kIEq, told, e.d.icon(0)));
  e.d.stores = true;  // of words that the interpreter of regions would have, too
  const int at = words_of(e, &made->result);
  e.d.r->statements.push_back(std::move(made));
  return loaded(e, d, at, e.d.icon(0));
}

// Along an axis that is known; nothing: it is another function, or other arguments.
static std::optional<Av> rolled(Emitter& e, PyObject* fn, const std::vector<Av>& args,
                                PyObject* names) {
  const bool named =
      names && PyTuple_GET_SIZE(names) == 1 && text_of(PyTuple_GET_ITEM(names, 0)) == "axis";
  if (fn != numpy_attribute("roll") || (names && !named) || args.size() < 2 || args.size() > 3 ||
      !is_arrays(e, args[0]))
    return std::nullopt;
  const Av shift = e.d.typed(args[1]), axis = args.size() > 2 ? e.d.typed(args[2]) : Av{};
  const Av of = settled(e, args[0]);
  const ArrayNode x = node(e, leaf(e, of));
  int64_t along = 0;
  const bool flat = args.size() == 2 && x.rank == 1;
  if (shift.kind != K::kInt || shift.index ||
      !(flat || (axis.kind == K::kInt && e.d.is_const(axis.v[0], &along))))
    return std::nullopt;
  if (along < 0) along += x.rank;
  if (along < 0 || along >= x.rank) return std::nullopt;
  auto made = std::make_shared<Roll>();
  made->axis = static_cast<int>(along);
  Statement& s = made->made;
  const Dtype& d = dtype_of_element(x.type);
  s.dtype = x.type;
  s.format = d.format;
  s.itemsize = d.bytes;
  s.rank = x.rank;
  s.layout = {{0, d.bytes, {}}, {-1, d.bytes, {0}}};
  take_inputs({x}, &s);
  describe_inputs(e, {x}, s);
  store_word(e, words_of(e, &made->shift), 0, Op::kStoreI64, shift.v[0]);
  return made_by(e, make_rolled, made, d, s.rank);
}

std::optional<Av> array_function(Emitter& e, PyObject* fn, const std::vector<Av>& args,
                                 PyObject* names) {
  if (std::none_of(args.begin(), args.end(), [&](const Av& a) { return is_arrays(e, a); }))
    return std::nullopt;
  if (names) return rolled(e, fn, args, names);
  if (is_ufunc(fn) && is_of_numpy(fn)) return elementwise(e, fn, args);
  const auto is = [&](const char* name, size_t count) {
    return args.size() == count && fn == numpy_attribute(name);
  };
  if (is("where", 3)) return where(e, args);
  if (is("dot", 2)) return dot(e, args[0], args[1], true);
  if (is("matmul", 2)) return by_operator(e, BinaryOp::kMatmul, args[0], args[1]);
  if (is("outer", 2)) return outer(e, numpy_attribute("multiply"), args[0], args[1]);
  if (is("flip", 1)) return flipped(e, settled(e, args[0]));
  if (args.size() == 1) return reduced(e, fn, args[0]);
  return rolled(e, fn, args, names);
}

}  // namespace pijit::regions
