// Functions of Python's that a region's code follows, and a function that calls itself: from its
// beginning, with numbers alone.
#include <algorithm>
#include <span>

#include "base/error.h"
#include "capture/regions/builder.h"
#include "capture/regions/functions.h"
#include "capture/regions/generators.h"
#include "capture/regions/numpy_calls.h"
#include "capture/regions/statements.h"
#include "capture/regions/text.h"
#include "capture/regions/twister.h"
#include "capture/regions/ufuncs.h"
#include "objects/ndarray.h"
#include "python/hook.h"
#include "python/names.h"
#include "python/quiet_lookup.h"

namespace pijit::regions {

constexpr int kMostNumbers = 3;

PyObject* function_behind(PyObject* o) {
  if (Py_TYPE(o) == jit_function_type) return jit_inner(o);
  return PyFunction_Check(o) ? o : nullptr;
}

bool is_of_use(PyObject* o) {
  return PyModule_CheckExact(o) || PyCFunction_CheckExact(o) || function_behind(o) ||
         is_of_numpy(o) || is_pure_of_numpy(o) || is_draw_of_python(o) ||
         (PyType_Check(o) &&
          !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE));
}

// Is it a function or method that NumPy itself runs?
static bool calls_pure(Emitter& e, Av& fn, std::span<const Av> args) {
  PyObject* const o = fn.kind == K::kEntry    ? e.d.object_at(fn.index)
                      : fn.kind == K::kObject ? fn.object
                                              : nullptr;
  if (!o) return false;
  // of numbers, code has instructions
  const bool of_arrays =
      std::any_of(args.begin(), args.end(), [&](const Av& a) { return is_arrays(e, a); });
  if (!is_pure_array_method(o) && (!is_pure_of_numpy(o) || (is_ufunc(o) && !of_arrays)))
    return false;
  if (fn.kind == K::kEntry) fn = e.d.known_object(fn.index, o);
  return true;
}

bool RegionBuilder::calls_numpy(const BIn& in, PyObject* names, size_t base, std::vector<Av>& st) {
  if (Av fn = st[st[base].kind == K::kNull ? base + 1 : base];
      calls_pure(e_, fn, {st.data() + st.size() - in.a, static_cast<size_t>(in.a)})) {
    const bool method = is_pure_array_method(fn.object);
    const std::vector<Av> args(st.end() - in.a - method, st.end());
    const auto r = array_function(e_, fn.object, args, names);
    const Av result = r ? *r : called_numpy(e_, fn.object, args, names);
    st.resize(base);
    st.push_back(result);
    return true;
  }
  if (!names && in.a == 2 && st[base].kind == K::kObject && is_outer(st[base].object)) {
    PyObject* const ufunc = st[base + 1].object;
    const auto r = is_of_numpy(ufunc) ? outer(e_, ufunc, st[base + 2], st[base + 3]) : std::nullopt;
    if (!r) leave("`.outer` of a ufunc is called with other than two vectors", "", true);
    st.resize(base);
    st.push_back(*r);
    return true;
  }
  return false;
}

