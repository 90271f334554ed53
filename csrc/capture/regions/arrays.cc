#include "capture/regions/arrays.h"

#include "base/error.h"
#include "capture/regions/complex.h"
#include "capture/regions/iterators.h"
#include "capture/regions/lists.h"
#include "capture/regions/numbers.h"
#include "capture/regions/parts.h"

namespace pijit::regions {

static int offset_of(Emitter& e, const Part& part, const Av& index);
static int place_of(Emitter& e, const Array& a, int axis, const Av& index);
static int place_below(Emitter& e, int index, int size);

Av item(Emitter& e, const Av& whole, const Av& index) {
  const Av of = e.d.as_items(whole);
  if (of.kind == K::kTuple) {
    const Av i = num(e, index);
    int64_t k = 0;
    if (i.kind == K::kFloat || i.is_numpy_bool())
      leave(str_cat(a_(e.d.described(i)), " is an index"));
    const auto n = static_cast<int64_t>(of.items.size());
    const int place = as_int(e, i);
    if (!e.d.is_const(place, &k)) return chosen_item(e, of, place_below(e, place, e.d.icon(n)));
    if (k < 0) k += n;
    if (k < 0 || k >= n) leave("an item of a tuple is read that it has not");
    return of.items[static_cast<size_t>(k)];
  }
  if (const List l = list_of(e, of); l.object != kNoValue) return list_item(e, l, index);
  const Part part = part_of(e, of);
  if (!part.array)
    leave(str_cat("an item of ", a_(e.d.described(e.d.typed(of))), " is read"), kNumbers);
  const bool row = part.array->rank - part.axis == 2 && e.d.as_items(index).kind != K::kTuple;
  if (row && of.kind == K::kNewArray) return taken(e, of, index);
  return row ? row_of(of, place_of(e, *part.array, 0, index))
             : element(e, *part.array, offset_of(e, part, index));
}

// Where the imaginary part of a number lies.
static int behind_real(Emitter& e, const Dtype& d, int offset) {
  return e.add(ins(Op::kIAdd, Type::kI64, offset, e.d.icon(d.bytes / 2)));
}

Av loaded(Emitter& e, const Dtype& d, int data, int offset) {
  int x = e.emit(d.load, data, offset);
  if (d.base == K::kBool) x = e.emit(Op::kINe, x, e.d.icon(0));
  Av r = number(d.base, x);
  if (d.base == K::kComplex) r.v[1] = e.emit(d.load, data, behind_real(e, d, offset));
  r.index = &d == &kByte || &d == &kText ? 0 : d.format;
  return r;
}

Av element(Emitter& e, const Array& a, int offset) {
  return loaded(e, *dtype_of(a.format), a.data, offset);
}

Av row_of(const Av& array, int place) {
  Av row = number(K::kRow, place);
  row.index = array.index;
  return row;
}

Part part_of(Emitter& e, const Av& a) {
  if (a.kind != K::kRow) return {e.d.array_of_value(a)};
  const Array& x = e.d.arrays.at(a.index);
  return {&x, 1, e.add(ins(Op::kIMul, Type::kI64, a.v[0], x.strides[0]))};
}

void store_item(Emitter& e, const Av& value, const Av& of, const Av& index) {
  if (const List l = list_of(e, of); l.object != kNoValue)
    return store_list_item(e, l, index, value);
  const Part part = part_of(e, of);
  const Array* a = part.array;
  e.changes("sets an item of an array");
  if (!a || (a->need >= 0 && !array_view(e.d.object_at(of.index), true)))
    leave(str_cat("an item of ", a_(e.d.described(e.d.typed(of))), " is set"), kNumbers);
  const Dtype& d = *dtype_of(a->format);
  const Av given = e.d.typed(value);
  const Av v = d.base == K::kComplex ? complex_as(e, given, d) : num(e, given);
  if (d.base == K::kInt && v.kind == K::kFloat)
    leave("an element of an array of ints is set to a float", "int(x)");
  int x = kNoValue;
  if (d.base == K::kComplex) {
    x = v.v[0];
  } else if (d.base == K::kBool) {
    x = truth(e, v);
  } else if (d.base == K::kFloat) {
    x = d.format == 'f' ? as_float32(e, v) : as_float(e, v);
  } else {
    x = as_int(e, v);
    check_fits(e, x, d);  // else NumPy raises, or takes the low bits
  }
  const int offset = offset_of(e, part, index);
  if (a->need >= 0) e.d.r->needs[static_cast<size_t>(a->need)].written = true;
  e.add(ins(d.store, Type::kNone, a->data, offset, x));
  if (d.base == K::kComplex)
    e.add(ins(d.store, Type::kNone, a->data, behind_real(e, d, offset), v.v[1]));
}

// Bytes to an element, whose indices are looked at first.
static int offset_of(Emitter& e, const Part& part, const Av& index) {
  const Array& a = *part.array;
  const Av items = e.d.as_items(index);
  const std::vector<Av> indices = items.kind == K::kTuple ? items.items : std::vector{index};
  if (indices.size() != static_cast<size_t>(a.rank - part.axis))
    leave("a row or a part of an array is taken", "an index for each axis: a[i, j]");
  int offset = part.offset;
  for (int k = part.axis; k < a.rank; ++k) {
    const int at = place_of(e, a, k, indices[static_cast<size_t>(k - part.axis)]);
    const int bytes = e.add(ins(Op::kIMul, Type::kI64, at, a.strides[static_cast<size_t>(k)]));
    offset = offset == kNoValue ? bytes : e.add(ins(Op::kIAdd, Type::kI64, offset, bytes));
  }
  return offset;
}

// An index of an axis, from 0 on.
static int place_of(Emitter& e, const Array& a, int axis, const Av& index) {
  const Av i = num(e, index);
  if (i.kind != K::kInt) leave(str_cat(a_(e.d.described(i)), " is an index"));
  return place_below(e, i.v[0], a.sizes[static_cast<size_t>(axis)]);
}

// Of an index, which counts from the end below 0, in so many items.
static int place_below(Emitter& e, int index, int size) {
  const int zero = e.d.icon(0);
  const int from_end = e.add(ins(Op::kIAdd, Type::kI64, index, size));
  const int at = e.emit(Op::kSelect, e.emit(Op::kILt, index, zero), from_end, index);
  e.check(e.emit(Op::kIGe, at, zero));
  e.check(e.emit(Op::kILt, at, size));
  return at;
}

}  // namespace pijit::regions
