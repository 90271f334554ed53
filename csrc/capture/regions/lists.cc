#include "capture/regions/lists.h"

#include <algorithm>
#include <cstddef>

#include "base/error.h"
#include "capture/regions/items.h"
#include "capture/regions/made.h"
#include "capture/regions/numbers.h"
#include "capture/regions/text.h"
#include "python/ints.h"

namespace pijit::regions {

namespace {

PyObject* object_of(int64_t address) { return reinterpret_cast<PyObject*>(address); }

// One more than its number; 0: it is longer, or none of these.
int64_t character_in(int64_t object, int64_t, int64_t) {
  PyObject* o = object_of(object);
  const bool one = is_narrow_text(o) && PyUnicode_GET_LENGTH(o) == 1;
  return one ? int64_t{PyUnicode_READ_CHAR(o, 0)} + 1 : 0;
}
PyListObject* list_at(int64_t address) { return reinterpret_cast<PyListObject*>(address); }
Arena* arena_at(int64_t address) { return reinterpret_cast<Arena*>(address); }
constexpr int64_t kBytesOfItem = 40;  // its place, and the object

// An object of the arena, or 0, where CPython finds the error out again.
int64_t held(int64_t arena, PyObject* o) {
  if (!o) return PyErr_Clear(), 0;
  Arena* a = arena_at(arena);
  a->held.push_back(o);
  a->left -= static_cast<int64_t>(sizeof(PyListObject));
  if (PyList_CheckExact(o)) a->left -= kBytesOfItem * PyList_GET_SIZE(o);
  return address(o);
}
bool is_number(PyObject* o) {  // or a str
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) ||
         PyUnicode_CheckExact(o);
}
// Numbers alone: no code of a user looks at them, or runs where they die.
bool has_numbers(PyObject* list) {
  PyObject** items = list_at(address(list))->ob_item;
  return std::all_of(items, items + PyList_GET_SIZE(list), is_number);
}
// The same of a tuple, or of tuples in it.
bool has_numbers_alone(PyObject* tuple, int deep = 0) {
  constexpr int kMostDeep = 4;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); ++k)
    if (PyObject* o = PyTuple_GET_ITEM(tuple, k);
        !is_number(o) &&
        !(PyTuple_CheckExact(o) && deep < kMostDeep && has_numbers_alone(o, deep + 1)))
      return false;
  return true;
}
// The arena keeps a list or what is a number where a list lets go of it; false: its end may be
// seen.
bool keeps(int64_t arena, PyObject* o) {
  if (is_number(o)) return true;
  if (PyTuple_CheckExact(o) ? !has_numbers_alone(o) : !PyList_CheckExact(o) || !has_numbers(o))
    return false;
  Arena* a = arena_at(arena);
  if ((a->left -= kBytesOfItem) < 0) return false;
  a->held.push_back(Py_NewRef(o));
  return true;
}
bool keeps_all(int64_t arena, PyObject* list, Py_ssize_t from = 0) {
  for (Py_ssize_t k = from; k < PyList_GET_SIZE(list); ++k)
    if (!keeps(arena, PyList_GET_ITEM(list, k))) return false;
  return true;
}

