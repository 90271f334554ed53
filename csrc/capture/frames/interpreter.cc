// Frames and instructions.
#include <algorithm>

#include "base/config.h"
#include "base/log.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"
#include "compile/compile.h"
#include "python/call_in_frame.h"
#include "python/hook.h"

namespace pijit {

namespace {
// Numbers, texts and sequences of them: there is little to find for a graph.
bool is_plain_data(PyObject* o) {
  if (!o || o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o) ||
      PyUnicode_CheckExact(o))
    return true;
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) return false;
  constexpr Py_ssize_t kLooks = 4;
  const Py_ssize_t n = std::min(PySequence_Fast_GET_SIZE(o), kLooks);
  PyObject** items = PySequence_Fast_ITEMS(o);
  return std::all_of(items, items + n, [](PyObject* x) {
    return !PyTuple_CheckExact(x) && !PyList_CheckExact(x) && is_plain_data(x);
  });
}
}  // namespace

Tracer::Tracer(StartPoint& p, const std::vector<PyObject*>& state, bool whole, std::set<int> left)
    : Context(p), state_(state), whole_(whole), left_(std::move(left)) {
  constexpr int64_t kShare = 16;
  if (!whole && config().measure && std::all_of(state.begin(), state.end(), is_plain_data))
    budget_ /= kShare;
}

std::string Tracer::location() const {
  if (frames_.empty()) return "";
  size_t k = frames_.size() - 1;
  auto inlined = [](const std::string& file) {  // in place of a built-in function
    return file.size() > 14 && file.compare(file.size() - 14, 14, "/_polyfills.py") == 0;
  };
  while (k > 0 && inlined(frames_[k]->code->filename)) --k;
  const Frame& f = *frames_[k];
  return str_cat(f.code->filename, ":", f.code->instrs[f.pc].line);
}

std::vector<std::pair<Code, int>> Tracer::frames() const {
  std::vector<std::pair<Code, int>> r;
  for (size_t k = frames_.size(); k-- > 0;)
    r.push_back({frames_[k]->code, frames_[k]->code->instrs[frames_[k]->pc].line});
  return r;
}

std::unique_ptr<Entry> Tracer::run() {
  Frame f;
  f.code = start_.code;
  f.globals = PyFunction_GetGlobals(start_.func);
  f.func = make<ObjectValue>();
  f.func->obj = py::reinterpret_borrow<py::object>(start_.func);
  f.pc = start_.instr;
  frames_.push_back(&f);
  const int n = f.code->num_slots;
  auto load = [&](int i, bool need) {
    const int src = add_source({Source::kState, -1, i, {}});
    if (!state_[i] || !need) {
      if (need) guard(Guard::kNull, src);
      if (need || !state_[i] || (is_tensor(state_[i]) && i >= num_args(*f.code))) return null();
      V v = make<NullValue>();
      v->src = src;  // nobody reads it, but it lives on
      return v;
    }
    return wrap(state_[i], src);
  };
  const std::vector<bool> mourned = mourned_state();
  auto loaded = [&](int i, bool need) {
    const V v = load(i, need || mourned[static_cast<size_t>(i)]);
    if (mourned[static_cast<size_t>(i)]) mourned_.push_back(v), mourned_at_.push_back(i);
    return v;
  };
  for (int i = 0; i < n; ++i) f.slots.push_back(loaded(i, f.code->live[f.pc][i]));
  for (int i = 0; i < start_.stack_size; ++i) f.stack.push_back(loaded(n + i, true));
  f.handled = handled_at_start_ = make<ObjectValue>();
  f.handled->src = add_source({Source::kState, -1, n + start_.stack_size, {}});
  f.handled->obj = py::reinterpret_borrow<py::object>(state_.back());
  if (mourned.back()) mourned_.push_back(f.handled), mourned_at_.push_back(n + start_.stack_size);
  struct Place {
    std::vector<V> stack;
    V handled;
    size_t undo, notes;
    uint32_t nodes;
    int pc;
  };
  // A handler cannot be entered from outside, so a break in one goes back to what raised.
  std::optional<Place> raising;
  // The slots before the instruction, and before what raised. Most instructions change one.
  std::vector<V> slots = f.slots, raising_slots;
  auto keep_slots = [&](const Instr& in) {
    const SlotUse use = slot_use(in);
    if (flow(in) == Flow::BRANCH || use == SlotUse::FREE)
      slots = f.slots;
    else if (use != SlotUse::NONE)
      slots[in.a] = f.slots[in.a];
  };
  while (true) {
    const Place here{
        f.stack, f.handled, undo_.size(), journal_.size(), static_cast<uint32_t>(graph_->size()),
        f.pc};
    try {
      count(f);
      if (left_.count(f.pc)) give_up(Reason::kRebuild, "an iterator under way at a later break");
      try {
        const bool handler = advance(f);
        if (handler && !raising)
          raising = here, raising_slots = slots;
        else if (raising && !handler && !handles_exception(f))
          raising.reset();
      } catch (const Raised& r) {  // the interpreter raises it, with the right traceback
        throw GraphBreak{Reason::kRaises, describe(r), r.where};
      } catch (const OpError& e) {
        give_up(Reason::kRaises, e.what());
      } catch (py::error_already_set& e) {
        give_up(Reason::kRaises, e.what());
      } catch (const std::bad_alloc&) {
        give_up(Reason::kRaises, "MemoryError");
      }
      keep_mourned(f);
      keep_slots(f.code->instrs[here.pc]);
      if (returned_) return finish_return(return_value_);
    } catch (const GraphBreak& b) {
      const Place& at = raising ? *raising : here;
      while (undo_.size() > at.undo) {
        undo_.back()();
        undo_.pop_back();
      }
      journal_.erase(journal_.begin() + static_cast<std::ptrdiff_t>(at.notes), journal_.end());
      returned_ = false;
      graph_->abandon(at.nodes);
      frames_.resize(1);
      f.stack = at.stack;
      f.slots = raising ? raising_slots : slots;
      f.pc = at.pc;
      f.handled = at.handled;
      return finish_break(f, b);
    }
  }
}