void RegionBuilder::call(const BIn& in, PyObject* names, std::vector<Av>& st) {
  const size_t base = st.size() - static_cast<size_t>(in.a + 2 - in.b);
  if (calls_numpy(in, names, base, st)) return;
  if (names) leave("a function is called with names of arguments");
  if (st[base].kind == K::kMade) {
    make_arrays(st);
    return enter_made(st[base], {st.begin() + static_cast<ptrdiff_t>(base) + 1, st.end()});
  }
  const bool null_first = st[base].kind == K::kNull,
             null_second = in.b != 0 || st[base + 1].kind == K::kNull;
  if (!null_first && !null_second && st[base].kind == K::kObject)
    if (const ListMethod* m = list_method(st[base].object)) {
      const List l = list_of(e_, st[base + 1]);
      const auto given = static_cast<size_t>(in.a);
      if (l.object == kNoValue || given < m->least || given > m->most)
        leave(str_cat("the method `.", m->name, "` of a list is called with other arguments"));
      const Av r = m->code(e_, l, {st.end() - in.a, st.end()}, place_here());
      st.resize(base);
      st.push_back(r);
      return;
    }
  if (!null_first && !null_second && in.a == 0 && st[base + 1].kind == K::kCharacter)
    if (const CharacterMethod* m = character_method(st[base].object)) {
      const Av r = call_character(e_, *m, st[base + 1]);
      st.resize(base);
      st.push_back(r);
      return;
    }
  const Av& receiver = st[null_second && !null_first ? base : base + 1];
  if (const int generator = d_.generator_of_value(receiver); generator != kNoValue) {
    PyObject* const o = d_.object_at(receiver.index);
    PyObject* const function = !null_first && !null_second ? st[base].object
                               : PyMethod_Check(o)         ? PyMethod_GET_FUNCTION(o)
                                                           : nullptr;
    const GeneratorMethod* m = function ? generator_method(function) : nullptr;
    const auto given = static_cast<size_t>(in.a);
    if (!m || given < m->least || given > m->most)
      leave("a method of a generator of NumPy's is called with other arguments");
    const Av r = m->code(e_, generator, {st.end() - in.a, st.end()});
    st.resize(base);
    st.push_back(r);
    return;
  }
  const bool method = !null_first && !null_second && in.a == 0 && st[base].kind == K::kObject &&
                      Py_IS_TYPE(st[base].object, &PyMethodDescr_Type);
  if (const Av z = method ? d_.typed(st[base + 1]) : Av{}; z.kind == K::kComplex) {
    const char* name = reinterpret_cast<PyMethodDescrObject*>(st[base].object)->d_method->ml_name;
    const ComplexMember* m = complex_member(z, name, true);
    if (!m) leave(str_cat("the method `.", name, "` of a complex is called"));
    st.resize(base);
    st.push_back(m->code(e_, z));
    return;
  }
  if (null_first == null_second)
    leave(str_cat("a method of ", a_(d_.described(d_.typed(st[base + 1]))), " is called"));
  Av fn = st[null_first ? base + 1 : base];
  if (fn.kind == K::kEntry && is_of_use(d_.object_at(fn.index)))
    fn = d_.known_object(fn.index, d_.object_at(fn.index));
  if (fn.kind != K::kObject)
    leave(str_cat(a_(d_.described(fn)), " is called"), "write the function's lines into the loop");
  PyObject* func = function_behind(fn.object);
  if (func && !is_own(func)) {
    make_arrays(st);
    return enter_function(func, {st.end() - in.a, st.end()});
  }
  const std::vector<Av> args(st.end() - in.a, st.end());
  if (const auto one = one_of_two(e_, fn.object, args)) {
    condition_ = one->condition;
    otherwise_ = one->no;
    st.resize(base);
    st.push_back(one->yes);
    return;
  }
  const Av r = func ? call_itself(args) : result_of(e_, fn.object, args, place_here());
  st.resize(base);
  st.push_back(r);
}

bool RegionBuilder::is_own(PyObject* func) const { return func == d_.entry.func; }

py::object RegionBuilder::of_body() const {
  int b = b_.current;
  while (!b_.bodies[static_cast<size_t>(b)]->func) b = b_.bodies[static_cast<size_t>(b)]->caller;
  return b == 0 ? py::object()
                : py::reinterpret_borrow<py::object>(b_.bodies[static_cast<size_t>(b)]->func);
}

void RegionBuilder::enter_made(const Av& made, const std::vector<Av>& args) {
  const Code code = code_info(made.object);
  const auto* co = reinterpret_cast<PyCodeObject*>(made.object);
  constexpr size_t kMostDeep = 4;
  if (!code || code->generator || co->co_flags & (CO_VARARGS | CO_VARKEYWORDS) ||
      co->co_kwonlyargcount > 0 || static_cast<size_t>(co->co_argcount) != args.size() ||
      static_cast<size_t>(code->num_free) != made.items.size() || code->reflective ||
      code->compares_frames || e_.now().callers.size() >= kMostDeep)
    leave("a function is made");
  Frame in;
  in.slots.resize(static_cast<size_t>(code->num_slots));
  std::copy(args.begin(), args.end(), in.slots.begin());
  enter(code, nullptr, std::move(in));
  b_.bodies[static_cast<size_t>(next_body_)]->closure = made.items;
}