// --- functions that code calls; those that change something give 0 where they could not
PyObject* made(RegionKind kind, int64_t word) {
  if (kind == K::kHeld || kind == K::kTuple) return Py_NewRef(object_of(word));
  PyObject* o = kind == K::kInt         ? PyLong_FromLongLong(word)
                : kind == K::kFloat     ? PyFloat_FromDouble(real_of(word))
                : kind == K::kCharacter ? PyUnicode_FromOrdinal(static_cast<int>(word))
                                        : PyBool_FromLong(word != 0);
  if (!o) PyErr_Clear();  // CPython finds that out again
  return o;
}
// Over what is a number, or kept by the arena.
template <RegionKind kind>
int64_t store(int64_t list, int64_t place, int64_t word) {
  PyObject* o = made(kind, word);
  if (!o) return 0;
  PyObject*& item = list_at(list)->ob_item[place];
  Py_DECREF(std::exchange(item, o));
  return 1;
}
// Where nothing is yet.
template <RegionKind kind>
int64_t fill(int64_t list, int64_t place, int64_t word) {
  PyObject* o = made(kind, word);
  list_at(list)->ob_item[place] = o;
  return o != nullptr;
}
template <RegionKind kind>
int64_t push(int64_t list, int64_t word, int64_t arena) {
  PyObject* o = made(kind, word);
  if (!o) return 0;
  PyListObject* l = list_at(list);
  const Py_ssize_t room = l->allocated, n = Py_SIZE(l);
  bool done = true;
  if (n < room) {
    l->ob_item[n] = o;
    Py_SET_SIZE(l, n + 1);
  } else {
    done = PyList_Append(object_of(list), o) == 0;
    Py_DECREF(o);
  }
  if (!done) PyErr_Clear();
  // what is appended without a call takes room alone, which is counted here
  const Py_ssize_t more = l->allocated - room;
  arena_at(arena)->left -= kBytesOfItem + more * static_cast<Py_ssize_t>(sizeof(PyObject*));
  return done;
}
template <RegionKind kind>
int64_t insert(int64_t list, int64_t place, int64_t word) {
  PyObject* o = made(kind, word);
  if (!o) return 0;
  const bool done = PyList_Insert(object_of(list), place, o) == 0;
  Py_DECREF(o);
  if (!done) PyErr_Clear();
  return done;
}
// -1: the list has other things than numbers.
template <RegionKind kind>
int64_t find(int64_t list, int64_t word, int64_t) {
  if (!has_numbers(object_of(list))) return -1;
  PyObject* o = made(kind, word);
  if (!o) return -1;
  const int found = PySequence_Contains(object_of(list), o);
  Py_DECREF(o);
  if (found < 0) PyErr_Clear();
  return found;
}
template <RegionKind kind>
int64_t fill_tuple(int64_t tuple, int64_t place, int64_t word) {
  PyObject* o = made(kind, word);
  PyTuple_SET_ITEM(object_of(tuple), place, o);
  return o != nullptr;
}
struct Writers {
  region::CallOut store, fill, push, insert, find, fill_tuple;
};
template <RegionKind kind>
constexpr Writers kWriters{store<kind>,  fill<kind>, push<kind>,
                           insert<kind>, find<kind>, fill_tuple<kind>};
