#include "capture/regions/statements.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "capture/regions/array_runs.h"
#include "capture/regions/numbers.h"
#include "capture/regions/ufuncs.h"
#include "objects/ndarray.h"
#include "python/convert.h"
#include "python/names.h"
#include "runtime/guard.h"

namespace pijit::regions {

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
    default: leave(str_cat("whole arrays of ", d.name, " are computed with"), kNumbers, true);
  }
}

const Dtype& dtype_of_element(DType t) {
  for (const Dtype& d : kDtypes)
    if (d.base != K::kComplex && element_type(d) == t) return d;
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

int as_type(Emitter& e, int k, DType t) {
  const DType from = node(e, k).type;
  if (from == t) return k;
  if (is_float(from) && !is_float(t)) leave("an array of floats becomes one of ints");
  return op_node(e, SOp::kCast, t, k, -1, -1, is_float(from) && size_of(t) < size_of(from));
}

// What NumPy is asked of an operand.
py::object spec_of_operand(Emitter& e, const Av& a) {
  if (!is_arrays(e, a)) return spec_of(num(e, a));
  const DType t =
      a.kind == K::kArray ? node(e, a.index).type : element_type(dtype_of_part(e, part(e, a)));
  return py::reinterpret_borrow<py::object>(descr_of(t));
}

// Functions whose bits instructions give, by the ufunc's name.
struct Row {
  std::string_view name;
  int operands;
  SOp op;
  bool floats, ints, flags;
};
constexpr Row kRows[] = {
    {"add", 2, SOp::kAdd, true, true, true},       {"subtract", 2, SOp::kSub, true, true, true},
    {"multiply", 2, SOp::kMul, true, true, true},  {"divide", 2, SOp::kDiv, true, false, true},
    {"negative", 1, SOp::kNeg, true, true, false}, {"absolute", 1, SOp::kAbs, true, true, false},
    {"fabs", 1, SOp::kAbs, true, false, false},    {"sqrt", 1, SOp::kSqrt, true, false, true},
    {"maximum", 2, SOp::kMax, true, true, false},  {"minimum", 2, SOp::kMin, true, true, false},
    {"square", 1, SOp::kMul, true, true, true},
};

Av by_row(Emitter& e, const Row& row, DType t, const std::vector<int>& in) {
  const bool real = is_float(t), flags = row.flags && real;
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

Av computed(Emitter& e, PyObject* ufunc, const std::vector<Av>& args) {
  const std::string_view name = ufunc_fields(ufunc)->name;
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.name == name; });
  const std::string told = str_cat("np.", name, "()");
  if (row == std::end(kRows) || static_cast<size_t>(row->operands) != args.size())
    leave(str_cat(told, " of arrays has no machine code in loops"), "", true);
  if (!underflow_is_ignored(*e.d.r)) leave(str_cat(told, " has no machine code here"));
  e.d.r->numpy = true;
  py::tuple specs(args.size() + 1);
  for (size_t k = 0; k < args.size(); ++k) specs[k] = spec_of_operand(e, args[k]);
  specs[args.size()] = py::none();
  const auto types = resolved_types(ufunc, specs, told);
  const DType t = element_type(*types[0]);
  for (const Dtype* d : types)
    if (element_type(*d) != t || t == DType::Bool)
      leave(str_cat(told, " of such arrays has no machine code in loops"), "", true);
  if (is_float(t) ? !row->floats : !row->ints)
    leave(str_cat(told, " of such arrays has no machine code in loops"), "", true);
  std::vector<int> in;
  for (const Av& a : args)
    in.push_back(is_arrays(e, a) ? as_type(e, leaf(e, a), t)
                                 : number_leaf(e, num(e, a), dtype_of_element(t)));
  return by_row(e, *row, t, in);
}

// --- stores

void store_word(Emitter& e, int memory, size_t k, Op op, int value) {
  e.add(ins(op, Type::kNone, memory, e.d.icon(static_cast<int64_t>(k * sizeof(int64_t))), value));
}

// Code that describes a view, in words from `first` on.
void describe(Emitter& e, int memory, size_t first, const Av& part) {
  const Place p = place_of(e, part);
  store_word(e, memory, first++, Op::kStoreI64, p.array->data);
  store_word(e, memory, first++, Op::kStoreI64, p.offset);
  for (int n : p.sizes) store_word(e, memory, first++, Op::kStoreI64, n);
  for (int n : p.strides) store_word(e, memory, first++, Op::kStoreI64, n);
}

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

int word_of_made(Emitter& e, int made, size_t at) {
  return e.emit(Op::kLoadI64, made, e.d.icon(static_cast<int64_t>(at)));
}

// What a call gave; 0: CPython is to do it.
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

// What a statement reads; it stores nothing yet.
std::shared_ptr<Statement> statement_of(const BodyMaker& maker, const ArrayNode& result,
                                        const SVal& value) {
  if (maker.inputs.size() + 1 > static_cast<size_t>(kMostOperands))
    leave("a line reads too many arrays", "two lines");
  auto made = std::make_shared<Statement>();
  region::ArrayLoopSpec spec;
  for (const ArrayNode& n : maker.inputs) {
    made->operands.push_back({n.rank, made->words.size()});
    // a number lies behind what describes it
    made->words.resize(made->words.size() + made->operands.back().words() +
                       (n.leaf.kind != K::kPart));
    spec.in.push_back(n.type);
  }
  made->flags = result.flags;
  made->dtype = spec.out = result.type;
  made->itemsize = static_cast<int64_t>(size_of(result.type));
  made->rank = result.rank;
  spec.body = maker.body.nodes;
  spec.node = value.id;
  made->loop = region::make_array_loop(std::move(spec));
  return made;
}