void RegionBuilder::enter(const Code& code, PyObject* func, Frame in) {
  for (const Av& a : in.slots) e_.hold(a, 1);
  // the call is done anew where its function is left
  for (const Av& a : e_.stack_before()) e_.hold(a, 1);
  in.callers = e_.now().callers;
  const std::vector<Av>& stack = e_.stack_before();
  const BIn& call = b_.code().instrs[e_.instr()];
  size_t callable = stack.size() - static_cast<size_t>(call.a + 2 - call.b);
  if (call.b == 0 && stack[callable].kind == K::kNull) ++callable;
  in.callers.push_back({e_.now().slots, stack, e_.instr(), callable, func});
  in.changed = e_.now().changed;
  d_.r->calls_deep = std::max(d_.r->calls_deep, in.callers.size());
  next_body_ = b_.body_of(code, func);
  entered_ = std::move(in);
}

void RegionBuilder::enter_function(PyObject* func, const std::vector<Av>& args) {
  constexpr size_t kMostDeep = 4, kMostCode = 600;
  const std::string name = text_of(reinterpret_cast<PyFunctionObject*>(func)->func_name);
  PyObject* its_code = PyFunction_GET_CODE(func);
  const auto* co = reinterpret_cast<PyCodeObject*>(its_code);
  const Code code = code_info(its_code);
  const char* help = "write the function's lines into the loop";
  if (!code || co->co_flags & (CO_VARARGS | CO_VARKEYWORDS) || co->co_kwonlyargcount > 0)
    leave(str_cat("the function ", name, " is called, which has other than plain arguments"), help);
  if (code->reflective || code->compares_frames || has_other_builtins(func) ||
      code->instrs.size() > kMostCode || e_.now().callers.size() >= kMostDeep)
    leave(str_cat("the function ", name, " is called, which is too long, or calls too many"), help);
  for (int b = b_.current; b >= 0; b = b_.bodies[static_cast<size_t>(b)]->caller)
    if (b_.bodies[static_cast<size_t>(b)]->func == func)
      leave(str_cat("the function ", name, " is called, which calls itself"));
  Frame in;
  in.slots.resize(static_cast<size_t>(code->num_slots));
  PyObject* defaults = PyFunction_GetDefaults(func);
  const auto given = static_cast<Py_ssize_t>(args.size());
  const Py_ssize_t usual = defaults ? PyTuple_GET_SIZE(defaults) : 0;
  if (given > co->co_argcount || given + usual < co->co_argcount)
    leave(str_cat("the function ", name, " is called with other arguments than it has"));
  std::copy(args.begin(), args.end(), in.slots.begin());
  for (Py_ssize_t k = given; k < co->co_argcount; ++k)
    in.slots[static_cast<size_t>(k)] =
        d_.constant_object(PyTuple_GET_ITEM(defaults, k - (co->co_argcount - usual)));
  d_.note_function(func);
  enter(code, func, std::move(in));
}

int RegionBuilder::return_to_caller(Frame* now) {
  const Av result = now->stack.back();
  stay_alone(result);
  for (auto& a : now->slots) {
    d_.drop(a);
    e_.hold(a, -1);
  }
  for (auto& a : now->callers.back().stack) e_.hold(a, -1);
  const Body& callee = b_.body();
  Frame back;
  back.changed = now->changed && now->callers.size() > 1;
  back.callers = std::move(now->callers);
  back.slots = std::move(back.callers.back().slots);
  back.stack = std::move(back.callers.back().stack);
  back.callers.pop_back();
  const int at = callee.at;
  b_.current = callee.caller;
  const auto before = static_cast<int>(back.stack.size());
  back.stack.resize(static_cast<size_t>(before - stack_use(b_.code().instrs[at], before).pops));
  back.stack.push_back(result);
  *now = std::move(back);
  return at + 1;
}