const Writers& writers_of(RegionKind kind) {
  return kind == K::kInt         ? kWriters<K::kInt>
         : kind == K::kFloat     ? kWriters<K::kFloat>
         : kind == K::kBool      ? kWriters<K::kBool>
         : kind == K::kCharacter ? kWriters<K::kCharacter>
                                 : kWriters<K::kHeld>;
}
int64_t new_list(int64_t arena, int64_t size, int64_t) {
  return arena_at(arena)->left < 0 ? 0 : held(arena, PyList_New(size));
}
int64_t new_tuple(int64_t arena, int64_t size, int64_t) {
  Arena* a = arena_at(arena);
  return (a->left -= kBytesOfItem * size) < 0 ? 0 : held(arena, PyTuple_New(size));
}
int64_t keep(int64_t arena, int64_t object, int64_t) { return keeps(arena, object_of(object)); }
int64_t repeat(int64_t arena, int64_t list, int64_t times) {
  if (arena_at(arena)->left < 0) return 0;
  return held(arena, PySequence_Repeat(object_of(list), times));
}
int64_t repeat_in_place(int64_t arena, int64_t list, int64_t times) {
  PyObject* l = object_of(list);
  if (times < 1 && !keeps_all(arena, l)) return 0;
  PyObject* r = PySequence_InPlaceRepeat(l, times);
  if (!r) return PyErr_Clear(), 0;
  Py_DECREF(r);
  arena_at(arena)->left -= kBytesOfItem * PyList_GET_SIZE(l);
  return 1;
}
int64_t concat(int64_t arena, int64_t a, int64_t b) {
  if (arena_at(arena)->left < 0) return 0;
  return held(arena, PySequence_Concat(object_of(a), object_of(b)));
}
int64_t extend(int64_t list, int64_t other, int64_t arena) {
  PyObject* l = object_of(list);
  const Py_ssize_t n = PyList_GET_SIZE(l);
  if (PyList_SetSlice(l, n, n, object_of(other)) < 0) return PyErr_Clear(), 0;
  arena_at(arena)->left -= kBytesOfItem * PyList_GET_SIZE(object_of(other));
  return 1;
}
constexpr int64_t kNoStart = 1, kNoStop = 2, kNoStep = 4;  // of the fourth word
int64_t slice(int64_t arena, int64_t list, int64_t) {
  const Arena& a = *arena_at(arena);
  if (a.left < 0) return 0;
  const auto [given_start, given_stop, given_step, without] = a.words;
  Py_ssize_t step = without & kNoStep ? 1 : std::max<Py_ssize_t>(given_step, -PY_SSIZE_T_MAX);
  if (step == 0) return 0;
  Py_ssize_t start = without & kNoStart ? (step < 0 ? PY_SSIZE_T_MAX : 0) : given_start;
  Py_ssize_t stop = without & kNoStop ? (step < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX) : given_stop;
  const Py_ssize_t n = PySlice_AdjustIndices(PyList_GET_SIZE(object_of(list)), &start, &stop, step);
  PyObject* r = PyList_New(n);
  for (Py_ssize_t k = 0; r && k < n; ++k)
    PyList_SET_ITEM(r, k, Py_NewRef(PyList_GET_ITEM(object_of(list), start + k * step)));
  return held(arena, r);
}
int64_t of_range(int64_t arena, int64_t, int64_t) {
  const auto [start, stop, step, unused] = arena_at(arena)->words;
  if (arena_at(arena)->left < 0) return 0;
  auto* type = reinterpret_cast<PyObject*>(&PyRange_Type);
  PyObject* range =
      PyObject_CallFunction(type, "LLL", static_cast<long long>(start),
                            static_cast<long long>(stop), static_cast<long long>(step));
  PyObject* list = range ? PySequence_List(range) : nullptr;
  Py_XDECREF(range);
  return held(arena, list);
}
// What is taken out is a number, or kept.
int64_t take_out(int64_t list, int64_t place, int64_t) {
  if (PyList_SetSlice(object_of(list), place, place + 1, nullptr) < 0) return PyErr_Clear(), 0;
  return 1;
}
int64_t clear(int64_t arena, int64_t list, int64_t) {
  PyObject* l = object_of(list);
  return keeps_all(arena, l) && PyList_SetSlice(l, 0, PyList_GET_SIZE(l), nullptr) == 0;
}
int64_t sort(int64_t list, int64_t, int64_t) {
  if (!has_numbers(object_of(list))) return 0;
  if (PyList_Sort(object_of(list)) < 0) return PyErr_Clear(), 0;
  return 1;
}
int64_t reverse(int64_t list, int64_t, int64_t) {
  if (PyList_Reverse(object_of(list)) < 0) return PyErr_Clear(), 0;
  return 1;
}
int64_t apply(int64_t arena, int64_t fn, int64_t list) {
  if (!has_numbers(object_of(list))) return 0;
  return held(arena, PyObject_CallOneArg(object_of(fn), object_of(list)));
}