namespace {
// What a call or a turn is about, if it was there before: there are only so many of these.
// `serial`: values with smaller ones were. Null: it may be one of ever new ones.
const void* subject_of(const V& v, uint64_t serial) {
  if (!v) return nullptr;
  if (v->kind == Value::kTuple && v->src < 0) {  // of zip() and the like
    for (auto& x : v->items)
      if (const void* s = subject_of(x, serial)) return s;
    return nullptr;
  }
  if (v->kind != Value::kObject && v->kind != Value::kTensor) return nullptr;
  if (v->src >= 0) return v->obj.ptr();
  return v->serial < serial ? &*v : nullptr;
}
}  // namespace

// What comes back is counted: turns of loops, recursion. Code that runs for the first time for an
// object, as the layers of a network do one by one, is as long as what was written, and so is what
// it calls, up to some length.
void Tracer::count(Frame& f) {
  constexpr int64_t kCalled = 4096;
  if (!f.reached)
    f.reached =
        &reached_
             .try_emplace({&*f.code, subject_of(f.slots.empty() ? V() : f.slots.front(), 0)}, -1)
             .first->second;
  if (f.pc <= *f.reached) return tick();
  *f.reached = f.pc;
  counted_ = std::min(counted_, budget_);
  budget_ = counted_ + kCalled;
  tick(0);
}

// The same for a turn of a loop over what was there before it began, at `serial`, or one that finds
// its object by an index.
void Tracer::meet(Frame& f, const V& item, uint64_t serial) {
  if (const void* s = subject_of(item, serial))
    f.reached = &reached_.try_emplace({&*f.code, s}, -1).first->second;
}

V Tracer::run_inlined(Frame& f) {
  if (frames_.size() > 60 || stack_is_low()) {
    const bool itself = std::any_of(frames_.begin(), frames_.end(),
                                    [&](const Frame* x) { return &*x->code == &*f.code; });
    give_up(Reason::kRecursion, itself ? str_cat("recursion of ", f.code->name) : "");
  }
  f.handled = frames_.back()->handled;
  frames_.push_back(&f);
  while (true) {
    count(f);
    advance(f);
    if (returned_) {
      returned_ = false;
      frames_.pop_back();
      return return_value_;
    }
  }
}

