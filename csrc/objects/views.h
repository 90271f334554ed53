// Tensors that share elements, as MindSpore's views do. Arrays are values: a Tensor that is a view,
// or has views, belongs to a buffer, and a store into one of them gives all those that it reaches
// new arrays. Read-only programs pay for the links alone.
#pragma once
#include <span>

#include "graph/indexing.h"
#include "graph/op.h"
#include "objects/tensor.h"
#include "runtime/layout.h"

namespace pijit {

struct View;  // a Tensor's place in a buffer

// How the elements of an op's result, of the shape `to`, lie among those of its operand; empty:
// elsewhere. Attributes are asked for where the shape does not say it.
std::optional<Layout> layout_of(const Layout& of, const OpDef& op, const Attrs& attrs,
                                const Shape& to);
// That of x[index], for integers, slices, None and an ellipsis; empty: for anything else, and for
// an index that is an ellipsis alone, by which a Tensor gets a value of its own.
std::optional<Layout> layout_of(const Layout& of, std::span<const IndexItem> index);

// `part` is from now on a view of `whole`, by an op or by an index. Nothing happens where gradients
// are being recorded: there, views are values.
void make_view(PyObject* part, PyObject* whole, const OpDef& op, const Attrs& attrs);
void make_view(PyObject* part, PyObject* whole, std::span<const IndexItem> index);
void make_view(PyObject* part, PyObject* whole, const std::optional<Layout>& of_part);
// It was a view with gaps of a buffer of so many elements that no one else knows any more.
void make_gaps(PyObject* o, const Layout& l, int64_t elements);
// Of a Tensor's elements in its buffer.
Layout layout_of(PyObject* o);

// Are gradients being recorded, so that views are values?
bool records();

// A Tensor without a buffer is what others know by itself.
inline bool is_viewed(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->view; }
bool is_contiguous(PyObject* o);
size_t tensors_in_buffer(PyObject* o);
bool in_one_buffer(PyObject* a, PyObject* b);
// It gets another value, which the others of its buffer do not see.
void leave_buffer(TensorObject* t);
// The elements of x[index] become those that `value` has there, `value` being the Tensor's new
// array; all of them.
bool store_in_buffer(TensorObject* t, const ArrayRef& value, std::span<const IndexItem> index);
void store_in_buffer(TensorObject* t, const ArrayRef& value);

}  // namespace pijit
