#include "capture/regions/reductions.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "capture/regions/array_layouts.h"
#include "capture/regions/expressions.h"
#include "capture/regions/numbers.h"
#include "capture/regions/numpy_calls.h"
#include "capture/regions/ufuncs.h"
#include "objects/ndarray.h"
#include "python/convert.h"
#include "runtime/fp_status.h"

namespace pijit::regions {

namespace {

using Axes = std::array<int64_t, kMostAxes>;
using Order = std::array<int, kMostAxes>;

// --- as a run has it

// A loop of NumPy's own that takes elements into one.
struct Fold {
  UfuncLoop loop = nullptr;
  void* data = nullptr;
  bool has_start = false;  // 0: without one, it begins with the first element
  bool divides = false;    // by the number of elements

  void run(char* to, char* from, Py_ssize_t n, Py_ssize_t step, int64_t itemsize) const {
    std::memset(to, 0, static_cast<size_t>(itemsize));
    if (!has_start) {
      std::memcpy(to, from, static_cast<size_t>(itemsize));
      from += step;
      --n;
    }
    if (n == 0) return;
    char* at[] = {to, from, to};
    const Py_ssize_t steps[] = {0, step, 0};
    loop(at, &n, steps, data);
  }
  // As NumPy divides by an int64: in float64.
  void divide(DType t, char* at, int64_t n, int64_t count) const {
    if (!divides) return;
    const auto by = static_cast<double>(count);
    if (t == DType::F64)
      for (auto* x = reinterpret_cast<double*>(at); n > 0; --n) *x++ /= by;
    else
      for (auto* x = reinterpret_cast<float*>(at); n > 0; --n, ++x)
        *x = static_cast<float>(static_cast<double>(*x) / by);
  }
};

// All of an array, whose axes are one in memory.
struct WholeFold {
  Fold fold;
  Described of;
  std::vector<int64_t> words;
  DType dtype = DType::F64;
  std::array<int64_t, 2> result{};
};

// Elements along some axes.
struct AxesFold {
  Fold fold;
  Statement of;           // what is computed of the elements
  Statement made;         // the result
  bool is_plain = false;  // they are an operand's, and NumPy may do it
  bool keeps = false;     // the axes, with one place each
  std::array<bool, kMostAxes> along{};
  std::unique_ptr<region::ArrayLoop> columns;
  // The region keeps these.
  PyObject *fn = nullptr, *axes = nullptr, *names = nullptr, *descr = nullptr;
};

// The bytes between neighbours where all elements lie one after the other in memory, whatever the
// order of their axes; 0: they do not.
int64_t step_of_all(const Described& o, const int64_t* w, int64_t itemsize) {
  const int64_t *sizes = o.sizes(w), *strides = o.strides(w);
  if (o.rank == 1) return sizes[0] == 1 ? itemsize : strides[0];
  Axes its{};
  for (int d = 0; d < o.rank; ++d) its[static_cast<size_t>(d)] = sizes[d] == 1 ? 0 : strides[d];
  Order order;
  order_axes(o.rank, its.data(), 1, order.data());
  int64_t step = itemsize;
  for (int k = o.rank; k-- > 0;) {
    const int d = order[static_cast<size_t>(k)];
    if (sizes[d] == 1) continue;
    if (strides[d] != step) return 0;
    step *= sizes[d];
  }
  return itemsize;
}

int64_t whole(int64_t which) {
  auto& f = *reinterpret_cast<WholeFold*>(which);
  const int64_t* w = f.words.data();
  const auto itemsize = static_cast<int64_t>(size_of(f.dtype));
  const int64_t n = elements_of(f.of.rank, f.of.sizes(w)), step = step_of_all(f.of, w, itemsize);
  if (n == 0 || step == 0) return 1;
  FpWatch watch;
  f.fold.run(reinterpret_cast<char*>(f.result.data()), f.of.data(w), n, step, itemsize);
  f.fold.divide(f.dtype, reinterpret_cast<char*>(f.result.data()), 1, n);
  return (watch.raised() & kTold) != 0;
}

// How the elements lie, of which NumPy makes an array or has one, and what becomes of their axes.
struct Plan {
  Axes dims, from, to;  // sizes; strides of the elements, and of the result: 0 where they are taken
  Order order;          // from the outermost to the innermost
  int inner = -1;       // the innermost of several places
  int64_t count = 1;    // elements that become one
};

std::unique_ptr<MadeArray> by_numpy(const AxesFold& f) {
  const auto view = views_of(f.of, {f.descr});
  PyObject* const given[] = {view[0].ptr(), f.axes, f.keeps ? Py_True : Py_False};
  const NumpyErrors raises(NumpyErrors::kRaise);
  return array_with(f.made, PyObject_Vectorcall(f.fn, given, 1, f.names));
}

std::unique_ptr<MadeArray> result_of(const AxesFold& f, Arena* arena, Plan* plan) {
  Axes sizes;
  Order place, order;
  int kept = 0;
  for (int d = 0; d < f.of.rank; ++d) {
    const auto k = static_cast<size_t>(d);
    if (f.along[k]) plan->count *= plan->dims[k];
    if (f.along[k] && !f.keeps) continue;
    sizes[static_cast<size_t>(kept)] = f.along[k] ? 1 : plan->dims[k];
    place[k] = kept++;
  }
  int at = 0;
  for (int k = 0; k < f.of.rank; ++k) {
    const auto d = static_cast<size_t>(plan->order[static_cast<size_t>(k)]);
    if (!f.along[d] || f.keeps) order[static_cast<size_t>(at++)] = place[d];
  }
  auto made = array_in(arena, f.made, sizes.data(), order.data());
  for (int d = 0; made && d < f.of.rank; ++d) {
    const auto k = static_cast<size_t>(d);
    plan->to[k] = f.along[k] ? 0 : made->strides[static_cast<size_t>(place[k])];
  }
  return made;
}

// Elements that become one lie apart: those beside each other are taken in turn.
void by_columns(const AxesFold& f, const Plan& plan, Places* p, char* to) {
  const auto rank = static_cast<size_t>(f.of.rank);
  const size_t operands = f.of.operands.size();
  auto run = [&](region::ArrayLoop* loop, const Axes& dims, const Order& axes, size_t results) {
    Axes sizes;
    std::array<int64_t, static_cast<size_t>(kMostOperands) * kMostAxes> strides;
    for (size_t k = 0; k < rank; ++k) {
      const auto d = static_cast<size_t>(axes[k]);
      sizes[k] = dims[d];
      for (size_t o = 0; o < operands; ++o) strides[o * rank + k] = p->strides[o * rank + d];
      for (size_t o = operands; o < operands + results; ++o) strides[o * rank + k] = plan.to[d];
    }
    for (size_t o = operands; o < operands + results; ++o) p->at[o] = to;
    loop->run(f.of.rank, sizes.data(), p->at.data(), strides.data());
  };
  if (!f.fold.has_start) {
    Axes first = plan.dims;
    for (size_t d = 0; d < rank; ++d)
      if (f.along[d]) first[d] = 1;
    run(f.of.loop.get(), first, plan.order, 1);
  }
  Order axes;
  size_t n = 0;
  for (int turn = 0; turn < 3; ++turn)
    for (size_t k = 0; k < rank; ++k) {
      const int d = plan.order[k];
      const int its = d == plan.inner ? 2 : f.along[static_cast<size_t>(d)];
      if (its == turn) axes[n++] = d;
    }
  run(f.columns.get(), plan.dims, axes, f.fold.has_start ? 1 : 2);
}

// Elements that become one lie side by side, without gaps. False: they do not.
bool by_rows(const AxesFold& f, const Plan& plan, char* from, char* to) {
  const int64_t itemsize = f.made.itemsize;
  int64_t step = itemsize;
  bool inside = true;
  for (int k = f.of.rank; k-- > 0;) {
    const auto d = static_cast<size_t>(plan.order[static_cast<size_t>(k)]);
    if (plan.dims[d] == 1) continue;
    inside = inside && f.along[d];
    if (plan.from[d] != step || f.along[d] != inside) return false;
    step *= plan.dims[d];
  }
  const int64_t row = plan.count * itemsize;
  for (int64_t rows = step / row; rows > 0; --rows, from += row, to += itemsize)
    f.fold.run(to, from, plan.count, itemsize, itemsize);
  return true;
}

int64_t folded(int64_t which, int64_t where) {
  auto& f = *reinterpret_cast<AxesFold*>(which);
  auto* arena = reinterpret_cast<Arena*>(where);
  if (arena->arrays.size() >= kMostArrays) return 0;
  Plan plan;
  Places p;
  if (spread_operands(f.of, plan.dims.data(), &p) <= 0) return 0;
  const auto rank = static_cast<size_t>(f.of.rank);
  auto numpys = [&]() -> int64_t {
    auto made = f.is_plain ? by_numpy(f) : nullptr;
    return made ? given(arena, std::move(made)) : 0;
  };
  if (const int operand = f.of.layout.back().operand; operand >= 0) {
    const int64_t* const its = p.strides.data() + static_cast<size_t>(operand) * rank;
    for (size_t d = 0; d < rank; ++d) {
      if (f.is_plain && plan.dims[d] != 1 && its[d] <= 0) return numpys();
      plan.from[d] = std::abs(its[d]);
    }
  } else {
    order_of_result(f.of, f.of.rank, plan.order.data());
    int64_t step = f.made.itemsize;
    for (size_t k = rank; k-- > 0;) {
      const auto d = static_cast<size_t>(plan.order[k]);
      plan.from[d] = plan.dims[d] == 1 ? 0 : step;
      step *= plan.dims[d];
    }
  }
  order_axes(f.of.rank, plan.from.data(), 1, plan.order.data());
  for (size_t k = 0; k < rank; ++k)
    if (const int d = plan.order[k]; plan.dims[static_cast<size_t>(d)] != 1) plan.inner = d;
  const bool rows = plan.inner >= 0 && f.along[static_cast<size_t>(plan.inner)];
  if (rows && !f.is_plain) return 0;
  auto made = result_of(f, arena, &plan);
  if (!made) return 0;
  FpWatch watch;
  if (rows) {
    if (!by_rows(f, plan, p.at[0], made->data)) return numpys();
  } else {
    if (f.fold.has_start) std::memset(made->data, 0, static_cast<size_t>(made->bytes));
    by_columns(f, plan, &p, made->data);
  }
  f.fold.divide(f.made.dtype, made->data, made->bytes / f.made.itemsize, plan.count);
  if (watch.raised() & kTold) return 0;
  return given(arena, std::move(made));
}

// Of type region::CallOut.
int64_t run_whole(int64_t fold, int64_t, int64_t) {
  return guarded(1, [&] { return whole(fold); });
}
int64_t run_folded(int64_t fold, int64_t arena, int64_t) {
  return guarded(0, [&] { return folded(fold, arena); });
}

// --- as code is made

struct Reduction {
  std::string_view name, ufunc;
  bool adds, divides, largest;
};
constexpr Reduction kReductions[] = {
    {"sum", "add", true, false, false},      {"mean", "add", true, true, false},
    {"max", "maximum", false, false, true},  {"amax", "maximum", false, false, true},
    {"min", "minimum", false, false, false}, {"amin", "minimum", false, false, false}};

// The axes that a call names, and whether it keeps them; nothing: it has other arguments.
struct Wanted {
  std::optional<std::array<bool, kMostAxes>> along;  // nothing: all of them
  py::object axes;
  bool keeps = false;
};
std::optional<Wanted> wanted(Emitter& e, const std::vector<Av>& args, PyObject* names, int rank) {
  const size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  const size_t placed = args.size() - named;
  if (placed < 1 || placed > 2 || rank > kMostAxes) return std::nullopt;
  Wanted r;
  Av axis;
  if (placed == 2) axis = args[1];
  for (size_t k = 0; k < named; ++k) {
    const auto is = [&](const char* name) {
      return text_of(PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(k))) == name;
    };
    const Av& a = args[placed + k];
    int64_t keeps = 0;
    if (is("axis") && placed == 1)
      axis = a;
    else if (is("keepdims") && a.kind == K::kBool && e.d.is_const(a.v[0], &keeps))
      r.keeps = keeps != 0;
    else
      return std::nullopt;
  }
  if (axis.kind == K::kNull || (axis.kind == K::kObject && axis.object == Py_None)) return r;
  axis = e.d.typed(axis);
  const bool one = axis.kind == K::kInt;
  const Av all = one ? Av{} : e.d.as_items(axis);
  if (!one && (all.kind != K::kTuple || all.items.empty())) return std::nullopt;
  py::tuple axes(one ? 1 : all.items.size());
  r.along.emplace();
  r.along->fill(false);
  for (size_t k = 0; k < axes.size(); ++k) {
    const Av a = one ? axis : e.d.typed(all.items[k]);
    int64_t d = 0;
    if (a.kind != K::kInt || a.index || !e.d.is_const(a.v[0], &d)) return std::nullopt;
    axes[k] = py::int_(d);
    if (d < 0) d += rank;
    if (d < 0 || d >= rank || (*r.along)[static_cast<size_t>(d)]) return std::nullopt;
    (*r.along)[static_cast<size_t>(d)] = true;
  }
  r.axes = one ? py::object(axes[0]) : py::object(axes);
  return r;
}

// Ints are added as int64, exactly in any order.
std::optional<DType> folded_type(const Reduction& row, DType t) {
  if (t == DType::F64 || t == DType::F32 || t == DType::I64) {
    if (row.divides && t == DType::I64) return std::nullopt;
    return t;
  }
  const bool is_signed = t == DType::I32 || t == DType::I16 || t == DType::I8 || t == DType::Bool;
  if (row.adds && !row.divides && is_signed) return DType::I64;
  return std::nullopt;
}

Av whole_of(Emitter& e, const Fold& fold, const Av& a) {
  auto made = std::make_shared<WholeFold>();
  const Dtype& d = dtype_of_part(e, a);
  made->fold = fold;
  made->dtype = element_type(d);
  made->of = {rank_of(a), 0};
  made->words.resize(made->of.words());
  describe(e, words_of(e, made->words.data()), 0, a);
  const int told =
      e.call(run_whole, e.d.icon(reinterpret_cast<int64_t>(made.get())), e.d.icon(0), e.d.icon(0));
  e.check(e.emit(Op::kIEq, told, e.d.icon(0)));
  e.d.stores = true;  // of words that the interpreter of regions would have, too
  const int at = words_of(e, made->result.data());
  e.d.r->statements.push_back(std::move(made));
  return loaded(e, d, at, e.d.icon(0));
}

std::unique_ptr<region::ArrayLoop> columns_of(Emitter& e, const Reduction& row, BodyMaker* maker,
                                              const SVal& value, DType t) {
  region::ArrayLoopSpec spec;
  for (const ArrayNode& n : maker->inputs) spec.in.push_back(n.type);
  spec.out = t;
  spec.folds = true;
  spec.sums = row.adds;
  spec.node = value.id;
  if (!spec.sums) {
    const SVal kept = maker->body.input(static_cast<int>(spec.in.size()), t);
    spec.in.push_back(t);
    auto op = [&](SOp o, DType of, const SVal& a, const SVal& b, const SVal& c) {
      return maker->body.op(o, of, a, b, c);
    };
    spec.node = is_float(t) ? extreme(row.largest ? SOp::kGt : SOp::kLt, t, kept, value, op).id
                            : op(row.largest ? SOp::kMax : SOp::kMin, t, kept, value, SVal{}).id;
  }
  spec.body = maker->body.nodes;
  return region::make_array_loop(std::move(spec));
}

}  // namespace