// An import of what is imported already finds it in sys.modules and does nothing else.
V Tracer::import_module(Frame& f, const std::string& name, bool top, int64_t level) {
  PyObject* const hook = names.import;
  PyObject* import = found_in(builtins_of(f.globals), hook);
  if (level != 0 || import != library.import_function.ptr())
    give_up(Reason::kUnsupportedOpcode, "import of " + name);
  const int n = add_source({Source::kConst, -1, 0, py::reinterpret_borrow<py::object>(hook)});
  wrap(import, add_source({Source::kGlobal, n, 0, py::reinterpret_borrow<py::object>(f.globals)}));
  PyObject* modules = PyImport_GetModuleDict();
  const int src = add_source({Source::kConst, -1, 0, py::reinterpret_borrow<py::object>(modules)});
  auto loaded = [&](const std::string& module) {
    PyObject* text = PyUnicode_FromString(module.c_str());
    PyUnicode_InternInPlace(&text);  // sources are told apart by the addresses of their keys
    const py::object key = py::reinterpret_steal<py::object>(text);
    PyObject* m = found_in(modules, key.ptr());
    if (!m || !PyModule_Check(m)) give_up(Reason::kUnsupportedOpcode, "first import of " + module);
    return wrap(m, add_source({Source::kDictItem, src, 0, key}));
  };
  const V whole = loaded(name);
  const size_t dot = name.find('.');
  return top && dot != std::string::npos ? loaded(name.substr(0, dot)) : whole;
}

int Tracer::place() {
  const Frame* at = frames_.back();
  for (size_t k = frames_.size(); k-- > 0;) {
    const auto [it, fresh] = of_library_.try_emplace(frames_[k]->globals, false);
    if (fresh) it->second = named_as_library(frames_[k]->globals);
    if (it->second) continue;
    at = frames_[k];
    break;
  }
  const int line = at->code->instrs[at->pc].line;
  auto& locations = graph_->locations;
  auto& last = last_place_;
  if (last.graph == graph_.get() && last.code == &*at->code && last.line == line &&
      last.index < static_cast<int>(locations.size()))
    return last.index;
  const auto [it, fresh] = place_index_.try_emplace({graph_.get(), &*at->code, line}, 0);
  if (fresh || it->second >= static_cast<int>(locations.size())) {
    it->second = static_cast<int>(locations.size());
    locations.push_back(str_cat(at->code->filename, ":", line));
    places_.insert(locations.back());
  }
  last = {graph_.get(), &*at->code, line, it->second};
  return it->second;
}

