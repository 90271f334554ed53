#include "capture/regions/statements.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "capture/regions/numbers.h"
#include "capture/regions/ufuncs.h"
#include "objects/ndarray.h"
#include "python/convert.h"
#include "python/names.h"
#include "region/array_loop.h"
#include "runtime/fp_status.h"
#include "runtime/guard.h"

namespace pijit::regions {

namespace {

constexpr unsigned kTold = kFpInvalid | kFpDivide | kFpOverflow;
constexpr int kMostAxes = region::ArrayLoop::kMostAxes;
constexpr int kMostOperands = region::ArrayLoop::kMostOperands;

// --- as a run has it

// What code says of an operand, in words one after the other: where its array begins, the bytes
// from there, sizes and strides.
struct Described {
  int rank = 0;
  size_t first = 0;
  char* data(const int64_t* words) const {
    return reinterpret_cast<char*>(words[first]) + words[first + 1];
  }
  const int64_t* sizes(const int64_t* words) const { return words + first + 2; }
  const int64_t* strides(const int64_t* words) const { return sizes(words) + rank; }
  size_t words() const { return 2 + 2 * static_cast<size_t>(rank); }
};

struct Statement {
  std::unique_ptr<region::ArrayLoop> loop;
  std::vector<Described> operands;  // the last one is the result
  std::vector<int64_t> words;
  bool flags = false;    // it may raise one of IEEE's exceptions
  int64_t itemsize = 0;  // of the result
};

struct Bounds {
  uintptr_t begin, end;
};
Bounds bounds_of(char* data, int rank, const int64_t* dims, const int64_t* strides,
                 int64_t itemsize) {
  auto begin = reinterpret_cast<uintptr_t>(data), end = begin + static_cast<uintptr_t>(itemsize);
  for (int d = 0; d < rank; ++d) {
    const int64_t far = (dims[d] - 1) * strides[d];
    (far < 0 ? begin : end) += static_cast<uintptr_t>(far);
  }
  return {begin, end};
}

template <class T>
void copy_row(char* to, int64_t step, const char* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * step, from + i * from_step, sizeof(T));
}

// Elements from one place to another.
void copy(int rank, const int64_t* dims, char* to, const int64_t* to_strides, const char* from,
          const int64_t* from_strides, int64_t itemsize) {
  if (rank > 1) {
    for (int64_t i = 0; i < dims[0]; ++i)
      copy(rank - 1, dims + 1, to + i * to_strides[0], to_strides + 1, from + i * from_strides[0],
           from_strides + 1, itemsize);
    return;
  }
  const int64_t n = dims[0];
  if (to_strides[0] == itemsize && from_strides[0] == itemsize)
    std::memcpy(to, from, static_cast<size_t>(n * itemsize));
  else if (itemsize == 8)
    copy_row<int64_t>(to, to_strides[0], from, from_strides[0], n);
  else if (itemsize == 4)
    copy_row<int32_t>(to, to_strides[0], from, from_strides[0], n);
  else if (itemsize == 2)
    copy_row<int16_t>(to, to_strides[0], from, from_strides[0], n);
  else
    copy_row<char>(to, to_strides[0], from, from_strides[0], n);
}

// Strides of memory of its own, whose axes lie as those of the result.
void compact(int rank, const int64_t* dims, const int64_t* like, int64_t itemsize, int64_t* to) {
  std::array<int, kMostAxes> order;
  for (int d = 0; d < rank; ++d) {
    int at = d;
    for (; at > 0 && std::abs(like[order[static_cast<size_t>(at - 1)]]) > std::abs(like[d]); --at)
      order[static_cast<size_t>(at)] = order[static_cast<size_t>(at - 1)];
    order[static_cast<size_t>(at)] = d;
  }
  int64_t bytes = itemsize;
  for (int i = 0; i < rank; ++i) {
    const int d = order[static_cast<size_t>(i)];
    to[d] = bytes;
    bytes *= dims[d];
  }
}

// Whether CPython is to do it: shapes do not fit, or NumPy has something to tell. Then nothing was
// stored.
int64_t run_statement(int64_t which, int64_t, int64_t) {
  auto& s = *reinterpret_cast<Statement*>(which);
  const int64_t* w = s.words.data();
  const Described& out = s.operands.back();
  const int rank = out.rank;
  const int64_t* dims = out.sizes(w);
  int64_t elements = 1;
  for (int d = 0; d < rank; ++d) elements *= dims[d];
  std::array<char*, kMostOperands> at{};
  std::array<int64_t, static_cast<size_t>(kMostOperands) * kMostAxes> strides;
  const size_t n = s.operands.size();
  for (size_t k = 0; k < n; ++k) {
    const Described& o = s.operands[k];
    const int missing = rank - o.rank;
    int64_t* to = strides.data() + k * static_cast<size_t>(rank);
    std::fill_n(to, missing, 0);
    for (int d = 0; d < o.rank; ++d) {
      const int64_t size = o.sizes(w)[d];
      if (size != dims[missing + d] && size != 1) return 1;
      to[missing + d] = size == dims[missing + d] ? o.strides(w)[d] : 0;
    }
    at[k] = o.data(w);
  }
  if (elements == 0) return 0;
  int64_t* const out_strides = strides.data() + (n - 1) * static_cast<size_t>(rank);
  // what is read of the very elements that are stored is read before
  bool staged = s.flags;
  const Bounds stored = bounds_of(at[n - 1], rank, dims, out_strides, s.itemsize);
  for (size_t k = 0; !staged && k + 1 < n; ++k) {
    const int64_t* its = strides.data() + k * static_cast<size_t>(rank);
    if (at[k] == at[n - 1] && std::equal(its, its + rank, out_strides)) continue;
    const Bounds read = bounds_of(at[k], rank, dims, its, sizeof(int64_t));
    staged = read.begin < stored.end && stored.begin < read.end;
  }
  if (!staged) {
    s.loop->run(rank, dims, at.data(), strides.data());
    return 0;
  }
  const Block memory(static_cast<size_t>(elements * s.itemsize));
  std::array<int64_t, kMostAxes> real;
  std::copy_n(out_strides, rank, real.begin());
  char* const to = std::exchange(at[n - 1], memory.p);
  compact(rank, dims, real.data(), s.itemsize, out_strides);
  if (s.flags) {
    FpWatch watch;
    s.loop->run(rank, dims, at.data(), strides.data());
    if (watch.raised() & kTold) return 1;
  } else {
    s.loop->run(rank, dims, at.data(), strides.data());
  }
  copy(rank, dims, to, real.data(), memory.p, out_strides, s.itemsize);
  return 0;
}

// The product of two vectors, by NumPy's own loop.
struct Product {
  UfuncLoop loop;
  void* data;
  Described a, b;
  std::array<int64_t, 8> words;
  bool is_dot = false;  // np.dot(), which copies some operands and tells of nothing
  int64_t itemsize = 0;
  alignas(16) std::array<char, 16> result;
};

int64_t run_product(int64_t which, int64_t, int64_t) {
  auto& p = *reinterpret_cast<Product*>(which);
  const int64_t* w = p.words.data();
  const int64_t n = p.a.sizes(w)[0];
  if (n != p.b.sizes(w)[0]) return 1;
  char* at[] = {p.a.data(w), p.b.data(w), p.result.data()};
  const Py_ssize_t dims[] = {1, 1, n, 1};
  int64_t steps[] = {p.a.strides(w)[0], p.b.strides(w)[0]};
  std::array<std::optional<Block>, 2> copies;
  for (size_t k = 0; p.is_dot && k < 2; ++k) {
    if (n == 0 || steps[k] > 0 || (steps[k] == 0 && n == 1)) continue;
    copies[k].emplace(static_cast<size_t>(n * p.itemsize));
    copy(1, &n, copies[k]->p, &p.itemsize, at[k], &steps[k], p.itemsize);
    at[k] = copies[k]->p;
    steps[k] = p.itemsize;
  }
  // a row times a column
  const Py_ssize_t all[] = {0, 0, 0, 0, steps[0], steps[1], 0, 0, 0};
  if (p.is_dot) return p.loop(at, dims, all, p.data), 0;
  clear_fp_flags();
  p.loop(at, dims, all, p.data);
  return (fp_flags() & kTold) != 0;
}

// --- as code is made

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
  return array_of(op_node(e, SOp::kSelect, t, first, in[0], in[1]));
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