// From 0 on, and looked at.
int place_in(Emitter& e, const List& l, const Av& index) {
  const Av i = num(e, index);
  if (i.kind != K::kInt) leave(str_cat(a_(e.d.described(i)), " is an index"));
  const int size = list_length(e, l), zero = e.d.icon(0);
  const int from_end = e.add(ins(Op::kIAdd, Type::kI64, i.v[0], size));
  const int at = e.emit(Op::kSelect, e.emit(Op::kILt, i.v[0], zero), from_end, i.v[0]);
  e.check(e.emit(Op::kIGe, at, zero));
  e.check(e.emit(Op::kILt, at, size));
  return at;
}
int int_of_object(Emitter& e, int o) {
  static_assert(kIntWord == region::kIntWordAt && kIntDigit == region::kIntDigitsAt &&
                PyLong_SHIFT == region::kIntDigitBits);
  In in = ins(Op::kLoadInt, Type::kI64, o);
  in.imm = static_cast<int64_t>(kIntsAreTagged ? region::IntLayout::kTagged
                                               : region::IntLayout::kSigned);
  in.exit = e.exit_here();
  return e.add(in);
}
// Leaves where a function gave 0.
int done(Emitter& e, int result) {
  e.check(e.emit(Op::kINe, result, e.d.icon(0)));
  return result;
}
// What a list holds of a value: its word, and its kind.
struct Item {
  int word;
  ListKinds::Kind kind;
};
Item held_item(Emitter& e, const Av& value) {
  if (value.kind == K::kTuple && !value.items.empty()) {
    Item tuple{value.v[0], {K::kTuple, -1, true, {}}};
    std::vector<int> words;
    for (const Av& i : value.items) {
      Item item = held_item(e, i);
      words.push_back(item.word);
      tuple.kind.items.push_back(std::move(item.kind));
    }
    if (value.index) return tuple;
    if (value.same)
      leave("a tuple that a variable holds is put into a list", "put `(x, y)` there as it is made");
    e.d.stores = true;  // it is another object in each run
    const int n = e.d.icon(static_cast<int64_t>(words.size()));
    tuple.word = done(e, e.call(new_tuple, e.d.arena(), n, n));
    for (size_t k = 0; k < words.size(); ++k)
      done(e, e.call(writers_of(tuple.kind.items[k].item).fill_tuple, tuple.word,
                     e.d.icon(static_cast<int64_t>(k)), words[k]));
    return tuple;
  }
  if (const List l = list_of(e, value); l.object != kNoValue)
    return {l.object, {K::kHeld, l.kind, true, {}}};
  if (const Av c = character_of(e, value); c.kind != K::kNull)
    return {c.v[0], {K::kCharacter, -1, true, {}}};
  const Av v = num(e, value);
  if (v.of_numpy()) leave(str_cat(a_(e.d.described(v)), " is put into a list"), "int(x)");
  const int word = v.kind == K::kFloat ? e.emit(Op::kFBits, v.v[0]) : as_int(e, v);
  return {word, {v.kind, -1, true, {}}};
}
Av new_one(Emitter& e, int object, int kind) {
  e.d.stores = true;  // it is another object in each run
  Av r = number(K::kHeld, done(e, object));
  r.index = kind;
  return r;
}
// A new list that holds what others do.
Av with_items_of(Emitter& e, int object, const List& l, int kind) {
  e.d.lists.note(kind, e.d.lists.of(l.kind));
  return new_one(e, object, kind);
}
void write_word(Emitter& e, size_t k, int value) {
  const auto at = static_cast<int64_t>(offsetof(Arena, words) + k * sizeof(int64_t));
  e.add(ins(Op::kStoreI64, Type::kNone, e.d.arena(), e.d.icon(at), value));
}
void append_item(Emitter& e, const List& l, const Av& value) {
  const Item i = held_item(e, value);
  e.d.lists.note(l.kind, i.kind);
  e.d.stores = true;
  const int arena = e.d.arena();
  append_number(e, l, i.kind.item, i.word,
                [&] { done(e, e.call(writers_of(i.kind.item).push, l.object, i.word, arena)); });
}
// The number that an object is, which is looked at.
Av number_in(Emitter& e, K kind, int o) {
  switch (kind) {
    case K::kInt: e.check(is_type(e, o, PyLong_Type)); return int_of(int_of_object(e, o));
    case K::kFloat:
      e.check(is_type(e, o, PyFloat_Type));
      return float_of(e.emit(Op::kLoadF64, o, e.d.icon(offsetof(PyFloatObject, ob_fval))));
    case K::kCharacter: {
      e.check(is_type(e, o, PyUnicode_Type));
      const int c = done(e, e.call(character_in, o, o, o));
      return number(K::kCharacter, e.emit(Op::kISub, c, e.d.icon(1)));
    }
    default: {
      const int yes = e.emit(Op::kIEq, o, e.d.icon(address(Py_True)));
      e.check(e.either(yes, e.emit(Op::kIEq, o, e.d.icon(address(Py_False)))));
      return bool_of(yes);
    }
  }
}
}  // namespace