void Tracer::step(Frame& f) {
  const Instr& in = f.code->instrs[f.pc];
  graph_->current_loc = place();
  auto& st = f.stack;
  auto pop = [&] {
    V v = st.back();
    st.pop_back();
    return v;
  };
  auto popn = [&](int n) {
    std::vector<V> v(st.end() - n, st.end());
    st.resize(st.size() - n);
    return v;
  };
  auto name = [&] { return text_of(in.obj); };
  int next = f.pc + 1;
  switch (in.op) {
    case Op::NOP: break;
    case Op::LOAD_CONST: st.push_back(wrap_static(in.obj)); break;
    case Op::LOAD_FAST: {
      V v = f.slots[in.a];
      if (v->kind == Value::kNull) give_up(Reason::kUnboundName, f.code->slot_names[in.a]);
      st.push_back(v);
      break;
    }
    case Op::LOAD_FAST_AND_CLEAR:
      st.push_back(f.slots[in.a]);
      f.slots[in.a] = null();
      break;
    case Op::STORE_FAST:
      let_go(f, in.a);
      f.slots[in.a] = pop();
      break;
    case Op::DELETE_FAST:
      let_go(f, in.a);
      if (f.slots[in.a]->kind == Value::kNull)
        give_up(Reason::kUnboundName, f.code->slot_names[in.a]);
      f.slots[in.a] = null();
      break;
    case Op::LOAD_GLOBAL: {
      V v = load_global(f.globals, in.obj);
      if (in.a) st.push_back(null());
      st.push_back(v);
      break;
    }
    case Op::STORE_GLOBAL: set_global(f.globals, in.obj, pop()); break;
    case Op::LOAD_ATTR: st.back() = protocol::attribute(*this, st.back(), in.obj); break;
    case Op::LOAD_METHOD: {
      V v = protocol::attribute(*this, pop(), in.obj);
      st.push_back(null());
      st.push_back(v);
      break;
    }
    case Op::LOAD_SUPER_ATTR: {
      auto a = popn(3);
      V proxy = call(a[0], {a[1], a[2]}, {});
      V v = protocol::attribute(*this, proxy, in.obj);
      if (in.a) st.push_back(null());
      st.push_back(v);
      break;
    }
    case Op::STORE_ATTR: {
      V o = pop(), v = pop();
      protocol::set_attribute(*this, o, in.obj, v);
      break;
    }
    case Op::DELETE_ATTR: protocol::delete_attribute(*this, pop(), in.obj); break;
    case Op::LOAD_CLOSURE:
    case Op::LOAD_DEREF: {
      auto* c = as<CellValue>(f.slots[in.a]);
      if (!c) give_up(Reason::kUnboundName, f.code->slot_names[in.a]);
      if (in.op == Op::LOAD_CLOSURE) {
        st.push_back(c);
        break;
      }
      if (!c->content) give_up(Reason::kUnboundName, f.code->slot_names[in.a]);
      st.push_back(c->content);
      break;
    }
    case Op::STORE_DEREF: {
      const V c = f.slots[in.a];
      set_cell(*this, c, pop());
      break;
    }
    case Op::MAKE_CELL: {
      auto* c = make<CellValue>();
      if (f.slots[in.a]->kind != Value::kNull) c->content = f.slots[in.a];
      f.slots[in.a] = c;
      break;
    }
    case Op::COPY_FREE_VARS:
      for (int k = 0; k < in.a; ++k) {
        V& slot = f.slots[f.code->num_slots - in.a + k];
        if (auto* made = as<FunctionValue>(f.func)) {
          slot = item(made->closure, k);
        } else {
          Py_ssize_t n;
          PyObject** c = closure_of(f.func->obj.ptr(), &n);
          const int src = frames_.size() == 1
                              ? add_source({Source::kClosure, -1, k, {}})
                              : add_source({Source::kFuncClosure, source_of(f.func), k, {}});
          slot = wrap(c[k], src);
        }
      }
      break;
    case Op::PUSH_NULL: st.push_back(null()); break;
    case Op::POP_TOP: st.pop_back(); break;
    case Op::COPY: st.push_back(st[st.size() - in.a]); break;
    case Op::SWAP: std::swap(st.back(), st[st.size() - in.a]); break;
    case Op::UNARY: {
      V x = pop();
      st.push_back(protocol::unary(*this, static_cast<UnaryOp>(in.a), x));
      break;
    }
    case Op::BINARY: {
      auto a = popn(2);
      const auto op = static_cast<BinaryOp>(in.a);
      st.push_back(in.b ? protocol::in_place(*this, op, a[0], a[1])
                        : protocol::binary(*this, op, a[0], a[1]));
      break;
    }
    case Op::COMPARE: {
      auto a = popn(2);
      st.push_back(protocol::compare(*this, static_cast<CompareOp>(in.a), a[0], a[1]));
      break;
    }
    case Op::IS_OP: {
      auto a = popn(2);
      auto r = protocol::identical(*this, a[0], a[1]);
      if (!r) give_up(Reason::kUnsupportedOperand, "identity of values");
      st.push_back(constant(py::bool_(*r != static_cast<bool>(in.a))));
      break;
    }
    case Op::CONTAINS_OP: {
      auto a = popn(2);
      auto r = protocol::contains(*this, a[1], a[0]);
      if (!r) give_up(Reason::kUnsupportedOperand, "membership test");
      st.push_back(constant(py::bool_(*r != static_cast<bool>(in.a))));
      break;
    }
    case Op::BINARY_SUBSCR: {
      auto a = popn(2);
      st.push_back(protocol::getitem(*this, a[0], a[1]));
      meet(f, st.back(), 0);
      break;
    }
    case Op::STORE_SUBSCR: {
      auto a = popn(3);
      protocol::setitem(*this, a[1], a[2], a[0]);
      break;
    }
    case Op::BINARY_SLICE:
    case Op::STORE_SLICE: {
      auto a = popn(2);
      const V s = make<SliceValue>(a[0], a[1], constant(py::none()));
      V x = pop();
      if (in.op == Op::BINARY_SLICE)
        st.push_back(protocol::getitem(*this, x, s));
      else
        protocol::setitem(*this, x, s, pop());
      break;
    }
    case Op::BUILD_TUPLE: st.push_back(tuple(popn(in.a))); break;
    case Op::BUILD_LIST: st.push_back(list(popn(in.a))); break;
    case Op::BUILD_SET: st.push_back(set_of(*this, popn(in.a))); break;
    case Op::SET_ADD: {
      V x = pop();
      const V set = st[st.size() - in.a];
      std::vector<V> args{x};
      Kwargs none;
      if (!set->method(*this, "add", args, none)) give_up(Reason::kUnsupportedOperand, "set");
      break;
    }
    case Op::SET_UPDATE: {
      V x = pop(), set = st[st.size() - in.a];
      std::vector<V> args{x};
      Kwargs none;
      if (!set->method(*this, "update", args, none))
        give_up(Reason::kUnsupportedOperand, "update of a set");
      break;
    }
    case Op::BUILD_MAP: {
      auto a = popn(2 * in.a);
      auto* d = make<DictValue>();
      for (int k = 0; k < in.a; ++k) protocol::setitem(*this, d, a[2 * k], a[2 * k + 1]);
      st.push_back(d);
      break;
    }
    case Op::BUILD_CONST_KEY_MAP: {
      V keys = pop();
      auto a = popn(in.a);
      auto* d = make<DictValue>();
      for (int k = 0; k < in.a; ++k) protocol::setitem(*this, d, item(keys, k), a[k]);
      st.push_back(d);
      break;
    }
    case Op::BUILD_SLICE: {
      auto a = popn(in.a);
      st.push_back(make<SliceValue>(a[0], a[1], in.a == 3 ? a[2] : constant(py::none())));
      break;
    }
    case Op::BUILD_STRING: {
      py::list parts;
      const std::vector<V> pieces = popn(in.a);
      if (std::any_of(pieces.begin(), pieces.end(), is_input)) {
        if (V r = at_each_run(*this, original("join"), {tuple(pieces)})) {
          st.push_back(r);
          break;
        }
      }
      for (auto& v : pieces) {
        auto c = as_constant(v);
        if (!c) give_up(Reason::kUnsupportedOperand, "string");
        parts.append(*c);
      }
      st.push_back(constant(py::str("").attr("join")(parts)));
      break;
    }
    case Op::FORMAT_VALUE: {
      V spec = in.a & 4 ? pop() : nullptr;
      V value = pop();
      const int conversion = in.a & 3;
      if (is_input(value) || (spec && is_input(spec))) {
        PyObject* const functions[] = {original("format"),
                                       reinterpret_cast<PyObject*>(&PyUnicode_Type),
                                       original("repr"), original("ascii")};
        V r = conversion ? at_each_run(*this, functions[conversion], {value}) : value;
        if (r) r = at_each_run(*this, functions[0], {r, spec ? spec : constant(py::str(""))});
        if (r) {
          st.push_back(r);
          break;
        }
      }
      const bool is_empty = !spec || (is_text(spec) && PyUnicode_GET_LENGTH(spec->obj.ptr()) == 0);
      if (conversion) {
        const auto t = protocol::text(*this, value, conversion == 1 ? "__str__" : "__repr__");
        if (!t) give_up(Reason::kTensorValue, "formatting");
        value = *t;
        if (conversion == 3)
          value = constant(value->obj.attr("encode")("ascii", "backslashreplace").attr("decode")());
      } else if (!as_constant(value)) {
        if (value->kind != Value::kTensor && is_empty &&
            type_lookup(type_of(value), names.format) ==
                type_lookup(&PyBaseObject_Type, names.format)) {
          if (auto t = protocol::text(*this, value, "__str__")) value = *t;
        } else if (PyObject* f = value->kind == Value::kTensor
                                     ? nullptr
                                     : protocol::user_method(*this, value, "__format__")) {
          value = call(wrap_static(f), {value, spec ? spec : constant(py::str(""))}, {});
          if (!is_text(value)) give_up(Reason::kRaises, "__format__ gives no text");
          spec = nullptr;
        }
      }
      auto x = as_constant(value);
      auto s = spec ? as_constant(spec) : py::object(py::str(""));
      if (!x || !s) give_up(Reason::kTensorValue, "formatting");
      PyObject* r = PyObject_Format(x->ptr(), s->ptr());
      if (!r) raise(py::error_already_set());
      const auto result = py::reinterpret_steal<py::object>(r);
      st.push_back(x->is(result) ? value : constant(result));
      break;
    }
    case Op::LIST_APPEND:
    case Op::LIST_EXTEND: {
      V x = pop();
      V list = st[st.size() - in.a];
      as<ListValue>(list)->extend(
          *this, in.op == Op::LIST_APPEND ? std::vector<V>{x} : protocol::items_of(*this, x));
      break;
    }
    case Op::MAP_ADD: {
      auto a = popn(2);
      protocol::setitem(*this, st[st.size() - in.a], a[0], a[1]);
      break;
    }
    case Op::DICT_UPDATE:
    case Op::DICT_MERGE: {
      V from = pop(), d = st[st.size() - in.a];
      from->settle(*this);
      if (from->kind != Value::kDict) give_up(Reason::kUnsupportedOperand, "dict update");
      for (size_t k = 0; k < from->keys.size(); ++k) {
        if (in.op == Op::DICT_MERGE && find_key(*this, d, from->keys[k].ptr()) >= 0)
          give_up(Reason::kRaises, "repeated keyword");
        protocol::setitem(*this, d, key_value(*this, from->keys[k].ptr()), item(from, k));
      }
      break;
    }
    case Op::LIST_TO_TUPLE: {
      auto items = protocol::unpack(*this, pop());
      if (!items) give_up(Reason::kUnsupportedIterable);
      st.push_back(tuple(*items));
      break;
    }
    case Op::UNPACK_SEQUENCE: {
      V x = pop();
      auto items = protocol::unpack(*this, x);
      if (!items) give_up(Reason::kUnsupportedIterable, type_of(x)->tp_name);
      if (static_cast<int>(items->size()) != in.a)
        give_up(Reason::kRaises, "wrong number of values to unpack");
      for (int k = in.a - 1; k >= 0; --k) st.push_back((*items)[k]);
      break;
    }
    case Op::UNPACK_EX: {
      const size_t before = in.a & 255, after = in.a >> 8;
      const auto items = protocol::items_of(*this, pop());
      if (items.size() < before + after) give_up(Reason::kRaises, "not enough values to unpack");
      for (size_t k = items.size(); k-- > items.size() - after;) st.push_back(items[k]);
      st.push_back(list({items.begin() + static_cast<std::ptrdiff_t>(before),
                         items.end() - static_cast<std::ptrdiff_t>(after)}));
      for (size_t k = before; k-- > 0;) st.push_back(items[k]);
      break;
    }
    case Op::GET_LEN: {
      st.push_back(protocol::length(*this, st.back()));
      break;
    }
    case Op::MATCH_KIND:
      st.push_back(constant(py::bool_(
          PyType_HasFeature(type_of(st.back()), in.a ? Py_TPFLAGS_MAPPING : Py_TPFLAGS_SEQUENCE))));
      break;
    case Op::MATCH_KEYS: {
      const V keys = st.back(), subject = st[st.size() - 2];
      st.push_back(call_polyfill("match_keys", {subject, keys}));
      break;
    }
    case Op::MATCH_CLASS: {
      auto a = popn(3);
      a.push_back(constant_int(in.a));
      st.push_back(call_polyfill("match_class", a));
      break;
    }
    case Op::JUMP: next = in.target; break;
    case Op::POP_JUMP: {
      V x = pop();
      bool jump;
      if (in.a >= 2) {
        const bool none = is_none(x);
        jump = none == (in.a == 2);
      } else {
        auto t = protocol::truth(*this, x);
        if (!t && undecided(x))
          return in.a == 1 ? branch_on_tensor(f, x, in.target, next)
                           : branch_on_tensor(f, x, next, in.target);
        if (!t)
          give_up(x->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedOperand,
                  str_cat("truth value of ", type_of(x)->tp_name));
        jump = *t == (in.a == 1);
      }
      if (jump) next = in.target;
      break;
    }
    case Op::JUMP_OR_POP: {
      auto t = protocol::truth(*this, st.back());
      if (!t && undecided(st.back())) {
        const V x = pop();
        return in.a == 1 ? branch_on_tensor(f, x, in.target, next, 1)
                         : branch_on_tensor(f, x, next, in.target, 0);
      }
      if (!t)
        give_up(
            st.back()->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedOperand,
            "truth value");
      if (*t == (in.a == 1))
        next = in.target;
      else
        st.pop_back();
      break;
    }
    case Op::GET_ITER: {
      V x = pop();
      st.push_back(protocol::iter(*this, x));
      break;
    }
    case Op::FOR_ITER: {
      V it = st.back(), v;
      if (!as<IteratorValue>(it)) give_up(Reason::kUnsupportedIterable, type_of(it)->tp_name);
      if (protocol::next(*this, it, &v)) {
        st.push_back(v);
        meet(f, v, it->serial);
      } else {
        st.pop_back();
        next = in.target;
      }
      break;
    }
    case Op::CALL: {
      auto args = popn(in.a);
      V a = pop(), b = pop();  // b: NULL, or the method whose self is a
      V callee = a;
      if (b->kind != Value::kNull) callee = b, args.insert(args.begin(), a);
      Kwargs kw;
      if (in.obj) {
        const Py_ssize_t n = PyTuple_GET_SIZE(in.obj);
        for (Py_ssize_t k = 0; k < n; ++k)
          kw.push_back({text_of(PyTuple_GET_ITEM(in.obj, k)), args[args.size() - n + k]});
        args.resize(args.size() - n);
      }
      st.push_back(call(callee, args, kw));
      break;
    }
    case Op::CALL_EX: {
      V kwargs = in.a ? pop() : nullptr, args = pop(), callee = pop();
      if (!st.empty() && st.back()->kind == Value::kNull) st.pop_back();
      auto items = protocol::unpack(*this, args);
      if (!items) give_up(Reason::kUnsupportedIterable, "*args");
      Kwargs kw;
      if (kwargs) {
        kw = keywords_of(kwargs);
      }
      st.push_back(call(callee, *items, kw));
      break;
    }
    case Op::IMPORT_NAME: {
      const V from = pop(), level = pop();
      st.push_back(import_module(f, name(), is_none(from), as_int(*this, level).value_or(-1)));
      break;
    }
    case Op::IMPORT_FROM: st.push_back(protocol::attribute(*this, st.back(), in.obj)); break;
    case Op::MAKE_FUNCTION: {
      auto* fn = make<FunctionValue>();
      fn->code = pop()->obj;
      fn->globals = py::reinterpret_borrow<py::object>(f.globals);
      if (in.a & 8) fn->closure = pop();
      if (in.a & 4) fn->annotations = pop();
      if (in.a & 2) fn->kwdefaults = pop();
      if (in.a & 1) fn->defaults = pop();
      st.push_back(fn);
      break;
    }
    case Op::BEFORE_WITH: {
      V manager = pop();
      PyObject *enter = protocol::user_method(*this, manager, "__enter__"),
               *exit = protocol::user_method(*this, manager, "__exit__");
      if (!enter || !exit) give_up(Reason::kContextManager, type_of(manager)->tp_name);
      st.push_back(protocol::bind(*this, wrap_static(exit), manager, type_of(manager)));
      st.push_back(call(wrap_static(enter), {manager}, {}));
      break;
    }
    case Op::RAISE:
      if (in.a == 0) {
        if (f.handled->kind == Value::kException) raise(f.handled);
        give_up(Reason::kRaises, "no exception to raise again");
      }
      if (in.a == 2) {  // the cause: seen by no handler
        const V cause = pop();
        const bool none = is_none(cause);
        if (!none && cause->kind != Value::kException &&
            !(cause->kind == Value::kObject && (PyExceptionClass_Check(cause->obj.ptr()) ||
                                                PyExceptionInstance_Check(cause->obj.ptr()))))
          raise(PyExc_TypeError,
                {constant(py::str("exception causes must derive from BaseException"))});
      }
      raise(exception_from(pop()));
    case Op::PUSH_EXC_INFO: {
      const V e = pop();
      st.push_back(f.handled);
      st.push_back(e);
      f.handled = e;
      break;
    }
    case Op::CHECK_EXC_MATCH: {
      const V match = pop();
      st.push_back(constant(py::bool_(exception_matches(st.back(), match))));
      break;
    }
    case Op::POP_EXCEPT: f.handled = pop(); break;
    case Op::RERAISE: raise(exception_from(pop()));
    case Op::WITH_EXCEPT_START: {
      const V exit = st.at(st.size() - 4), e = st.back();
      if (e->kind != Value::kException) give_up(Reason::kRaises, type_of(e)->tp_name);
      st.push_back(call(exit, {wrap_static(e->obj.ptr()), e, null()}, {}));
      break;
    }
    case Op::RETURN_GENERATOR: st.push_back(constant(py::none())); break;
    case Op::YIELD_VALUE:
      yielded_ = pop();
      st.push_back(constant(py::none()));
      break;
    case Op::GET_YIELD_FROM_ITER:
      if (!as<IteratorValue>(st.back())) st.push_back(protocol::iter(*this, pop()));
      break;
    case Op::SEND: {
      const V sent = pop(), it = st.back();
      V v;
      if (send(it, sent, &v)) {
        st.push_back(v);
        break;
      }
      if (!in.a) st.pop_back();
      st.push_back(v ? v : constant(py::none()));
      next = in.target;
      break;
    }
    case Op::END_SEND: st.erase(st.end() - 2); break;
    case Op::RETURN_VALUE:
      return_value_ = pop();
      returned_ = true;
      return;
    case Op::DELETE_SUBSCR: {
      auto a = popn(2);
      protocol::delitem(*this, a[0], a[1]);
      break;
    }
    case Op::UNSUPPORTED: {
      give_up(Reason::kUnsupportedOpcode, name());
    }
  }
  f.pc = next;
}

