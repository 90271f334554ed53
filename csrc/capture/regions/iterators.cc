#include "capture/regions/iterators.h"

#include "base/error.h"
#include "capture/regions/arrays.h"
#include "capture/regions/lists.h"
#include "capture/regions/numbers.h"

namespace pijit::regions {

Av range(Emitter& e, const std::vector<Av>& args) {
  std::vector<int> v;
  for (auto& a : args) v.push_back(as_index(e, a));
  int64_t step = 1;
  const bool constant =
      v.size() < 3 || (e.d.is_const(v[2], &step) && step == static_cast<int>(step));
  if (!constant) e.check(e.emit(Op::kINe, v[2], e.d.icon(0)));
  if (constant && step == 0) leave("the step of a range() is 0");
  Av r;
  r.kind = K::kRange;
  r.v = {v.size() == 1 ? e.d.icon(0) : v[0], v.size() == 1 ? v[0] : v[1],
         constant ? kNoValue : v[2]};
  r.index = constant ? static_cast<int>(step) : 0;
  return r;
}

static Av chosen(Emitter& e, int condition, const Av& yes, const Av& no) {
  Av r = yes;
  for (int k = 0; k < r.values(); ++k) {
    const auto at = static_cast<size_t>(k);
    r.v[at] = e.emit(Op::kSelect, condition, yes.v[at], no.v[at]);
  }
  for (size_t k = 0; k < r.items.size(); ++k)
    r.items[k] = chosen(e, condition, yes.items[k], no.items[k]);
  return r;
}

// A tuple as its items: constants where it is one of the code's, also if a variable holds it.
static Av items_of_tuple(Emitter& e, const Av& a) {
  if (a.kind == K::kObject && PyTuple_CheckExact(a.object)) return e.d.constant_object(a.object);
  PyObject* o = a.kind == K::kEntry ? e.d.object_at(a.index) : nullptr;
  if (!o || !is_tuple_of_numbers(o)) return e.d.as_items(a);
  PyObject* constants =
      reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(e.d.entry.func))->co_consts;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(constants); ++k)
    if (PyTuple_GET_ITEM(constants, k) == o) {
      e.d.known_object(a.index, o);
      return e.d.constant_object(o);
    }
  return e.d.as_items(a);
}

static Av with_types(Emitter& e, Av a) {
  if (a.kind == K::kTuple)
    for (Av& item : a.items) item = with_types(e, std::move(item));
  return e.d.typed(a);
}

Av chosen_item(Emitter& e, const Av& tuple, int place) {
  const Av typed = with_types(e, tuple);
  if (!can_be_chosen_from(typed))
    leave("an item of a tuple of many items, or of several types, is read by a variable place");
  auto items = typed.items;
  for (Av& i : items) {
    if (i.same) leave("one of some tuples that a variable holds is read by a variable place");
    i.same = 0;
  }
  Av item = items.back();
  for (size_t k = items.size() - 1; k-- > 0;)
    item = chosen(e, e.emit(Op::kIEq, place, e.d.icon(static_cast<int64_t>(k))), items[k], item);
  return item;
}

Av iterator(Emitter& e, const Av& a) {
  if (is_iterator(a)) return a;
  if (list_of(e, a).object != kNoValue) {
    Av over = number(K::kListIter, e.d.icon(0));
    over.items = {a};
    return over;
  }
  if (const Part part = part_of(e, a); part.array && part.array->rank <= 2) {
    Av over = number(K::kArrayIter, e.d.icon(0));
    over.items = {a};
    return over;
  }
  if (const Av t = with_types(e, items_of_tuple(e, a)); t.kind == K::kTuple && !t.items.empty()) {
    if (!can_be_chosen_from(t))
      leave("the loop is over a tuple of many items, or of several types");
    Av over = number(K::kTupleIter, e.d.icon(0));
    over.items = {t};
    return over;
  }
  if (a.kind != K::kRange)
    leave(str_cat("the loop is over ", a_(e.d.described(e.d.typed(a)))),
          "a loop over range(len(x)) that reads x[i]");
  Av it;
  it.index = a.index;
  const int start = a.v[0], stop = a.v[1];
  it.v[0] = start;
  if (a.index == 1) {
    it.kind = K::kCounter;
    it.v[1] = stop;
    return it;
  }
  it.kind = K::kRangeIter;
  it.v[2] = a.v[2];
  const int zero = e.d.icon(0);
  const int step = a.index ? e.d.icon(a.index) : a.v[2];
  const int up = e.emit(Op::kIGt, step, zero);
  const int first = e.emit(Op::kSelect, up, start, stop);
  const int far = e.emit(Op::kISub, e.emit(Op::kSelect, up, stop, start), first);
  const int size = e.emit(Op::kSelect, up, step, e.emit(Op::kINeg, step));
  const int some = e.emit(Op::kIGt, far, zero);
  const int turns = e.emit(Op::kIDiv, e.emit(Op::kISub, far, e.d.icon(1)), size);
  const int full = e.emit(Op::kIAdd, turns, e.d.icon(1));
  it.v[1] = e.emit(Op::kSelect, some, full, e.d.icon(0));
  return it;
}

