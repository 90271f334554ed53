#include "capture/regions/statements.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "capture/regions/array_runs.h"
#include "capture/regions/expressions.h"
#include "capture/regions/numbers.h"
#include "capture/regions/numpy_calls.h"
#include "capture/regions/reductions.h"
#include "capture/regions/ufuncs.h"
#include "objects/ndarray.h"
#include "python/convert.h"
#include "python/names.h"
#include "runtime/guard.h"

namespace pijit::regions {

namespace {

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
  made->fast = e.d.fast;
  made->dtype = element_type(d);
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

namespace {

// An operand of NumPy's own loop, in the loop's dtype.
ArrayNode operand_of(Emitter& e, const Av& a, const Dtype& d) {
  if (!is_arrays(e, a)) return node(e, number_leaf(e, any_number(e, a), d));
  int k = leaf(e, settled(e, a));
  const DType t = element_type(d);
  if (node(e, k).type == t) return node(e, k);
  return node(e, leaf(e, made_array(e, array_of(as_type(e, k, t)))));
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
  made->fast = e.d.fast;
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
  const auto is_real = [&](const Av& v) {
    return is_arrays(e, v) ? array_dtype(e, v).base == K::kFloat : e.d.typed(v).is_number();
  };
  if (e.d.fast && is_real(a) && is_real(b) &&
      (of_a ? array_dtype(e, a) : array_dtype(e, b)).base == K::kFloat)
    return elementwise(e, numpy_attribute("power"), {a, b});
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
  if (!is_ufunc(fn))
    if (const auto r = reduced(e, fn, args, names)) return r;
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
  return rolled(e, fn, args, names);
}

}  // namespace pijit::regions
