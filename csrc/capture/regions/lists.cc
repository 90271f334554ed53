#include "capture/regions/lists.h"

#include <cstddef>

#include "base/error.h"
#include "capture/regions/numbers.h"
#include "python/ints.h"

namespace pijit::regions {

namespace {

int64_t address(const void* p) { return reinterpret_cast<int64_t>(p); }
PyObject* object_of(int64_t address) { return reinterpret_cast<PyObject*>(address); }

constexpr int64_t kNoInt = INT64_MIN;
// An int that is one; kNoInt: it is too large.
int64_t int_value(int64_t object, int64_t, int64_t) {
  int64_t n;
  return as_int64(object_of(object), &n) ? n : kNoInt;
}
PyObject* made(RegionKind kind, int64_t word) {
  PyObject* o = kind == K::kInt     ? PyLong_FromLongLong(word)
                : kind == K::kFloat ? PyFloat_FromDouble(real_of(word))
                                    : PyBool_FromLong(word != 0);
  if (!o) PyErr_Clear();  // CPython finds that out again
  return o;
}
// The next two give 0 where there is no memory.
template <RegionKind kind>
int64_t store(int64_t list, int64_t place, int64_t word) {
  PyObject* o = made(kind, word);
  if (!o) return 0;
  PyObject*& item = reinterpret_cast<PyListObject*>(list)->ob_item[place];
  Py_DECREF(std::exchange(item, o));  // a number
  return 1;
}
template <RegionKind kind>
int64_t push(int64_t list, int64_t word, int64_t) {
  PyObject* o = made(kind, word);
  if (!o) return 0;
  const bool done = PyList_Append(object_of(list), o) == 0;
  Py_DECREF(o);
  if (!done) PyErr_Clear();
  return done;
}
struct Writers {
  region::CallOut store, push;
};
Writers writers_of(RegionKind kind) {
  if (kind == K::kInt) return {store<K::kInt>, push<K::kInt>};
  if (kind == K::kFloat) return {store<K::kFloat>, push<K::kFloat>};
  return {store<K::kBool>, push<K::kBool>};
}

int field(Emitter& e, int object, size_t offset) {
  return e.emit(Op::kLoadI64, object, e.d.icon(static_cast<int64_t>(offset)));
}
int is_type(Emitter& e, int object, const PyTypeObject& type) {
  return e.emit(Op::kIEq, field(e, object, offsetof(PyObject, ob_type)), e.d.icon(address(&type)));
}
int either(Emitter& e, int a, int b) {
  return e.emit(Op::kINe, e.emit(Op::kIOr, e.emit(Op::kBToI, a), e.emit(Op::kBToI, b)),
                e.d.icon(0));
}
int item_object(Emitter& e, const List& l, int place) {
  const int items = field(e, l.object, offsetof(PyListObject, ob_item));
  return e.emit(Op::kLoadI64, items, e.emit(Op::kIMul, place, e.d.icon(sizeof(PyObject*))));
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
  const int word = field(e, o, kIntWord);
  const int small = kIntsAreTagged ? e.emit(Op::kILt, word, e.d.icon(16))
                                   : e.emit(Op::kILe, e.emit(Op::kIMul, word, word), e.d.icon(1));
  return e.choose(
      small,
      [&] {
        const int digit = e.emit(Op::kLoadU32, o, e.d.icon(kIntDigit));
        if (!kIntsAreTagged) return e.emit(Op::kIMul, word, digit);
        const int sign = e.emit(Op::kISub, e.d.icon(1), e.emit(Op::kIAnd, word, e.d.icon(3)));
        return e.emit(Op::kIMul, sign, digit);
      },
      [&] {
        const int n = e.call(int_value, o, o, o);
        e.check(e.emit(Op::kINe, n, e.d.icon(kNoInt)));
        return n;
      });
}
// A number of Python's as the word that its object is made of.
int word_of(Emitter& e, const Av& value) {
  if (value.of_numpy()) leave(str_cat(a_(e.d.described(value)), " is put into a list"), "int(x)");
  if (value.kind == K::kFloat) return e.emit(Op::kFBits, value.v[0]);
  return as_int(e, value);
}
}  // namespace

List list_of(Emitter& e, const Av& a) {
  if (a.kind == K::kHeld) return {a.v[0], static_cast<K>(a.index), K::kNull};
  const List* l = e.d.list_of_value(a);
  return l ? *l : List{};
}

int list_length(Emitter& e, const List& l) {
  return field(e, l.object, offsetof(PyVarObject, ob_size));
}

Av list_item(Emitter& e, const List& l, const Av& index) {
  return list_item_at(e, l, place_in(e, l, index));
}

Av list_item_at(Emitter& e, const List& l, int place) {
  const int o = item_object(e, l, place);
  switch (l.item) {
    case K::kInt: {
      e.check(is_type(e, o, PyLong_Type));
      return int_of(int_of_object(e, o));
    }
    case K::kFloat:
      e.check(is_type(e, o, PyFloat_Type));
      return float_of(e.emit(Op::kLoadF64, o, e.d.icon(offsetof(PyFloatObject, ob_fval))));
    case K::kBool: {
      const int yes = e.emit(Op::kIEq, o, e.d.icon(address(Py_True)));
      e.check(either(e, yes, e.emit(Op::kIEq, o, e.d.icon(address(Py_False)))));
      return bool_of(yes);
    }
    case K::kHeld: {
      e.check(is_type(e, o, PyList_Type));
      Av held = number(K::kHeld, o);
      held.index = static_cast<int>(l.inner);
      return held;
    }
    default: leave("an item of a list is read that is no number", kNumbers);
  }
}

void store_list_item(Emitter& e, const List& l, const Av& index, const Av& value) {
  e.changes("changes a list");
  const Av v = num(e, value);
  const int word = word_of(e, v), place = place_in(e, l, index), old = item_object(e, l, place);
  // what dies there may run nothing
  const int number = either(e, is_type(e, old, PyLong_Type), is_type(e, old, PyFloat_Type));
  e.check(either(e, number, is_type(e, old, PyBool_Type)));
  const int done = e.call(writers_of(v.kind).store, l.object, place, word);
  e.check(e.emit(Op::kINe, done, e.d.icon(0)));
}

static Av append(Emitter& e, const List& l, const std::vector<Av>& args) {
  e.changes("changes a list");
  const Av v = num(e, args[0]);
  const int word = word_of(e, v);
  const int done = e.call(writers_of(v.kind).push, l.object, word, word);
  e.check(e.emit(Op::kINe, done, e.d.icon(0)));
  return e.d.object(Py_None);
}

const ListMethod* list_method(PyObject* descriptor) {
  static constexpr ListMethod kMethods[] = {{"append", 1, append}};
  if (!descriptor || !Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) return nullptr;
  auto* d = reinterpret_cast<PyMethodDescrObject*>(descriptor);
  if (d->d_common.d_type != &PyList_Type) return nullptr;
  for (const ListMethod& m : kMethods)
    if (m.name == d->d_method->ml_name) return &m;
  return nullptr;
}

}  // namespace pijit::regions