List list_of(Emitter& e, const Av& a) {
  if (a.kind == K::kHeld) return {a.v[0], a.index};
  const List* l = e.d.list_of_value(a);
  return l ? *l : List{};
}

int list_length(Emitter& e, const List& l) {
  return field(e, l.object, offsetof(PyVarObject, ob_size));
}

Av list_item(Emitter& e, const List& l, const Av& index) {
  return list_item_at(e, l, place_in(e, l, index));
}

// What an object is that is of a kind.
static Av value_in(Emitter& e, const ListKinds::Kind& kind, int o) {
  if (kind.item == K::kHeld) {
    e.check(is_type(e, o, PyList_Type));
    Av held = number(K::kHeld, o);
    held.index = kind.inner;
    return held;
  }
  if (kind.item != K::kTuple) return number_in(e, kind.item, o);
  e.check(is_type(e, o, PyTuple_Type));
  e.check(e.emit(Op::kIEq, field(e, o, offsetof(PyVarObject, ob_size)),
                 e.d.icon(static_cast<int64_t>(kind.items.size()))));
  Av tuple = number(K::kTuple, o);
  tuple.index = 1;
  for (size_t k = 0; k < kind.items.size(); ++k)
    tuple.items.push_back(value_in(
        e, kind.items[k], field(e, o, offsetof(PyTupleObject, ob_item) + k * sizeof(PyObject*))));
  return tuple;
}

Av list_item_at(Emitter& e, const List& l, int place) {
  const int o = item_object(e, l, place);
  const ListKinds::Kind kind = e.d.lists.read(l.kind);
  if (kind.item == K::kNull) leave("an item of a list is read that is no number", kNumbers);
  return value_in(e, kind, o);
}

void store_list_item(Emitter& e, const List& l, const Av& index, const Av& value) {
  e.changes("changes a list");
  const Item i = held_item(e, value);
  e.d.lists.note(l.kind, i.kind);
  const int place = place_in(e, l, index);
  store_number(e, l, place, i.kind.item, i.word, [&] {
    const int old = item_object(e, l, place);
    // what dies there may run nothing
    if (i.kind.item == K::kHeld || i.kind.item == K::kCharacter || i.kind.item == K::kTuple) {
      done(e, e.call(keep, e.d.arena(), old, old));
    } else {
      const int number = e.either(is_type(e, old, PyLong_Type), is_type(e, old, PyFloat_Type));
      e.check(e.either(number, is_type(e, old, PyBool_Type)));
    }
    done(e, e.call(writers_of(i.kind.item).store, l.object, place, i.word));
  });
}

void delete_list_item(Emitter& e, const Av& of, const Av& index) {
  const List l = list_of(e, of);
  if (l.object == kNoValue || index.kind == K::kSlice) leave("an item is deleted");
  e.changes("changes a list");
  const int place = place_in(e, l, index), old = item_object(e, l, place);
  done(e, e.call(keep, e.d.arena(), old, old));
  done(e, e.call(take_out, l.object, place, place));
}

Av unpacked_list(Emitter& e, const Av& a, int length) {
  const List l = list_of(e, a);
  if (l.object == kNoValue) return a;
  e.check(e.emit(Op::kIEq, list_length(e, l), e.d.icon(length)));
  Av t;
  t.kind = K::kTuple;
  for (int k = 0; k < length; ++k) t.items.push_back(list_item_at(e, l, e.d.icon(k)));
  return t;
}