std::unique_ptr<Entry> capture(StartPoint& p, const std::vector<PyObject*>& state, bool whole) {
  // Where even the state can't be rebuilt, the rest runs in Python from here.
  auto plain = [&](const GraphBreak& b) {
    auto e = std::make_unique<Entry>();
    e->instr = p.instr;
    e->rest_in_python = true;
    e->instances[{}] = std::make_shared<Instance>();
    e->first_line = p.code->instrs[p.instr].line;
    e->break_record =
        BreakRecord{b.reason, b.detail,
                    b.where.empty() ? str_cat(p.code->filename, ":", e->first_line) : b.where};
    for (size_t s = 0; s + 1 < state.size(); ++s) {  // the last is the handled exception
      e->sources.push_back({Source::kState, -1, static_cast<int>(s), {}});
      e->guard_range.push_back({0, 0});
      e->recipes.push_back(std::make_unique<SourceRecipe>(static_cast<int>(s)));
      e->from_sources.push_back({static_cast<int>(s), static_cast<int>(s)});
      const int id = state[s] ? static_cast<int>(s) : -1;
      if (static_cast<int>(s) < p.code->num_slots)
        e->slot_recipes.push_back(id);
      else
        e->stack_recipes.push_back(id);
    }
    return e;
  };
  if (p.code->compares_frames) return plain({Reason::kUnsupportedAttribute, "frames", ""});
  if (has_other_builtins(p.func)) return plain({Reason::kUnboundName, "builtins of its own", ""});
  std::set<int> left;
  try {
    while (true) try {
        return Tracer(p, state, whole, left).run();
      } catch (const StartedIterator& it) {
        if (it.made_at < 0 || !left.insert(it.made_at).second)
          return plain({Reason::kRebuild, "an iterator under way", ""});
      } catch (const ChangesItself& c) {
        for (uint64_t path : c.paths) p.varying[path] = ~0ull;
        p.own_changes.insert(c.paths.begin(), c.paths.end());
      }
  } catch (const GraphBreak& b) {
    return plain(b);
  } catch (const OpError& err) {
    return plain({Reason::kRaises, err.what(), ""});
  } catch (const std::bad_alloc&) {
    return plain({Reason::kRaises, "MemoryError", ""});
  }
}

}  // namespace pijit
