// Functions in Python that are called: their arguments are bound, their code is inlined.
#include <algorithm>

#include "base/log.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {
namespace {

// The function that dataclasses and reprlib.recursive_repr wrap, so that an object that holds
// itself has a text; values that do so are not followed. Null: another function.
PyObject* behind_repr(PyObject* fn) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(fn));
  auto is = [](PyObject* text, const char* s) {
    return text && PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, s) == 0;
  };
  if (!is(code->co_name, "wrapper")) return nullptr;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(fn), "__name__");
  if (!is(module, "dataclasses") && !is(module, "reprlib")) return nullptr;
  const auto names =
      py::handle(reinterpret_cast<PyObject*>(code)).attr("co_freevars").cast<py::tuple>();
  Py_ssize_t n = 0;
  PyObject** cells = closure_of(fn, &n);
  for (Py_ssize_t k = 0; k < n; ++k)
    if (is(py::object(names[static_cast<size_t>(k)]).ptr(), "user_function")) {
      PyObject* f = PyCell_GET(cells[k]);
      return f && PyFunction_Check(f) ? f : nullptr;
    }
  return nullptr;
}

// A call whose arguments find their places, as initialize_locals of Python/ceval.c does it: first
// those that are given, then defaults. The places of a frame are positional parameters, those by
// keyword alone, *args, **kwargs, other variables.
class Binding {
 public:
  Binding(Tracer& t, Frame& frame, PyCodeObject* code)
      : t_(t),
        frame_(frame),
        slots_(frame.slots),
        name_(text_of(code->co_name)),
        positional_only_(code->co_posonlyargcount),
        positional_(code->co_argcount),
        named_(code->co_argcount + code->co_kwonlyargcount),
        varargs_(code->co_flags & CO_VARARGS),
        varkw_(code->co_flags & CO_VARKEYWORDS) {}

  void give(const std::vector<V>& args, const Kwargs& kwargs) {
    const int given = static_cast<int>(args.size());
    for (int k = 0; k < positional_ && k < given; ++k) slots_[k] = args[k];
    if (given > positional_ && !varargs_) fail("takes fewer positional arguments");
    if (varargs_)
      slots_[named_] =
          t_.tuple(given > positional_ ? std::vector<V>(args.begin() + positional_, args.end())
                                       : std::vector<V>());
    DictValue* extra = nullptr;
    if (varkw_) slots_[named_ + (varargs_ ? 1 : 0)] = extra = t_.make<DictValue>();
    for (auto& [k, v] : kwargs) {
      const int at = place_of(k);
      if (at < 0 && !extra) fail("got an unexpected keyword argument " + k);
      if (at < 0) {
        extra->keys.push_back(str_of(k));
        extra->items.push_back(v);
        continue;
      }
      if (slots_[at]) fail("got multiple values for " + k);
      slots_[at] = v;
    }
  }

  // Those of a function from outside, which may change from call to call.
  void take_defaults(const V& f) {
    PyObject* fn = f->obj.ptr();
    const bool library = t_.is_library(frame_.globals);
    PyObject* d = PyFunction_GetDefaults(fn);
    const Py_ssize_t count = d ? PyTuple_GET_SIZE(d) : 0;
    V defaults;
    for (int k = 0; k < positional_; ++k) {
      if (slots_[k]) continue;
      const Py_ssize_t i = k - (positional_ - count);
      if (i < 0) missing(k);
      if (library) {
        slots_[k] = t_.wrap_static(PyTuple_GET_ITEM(d, i));
        continue;
      }
      if (!defaults)
        defaults = t_.wrap(d, t_.add_source({Source::kFuncDefaults, t_.source_of(f), 0, {}}));
      slots_[k] = item(t_, defaults, static_cast<size_t>(i));
    }
    PyObject* by_name = PyFunction_GetKwDefaults(fn);
    for (int k = positional_; k < named_; ++k) {
      if (slots_[k]) continue;
      const py::str key = str_of(frame_.code->slot_names[k]);
      PyObject* x = by_name ? t_.found_in(by_name, key.ptr()) : nullptr;
      if (!x) missing(k);
      slots_[k] =
          library ? t_.wrap_static(x)
                  : t_.wrap(x, t_.add_source({Source::kFuncKwDefault, t_.source_of(f), 0, key}));
    }
  }

  // Those of a function made during capture.
  void take_defaults(const FunctionValue& f) {
    const int count = f.defaults ? static_cast<int>(items_in(f.defaults).size()) : 0;
    for (int k = 0; k < positional_; ++k) {
      if (slots_[k]) continue;
      if (k < positional_ - count) missing(k);
      slots_[k] = item(t_, f.defaults, k - (positional_ - count));
    }
    for (int k = positional_; k < named_; ++k) {
      if (slots_[k]) continue;
      const py::str key = str_of(frame_.code->slot_names[k]);
      const int i = f.kwdefaults ? as<DictValue>(f.kwdefaults)->place_of(t_, key.ptr()) : -1;
      if (i < 0) missing(k);
      slots_[k] = item(t_, f.kwdefaults, i);
    }
  }

