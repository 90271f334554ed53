// Frames and instructions.
#include <algorithm>

#include "base/config.h"
#include "base/log.h"
#include "capture/outcome.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"
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

Tracer::Tracer(StartPoint& p, const std::vector<PyObject*>& state, Left left)
    : Context(p), state_(state), left_(std::move(left)) {
  constexpr int64_t kShare = 16;
  if (!p.whole && config().measure && std::all_of(state.begin(), state.end(), is_plain_data))
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

std::string Tracer::inner_module() const {
  if (frames_.size() < 2 || frames_.back()->globals == frames_[0]->globals) return "";
  PyObject* name = PyDict_GetItemWithError(frames_.back()->globals, names.name);
  return name && PyUnicode_CheckExact(name) ? text_of(name) : "";
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
      if (need || (state_[i] && is_tensor(state_[i]) && i >= num_args(*f.code))) return null();
      V v = make<NullValue>();
      v->src = src;  // nobody reads it, but it lives on; another call may have one there
      return v;
    }
    return wrap(state_[i], src);
  };
  const std::vector<bool> mourned = lifetimes.mourned_state();
  auto loaded = [&](int i, bool need) {
    const V v = load(i, need || mourned[static_cast<size_t>(i)]);
    if (mourned[static_cast<size_t>(i)]) lifetimes.mourn(v, i);
    return v;
  };
  for (int i = 0; i < n; ++i) f.slots.push_back(loaded(i, f.code->live[f.pc][i]));
  for (int i = 0; i < start_.stack_size; ++i) f.stack.push_back(loaded(n + i, true));
  f.handled = handled_at_start_ = make<ObjectValue>();
  f.handled->src = add_source({Source::kState, -1, n + start_.stack_size, {}});
  f.handled->obj = py::reinterpret_borrow<py::object>(state_.back());
  if (mourned.back()) lifetimes.mourn(f.handled, n + start_.stack_size);
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
      if (const auto left = left_.find(f.pc); left != left_.end()) throw left->second;
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
      lifetimes.keep_mourned(f);
      keep_slots(f.code->instrs[here.pc]);
      if (returned_) return Outcome(*this).returned(return_value_);
    } catch (const GraphBreak& b) {
      const Place& at = raising ? *raising : here;
      if (b.in_numpy && !left_.contains(at.pc)) throw EndsInNumpy{at.pc, b};
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
      return Outcome(*this).broken(f, b);
    }
  }
}

namespace {
// What a call or a turn is about, if it was there before: there are only so many of these.
// `serial`: values with smaller ones were. Null: it may be one of ever new ones.
const void* metadata_of(const V& v, uint64_t serial) {
  if (!v) return nullptr;
  if (as<TupleValue>(v) && v->src < 0) {  // of zip() and the like
    for (auto& x : items_in(v))
      if (const void* s = metadata_of(x, serial)) return s;
    return nullptr;
  }
  if (!as<ObjectValue>(v) && !as<TensorValue>(v)) return nullptr;
  if (v->src >= 0) return v->obj.ptr();
  return v->serial < serial ? &*v : nullptr;
}
}  // namespace

// What comes back is counted: turns of loops, recursion. Code that runs for the first time for an
// object, as the layers of a network do one by one, is as long as what was written, and so is what
// it calls, up to some length.
void Tracer::count(Frame& f) {
  constexpr int64_t kCalled = 4096;
  constexpr int64_t kOperation = 8;  // takes longer to compile than an instruction to capture
  if (!f.reached)
    f.reached =
        &reached_
             .try_emplace({&*f.code, metadata_of(f.slots.empty() ? V() : f.slots.front(), 0)}, -1)
             .first->second;
  const size_t ops = graph_->size(), before = std::exchange(ops_before_, ops);
  if (counts_) budget_ -= kOperation * (static_cast<int64_t>(ops) - static_cast<int64_t>(before));
  counts_ = f.pc <= *f.reached;
  if (counts_) return tick();
  *f.reached = f.pc;
  counted_ = std::min(counted_, budget_);
  budget_ = counted_ + kCalled;
  tick(0);
}