bool RegionBuilder::is_called_by_itself() {
  const auto* co = reinterpret_cast<PyCodeObject*>(b_.own().code->code);
  if (d_.r->instr != 0 || d_.r->stack != 0 || co->co_argcount < 1 ||
      co->co_argcount > kMostNumbers || co->co_kwonlyargcount > 0 ||
      co->co_flags & (CO_VARARGS | CO_VARKEYWORDS))
    return false;
  for (size_t k = 0; k < d_.r->slots; ++k) {
    PyObject* o = d_.entry.slots[k];
    int64_t word;
    const bool argument = static_cast<int>(k) < co->co_argcount;
    if (argument != (o != nullptr)) return false;
    if (!argument) continue;
    const auto kind = number_kind(*d_.r, o, &word);
    if (kind != K::kInt && kind != K::kFloat && kind != K::kBool) return false;
  }
  return finds_itself(d_.entry.func, 0);
}

bool RegionBuilder::finds_itself(PyObject* func, int deep) const {
  const Code code = code_info(PyFunction_GET_CODE(func));
  Py_ssize_t cells = 0;
  PyObject** closure = closure_of(func, &cells);
  auto leads = [&](PyObject* o) {
    PyObject* f = o ? function_behind(o) : nullptr;
    return f && (is_own(f) || (deep < 2 && f != func && finds_itself(f, deep + 1)));
  };
  if (!code) return false;
  for (auto& in : code->instrs)
    if (in.op == BOp::LOAD_GLOBAL && leads(quiet_item(PyFunction_GET_GLOBALS(func), in.obj)))
      return true;
  for (Py_ssize_t k = 0; k < cells; ++k)
    if (leads(PyCell_GET(closure[k]))) return true;
  return false;
}

void RegionBuilder::take_operands(Frame* start) {
  const auto* co = reinterpret_cast<PyCodeObject*>(b_.own().code->code);
  for (int k = 0; k < co->co_argcount; ++k) {
    Av& a = start->slots[static_cast<size_t>(k)];
    a = d_.typed(a);
    operands_.push_back(a);
  }
  d_.words = kMostNumbers;
}

Av RegionBuilder::call_itself(const std::vector<Av>& args) {
  if (!may_call_itself_ || args.size() != operands_.size())
    leave("the function calls itself with other than one to three numbers");
  In in = ins(Op::kSelfI, Type::kI64, d_.icon(0), d_.icon(0), d_.icon(0));
  for (size_t k = 0; k < args.size(); ++k) {
    const Av a = num(e_, args[k]);
    if (!same_shape(a, operands_[k]))
      leave("the function calls itself with numbers of other types");
    in.args[k] = a.v[0];
  }
  in.op = result_ == K::kInt ? Op::kSelfI : result_ == K::kFloat ? Op::kSelfF : Op::kSelfB;
  in.type = facts(in.op).type;
  in.imm = static_cast<int64_t>(e_.now().callers.size()) + 1;  // CPython's calls
  in.exit = e_.exit_here();
  calls_itself_ = true;
  return number(result_, e_.add(in));
}

void RegionBuilder::note_result(const Av& a) {
  if (!may_call_itself_) return;
  if (!a.is_number() || a.index)
    has_no_number_ = true;
  else if (a.kind != result_)
    other_result_ = a.kind;
}

std::unique_ptr<Region> RegionBuilder::recursive() {
  if (has_no_number_ || d_.stores) {
    other_result_.reset();
    return refused("the function calls itself and gives other than numbers", "");
  }
  if (other_result_)
    return refused("the function calls itself and gives numbers of several types", "");
  other_result_.reset();
  d_.note_function(d_.entry.func);
  d_.f.depth = d_.r->depth_word = static_cast<int>(d_.words);
  d_.words += 2;
  region::optimize(d_.f);
  d_.r->recursive = true;
  return finish();
}

}  // namespace pijit::regions