int contains(Emitter& e, const Av& container, const Av& value) {
  if (const Av c = character_of(e, value); c.kind != K::kNull) {
    if (container.kind == K::kObject && PyUnicode_CheckExact(container.object))
      return is_in_text(e, container.object, c);
    const List l = list_of(e, container);
    if (l.object == kNoValue) leave("`in` looks into a container for a str");
    const int found = e.call(kWriters<K::kCharacter>.find, l.object, c.v[0], c.v[0]);
    e.check(e.emit(Op::kIGe, found, e.d.icon(0)));
    return e.emit(Op::kINe, found, e.d.icon(0));
  }
  const Av v = num(e, value);
  if (v.of_numpy()) leave(str_cat(a_(e.d.described(v)), " is looked for in a container"));
  // a NaN is found where it is the very object
  if (v.kind == K::kFloat) e.check(e.emit(Op::kFEq, v.v[0], v.v[0]));
  const Av items = e.d.as_items(container);
  if (items.kind == K::kTuple && !items.items.empty()) {
    int found = kNoValue;
    for (const Av& i : items.items) {
      const Av item = num(e, i);
      const int same = compare(e, CompareOp::kEq, v, item).v[0];
      found = found == kNoValue ? same : e.either(found, same);
    }
    return found;
  }
  const List l = list_of(e, container);
  if (l.object == kNoValue) leave("`in` looks into a container");
  const Item i = held_item(e, v);
  const int found = e.call(writers_of(i.kind.item).find, l.object, i.word, i.word);
  e.check(e.emit(Op::kIGe, found, e.d.icon(0)));
  return e.emit(Op::kINe, found, e.d.icon(0));
}

Av list_of_items(Emitter& e, const std::vector<Av>& items, int kind) {
  std::vector<Item> all;
  for (const Av& i : items) all.push_back(held_item(e, i));
  const int n = e.d.icon(static_cast<int64_t>(all.size()));
  const Av r = new_one(e, e.call(new_list, e.d.arena(), n, n), kind);
  for (size_t k = 0; k < all.size(); ++k) {
    const int place = e.d.icon(static_cast<int64_t>(k));
    all[k].kind.sure = all[k].kind.item == K::kHeld || all[k].kind.item == K::kTuple;
    e.d.lists.note(kind, all[k].kind);
    done(e, e.call(writers_of(all[k].kind.item).fill, r.v[0], place, all[k].word));
  }
  return r;
}

void append_own(Emitter& e, const Av& list, const Av& value) {
  append_item(e, list_of(e, list), value);
}

void extend_own(Emitter& e, const Av& list, const Av& items) {
  const List to = list_of(e, list);
  // all of them or none
  const List from =
      list_of(e, items.kind == K::kTuple ? list_of_items(e, items.items, to.kind) : items);
  if (from.object == kNoValue)
    leave(str_cat("a list takes the items of ", a_(e.d.described(e.d.typed(items)))));
  e.d.lists.note(to.kind, e.d.lists.of(from.kind));
  e.d.stores = true;
  done(e, e.call(extend, to.object, from.object, e.d.arena()));
}

Av list_slice(Emitter& e, const Av& of, const Av& slice_of, int kind) {
  const List l = list_of(e, of);
  if (l.object == kNoValue) leave("a slice is taken or set");
  int64_t without = 0;
  for (size_t k = 0; k < slice_of.items.size(); ++k) {
    const Av& i = slice_of.items[k];
    if (i.kind == K::kObject && i.object == Py_None)
      without |= int64_t{1} << k;
    else
      write_word(e, k, as_index(e, i));
  }
  static_assert(kNoStart == 1 && kNoStop == 2 && kNoStep == 4);
  write_word(e, 3, e.d.icon(without));
  return with_items_of(e, e.call(slice, e.d.arena(), l.object, l.object), l, kind);
}

Av list_binary(Emitter& e, BinaryOp op, bool in_place, const Av& a, const Av& b, int kind) {
  const List x = list_of(e, a), y = list_of(e, b);
  if (op == BinaryOp::kMul && (x.object == kNoValue) != (y.object == kNoValue)) {
    const bool first = x.object != kNoValue;
    const List& l = first ? x : y;
    const int times = as_index(e, first ? b : a);
    if (!in_place || !first)
      return with_items_of(e, e.call(repeat, e.d.arena(), l.object, times), l, kind);
    e.changes("changes a list");
    done(e, e.call(repeat_in_place, e.d.arena(), l.object, times));
    return a;
  }
  if (op != BinaryOp::kAdd || x.object == kNoValue || y.object == kNoValue)
    leave(str_cat("`", facts(op).sign, "` of a list has no machine code"));
  if (!in_place) return with_items_of(e, e.call(concat, e.d.arena(), x.object, y.object), x, kind);
  e.changes("changes a list");
  extend_own(e, a, b);
  return a;
}