// The same for a turn of a loop over what was there before it began, at `serial`, or one that finds
// its object by an index.
void Tracer::meet(Frame& f, const V& item, uint64_t serial) {
  if (const void* s = metadata_of(item, serial))
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
V Tracer::import_module(Frame& f, const std::string& name, const V& from, int64_t level) {
  PyObject* const hook = names.import;
  PyObject* import = found_in(builtins_of(f.globals), hook);
  if (level != 0 || import != library.import_function.ptr())
    give_up(Reason::kUnsupportedOpcode, "import of " + name, Case::kImport);
  const int n = add_source({Source::kConst, -1, 0, py::reinterpret_borrow<py::object>(hook)});
  wrap(import, add_source({Source::kGlobal, n, 0, py::reinterpret_borrow<py::object>(f.globals)}));
  PyObject* modules = PyImport_GetModuleDict();
  const int src = add_source({Source::kConst, -1, 0, py::reinterpret_borrow<py::object>(modules)});
  auto loaded = [&](const std::string& module) {
    PyObject* text = PyUnicode_FromString(module.c_str());
    PyUnicode_InternInPlace(&text);  // sources are told apart by the addresses of their keys
    const py::object key = py::reinterpret_steal<py::object>(text);
    PyObject* m = found_in(modules, key.ptr());
    if (!m || !PyModule_Check(m))
      give_up(Reason::kUnsupportedOpcode, "first import of " + module, Case::kImport);
    return wrap(m, add_source({Source::kDictItem, src, 0, key}));
  };
  const V whole = loaded(name);
  if (is_none(from)) {
    const size_t dot = name.find('.');
    return dot != std::string::npos ? loaded(name.substr(0, dot)) : whole;
  }
  // a package's modules come with the import that asks for them first
  PyObject* const held = PyModule_GetDict(whole->obj.ptr());
  if (found_in(held, str_of("__path__").ptr()))
    for (auto& part : from->parts(*this))
      if (!found_in(held, part->obj.ptr()))
        give_up(Reason::kUnsupportedOpcode,
                str_cat("first import of ", name, ".", text_of(part->obj.ptr())), Case::kImport);
  return whole;
}

int Tracer::place() {
  const Frame* at = frames_.back();
  for (size_t k = frames_.size(); k-- > 0;) {
    Frame& f = *frames_[k];
    if (!f.of_library) {
      const auto [it, fresh] = of_library_.try_emplace(f.globals, false);
      if (fresh) it->second = named_as_library(f.globals);
      f.of_library = it->second;
    }
    if (*f.of_library) continue;
    at = &f;
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
  switch (in.op) {
    case Op::NOP:
    case Op::LOAD_CONST:
    case Op::LOAD_FAST:
    case Op::LOAD_FAST_AND_CLEAR:
    case Op::STORE_FAST:
    case Op::DELETE_FAST:
    case Op::LOAD_GLOBAL:
    case Op::STORE_GLOBAL:
    case Op::LOAD_CLOSURE:
    case Op::LOAD_DEREF:
    case Op::STORE_DEREF:
    case Op::MAKE_CELL:
    case Op::COPY_FREE_VARS:
    case Op::PUSH_NULL:
    case Op::POP_TOP:
    case Op::COPY:
    case Op::SWAP: f.pc = step_variables(f, in); return;
    case Op::LOAD_ATTR:
    case Op::LOAD_METHOD:
    case Op::LOAD_SUPER_ATTR:
    case Op::STORE_ATTR:
    case Op::DELETE_ATTR: f.pc = step_attributes(f, in); return;
    case Op::UNARY:
    case Op::BINARY:
    case Op::COMPARE:
    case Op::IS_OP:
    case Op::CONTAINS_OP: f.pc = step_operators(f, in); return;
    case Op::BINARY_SUBSCR:
    case Op::STORE_SUBSCR:
    case Op::BINARY_SLICE:
    case Op::STORE_SLICE:
    case Op::DELETE_SUBSCR: f.pc = step_items(f, in); return;
    case Op::BUILD_TUPLE:
    case Op::BUILD_LIST:
    case Op::BUILD_SET:
    case Op::SET_ADD:
    case Op::SET_UPDATE:
    case Op::BUILD_MAP:
    case Op::BUILD_CONST_KEY_MAP:
    case Op::BUILD_SLICE:
    case Op::BUILD_STRING:
    case Op::FORMAT_VALUE:
    case Op::CONVERT_VALUE:
    case Op::LIST_APPEND:
    case Op::LIST_EXTEND:
    case Op::MAP_ADD:
    case Op::DICT_UPDATE:
    case Op::DICT_MERGE:
    case Op::LIST_TO_TUPLE:
    case Op::UNPACK_SEQUENCE:
    case Op::UNPACK_EX:
    case Op::GET_LEN:
    case Op::MATCH_KIND:
    case Op::MATCH_KEYS:
    case Op::MATCH_CLASS: f.pc = step_containers(f, in); return;
    case Op::JUMP:
    case Op::POP_JUMP:
    case Op::JUMP_OR_POP:
    case Op::GET_ITER:
    case Op::FOR_ITER:
    case Op::RETURN_VALUE: f.pc = step_control(f, in); return;
    case Op::RETURN_GENERATOR:
    case Op::YIELD_VALUE:
    case Op::GET_YIELD_FROM_ITER:
    case Op::SEND:
    case Op::END_SEND: f.pc = step_generators(f, in); return;
    case Op::CALL:
    case Op::CALL_KW:
    case Op::CALL_EX:
    case Op::IMPORT_NAME:
    case Op::IMPORT_FROM:
    case Op::MAKE_FUNCTION:
    case Op::LOAD_SPECIAL:
    case Op::BEFORE_WITH: f.pc = step_calls(f, in); return;
    case Op::RAISE:
    case Op::PUSH_EXC_INFO:
    case Op::CHECK_EXC_MATCH:
    case Op::POP_EXCEPT:
    case Op::RERAISE:
    case Op::WITH_EXCEPT_START: f.pc = step_exceptions(f, in); return;
    case Op::UNSUPPORTED: give_up(Reason::kUnsupportedOpcode, text_of(in.obj));
  }
}

std::unique_ptr<Entry> plain_entry(const StartPoint& p, const std::vector<PyObject*>& state,
                                   const GraphBreak& b) {
  auto e = std::make_unique<Entry>();
  e->instr = p.instr;
  e->rest_in_python = true;
  e->instances[{}] = std::make_shared<Instance>();
  e->first_line = p.code->instrs[p.instr].line;
  e->break_record =
      BreakRecord{b.reason, b.detail,
                  b.where.empty() ? str_cat(p.code->filename, ":", e->first_line) : b.where, b.of};
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
}

std::unique_ptr<Entry> capture(StartPoint& p, const std::vector<PyObject*>& state) {
  struct AsBefore {  // the code that is followed may compute in others
    const std::optional<DType> dtype = compute_dtype;
    ~AsBefore() { reset(); }
    void reset() const { compute_dtype = dtype; }
  } before;
  auto plain = [&](const GraphBreak& b) { return plain_entry(p, state, b); };
  if (p.code->compares_frames) return plain({Reason::kUnsupportedAttribute, "frames", ""});
  if (has_other_builtins(p.func)) return plain({Reason::kUnboundName, "builtins of its own", ""});
  Tracer::Left left;
  try {
    while (true) try {
        before.reset();
        return Tracer(p, state, left).run();
      } catch (const StartedIterator& it) {
        const GraphBreak because{Reason::kRebuild, "an iterator under way at a later break", ""};
        if (it.made_at < 0 || !left.try_emplace(it.made_at, because).second)
          return plain({Reason::kRebuild, "an iterator under way", ""});
      } catch (const EndsInNumpy& e) {
        left.try_emplace(e.pc, e.because);
      } catch (const AsksForNumpy&) {
        library.load_numpy.object()();
      } catch (const ChangesItself& c) {
        for (uint64_t path : c.paths) p.dynamic[path] = ~0ull;
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