std::optional<Av> reduced(Emitter& e, PyObject* fn, const std::vector<Av>& args, PyObject* names) {
  const std::string name = text_of(py::object(py::getattr(py::handle(fn), "__name__")).ptr());
  const auto row = std::find_if(std::begin(kReductions), std::end(kReductions),
                                [&](const Reduction& r) { return r.name == name; });
  if (row == std::end(kReductions) || !is_arrays(e, args[0])) return std::nullopt;
  if (!numpy_reduces_at_once() || !underflow_is_ignored(*e.d.r)) return std::nullopt;
  const Dtype& given = array_dtype(e, args[0]);
  if (!is_element_type(given)) return std::nullopt;
  const auto type = folded_type(*row, element_type(given));
  if (!type) return std::nullopt;
  const int rank =
      args[0].kind == K::kArray ? node(e, args[0].index).rank : rank_of(part(e, args[0]));
  const auto want = wanted(e, args, names, rank);
  if (!want) return std::nullopt;
  const bool all =
      !want->along || std::count(want->along->begin(), want->along->begin() + rank, true) == rank;
  const bool is_new = args[0].kind == K::kArray || args[0].kind == K::kNewArray;
  if (all && (want->keeps || (rank != 1 && !is_new))) return std::nullopt;
  const Dtype& d = dtype_of_element(*type);
  Fold fold;
  fold.has_start = row->adds;
  fold.divides = row->divides;
  const Dtype* const types[] = {&d, &d, &d};
  fold.loop = loop_of(numpy_attribute(std::string(row->ufunc).c_str()), types, &fold.data);
  if (!fold.loop) return std::nullopt;
  e.d.r->numpy = true;
  const bool casts = &d != &given;
  Av of = casts ? array_of(as_type(e, leaf(e, args[0]), *type)) : args[0];
  if (all) return whole_of(e, fold, part(e, settled(e, of)));
  // of elements that become one side by side NumPy has an array
  if ((*want->along)[static_cast<size_t>(rank - 1)]) of = settled(e, of);
  auto made = std::make_shared<AxesFold>();
  BodyMaker maker(e);
  const int k = leaf(e, of);
  const SVal value = maker.make(k);
  const ArrayNode n = node(e, k);
  std::shared_ptr<Statement> elements = statement_of(maker, n, value);
  add_layout(e, maker, k, elements.get());
  made->fold = fold;
  made->is_plain = elements->copies;
  made->keeps = want->keeps;
  made->along = *want->along;
  made->made.dtype = *type;
  made->made.format = d.format;
  made->made.itemsize = d.bytes;
  made->made.rank =
      rank - (want->keeps
                  ? 0
                  : static_cast<int>(std::count(made->along.begin(), made->along.end(), true)));
  made->columns = columns_of(e, *row, &maker, value, *type);
  made->of = std::move(*elements);
  const py::object keywords = py::make_tuple("axis", "keepdims");
  const std::pair<PyObject**, PyObject*> kept[] = {{&made->fn, fn},
                                                   {&made->axes, want->axes.ptr()},
                                                   {&made->names, keywords.ptr()},
                                                   {&made->descr, descr_of(*type)}};
  for (const auto& [to, o] : kept) {
    e.d.keep(o);
    *to = o;
  }
  describe_inputs(e, maker.inputs, made->of);
  const int axes = made->made.rank;
  return made_by(e, run_folded, std::move(made), d, axes);
}

}  // namespace pijit::regions
