#include "capture/regions/parts.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "capture/regions/numbers.h"
#include "objects/ndarray.h"

namespace pijit::regions {

namespace {

// Axis k of the items of a kPart: an index (kInt), a range of places (kAxis), a new one (kNull).
Av axis(int start, int count, int step) {
  Av a;
  a.kind = K::kAxis;
  a.v = {start, count, step};
  return a;
}

bool is_elementary(const Array* x) {
  return x && x->format != kByte.format && x->format != kText.format;
}

int least(Emitter& e, int a, int b) { return e.emit(Op::kSelect, e.emit(Op::kILt, a, b), a, b); }
int most(Emitter& e, int a, int b) { return e.emit(Op::kSelect, e.emit(Op::kILt, a, b), b, a); }
int sum(Emitter& e, int a, int b) { return e.emit(Op::kIAdd, a, b); }
int difference(Emitter& e, int a, int b) { return e.emit(Op::kISub, a, b); }
int product(Emitter& e, int a, int b) { return e.emit(Op::kIMul, a, b); }

// An end of a slice of n places, between `low` and `high`.
int bound(Emitter& e, const Av& given, int n, int usual, int low, int high) {
  if (given.kind == K::kObject && given.object == Py_None) return usual;
  const Av i = num(e, given);
  if (i.kind != K::kInt) leave(str_cat(a_(e.d.described(i)), " stands in a slice"));
  const int below = e.emit(Op::kILt, i.v[0], e.d.icon(0));
  const int at = e.emit(Op::kSelect, below, sum(e, i.v[0], n), i.v[0]);
  return least(e, most(e, at, low), high);
}

// What a slice takes of an axis.
Av sliced(Emitter& e, const Av& of, const Av& slice) {
  int64_t step = 1;
  const Av& by = slice.items[2];
  if (!(by.kind == K::kObject && by.object == Py_None)) {
    const Av s = num(e, by);
    if (s.kind != K::kInt || !e.d.is_const(s.v[0], &step) || step == 0 || step == INT64_MIN)
      leave("the step of a slice is no constant");
  }
  const int n = of.v[1], zero = e.d.icon(0), last = difference(e, n, e.d.icon(1));
  const int from_end = e.d.icon(-1);
  const bool up = step > 0;
  const int start =
      bound(e, slice.items[0], n, up ? zero : last, up ? zero : from_end, up ? n : last);
  const int stop =
      bound(e, slice.items[1], n, up ? n : from_end, up ? zero : from_end, up ? n : last);
  int count = up ? difference(e, stop, start) : difference(e, start, stop);
  const int64_t width = up ? step : -step;
  if (width != 1) count = e.emit(Op::kIDiv, sum(e, count, e.d.icon(width - 1)), e.d.icon(width));
  return axis(sum(e, of.v[0], product(e, start, of.v[2])), most(e, count, zero),
              product(e, e.d.icon(step), of.v[2]));
}

// The place that an index takes of an axis.
Av indexed(Emitter& e, const Av& of, const Av& index) {
  const Av i = num(e, index);
  if (i.kind != K::kInt) leave(str_cat(a_(e.d.described(i)), " is an index"));
  const int zero = e.d.icon(0);
  const int at =
      e.emit(Op::kSelect, e.emit(Op::kILt, i.v[0], zero), sum(e, i.v[0], of.v[1]), i.v[0]);
  e.check(e.emit(Op::kIGe, at, zero));
  e.check(e.emit(Op::kILt, at, of.v[1]));
  return int_of(sum(e, of.v[0], product(e, at, of.v[2])));
}

std::span<const Av> axes_of(const Av& part) {
  return {part.items.data(), part.items.size() - (part.index < 0)};
}

bool is(const Av& a, PyObject* o) { return a.kind == K::kObject && a.object == o; }

std::vector<Av> indices_in(Emitter& e, const Av& index) {
  const Av items = e.d.as_items(index);
  return items.kind == K::kTuple ? items.items : std::vector{index};
}

}  // namespace

bool is_part(Emitter& e, const Av& a) {
  return a.kind == K::kPart || a.kind == K::kRow || is_elementary(e.d.array_of_value(a));
}

Av part(Emitter& e, const Av& a) {
  if (a.kind == K::kPart) return a;
  Av p;
  p.kind = K::kPart;
  p.index = a.kind == K::kNewArray ? -1 : a.index;
  const Array& x = a.kind == K::kRow ? e.d.arrays.at(a.index) : *e.d.array_of_value(a);
  for (int n : x.sizes) p.items.push_back(axis(e.d.icon(0), n, e.d.icon(1)));
  if (a.kind == K::kRow) p.items[0] = int_of(a.v[0]);
  if (p.index < 0) p.items.push_back(a);
  return p;
}

bool has_arrays(Emitter& e, const Av& index) {
  const auto indices = indices_in(e, index);
  return std::any_of(indices.begin(), indices.end(),
                     [&](const Av& i) { return i.kind == K::kArray || is_part(e, i); });
}

bool takes_part(Emitter& e, const Av& of, const Av& index) {
  if (!is_part(e, of)) return false;
  if (of.kind == K::kPart) return true;
  for (const Av& i : indices_in(e, index))
    if (i.kind == K::kSlice || is(i, Py_None) || is(i, Py_Ellipsis)) return true;
  const auto rank = static_cast<size_t>(rank_of(part(e, of)));
  // rows of matrices have a kind of their own
  return indices_in(e, index).size() < rank && (rank > 2 || of.kind == K::kNewArray);
}

Av taken(Emitter& e, const Av& of, const Av& index) {
  std::vector<Av> given = indices_in(e, index);
  Av p = part(e, of);
  size_t left = static_cast<size_t>(rank_of(p)), wanted = 0, all = given.size();
  for (size_t k = 0; k < given.size(); ++k) {
    if (is(given[k], Py_Ellipsis)) all = k;
    wanted += !is(given[k], Py_None) && !is(given[k], Py_Ellipsis);
  }
  if (wanted > left) leave("an array is indexed with more places than it has axes");
  Av everything;
  everything.kind = K::kSlice;
  everything.items.assign(3, e.d.object(Py_None));
  if (all < given.size()) given.erase(given.begin() + static_cast<ptrdiff_t>(all));
  given.insert(given.begin() + static_cast<ptrdiff_t>(all), left - wanted, everything);
  if (p.reversed) std::reverse(given.begin(), given.end());
  Av r;
  r.kind = K::kPart;
  r.index = p.index;
  size_t next = 0;
  auto pass = [&] {  // what was taken before
    while (next < p.items.size() && p.items[next].kind == K::kInt)
      r.items.push_back(p.items[next++]);
  };
  for (const Av& i : given) {
    if (is(i, Py_None)) {
      r.items.emplace_back();
      continue;
    }
    pass();
    const Av& from = p.items[next++];
    const bool whole = i.kind == K::kSlice && is(i.items[0], Py_None) && is(i.items[1], Py_None) &&
                       is(i.items[2], Py_None);
    if (whole)
      r.items.push_back(from);
    else if (from.kind == K::kNull)
      leave("a new axis is indexed");
    else
      r.items.push_back(i.kind == K::kSlice ? sliced(e, from, i) : indexed(e, from, i));
  }
  pass();
  if (r.index < 0) r.items.push_back(p.items.back());
  r.reversed = p.reversed && rank_of(r) > 1;
  if (rank_of(r) > 0) return r;
  const Array& x = array_of_part(e, r);
  int offset = kNoValue;
  const auto axes = axes_of(r);
  for (size_t k = 0; k < axes.size(); ++k) {
    const int bytes = product(e, axes[k].v[0], x.strides[k]);
    offset = offset == kNoValue ? bytes : sum(e, offset, bytes);
  }
  return element(e, x, offset);
}

Av flipped(Emitter& e, const Av& of) {
  Av p = part(e, of);
  for (Av& a : p.items) {
    if (a.kind != K::kAxis) continue;
    const int far = product(e, difference(e, a.v[1], e.d.icon(1)), a.v[2]);
    a = axis(sum(e, a.v[0], far), a.v[1], e.emit(Op::kINeg, a.v[2]));
  }
  return p;
}

bool same_part(const Av& a, const Av& b) {
  if (a.kind != b.kind || a.index != b.index || a.v != b.v || a.reversed != b.reversed ||
      a.items.size() != b.items.size())
    return false;
  for (size_t k = 0; k < a.items.size(); ++k)
    if (!same_part(a.items[k], b.items[k])) return false;
  return true;
}

int rank_of(const Av& part) {
  int n = 0;
  for (const Av& a : axes_of(part)) n += a.kind != K::kInt;
  return n;
}

const Array& array_of_part(Emitter& e, const Av& part) {
  return part.index < 0 ? *e.d.array_of_value(part.items.back()) : e.d.arrays.at(part.index);
}

const Dtype& dtype_of_part(Emitter& e, const Av& part) {
  return *dtype_of(array_of_part(e, part).format);
}

Place place_of(Emitter& e, const Av& part) {
  Place p;
  p.array = &array_of_part(e, part);
  p.offset = e.d.icon(0);
  size_t axis_of = 0;
  for (const Av& a : axes_of(part)) {
    if (a.kind == K::kNull) {
      p.sizes.push_back(e.d.icon(1));
      p.strides.push_back(e.d.icon(0));
      continue;
    }
    const int stride = p.array->strides[axis_of++];
    p.offset = sum(e, p.offset, product(e, a.v[0], stride));
    if (a.kind == K::kInt) continue;
    p.sizes.push_back(a.v[1]);
    p.strides.push_back(product(e, a.v[2], stride));
  }
  if (part.reversed) {
    std::reverse(p.sizes.begin(), p.sizes.end());
    std::reverse(p.strides.begin(), p.strides.end());
  }
  return p;
}

namespace {

// What code knows of an array, by the attribute's name.
struct Attribute {
  std::string_view name;
  Av (*code)(Emitter& e, const Av& part);
};
constexpr Attribute kAttributes[] = {
    {"ndim", [](Emitter& e, const Av& p) { return int_of(e.d.icon(rank_of(p))); }},
    {"size",
     [](Emitter& e, const Av& p) {
       const std::vector<int> sizes = place_of(e, p).sizes;
       int n = sizes[0];
       for (size_t k = 1; k < sizes.size(); ++k) n = e.add(ins(Op::kIMul, Type::kI64, n, sizes[k]));
       return int_of(n);
     }},
    {"shape",
     [](Emitter& e, const Av& p) {
       Av t;
       t.kind = K::kTuple;
       for (int n : place_of(e, p).sizes) t.items.push_back(int_of(n));
       return t;
     }},
    {"T",
     [](Emitter&, const Av& p) {
       Av r = p;
       r.reversed = rank_of(p) > 1 && !p.reversed;
       return r;
     }},
    {"dtype",
     [](Emitter& e, const Av& p) {
       const char format[] = {dtype_of_part(e, p).format, '\0'};
       return e.d.object(py::object(py::handle(numpy_attribute("dtype"))(format)).ptr());
     }},
};

}  // namespace

Av array_attribute(Emitter& e, const Av& array, const std::string& name) {
  for (const Attribute& row : kAttributes)
    if (row.name == name) return row.code(e, part(e, array));
  leave(str_cat("the attribute `", name, "` of an array is read"),
        "read it into a variable before the loop");
}

}  // namespace pijit::regions
