// Views in captured code: Tensors that share elements (objects/views.h). Values of a graph share
// nothing, so a store into one of them computes the others anew, when they are read.
#pragma once
#include "capture/context.h"
#include "capture/values/tensor.h"

namespace pijit {

// `part` is a view of `whole`, by an op of which `how` are the attributes, or by the index `how`.
// Nothing happens where gradients are recorded: there, views are values.
void make_view(Context& c, TensorValue* part, TensorValue* whole, const OpDef& op,
               const Attrs& attrs, const V& how);
void make_view(Context& c, TensorValue* part, TensorValue* whole, const V& index);
// A new Tensor of the same elements, `node` being its value.
V view_of_all(Context& c, const V& whole, Val node);

// A change of a Tensor from outside, of which no other may know.
void check_alone(Context& c, TensorValue* t);
// `t` gets a value, which all that share its elements see; or which none sees.
void set_shared(Context& c, TensorValue* t, Val node);
void set_alone(Context& c, TensorValue* t, Val node);
// Gives views of what has changed their values: those that a caller knows, all while a branch or a
// loop is traced (what is written there is merged behind it), and `all` before one is.
void keep_views_up(Context& c, bool all);

}  // namespace pijit