 private:
  int input(const ArrayNode& n) {
    for (size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].type == n.type && same_part(inputs[k].leaf, n.leaf)) return static_cast<int>(k);
    inputs.push_back(n);
    return static_cast<int>(inputs.size()) - 1;
  }
  Emitter& e_;
  std::map<int, SVal> made_;
};

void store_array(Emitter& e, const Av& target, int value) {
  if (!e.may_store)
    leave("a function sets items of an array", "write the function's lines into the loop");
  if (!array_view(e.d.object_at(target.index), true))
    leave("an array is set that is not writeable");
  const Dtype& d = dtype_of_part(e, target);
  const DType t = element_type(d);
  const int stored = as_type(e, value, t);
  if (node(e, stored).rank > rank_of(target))
    leave("an array is set to one of more axes", "", true);
  BodyMaker maker(e);
  const SVal result = maker.make(stored);
  if (maker.inputs.size() + 1 > static_cast<size_t>(kMostOperands) || rank_of(target) > kMostAxes)
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
  made->operands.push_back({rank_of(target), made->words.size()});
  made->words.resize(made->words.size() + made->operands.back().words());
  made->flags = node(e, stored).flags;
  made->itemsize = d.bytes;
  spec.body = maker.body.nodes;
  spec.out = t;
  spec.node = result.id;
  made->loop = region::make_array_loop(std::move(spec));
  const int memory = words_of(e, made->words.data());
  for (size_t k = 0; k < maker.inputs.size(); ++k) {
    const ArrayNode& n = maker.inputs[k];
    const size_t first = made->operands[k].first;
    if (n.leaf.kind == K::kPart) {
      describe(e, memory, first, n.leaf);
      continue;
    }
    made->words[first] = reinterpret_cast<int64_t>(&made->words[first + 2]);
    const Dtype& of = dtype_of_element(n.type);
    const int x = n.leaf.kind == K::kBool ? e.emit(Op::kBToI, n.leaf.v[0]) : n.leaf.v[0];
    store_word(e, memory, first + 2, of.store, x);
  }
  describe(e, memory, made->operands.back().first, target);
  e.d.r->needs[static_cast<size_t>(e.d.arrays.at(target.index).need)].written = true;
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