  // A generator, which notes what it takes to call its function again.
  GeneratorValue* generator(const V& f) {
    auto* it = t_.make<GeneratorValue>(std::make_shared<Frame>(frame_));
    if (varkw_ || named_ > positional_) return it;
    it->func = f;
    for (int k = 0; k < positional_; ++k) it->args.push_back(slots_[k]);
    if (varargs_)
      for (auto& x : items_in(slots_[positional_])) it->args.push_back(x);
    return it;
  }

 private:
  int place_of(const std::string& name) const {
    for (int k = named_; k-- > positional_only_;)
      if (frame_.code->slot_names[k] == name) return k;
    return -1;
  }
  [[noreturn]] void fail(const std::string& what) const {
    t_.give_up(Reason::kRaises, name_ + "() " + what);
  }
  [[noreturn]] void missing(int k) const {
    fail((k < positional_ ? "missing argument " : "missing keyword argument ") +
         frame_.code->slot_names[k]);
  }

  Tracer& t_;
  Frame& frame_;
  std::vector<V>& slots_;
  const std::string name_;
  const int positional_only_, positional_, named_;
  const bool varargs_, varkw_;
};

// The break as that of the call of NumPy's or SciPy's function that the program makes. Nothing: it
// is one within their own code, or another kind.
std::optional<GraphBreak> break_at_numpys(const Tracer& t, PyObject* fn, const GraphBreak& b) {
  if (!fn || b.reason == Reason::kRaises || b.reason == Reason::kBudget) return std::nullopt;
  auto is_theirs = [](PyObject* globals) {
    PyObject* name = PyDict_GetItemWithError(globals, names.name);
    const std::string module = name && PyUnicode_CheckExact(name) ? text_of(name) : "";
    return module.starts_with("numpy.") || module.starts_with("scipy.");
  };
  if (!is_theirs(PyFunction_GET_GLOBALS(fn)) || is_theirs(t.frames_.back()->globals))
    return std::nullopt;
  PIJIT_LOG("breaks", b.where, ": ", reason_text(b.reason), " (", b.detail, ")");
  const auto* f = reinterpret_cast<PyFunctionObject*>(fn);
  const bool named = f->func_module && PyUnicode_CheckExact(f->func_module);
  GraphBreak own{
      Reason::kUnsupportedCall,
      str_cat(named ? text_of(f->func_module) + "." : "", text_of(f->func_qualname), "()"),
      t.location(), BreakAt(fn).of(Reason::kUnsupportedCall, t.inner_module())};
  own.in_numpy = true;
  return own;
}

}  // namespace

V Tracer::call_function(const V& f, std::vector<V> args, Kwargs kwargs) {
  PyObject* fn = as<ObjectValue>(f) ? f->obj.ptr() : nullptr;
  if (PyObject* user = fn ? behind_repr(fn) : nullptr)
    return call_function(wrap_static(user), std::move(args), std::move(kwargs));
  const auto* made = as<FunctionValue>(f);  // during capture
  PyObject* code_obj = fn ? PyFunction_GET_CODE(fn) : made->code.ptr();
  auto* co = reinterpret_cast<PyCodeObject*>(code_obj);
  auto code = code_info(code_obj, true);
  if (!code || (fn && has_other_builtins(fn)))
    give_up(co->co_flags & CO_OPTIMIZED ? Reason::kGenerator : Reason::kUnsupportedCall,
            text_of(co->co_name));
  if (fn && !is_library(PyFunction_GET_GLOBALS(fn)))
    guard(Guard::kCode, source_of(f), share(code_obj), 0, share(PyFunction_GET_GLOBALS(fn)));

  Frame fr;
  fr.code = code;
  fr.globals = fn ? PyFunction_GET_GLOBALS(fn) : made->globals.ptr();
  fr.func = f;
  fr.slots.assign(code->num_slots, nullptr);
  Binding binding(*this, fr, co);
  binding.give(args, kwargs);
  fn ? binding.take_defaults(f) : binding.take_defaults(*made);
  for (auto& s : fr.slots)
    if (!s) s = null();
  if (code->generator) {
    GeneratorValue* it = binding.generator(f);
    if (cleans_up(*code)) {
      undoable([this] { cleaning_.pop_back(); });
      cleaning_.push_back(it);
    }
    return it;
  }
  const size_t depth = frames_.size();
  try {
    return run_inlined(fr);
  } catch (const OpError& e) {
    const GraphBreak b{Reason::kRaises, e.what(), location()};
    frames_.resize(depth);
    throw b;
  } catch (const GraphBreak& b) {
    frames_.resize(depth);
    returned_ = false;
    if (const auto own = break_at_numpys(*this, fn, b)) throw *own;
    throw;
  } catch (...) {
    frames_.resize(depth);
    returned_ = false;
    throw;
  }
}

// Under code that nobody decorated, a decorated function keeps graphs, and an account, of its own;
// but a gradient is captured whole.
void Tracer::meet_decorated(PyObject* o) {
  if (start_.automatic && open_tapes_.empty())
    give_up(Reason::kDecorated, text_of(py::handle(jit_inner(o)).attr("__name__")));
}

}  // namespace pijit
