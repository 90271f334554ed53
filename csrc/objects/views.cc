#include "objects/views.h"

#include <cstring>

#include "eager/tape.h"
#include "objects/bytes_view.h"

namespace pijit {
struct View {
  TensorObject* tensor;
  struct Buffer* buffer;
  View *next, *before;  // among those of the buffer
  Layout layout;
  static void* operator new(size_t n) { return allocate(n); }
  static void operator delete(void* p, size_t n) { release(p, n); }
};

struct Buffer {
  ArrayRef array;  // all its elements, in whatever shape; null where a view is alone
  DType dtype;     // of one element, as small as that of any view has been
  DeviceId device;
  int64_t elements;
  size_t count = 0;
  View* views = nullptr;
  View first;  // room for that of the Tensor that came first
  static void* operator new(size_t n) { return allocate(n); }
  static void operator delete(void* p, size_t n) { release(p, n); }
};

namespace {

ArrayRef flat(const ArrayRef& a) {
  return alias_array(a, {a->type.dtype, Shape{a->type.shape.numel()}, a->type.device});
}

ArrayRef zeros(DType dtype, int64_t n, DeviceId device) {
  ArrayRef r = new_array({dtype, Shape{n}});
  std::memset(r->data(), 0, r->type.bytes());
  return array_on(r, device);
}

void add(Buffer* b, TensorObject* t, View* v) {
  v->tensor = t;
  v->buffer = b;
  v->before = nullptr;
  v->next = b->views;
  if (b->views) b->views->before = v;
  b->views = v;
  ++b->count;
  t->view = v;
}

Buffer* new_buffer(const Array& a, int64_t elements) {
  auto* b = new Buffer;
  b->dtype = a.type.dtype;
  b->device = a.type.device;
  b->elements = elements;
  return b;
}

void link(PyObject* part, PyObject* whole, const std::optional<Layout>& l) {
  auto *p = reinterpret_cast<TensorObject*>(part), *w = reinterpret_cast<TensorObject*>(whole);
  if (!l || p == w || p->view || l->shape.numel() == 0) return;
  if (!w->view) {
    Buffer* b = new_buffer(*w->array, w->array->type.shape.numel());
    b->array = w->array;
    b->first.layout = Layout::contiguous(w->array->type.shape);
    add(b, w, &b->first);
  }
  if (l->shape.rank() == kMaxRank &&
      size_of(w->array->type.dtype) != size_of(w->view->buffer->dtype))
    return;  // no room for the parts of an element
  auto* v = new View;
  v->layout = *l;
  add(w->view->buffer, p, v);
}

// A view may be of another dtype than its buffer: an element of it then is several in a row there.
int64_t size_in(const Buffer* b, const View* v) {
  return static_cast<int64_t>(size_of(v->tensor->array->type.dtype) / size_of(b->dtype));
}
Layout in_buffer(Layout l, int64_t size) {
  if (size == 1) return l;
  l.offset *= size;
  for (int k = 0; k < l.shape.rank(); ++k) l.strides[k] *= size;
  l.strides[l.shape.rank()] = 1;
  l.shape.push_back(size);
  return l;
}
ArrayRef retyped(const ArrayRef& a, const Type& t) { return a->type == t ? a : alias_array(a, t); }
ArrayRef in_buffer(const Buffer* b, const ArrayRef& a, int64_t size) {
  Type t{b->dtype, a->type.shape, a->type.device};
  if (size > 1) t.shape.push_back(size);
  return retyped(a, t);
}
void put(Buffer* b, const View* v, const Layout& region, const ArrayRef& elements) {
  const int64_t size = size_in(b, v);
  b->array = scattered(flat(b->array), in_buffer(region, size), in_buffer(b, elements, size));
}
ArrayRef shown(const Buffer* b, const View* v) {
  return retyped(gathered(b->array, in_buffer(v->layout, size_in(b, v))), v->tensor->array->type);
}

void store(TensorObject* t, const ArrayRef& value, const Layout& region, const ArrayRef& elements) {
  Buffer* b = t->view->buffer;
  if (!b->array && b->count == 1 && !t->view->layout.repeats()) {
    t->array = value;
    return;
  }
  if (!b->array) {  // what no view shows any more is not asked for
    b->array = zeros(b->dtype, b->elements, b->device);
    for (View* v = b->views; v; v = v->next) put(b, v, v->layout, v->tensor->array);
  }
  put(b, t->view, region, elements);
  const Layout stored = in_buffer(region, size_in(b, t->view));
  std::vector<ArrayRef> before;  // may run code as it dies
  for (View* v = b->views; v; v = v->next) {
    before.push_back(v->tensor->array);
    if (v->tensor != t ? overlap(in_buffer(v->layout, size_in(b, v)), stored) : v->layout.repeats())
      v->tensor->array = shown(b, v);
    else if (v->tensor == t)
      t->array = value;
  }
}

// Of a Tensor's bytes as elements of another size, where they lie as such; empty: elsewhere.
std::optional<Layout> resized(Layout l, int64_t from, int64_t to) {
  if (from == to) return l;
  const int last = l.shape.rank() - 1;
  if (last < 0 || last + 1 == kMaxRank) return std::nullopt;
  if (l.shape[last] == 1) l.strides[last] = 1;
  if (l.strides[last] != 1) return std::nullopt;
  const auto rescale = [&](int64_t& n) {  // false where it is no whole number of the others
    n *= from;
    const bool whole = n % to == 0;
    n /= to;
    return whole;
  };
  int64_t length = l.shape[last];
  bool whole = rescale(l.offset) && rescale(length);
  for (int k = 0; k < last; ++k) whole = whole && rescale(l.strides[k]);
  l.shape[last] = length;
  return whole ? std::optional(l) : std::nullopt;
}

// Its elements are from now on of that dtype, or smaller; false: some view has no room for that.
bool make_finer(Buffer* b, DType dtype) {
  const int64_t parts = static_cast<int64_t>(size_of(b->dtype) / size_of(dtype));
  if (parts <= 1) return true;
  for (View* v = b->views; v; v = v->next)
    if (v->layout.shape.rank() == kMaxRank) return false;
  b->elements *= parts;
  b->dtype = dtype;
  if (b->array) b->array = alias_array(b->array, {dtype, Shape{b->elements}, b->device});
  return true;
}

}  // namespace

bool records() { return !Tape::active().empty(); }

std::optional<Layout> layout_of(const Layout& of, const OpDef& op, const Attrs& attrs,
                                const Shape& to) {
  auto ints = [&](size_t k) { return std::span<const Dim>(std::get<Dims>(attrs[k])); };
  switch (op.role) {
    case Role::kReshape: return of.reshaped(to);
    case Role::kTranspose: return of.transposed(ints(0));
    case Role::kSlice: return of.sliced(ints(0), ints(1), ints(2));
    case Role::kDiagonal: return of.diagonal(static_cast<int64_t>(std::get<Dim>(attrs[0])));
    case Role::kBroadcast: return of.broadcast(to);
    case Role::kIdentity: return of;
    default: return std::nullopt;
  }
}

std::optional<Layout> layout_of(const Layout& of, std::span<const IndexItem> index) {
  if (!is_basic_index(index)) return std::nullopt;
  Layout r{of.offset, {}, {}};
  int from = 0;
  each_axis({DType::F32, of.shape}, index,
            [&](const IndexItem* it, int64_t begin, int64_t end, int64_t step) {
              const auto kind = it ? it->kind : IndexItem::kSlice;
              if (kind == IndexItem::kNewAxis) {  // it lies around the axis behind it
                r.strides[r.shape.rank()] =
                    from < of.shape.rank() ? static_cast<int64_t>(of.shape[from]) * of.strides[from]
                                           : 1;
                r.shape.push_back(1);
                return;
              }
              const int64_t stride = of.strides[from++];
              r.offset += begin * stride;
              if (kind == IndexItem::kInt) return;
              r.strides[r.shape.rank()] = step * stride;
              r.shape.push_back(slice_length(begin, end, step));
            });
  return r;
}

Layout layout_of(PyObject* o) {
  const View* v = reinterpret_cast<TensorObject*>(o)->view;
  return v ? v->layout : Layout::contiguous(array_of(o)->type.shape);
}

void make_view(PyObject* part, PyObject* whole, const OpDef& op, const Attrs& attrs) {
  if (!records())
    link(part, whole, layout_of(layout_of(whole), op, attrs, array_of(part)->type.shape));
}
void make_view(PyObject* part, PyObject* whole, std::span<const IndexItem> index) {
  if (!records()) link(part, whole, layout_of(layout_of(whole), index));
}
void make_view(PyObject* part, PyObject* whole, const std::optional<Layout>& of_part) {
  if (!records()) link(part, whole, of_part);
}

void make_view_of_bytes(PyObject* part, PyObject* whole) {
  if (records()) return;
  const DType from = array_of(whole)->type.dtype, to = array_of(part)->type.dtype;
  const auto l = resized(layout_of(whole), static_cast<int64_t>(size_of(from)),
                         static_cast<int64_t>(size_of(to)));
  link(part, whole, l);
  View* v = reinterpret_cast<TensorObject*>(part)->view;
  if (v && !make_finer(v->buffer, to)) leave_buffer(reinterpret_cast<TensorObject*>(part));
}

void make_gaps(PyObject* o, const Layout& l, int64_t elements) {
  auto* t = reinterpret_cast<TensorObject*>(o);
  if (records() || t->view || l.shape.numel() == 0) return;
  Buffer* b = new_buffer(*t->array, elements);
  b->first.layout = l;
  add(b, t, &b->first);
}

bool is_contiguous(PyObject* o) {
  const View* v = reinterpret_cast<TensorObject*>(o)->view;
  return !v || v->layout.shape.numel() == 0 || v->layout.contiguous();
}
size_t tensors_in_buffer(PyObject* o) {
  return reinterpret_cast<TensorObject*>(o)->view->buffer->count;
}

bool in_one_buffer(PyObject* a, PyObject* b) {
  const View *x = reinterpret_cast<TensorObject*>(a)->view,
             *y = reinterpret_cast<TensorObject*>(b)->view;
  return x && y && x->buffer == y->buffer;
}

static void remove(View* v) {
  Buffer* b = v->buffer;
  (v->before ? v->before->next : b->views) = v->next;
  if (v->next) v->next->before = v->before;
  --b->count;
  v->tensor->view = nullptr;
  if (v != &b->first) delete v;
}
void leave_buffer(TensorObject* t) {
  if (!t->view) return;
  Buffer* b = t->view->buffer;
  remove(t->view);
  if (b->count > 1) return;
  if (b->count == 1) {  // alone it shares with none; that it has gaps is not forgotten
    b->array = {};
    if (!b->views->layout.contiguous()) return;
    remove(b->views);
  }
  delete b;
}

bool store_in_buffer(TensorObject* t, const ArrayRef& value, std::span<const IndexItem> index) {
  const auto region = layout_of(t->view->layout, index);
  if (!region) return false;
  const auto in_value = layout_of(Layout::contiguous(value->type.shape), index);
  store(t, value, *region, gathered(flat(value), *in_value));
  return true;
}
void store_in_buffer(TensorObject* t, const ArrayRef& value) {
  store(t, value, t->view->layout, value);
}

}  // namespace pijit