// Code that tells a statement where its operands lie. Its words.
int describe_inputs(Emitter& e, const BodyMaker& maker, Statement& made) {
  const int memory = words_of(e, made.words.data());
  for (size_t k = 0; k < maker.inputs.size(); ++k) {
    const ArrayNode& n = maker.inputs[k];
    const size_t first = made.operands[k].first;
    if (n.leaf.kind == K::kPart) {
      describe(e, memory, first, n.leaf);
      continue;
    }
    made.words[first] = reinterpret_cast<int64_t>(&made.words[first + 2]);
    const Dtype& of = dtype_of_element(n.type);
    const int x = n.leaf.kind == K::kBool ? e.emit(Op::kBToI, n.leaf.v[0]) : n.leaf.v[0];
    store_word(e, memory, first + 2, of.store, x);
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
  const int memory = describe_inputs(e, maker, *made);
  describe(e, memory, made->operands.back().first, target);
  if (need >= 0) e.d.r->needs[static_cast<size_t>(need)].written = true;
  const int told = e.call(run_statement, e.d.icon(reinterpret_cast<int64_t>(made.get())),
                          e.d.icon(0), e.d.icon(0));
  e.check(e.emit(Op::kIEq, told, e.d.icon(0)));
  e.d.r->statements.push_back(std::move(made));
  e.d.stores = true;
}

Av dot(Emitter& e, const Av& a, const Av& b, bool is_dot) {
  const char* what = "a product of such arrays has no machine code in loops";
  if (!is_part(e, a) || !is_part(e, b)) leave(what, "", true);
  const Av x = part(e, a), y = part(e, b);
  const Dtype& d = dtype_of_part(e, x);
  if (rank_of(x) != 1 || rank_of(y) != 1 || d.base != K::kFloat || &d != &dtype_of_part(e, y))
    leave(what, "", true);
  if (!underflow_is_ignored(*e.d.r)) leave(what);
  e.d.r->numpy = true;
  PyObject* const matmul = numpy_attribute("matmul");
  const UfuncFields* u = ufunc_fields(matmul);
  const auto code = static_cast<char>(descr_number(element_type(d)));
  const int k = ufunc_loop(u, [&](const char* codes) {
    return codes[0] == code && codes[1] == code && codes[2] == code;
  });
  if (k < 0) leave(what, "", true);
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
  describe_inputs(e, maker, *made);
  const int x =
      e.call(make_array, e.d.icon(reinterpret_cast<int64_t>(made.get())), e.d.arena(), e.d.icon(0));
  e.d.r->statements.push_back(std::move(made));
  return new_array(e, x, d, n.rank);
}

Av array_binary(Emitter& e, BinaryOp op, bool in_place, const Av& a, const Av& b) {
  Av r;
  if (op == BinaryOp::kMatmul) {
    if (in_place) leave("an array is multiplied in place");
    return dot(e, a, b, false);
  }
  if (op == BinaryOp::kPow) {
    const Av n = is_arrays(e, b) ? Av{} : num(e, b);
    int64_t by = 0;
    if (n.of_numpy() || n.kind != K::kInt || !e.d.is_const(n.v[0], &by) || by != 2)
      leave("`**` of arrays has an exponent other than 2", "", true);
    r = computed(e, numpy_attribute("square"), {a});
  } else {
    const char* ufunc = ufunc_of(op);
    if (!ufunc) leave("an operator of arrays has no machine code in loops", "", true);
    r = computed(e, numpy_attribute(ufunc), {a, b});
  }
  if (!in_place || !is_arrays(e, a)) return r;
  if (a.kind == K::kArray) {
    if (node(e, r.index).type != node(e, a.index).type) leave("an array changes in place");
    return r;
  }
  const Av target = part(e, a);
  if (is_float(node(e, r.index).type) != is_float(element_type(dtype_of_part(e, target))))
    leave("an array changes in place");  // NumPy raises
  store_array(e, target, r.index);
  return a;
}

Av array_unary(Emitter& e, UnaryOp op, const Av& a) {
  if (op != UnaryOp::kNeg) leave("an operator of arrays has no machine code in loops", "", true);
  return computed(e, numpy_attribute("negative"), {a});
}

bool is_of_arrays(PyObject* fn) {
  if (!numpy_is_followed() || PyFunction_Check(fn)) return false;
  return fn == numpy_attribute("dot") || fn == numpy_attribute("matmul") ||
         fn == numpy_attribute("flip");
}

std::optional<Av> array_function(Emitter& e, PyObject* fn, const std::vector<Av>& args) {
  if (std::none_of(args.begin(), args.end(), [&](const Av& a) { return is_arrays(e, a); }))
    return std::nullopt;
  if (is_ufunc(fn) && is_of_numpy(fn)) return computed(e, fn, args);
  if (args.size() == 2 && fn == numpy_attribute("dot")) return dot(e, args[0], args[1], true);
  if (args.size() == 1 && args[0].kind != K::kArray && fn == numpy_attribute("flip"))
    return flipped(e, args[0]);
  if (fn == numpy_attribute("matmul") && args.size() == 2) return dot(e, args[0], args[1], false);
  return std::nullopt;
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

}  // namespace pijit::regions
