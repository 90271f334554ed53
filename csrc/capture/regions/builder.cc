#include "capture/regions/builder.h"

#include <algorithm>
#include <climits>
#include <tuple>

#include "base/config.h"
#include "base/error.h"
#include "capture/regions/generators.h"
#include "capture/regions/numpy_calls.h"
#include "capture/regions/statements.h"
#include "capture/regions/text.h"
#include "entry/entry.h"
#include "objects/ndarray.h"

namespace pijit {

namespace regions {

constexpr size_t kMostBlocks = 400;    // of a region
constexpr size_t kMostInstrs = 12000;  // of its code

RegionBuilder::RegionBuilder(const Code& code, int instr, const Region::Frame& frame,
                             ListKinds& kinds, bool fast)
    : d_(frame, kinds), b_(e_, code, frame.func) {
  d_.fast = fast;
  d_.r->instr = instr;
  d_.r->slots = frame.slots.size();
  d_.r->stack = frame.stack.size();
  for (PyObject* o : frame.slots) d_.r->nulls.push_back(!o);
  for (PyObject* o : frame.stack) d_.r->nulls.push_back(!o);
  Body& body = b_.body();
  body.merges[instr] = body.merges[instr] || body.loop_end[instr] >= 0;
}

std::unique_ptr<Region> RegionBuilder::build() {
  d_.f.add_block();
  Frame start;
  for (size_t k = 0; k < d_.r->slots; ++k)
    start.slots.push_back(d_.given(RegionSource::kSlot, k, d_.entry.slots[k]));
  for (size_t k = 0; k < d_.r->stack; ++k)
    start.stack.push_back(d_.given(RegionSource::kStack, k, d_.entry.stack[k]));
  // iterators over ranges are numbers from the beginning
  for (auto& a : start.stack)
    if (a.kind == K::kEntry && !d_.is_known_iterator(a))
      return refused("others hold the iterator of the loop, too", "a loop over a range()");
  may_call_itself_ = is_called_by_itself();
  if (may_call_itself_) take_operands(&start);
  const region::Edge first = b_.go_to(d_.r->instr, start);
  d_.f.blocks[0].next = first;
  if (may_call_itself_) b_.poll_at(0, d_.r->instr, start);
  while (!b_.pending.empty()) {
    if (d_.f.blocks.size() > kMostBlocks || d_.f.instrs.size() > kMostInstrs)
      return refused("the loop would be too much machine code: its variables have many types",
                     "variables that keep one type each");
    Pending p = std::move(b_.pending.back());
    b_.pending.pop_back();
    fill(std::move(p));
  }
  if (calls_itself_) return recursive();
  if (!region::has_loop(d_.f)) return nullptr;
  // a graph may have all that the loop does with arrays
  if (leaves_arrays_ && !d_.r->statements.empty()) return nullptr;
  region::optimize(d_.f);
  if (!region::has_loop(d_.f) && !d_.f.unrolled) return nullptr;
  d_.f.any_order = d_.fast;
  region::prepare_loops(d_.f);
  d_.r->parallel = d_.f.parallel;
  d_.r->statements.insert(d_.r->statements.end(), d_.f.kept.begin(), d_.f.kept.end());
  return finish();
}

std::unique_ptr<Region> RegionBuilder::refused(std::string why, std::string help) {
  because_.line = b_.own().code->instrs[d_.r->instr].line;
  because_.why = std::move(why);
  because_.help = std::move(help);
  const int around = b_.loop_around(d_.r->instr);
  note_loop(around >= 0 ? around : b_.next_loop(d_.r->instr));
  return nullptr;
}

void RegionBuilder::note_leave(const Leave& l) {
  RegionExit& left = d_.r->exits[static_cast<size_t>(e_.exit_here())];
  left.why = l.why;
  left.of_arrays = l.of_arrays;
  const bool inside = b_.loop_around(e_.own_instr()) >= 0;
  if (because_.why.empty() && !inside && !branches_) because_.before = e_.own_instr();
  leaves_arrays_ |= inside && l.of_arrays;
  if (!because_.why.empty() && (because_in_loop_ || !inside)) return;
  because_in_loop_ = inside;
  because_.line = b_.own().code->instrs[e_.own_instr()].line;
  because_.why = l.why;
  if (b_.current != 0)
    because_.why += str_cat(" (in ", b_.code().name, ", line ", line_here(), ")");
  because_.help = l.help;
  note_loop(inside ? b_.loop_around(e_.own_instr()) : b_.next_loop(e_.own_instr()));
}

int RegionBuilder::line_here() const { return b_.code().instrs[e_.instr()].line; }

void RegionBuilder::note_loop(int head) {
  because_.first_line = because_.last_line = because_.line;  // of a comprehension's own function
  if (head < 0) return;
  std::tie(because_.first_line, because_.last_line) =
      lines_of(*b_.own().code, head, b_.own().loop_end[head]);
}

// May it follow while arrays are computed with, which nothing else holds than the stack?
static bool goes_on_with_arrays(BOp op) {
  switch (op) {
    case BOp::NOP:
    case BOp::LOAD_CONST:
    case BOp::LOAD_FAST:
    case BOp::LOAD_DEREF:
    case BOp::LOAD_GLOBAL:
    case BOp::LOAD_ATTR:
    case BOp::LOAD_METHOD:
    case BOp::PUSH_NULL:
    case BOp::SWAP:
    case BOp::UNARY:
    case BOp::BINARY:
    case BOp::BINARY_SUBSCR:
    case BOp::BINARY_SLICE:
    case BOp::BUILD_SLICE:
    case BOp::BUILD_TUPLE:
    case BOp::CALL:
    case BOp::STORE_SUBSCR:
    case BOp::STORE_SLICE: return true;
    default: return false;
  }
}

static bool holds_arrays(const Frame& f) {
  return std::any_of(f.stack.begin(), f.stack.end(),
                     [](const Av& a) { return a.kind == K::kArray; });
}

void RegionBuilder::fill(Pending p) {
  e_.block = p.block;
  b_.current = p.body;
  Frame now = std::move(p.frame);
  int instr = p.instr;
  for (bool first = true;; first = false) {
    if (!first && b_.body().merges[static_cast<size_t>(instr)] && !holds_arrays(now)) {
      const region::Edge e = b_.go_to(instr, std::move(now));
      d_.f.blocks[e_.block].next = e;
      return;
    }
    e_.begin(instr, b_.own_instr(instr), now);
    e_.may_store = !may_call_itself_ && b_.can_go_on();
    condition_ = kNoValue;
    jumps_if_ = true;
    const BIn& in = b_.code().instrs[instr];
    int next = -1;
    try {
      if (e_.computes_arrays() && !goes_on_with_arrays(in.op)) make_arrays(now.stack);
      if (in.op == BOp::RETURN_VALUE && b_.current == 0) return leave_function(now);
      next = in.op == BOp::RETURN_VALUE ? return_to_caller(&now) : step(in, now);
    } catch (const Leave& l) {
      d_.f.blocks[e_.block].exit = e_.exit_here();
      note_leave(l);
      return;
    }
    now.changed |= e_.has_changed() && !now.callers.empty();
    if (next_body_ < 0 && condition_ == kNoValue) e_.let_go_of_arrays(now.stack);
    if (next_body_ >= 0) {
      b_.current = std::exchange(next_body_, -1);
      now = std::move(entered_);
      instr = 0;
      continue;
    }
    if (condition_ != kNoValue) {
      branches_ = true;
      // the jump goes on with `now`, what is behind the instruction with `other_`
      // both go on in this function
      const int block = e_.block;
      const bool jumps = otherwise_.kind == K::kNull;
      if (!jumps) {
        other_ = now;
        other_.stack.back() = std::exchange(otherwise_, {});
      }
      const region::Edge taken = b_.go_to(jumps ? in.target : instr + 1, now);
      const region::Edge other = begin_turn(instr + 1, std::move(other_));
      d_.f.blocks[block].condition = condition_;
      d_.f.blocks[block].next = jumps_if_ ? taken : other;
      d_.f.blocks[block].otherwise = jumps_if_ ? other : taken;
      return;
    }
    branches_ |= next != instr + 1;
    instr = next;
  }
}

void RegionBuilder::leave_function(const Frame& now) {
  const Av result = may_call_itself_ ? d_.typed(now.stack.back()) : now.stack.back();
  note_result(result);
  d_.f.blocks[e_.block].exit = e_.make_exit(e_.instr(), now.slots, {result}, true);
}

region::Edge RegionBuilder::begin_turn(int instr, Frame frame) {
  if (over_.kind == K::kNull) return b_.go_to(instr, std::move(frame));
  const Av over = std::exchange(over_, {});
  const int block = e_.block, turn = d_.f.add_block();
  e_.block = turn;
  try {
    frame.stack.back() = item_of(e_, over);
    const region::Edge next = b_.go_to(instr, std::move(frame));
    d_.f.blocks[e_.block].next = next;
  } catch (const Leave& why) {
    d_.f.blocks[e_.block].exit = e_.exit_here();
    note_leave(why);
  }
  e_.block = block;
  return {turn, {}};
}

std::unique_ptr<Region> RegionBuilder::finish() {
  note_sources(d_);
  d_.r->words = std::max<size_t>({d_.f.words(), static_cast<size_t>(d_.words), 1});
  d_.r->code_size = d_.f.instrs.size();
  d_.r->text = d_.f.print();
  const auto order = region::reverse_postorder(d_.f);
  d_.r->first_line = INT_MAX;
  for (auto& [instr, versions] : b_.own().versions) {
    const int end = b_.own().loop_end[instr];
    if (end < 0) continue;
    const auto [first, last] = lines_of(*b_.own().code, instr, end);
    d_.r->first_line = std::min(d_.r->first_line, first);
    d_.r->last_line = std::max(d_.r->last_line, last);
  }
  if (d_.r->recursive || d_.r->first_line > d_.r->last_line) {  // all of it, or a function's loop
    std::tie(d_.r->first_line, d_.r->last_line) =
        lines_of(*b_.own().code, 0, static_cast<int>(b_.own().code->instrs.size()) - 1);
  }
  if (config().strict && !d_.stores) d_.r->reference = region::interpreted(d_.f);
  d_.r->code = region::compiled(std::move(d_.f));
  return std::move(d_.r);
}

void RegionBuilder::make_arrays(std::vector<Av>& stack) {
  for (Av& a : stack)
    if (a.kind == K::kArray) a = made_array(e_, a);
  e_.arrays_are_made();
}

int RegionBuilder::step(const BIn& in, Frame& f) {
  auto& st = f.stack;
  switch (in.op) {
    case BOp::NOP: break;
    case BOp::LOAD_CONST: st.push_back(d_.constant_object(in.obj)); break;
    case BOp::LOAD_FAST:
      if (const auto k = f.slots[in.a].kind; k == K::kNull || k == K::kTagged)
        leave(str_cat("`", b_.code().slot_names[in.a],
                      "` may have no value, or one of several types"),
              "set it before the loop, to a value of one type");
      st.push_back(d_.held_twice(f.slots[in.a]));
      break;
    case BOp::STORE_FAST:
      stay_alone(st.back());
      d_.drop(f.slots[in.a]);
      e_.hold(st.back(), 1);
      e_.hold(f.slots[in.a], -1);
      f.slots[in.a] = pop(f);
      break;
    case BOp::DELETE_FAST:
      if (f.slots[in.a].kind == K::kNull || f.slots[in.a].kind == K::kTagged)
        leave(str_cat("`", b_.code().slot_names[in.a], "` may have no value"));
      d_.drop(f.slots[in.a]);
      e_.hold(f.slots[in.a], -1);
      f.slots[in.a] = {};
      break;
    case BOp::LOAD_FAST_AND_CLEAR:
      if (f.slots[in.a].kind == K::kTagged)
        leave(str_cat("`", b_.code().slot_names[in.a], "` may have one of several types"));
      e_.hold(f.slots[in.a], -1);
      st.push_back(std::exchange(f.slots[in.a], Av{}));
      break;
    case BOp::COPY_FREE_VARS:
    case BOp::LOAD_DEREF:
    case BOp::STORE_DEREF:
    case BOp::MAKE_CELL:
    case BOp::LOAD_CLOSURE:
    case BOp::MAKE_FUNCTION: step_cell(in, f); break;
    case BOp::LOAD_GLOBAL: {
      RegionSource s{RegionSource::kGlobal, 0, of_body(),
                     py::reinterpret_borrow<py::object>(in.obj)};
      const Av a = looked_up(std::move(s));
      if (in.a && !kNullAboveCallable) st.emplace_back();
      st.push_back(a);
      if (in.a && kNullAboveCallable) st.emplace_back();
      break;
    }
    case BOp::LOAD_ATTR:
    case BOp::LOAD_METHOD: step_attribute(in, st); break;
    case BOp::PUSH_NULL: st.emplace_back(); break;
    case BOp::POP_TOP:
      for (int k = 0; k <= in.a; ++k) d_.drop(st[st.size() - 1 - static_cast<size_t>(k)]);
      st.resize(st.size() - 1 - static_cast<size_t>(in.a));
      break;
    case BOp::COPY: {
      Av& a = st[st.size() - static_cast<size_t>(in.a)];
      if (a.kind != K::kSlice) stay_alone(a);
      const Av copy = d_.held_twice(a);
      st.push_back(copy);
      break;
    }
    case BOp::SWAP: std::swap(st.back(), st[st.size() - static_cast<size_t>(in.a)]); break;
    case BOp::JUMP: return in.target;
    case BOp::GET_ITER:
    case BOp::FOR_ITER:
    case BOp::POP_JUMP:
    case BOp::JUMP_OR_POP: return step_flow(in, f);
    default: step_operator(in, st);
  }
  return e_.instr() + 1;
}

void RegionBuilder::step_attribute(const BIn& in, std::vector<Av>& st) {
  if (is_arrays(e_, st.back())) {
    if (in.op == BOp::LOAD_ATTR) {
      if (st.back().kind == K::kArray) st.back() = made_array(e_, st.back());
      st.back() = array_attribute(e_, st.back(), text_of(in.obj));
      return;
    }
    PyObject* const method = pure_array_method(in.obj);
    if (!method)
      leave(str_cat("the method `.", text_of(in.obj), "` of an array is called"), "", true);
    st.insert(st.end() - 1, d_.object(method));
    return;
  }
  if (in.op == BOp::LOAD_METHOD && st.back().kind == K::kObject && is_ufunc(st.back().object)) {
    PyObject* const method = type_lookup(Py_TYPE(st.back().object), in.obj);
    if (!method || !is_outer(method))
      leave(str_cat("the method `.", text_of(in.obj), "` of a ufunc is called"), "", true);
    st.insert(st.end() - 1, d_.object(method));
    return;
  }
  if (in.op == BOp::LOAD_METHOD && list_of(e_, st.back()).object != kNoValue) {
    PyObject* method = type_lookup(&PyList_Type, in.obj);
    if (!list_method(method))
      leave(str_cat("the method `.", text_of(in.obj), "` of a list is called"));
    st.insert(st.end() - 1, d_.object(method));
    return;
  }
  if (in.op == BOp::LOAD_METHOD && st.back().kind == K::kCharacter) {
    PyObject* method = type_lookup(&PyUnicode_Type, in.obj);
    if (!character_method(method))
      leave(str_cat("the method `.", text_of(in.obj), "` of a str is called"));
    st.insert(st.end() - 1, d_.object(method));
    return;
  }
  if (in.op == BOp::LOAD_METHOD && d_.generator_of_value(st.back()) != kNoValue) {
    PyObject* const method = type_lookup(Py_TYPE(d_.object_at(st.back().index)), in.obj);
    if (!generator_method(method))
      leave(str_cat("the method `.", text_of(in.obj), "` of a generator of NumPy's is called"));
    st.insert(st.end() - 1, d_.object(method));
    return;
  }
  if (const Av z = d_.typed(st.back()); z.kind == K::kComplex) {
    const bool method = in.op == BOp::LOAD_METHOD;
    const ComplexMember* m = complex_member(z, text_of(in.obj), method);
    if (!m) leave(str_cat("`.", text_of(in.obj), "` of a complex is read"));
    if (method)
      st.insert(st.end() - 1, d_.object(type_lookup(d_.class_of(z), in.obj)));
    else
      st.back() = m->code(e_, z);
    return;
  }
  const Av o = module_of(st.back(), text_of(in.obj));
  RegionSource s{RegionSource::kModule, 0, py::reinterpret_borrow<py::object>(o.object),
                 py::reinterpret_borrow<py::object>(in.obj)};
  const Av a = looked_up(std::move(s));
  st.pop_back();
  if (in.op == BOp::LOAD_METHOD && !kNullAboveCallable) st.emplace_back();
  st.push_back(a);
  if (in.op == BOp::LOAD_METHOD && kNullAboveCallable) st.emplace_back();
}

void RegionBuilder::step_two(const BIn& in, std::vector<Av>& st) {
  if (in.op == BOp::BINARY && (is_arrays(e_, st.back()) || is_arrays(e_, st[st.size() - 2]))) {
    const Av r = array_binary(e_, static_cast<BinaryOp>(in.a), in.b, st[st.size() - 2], st.back());
    st.resize(st.size() - 2);
    st.push_back(r);
    return;
  }
  if (in.op == BOp::COMPARE && (is_arrays(e_, st.back()) || is_arrays(e_, st[st.size() - 2]))) {
    const Av r = array_compare(e_, static_cast<CompareOp>(in.a), st[st.size() - 2], st.back());
    st.resize(st.size() - 2);
    st.push_back(r);
    return;
  }
  if (in.op == BOp::BINARY && is_list(e_, st.back(), st[st.size() - 2])) {
    const Av r = list_binary(e_, static_cast<BinaryOp>(in.a), in.b, st[st.size() - 2], st.back(),
                             place_here());
    st.resize(st.size() - 2);
    st.push_back(r);
    return;
  }
  Av b = d_.typed(st.back()), a = d_.typed(st[st.size() - 2]);
  if (in.op == BOp::COMPARE)
    if (const auto r = compare_text(e_, static_cast<CompareOp>(in.a), a, b)) {
      st.resize(st.size() - 2);
      st.push_back(*r);
      return;
    }
  const bool complex = a.kind == K::kComplex || b.kind == K::kComplex;
  if (!complex) b = num(e_, b), a = num(e_, a);
  const Av r = in.op == BOp::BINARY
                   ? (complex ? complex_binary : binary)(e_, static_cast<BinaryOp>(in.a), a, b)
                   : (complex ? complex_compare : compare)(e_, static_cast<CompareOp>(in.a), a, b);
  st.resize(st.size() - 2);
  st.push_back(r);
}

void RegionBuilder::step_operator(const BIn& in, std::vector<Av>& st) {
  switch (in.op) {
    case BOp::UNARY:
      if (is_arrays(e_, st.back()))
        st.back() = array_unary(e_, static_cast<UnaryOp>(in.a), st.back());
      else
        unary(e_, static_cast<UnaryOp>(in.a), st);
      break;
    case BOp::BINARY:
    case BOp::COMPARE: step_two(in, st); break;
    case BOp::IS_OP: {
      const Av b = d_.typed(st.back()), a = d_.typed(st[st.size() - 2]);
      const bool none = b.kind == K::kObject && b.object == Py_None;
      if (!none || !(a.is_number() || (a.kind == K::kObject && a.object == Py_None)))
        leave(str_cat("`is` compares ", a_(d_.described(a)), " with ", a_(d_.described(b))),
              "compare numbers by ==");
      st.resize(st.size() - 2);
      st.push_back(bool_of(d_.constant(Type::kB1, a.is_number() == (in.a != 0))));
      break;
    }
    case BOp::BINARY_SUBSCR: {
      if (Av& of = st[st.size() - 2]; of.kind == K::kArray) of = made_array(e_, of);
      const Av& of = st[st.size() - 2];
      const Av r = is_part(e_, of) && has_arrays(e_, st.back()) ? gathered(e_, of, st.back())
                   : takes_part(e_, of, st.back())              ? taken(e_, of, st.back())
                   : st.back().kind == K::kSlice ? list_slice(e_, of, st.back(), place_here())
                                                 : item(e_, of, st.back());
      st.resize(st.size() - 2);
      st.push_back(r);
      break;
    }
    case BOp::STORE_SUBSCR:
      if (is_part(e_, st[st.size() - 2]) && has_arrays(e_, st.back())) {
        make_arrays(st);
        store_by_index(e_, st[st.size() - 2], st.back(), st[st.size() - 3]);
      } else if (const Av& value = st[st.size() - 3], &of = st[st.size() - 2];
                 is_arrays(e_, value) || takes_part(e_, of, st.back())) {
        store_part(e_, value, of, st.back());
      } else {
        store_item(e_, value, of, st.back());
      }
      st.resize(st.size() - 3);
      break;
    case BOp::BUILD_TUPLE: {
      Av t;
      t.kind = K::kTuple;
      t.items.assign(st.end() - in.a, st.end());
      for (auto& i : t.items) {
        if (i.kind != K::kSlice) stay_alone(i);  // as an index
        if (i.kind == K::kArray) i = made_array(e_, i);
      }
      st.resize(st.size() - static_cast<size_t>(in.a));
      st.push_back(std::move(t));
      break;
    }
    case BOp::UNPACK_SEQUENCE: {
      const Av t = unpacked_list(e_, d_.as_items(st.back()), in.a);
      if (t.kind != K::kTuple || t.items.size() != static_cast<size_t>(in.a))
        leave(str_cat(a_(d_.described(t)), " is unpacked"));
      st.pop_back();
      st.insert(st.end(), t.items.rbegin(), t.items.rend());
      break;
    }
    case BOp::CALL: call(in, in.obj, st); break;
    case BOp::CALL_KW: {
      const Av names = st.back();
      st.pop_back();
      if (names.kind != K::kObject || !PyTuple_Check(names.object)) leave(described(in));
      call(in, names.object, st);
      break;
    }
    default: step_container(in, st);
  }
}

int RegionBuilder::place_here() const { return d_.lists.made_at(b_.code().code, e_.instr()); }

void RegionBuilder::step_container(const BIn& in, std::vector<Av>& st) {
  switch (in.op) {
    case BOp::BUILD_LIST: {
      const Av r = list_of_items(e_, {st.end() - in.a, st.end()}, place_here());
      st.resize(st.size() - static_cast<size_t>(in.a));
      st.push_back(r);
      break;
    }
    case BOp::LIST_EXTEND:
      extend_own(e_, st[st.size() - 1 - static_cast<size_t>(in.a)], st.back());
      st.pop_back();
      break;
    case BOp::LIST_APPEND:
      append_own(e_, st[st.size() - 1 - static_cast<size_t>(in.a)], st.back());
      st.pop_back();
      break;
    case BOp::BUILD_SLICE:
    case BOp::BINARY_SLICE: {
      const bool taken = in.op == BOp::BINARY_SLICE;
      const int n = taken ? 2 : in.a;
      Av slice;
      slice.kind = K::kSlice;
      slice.items.assign(st.end() - n, st.end());
      if (n == 2) slice.items.push_back(d_.object(Py_None));
      for (Av& i : slice.items) i = d_.typed(i);
      const bool part = taken && is_part(e_, st[st.size() - 3]);
      const Av r = part    ? regions::taken(e_, st[st.size() - 3], slice)
                   : taken ? list_slice(e_, st[st.size() - 3], slice, place_here())
                           : slice;
      st.resize(st.size() - static_cast<size_t>(n + taken));
      st.push_back(r);
      break;
    }
    case BOp::STORE_SLICE: {
      Av slice;
      slice.kind = K::kSlice;
      slice.items = {d_.typed(st[st.size() - 2]), d_.typed(st.back()), d_.object(Py_None)};
      if (!is_part(e_, st[st.size() - 3])) leave(described(in));
      store_part(e_, st[st.size() - 4], st[st.size() - 3], slice);
      st.resize(st.size() - 4);
      break;
    }
    case BOp::CONTAINS_OP: {
      const int found = contains(e_, st.back(), st[st.size() - 2]);
      st.resize(st.size() - 2);
      st.push_back(bool_of(in.a ? e_.emit(Op::kBNot, found) : found));
      break;
    }
    case BOp::DELETE_SUBSCR:
      delete_list_item(e_, st[st.size() - 2], st.back());
      st.resize(st.size() - 2);
      break;
    default: leave(described(in));
  }
}

// Cells of the region's own function are real ones; those of functions that are followed hold a
// value of code, and so do others from where code sets them.
void RegionBuilder::step_cell(const BIn& in, Frame& f) {
  auto& st = f.stack;
  const bool own = b_.current == 0;
  switch (in.op) {
    case BOp::COPY_FREE_VARS:
      for (int k = 0; k < in.a; ++k) {
        Av cell;
        cell.kind = K::kFree;
        cell.index = k;
        if (!b_.body().func) cell = b_.body().closure[static_cast<size_t>(k)];
        e_.hold(cell, 1);
        f.slots[f.slots.size() - static_cast<size_t>(in.a - k)] = cell;
      }
      break;
    case BOp::LOAD_DEREF: st.push_back(cell_content(f.slots[in.a])); break;
    case BOp::LOAD_CLOSURE:
      if (own && f.slots[in.a].kind == K::kNull) leave(described(in));
      st.push_back(f.slots[in.a]);
      break;
    case BOp::MAKE_CELL: {
      if (own) leave(described(in));
      Av cell;
      cell.kind = K::kContent;
      cell.index = -1;
      cell.items = {f.slots[in.a]};
      f.slots[in.a] = cell;
      break;
    }
    case BOp::STORE_DEREF: {
      // what was made may be called with the value before
      const bool waits =
          std::any_of(st.begin(), st.end(), [](const Av& a) { return a.kind == K::kMade; });
      // those of an outer function, it reads elsewhere
      const bool outer = in.a >= b_.code().num_slots - b_.code().num_free;
      Av& cell = f.slots[in.a];
      if (waits || outer || !(cell.kind == K::kContent || (own && cell.kind == K::kEntry)))
        leave(described(in));
      stay_alone(st.back());
      if (cell.kind == K::kContent) {
        d_.drop(cell.items[0]);
        e_.hold(st.back(), 1);
        e_.hold(cell.items[0], -1);
        cell.items[0] = pop(f);
        break;
      }
      // a function that is called may share it
      if (d_.reads_cells) leave(described(in));
      d_.sets_cells = true;
      d_.drop_content(cell);
      e_.hold(st.back(), 1);
      cell.kind = K::kContent;  // what it holds is set where code is left
      cell.items = {pop(f)};
      break;
    }
    default: {  // MAKE_FUNCTION
      constexpr int kHasClosure = 8;
      const size_t above = static_cast<size_t>(in.b);
      const Av code = st[st.size() - 1 - above];
      if (in.a & ~kHasClosure || code.kind != K::kObject || !PyCode_Check(code.object))
        leave(described(in));
      if (in.a && st[st.size() - 2 - above].kind != K::kTuple) leave(described(in));
      Av made;
      made.kind = K::kMade;
      made.object = code.object;
      st.resize(st.size() - 1 - above);
      if (in.a) made.items = pop(f).items;
      st.push_back(made);
    }
  }
}

int RegionBuilder::step_flow(const BIn& in, Frame& f) {
  auto& st = f.stack;
  switch (in.op) {
    case BOp::POP_JUMP: {
      if (in.a >= 2) {
        const Av a = d_.typed(st.back());
        const bool none = a.kind == K::kObject && a.object == Py_None;
        if (!none && !a.is_number()) leave(str_cat(a_(d_.described(a)), " is compared with None"));
        st.pop_back();
        return none == (in.a == 2) ? in.target : e_.instr() + 1;
      }
      condition_ = truth(e_, st.back());
      jumps_if_ = in.a == 1;
      st.pop_back();
      other_ = f;
      break;
    }
    case BOp::JUMP_OR_POP: {
      condition_ = truth(e_, st.back());
      jumps_if_ = in.a == 1;
      other_ = f;
      other_.stack.pop_back();
      break;
    }
    case BOp::GET_ITER:
      st.back() = iterator(e_, st.back());
      if (in.b) st.emplace_back();
      break;
    case BOp::FOR_ITER: for_iter(in, f); break;
    default: leave(described(in));
  }
  return e_.instr() + 1;
}

Av RegionBuilder::cell_content(Av& slot) {
  RegionSource s;
  if (slot.kind == K::kContent) {
    if (slot.items[0].kind == K::kNull) leave("a variable has no value");
    return d_.held_twice(slot.items[0]);
  }
  if (slot.kind == K::kFree) {
    s = {RegionSource::kFree, slot.index, of_body(), {}};
    if (s.module) {
      if (d_.sets_cells) leave("a variable is read that inner functions share");
      d_.reads_cells = true;
    }
  } else if (slot.kind == K::kEntry) {
    s = d_.r->sources[slot.index];
    if (b_.body().func && b_.current != 0) leave("a variable is read that inner functions share");
    if (s.where != RegionSource::kSlot) leave("a variable of an outer function is read");
    s.where = RegionSource::kCell;
  } else {
    leave("a variable is read that inner functions share");
  }
  return looked_up(std::move(s));
}

Av RegionBuilder::looked_up(RegionSource where) {
  PyObject* o = fetch(where, d_.entry);
  if (!o) leave("a name has no value");
  const int s = d_.source(std::move(where));
  const Av a = d_.typed_source(s);
  if (a.kind != K::kEntry || d_.array_of_value(a) || d_.list_of_value(a) ||
      d_.generator_of_value(a) != kNoValue)
    return a;
  if (is_tuple_of_numbers(o)) {
    d_.known_object(s, o);
    return d_.typed_sources[s] = d_.constant_object(o);
  }
  if (!is_of_use(o))  // and it is not kept alive for nothing
    leave(str_cat("a ", Py_TYPE(o)->tp_name, " is read that is no argument or local variable"),
          kNumbers, std::string_view(Py_TYPE(o)->tp_name).rfind("numpy.", 0) == 0);
  if (is_such_function(o, o)) return a;  // who calls it asks what it does
  return d_.typed_sources[s] = d_.known_object(s, o);
}

Av RegionBuilder::module_of(const Av& a, const std::string& name) {
  if (a.kind == K::kObject && PyModule_CheckExact(a.object)) return a;
  leave(str_cat("`.", name, "` of ", a_(d_.described(d_.typed(a))), " is read"),
        "read it into a variable before the loop");
}

void RegionBuilder::for_iter(const BIn& in, Frame& f) {
  auto& st = f.stack;
  const size_t at = st.size() - 1 - static_cast<size_t>(in.b);
  Turn turn = turn_of(e_, st[at]);
  condition_ = turn.condition;
  jumps_if_ = false;
  other_ = f;
  over_ = st[at];
  other_.stack[at] = std::move(turn.behind);
  other_.stack.emplace_back();  // begin_turn() puts the item there
  st.resize(st.size() - static_cast<size_t>(1 + in.b - in.a));
}

}  // namespace regions

std::unique_ptr<Region> make_region(const Code& code, int instr, const Region::Frame& frame,
                                    bool fast, NoRegion* because) {
  constexpr int kMostAttempts = 4;
  auto result = RegionKind::kInt;
  bool other_result = false;
  regions::ListKinds kinds;
  for (int attempt = 1;; ++attempt) {
    regions::RegionBuilder builder(code, instr, frame, kinds, fast);
    builder.suppose_result(result);
    kinds.begin();
    auto made = builder.build();
    if (kinds.asks_again() && attempt < kMostAttempts) continue;
    if (made) return made;
    *because = builder.why_not();
    const auto other = builder.other_result();
    if (!other || other_result) return nullptr;
    other_result = true;
    result = *other;
  }
}

}  // namespace pijit