static int plus_one(Emitter& e, int v) { return e.add(ins(Op::kIAdd, Type::kI64, v, e.d.icon(1))); }

Turn turn_of(Emitter& e, const Av& it) {
  Turn t{kNoValue, it};
  switch (it.kind) {
    case K::kCounter:
      t.condition = e.emit(Op::kILt, it.v[0], it.v[1]);
      t.behind.v[0] = plus_one(e, e.emit(Op::kIBelow, it.v[0], it.v[1]));
      break;
    case K::kRangeIter: {
      const int step = it.index ? e.d.icon(it.index) : it.v[2];
      t.condition = e.emit(Op::kINe, it.v[1], e.d.icon(0));
      t.behind.v[0] = e.add(ins(Op::kIAdd, Type::kI64, it.v[0], step));
      t.behind.v[1] = e.add(ins(Op::kISub, Type::kI64, it.v[1], e.d.icon(1)));
      break;
    }
    case K::kListIter:
      t.condition = e.emit(Op::kILt, it.v[0], list_length(e, list_of(e, it.items[0])));
      t.behind.v[0] = plus_one(e, it.v[0]);
      break;
    case K::kTupleIter:
      t.condition =
          e.emit(Op::kILt, it.v[0], e.d.icon(static_cast<int64_t>(it.items[0].items.size())));
      t.behind.v[0] = plus_one(e, it.v[0]);
      break;
    case K::kArrayIter: {
      const Part part = part_of(e, it.items[0]);
      t.condition = e.emit(Op::kILt, it.v[0], part.array->sizes[static_cast<size_t>(part.axis)]);
      t.behind.v[0] = plus_one(e, it.v[0]);
      break;
    }
    case K::kEnumerate: {
      Turn inner = turn_of(e, it.items[0]);
      t.condition = inner.condition;
      t.behind.v[0] = e.emit(Op::kIAdd, it.v[0], e.d.icon(1));
      t.behind.items = {std::move(inner.behind)};
      break;
    }
    case K::kZip:
      for (Av& one : t.behind.items) {
        Turn inner = turn_of(e, one);
        one = std::move(inner.behind);
        t.condition = t.condition == kNoValue
                          ? inner.condition
                          : e.emit(Op::kINe,
                                   e.emit(Op::kIAnd, e.emit(Op::kBToI, t.condition),
                                          e.emit(Op::kBToI, inner.condition)),
                                   e.d.icon(0));
      }
      break;
    default:
      leave(str_cat("the loop is over ", a_(e.d.described(it))),
            "a loop over range(len(x)) that reads x[i]");
  }
  return t;
}

Av item_of(Emitter& e, const Av& it) {
  Av t;
  t.kind = K::kTuple;
  switch (it.kind) {
    case K::kCounter: return int_of(e.emit(Op::kIBelow, it.v[0], it.v[1]));
    case K::kRangeIter: return int_of(it.v[0]);
    case K::kListIter: return list_item_at(e, list_of(e, it.items[0]), it.v[0]);
    case K::kTupleIter: return chosen_item(e, it.items[0], it.v[0]);
    case K::kArrayIter: {
      const Part part = part_of(e, it.items[0]);
      const Array& a = *part.array;
      if (a.rank - part.axis == 2) return row_of(it.items[0], it.v[0]);
      const int stride = a.strides[static_cast<size_t>(part.axis)];
      int offset = e.add(ins(Op::kIMul, Type::kI64, it.v[0], stride));
      if (part.offset != kNoValue) offset = e.add(ins(Op::kIAdd, Type::kI64, offset, part.offset));
      return element(e, a, offset);
    }
    case K::kEnumerate: t.items = {int_of(it.v[0]), item_of(e, it.items[0])}; return t;
    default:
      for (const Av& one : it.items) t.items.push_back(item_of(e, one));
      return t;
  }
}

}  // namespace pijit::regions