Av list_from(Emitter& e, const std::vector<Av>& args, int kind) {
  if (args.empty()) return list_of_items(e, {}, kind);
  const Av& a = args[0];
  if (a.kind == K::kRange) {
    write_word(e, 0, a.v[0]);
    write_word(e, 1, a.v[1]);
    write_word(e, 2, a.index ? e.d.icon(a.index) : a.v[2]);
    e.d.lists.note(kind, {K::kInt, -1, true, {}});
    return new_one(e, e.call(of_range, e.d.arena(), a.v[0], a.v[0]), kind);
  }
  if (list_of(e, a).object == kNoValue)
    leave(str_cat("a list is made of ", a_(e.d.described(e.d.typed(a)))));
  Av all;
  all.kind = K::kSlice;
  all.items.assign(3, e.d.object(Py_None));
  return list_slice(e, a, all, kind);
}

Av applied(Emitter& e, PyObject* fn, const List& l, K result) {
  const int f = e.d.icon(address(fn));
  e.d.stores = true;
  const int o = done(e, e.call(apply, e.d.arena(), f, l.object));
  if (result == K::kNull) leave("a function of a list gives what nobody knows");
  return number_in(e, result, o);
}

namespace {

using Args = const std::vector<Av>&;

Av nothing(Emitter& e) { return e.d.object(Py_None); }

constexpr ListMethod kMethods[] = {
    {"append", 1, 1,
     [](Emitter& e, const List& l, Args args, int) {
       e.changes("changes a list");
       append_item(e, l, args[0]);
       return nothing(e);
     }},
    {"extend", 1, 1,
     [](Emitter& e, const List& l, Args args, int) {
       e.changes("changes a list");
       Av to = number(K::kHeld, l.object);
       to.index = l.kind;
       extend_own(e, to, args[0]);
       return nothing(e);
     }},
    {"insert", 2, 2,
     [](Emitter& e, const List& l, Args args, int) {
       e.changes("changes a list");
       const int place = as_index(e, args[0]);
       const Item i = held_item(e, args[1]);
       e.d.lists.note(l.kind, i.kind);
       done(e, e.call(writers_of(i.kind.item).insert, l.object, place, i.word));
       return nothing(e);
     }},
    {"pop", 0, 1,
     [](Emitter& e, const List& l, Args args, int) {
       e.changes("changes a list");
       const int place = place_in(e, l, args.empty() ? int_of(e.d.icon(-1)) : args[0]);
       Av r = list_item_at(e, l, place);
       if (r.kind == K::kHeld || r.kind == K::kTuple)
         done(e, e.call(keep, e.d.arena(), r.v[0], r.v[0]));
       done(e, e.call(take_out, l.object, place, place));
       return r;
     }},
    {"clear", 0, 0,
     [](Emitter& e, const List& l, Args, int) {
       e.changes("changes a list");
       done(e, e.call(clear, e.d.arena(), l.object, l.object));
       return nothing(e);
     }},
    {"copy", 0, 0,
     [](Emitter& e, const List& l, Args, int kind) {
       Av of = number(K::kHeld, l.object);
       of.index = l.kind;
       return list_from(e, {of}, kind);
     }},
    {"reverse", 0, 0,
     [](Emitter& e, const List& l, Args, int) {
       e.changes("changes a list");
       done(e, e.call(reverse, l.object, l.object, l.object));
       return nothing(e);
     }},
    {"sort", 0, 0,
     [](Emitter& e, const List& l, Args, int) {
       e.changes("changes a list");
       done(e, e.call(sort, l.object, l.object, l.object));
       return nothing(e);
     }},
};

}  // namespace

const ListMethod* list_method(PyObject* descriptor) {
  if (!descriptor || !Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) return nullptr;
  auto* d = reinterpret_cast<PyMethodDescrObject*>(descriptor);
  if (d->d_common.d_type != &PyList_Type) return nullptr;
  for (const ListMethod& m : kMethods)
    if (m.name == d->d_method->ml_name) return &m;
  return nullptr;
}

}  // namespace pijit::regions
