#include "capture/regions/items.h"

#include <array>
#include <cstddef>

#include "python/ints.h"
#include "python/names.h"
#include "python/refcounts.h"

namespace pijit::regions {

namespace {

constexpr int64_t kLeastSmall = -5, kMostSmall = 256;  // ints that CPython keeps
constexpr int64_t kMostOfADigit = (int64_t{1} << PyLong_SHIFT) - 1;
// The addresses of all.
using SmallInts = std::array<int64_t, kMostSmall - kLeastSmall + 1>;
constinit OnDemand<SmallInts> all_small_ints;
const SmallInts& small_ints() {
  return all_small_ints.get([] {
    SmallInts r{};
    for (size_t k = 0; k < r.size(); ++k) {
      PyObject* o = PyLong_FromLongLong(kLeastSmall + static_cast<int64_t>(k));
      r[k] = address(o);
      Py_DECREF(o);  // CPython has it
    }
    return r;
  });
}

void put(Emitter& e, Op store, int base, size_t offset, int value) {
  e.add(ins(store, Type::kNone, base, e.d.icon(static_cast<int64_t>(offset)), value));
}
int plus(Emitter& e, int a, int64_t n) { return e.add(ins(Op::kIAdd, Type::kI64, a, e.d.icon(n))); }
int times(Emitter& e, int a, int64_t n) {
  return e.add(ins(Op::kIMul, Type::kI64, a, e.d.icon(n)));
}
int is_at_most(Emitter& e, int a, int64_t n) { return e.emit(Op::kILe, a, e.d.icon(n)); }

int references(Emitter& e, int object) {
  const Op load = kSomeAreImmortal ? Op::kLoadU32 : Op::kLoadI64;
  return e.emit(load, object, e.d.icon(kReferences));
}
int nobody_else_holds(Emitter& e, int object) {
  return e.emit(Op::kIEq, references(e, object), e.d.icon(1));
}
// It stays where the list lets go of it. What is no number may be held by a dead list that the
// arena keeps for a while: CPython is to see its end.
int others_hold(Emitter& e, int object) {
  return e.emit(Op::kIGt, references(e, object), e.d.icon(kSomeAreImmortal ? kImmortal - 1 : 1));
}
void count(Emitter& e, int object, int64_t more) {
  if (!kSomeAreImmortal)
    put(e, Op::kStoreI64, object, kReferences, plus(e, references(e, object), more));
}

// An int of one digit, by its word.
constexpr int64_t kOneDigit = kIntsAreTagged ? 8 : 1, kOneNegative = kIntsAreTagged ? 8 + 2 : -1;
int has_word(Emitter& e, int object, int64_t word) {
  return e.emit(Op::kIEq, field(e, object, kIntWord), e.d.icon(word));
}

int bool_object(Emitter& e, int word, bool negated = false) {
  const int yes = e.d.icon(address(negated ? Py_False : Py_True));
  const int no = e.d.icon(address(negated ? Py_True : Py_False));
  return e.emit(Op::kSelect, e.emit(Op::kINe, word, e.d.icon(0)), yes, no);
}
int shared_object(Emitter& e, K kind, int word) {
  if (kind == K::kBool) return bool_object(e, word);
  const int table = e.d.icon(address(small_ints().data()));
  return e.emit(Op::kLoadI64, table, times(e, plus(e, word, -kLeastSmall), sizeof(int64_t)));
}

// Over the same one there is nothing to do: many are stored more than once.
void store_bool(Emitter& e, int old, int word, absl::FunctionRef<void(int)> put_there,
                absl::FunctionRef<void()> otherwise) {
  const int now = bool_object(e, word);
  const auto same = [&] { return e.emit(Op::kIEq, old, now); };
  const auto is_other = [&] { return e.emit(Op::kIEq, old, bool_object(e, word, true)); };
  e.first_of({{{same}, [] {}}, {{is_other}, [&] { put_there(now); }}}, otherwise);
}

}  // namespace

int field(Emitter& e, int object, size_t offset) {
  return e.emit(Op::kLoadI64, object, e.d.icon(static_cast<int64_t>(offset)));
}
int is_type(Emitter& e, int object, const PyTypeObject& type) {
  return e.emit(Op::kIEq, field(e, object, offsetof(PyObject, ob_type)), e.d.icon(address(&type)));
}
int item_object(Emitter& e, const List& l, int place) {
  const int items = field(e, l.object, offsetof(PyListObject, ob_item));
  return e.emit(Op::kLoadI64, items, times(e, place, sizeof(PyObject*)));
}

void store_number(Emitter& e, const List& l, int place, K kind, int word,
                  absl::FunctionRef<void()> otherwise) {
  const int old = item_object(e, l, place);
  const auto put_there = [&](int now) {
    count(e, old, -1);
    count(e, now, 1);
    const int items = field(e, l.object, offsetof(PyListObject, ob_item));
    e.add(ins(Op::kStoreI64, Type::kNone, items, times(e, place, sizeof(PyObject*)), now));
  };
  const auto share = [&] { put_there(shared_object(e, kind, word)); };
  const auto alone = [&] { return nobody_else_holds(e, old); };
  const auto shared = [&] { return others_hold(e, old); };
  const auto is_int = [&] { return is_type(e, old, PyLong_Type); };
  const auto is_float = [&] { return is_type(e, old, PyFloat_Type); };
  const auto one_digit = [&] { return has_word(e, old, kOneDigit); };
  const auto one_negative = [&] { return has_word(e, old, kOneNegative); };
  const auto above = [&] { return e.emit(Op::kIGt, word, e.d.icon(kMostSmall)); };
  const auto fits = [&] { return is_at_most(e, word, kMostOfADigit); };
  const auto small = [&] { return is_at_most(e, word, kMostSmall); };
  const auto not_below = [&] { return e.emit(Op::kIGe, word, e.d.icon(kLeastSmall)); };
  const auto below = [&] { return is_at_most(e, word, kLeastSmall - 1); };
  const auto fits_below = [&] { return e.emit(Op::kIGe, word, e.d.icon(-kMostOfADigit)); };
  const auto write_negative = [&] {
    put(e, Op::kStoreI32, old, kIntDigit, e.add(ins(Op::kISub, Type::kI64, e.d.icon(0), word)));
  };
  const auto write_int = [&] { put(e, Op::kStoreI32, old, kIntDigit, word); };
  const auto write_float = [&] {
    put(e, Op::kStoreI64, old, offsetof(PyFloatObject, ob_fval), word);
  };
  if (kind == K::kFloat)
    e.first_of({{{is_float, alone}, write_float}}, otherwise);
  else if (kind == K::kBool)
    store_bool(e, old, word, put_there, otherwise);
  else if (kind == K::kInt)
    e.first_of({{{above, fits, is_int, alone, one_digit}, write_int},
                {{small, not_below, is_int, shared}, share},
                {{below, fits_below, is_int, alone, one_negative}, write_negative}},
               otherwise);
  else
    otherwise();
}

void append_number(Emitter& e, const List& l, K kind, int word,
                   absl::FunctionRef<void()> otherwise) {
  const auto small = [&] { return is_at_most(e, word, kMostSmall); };
  const auto not_below = [&] { return e.emit(Op::kIGe, word, e.d.icon(kLeastSmall)); };
  int size = kNoValue;
  const auto has_room = [&] {
    size = field(e, l.object, offsetof(PyVarObject, ob_size));
    return e.emit(Op::kILt, size, field(e, l.object, offsetof(PyListObject, allocated)));
  };
  const auto share = [&] {
    const int now = shared_object(e, kind, word);
    count(e, now, 1);
    const int items = field(e, l.object, offsetof(PyListObject, ob_item));
    e.add(ins(Op::kStoreI64, Type::kNone, items, times(e, size, sizeof(PyObject*)), now));
    put(e, Op::kStoreI64, l.object, offsetof(PyVarObject, ob_size), plus(e, size, 1));
  };
  if (kind == K::kInt)
    e.first_of({{{small, not_below, has_room}, share}}, otherwise);
  else if (kind == K::kBool)
    e.first_of({{{has_room}, share}}, otherwise);
  else
    otherwise();
}

}  // namespace pijit::regions
