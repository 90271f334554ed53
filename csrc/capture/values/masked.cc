#include "capture/values/masked.h"

#include <algorithm>
#include <cstring>

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/scalar.h"
#include "capture/values/tensor.h"
#include "entry/recipe.h"
#include "graph/indexing.h"
#include "graph/vals.h"
#include "objects/ndarray.h"

namespace pijit {
namespace {

struct MaskedRecipe final : Recipe {
  MaskedRecipe(int whole, int mask) : whole(whole), mask(mask) {}
  py::object make(Runner& r) const override {
    return new_ndarray_of_mask(*r.output(whole), *r.output(mask));
  }
  std::string describe() const override { return str_cat("ndarray ", whole, "[", mask, "]"); }

  int whole, mask;
};

// A mask as the graph's; null: it is none.
Val mask_of(Context& c, NdarrayValue* a, const V& at) {
  auto* m = as_ndarray(c, at);
  if (!m || m == a || m->scalar || !m->is_followed(c)) return {};
  const Val x = m->logical(c);
  const Shape &shape = a->elements(c).shape(), &of = x.shape();
  if (!is_bool(x.dtype()) || of.rank() == 0 || of.rank() > shape.rank()) return {};
  const Shape logical = a->logical(c).shape();
  for (int k = 0; k < of.rank(); ++k)
    if (of[k] != logical[k]) return {};  // IndexError
  return x;
}

// Do two values have the same elements, as their expressions tell? Capture makes one for each time
// that a mask is written down.
bool is_same(const Graph& g, Val a, Val b, int depth = 8) {
  if (a == b) return true;
  if (!a || !b || depth == 0) return false;
  const Node &x = g.node(a.id), &y = g.node(b.id);
  if (x.kind != y.kind || !x.type.same_as(y.type)) return false;
  if (x.kind == Node::kConst) return !x.size && !y.size && x.bits == y.bits;
  if (x.kind != Node::kOp || x.op != y.op || x.op->has(kCallOut) || !x.regions.empty() ||
      !same(x.attrs, y.attrs) || x.in.size() != y.in.size())
    return false;
  for (size_t k = 0; k < x.in.size(); ++k) {
    const bool both = x.in[k] == y.in[k];
    if (!both && (x.in[k] == kNoNode || y.in[k] == kNoNode)) return false;
    if (!both && !is_same(g, {a.b, x.in[k]}, {a.b, y.in[k]}, depth - 1)) return false;
  }
  return true;
}

Val widened(Val mask, int rank) {
  Dims wide(mask.shape().begin(), mask.shape().end());
  wide.resize(static_cast<size_t>(rank), Dim(1));
  return v_reshape(mask, Shape(wide));
}

}  // namespace

PyTypeObject* MaskedValue::type() const { return library.ndarray.type(); }

V masked_part(Context& c, NdarrayValue* a, const V& at) {
  if (a->scalar) return nullptr;
  const Val mask = mask_of(c, a, at);
  if (!mask) return nullptr;
  const Val whole = a->logical(c);
  return c.make<MaskedValue>(
      new_ndarray_value(c, whole, axes_in_order(whole.shape().rank()), false), mask);
}

bool store_masked(Context& c, NdarrayValue* a, const V& at, const V& value) {
  if (a->scalar) return false;
  const Val mask = mask_of(c, a, at);
  if (!mask) return false;
  const Val x = a->logical(c);
  if (auto* part = as<MaskedValue>(value)) {
    const Val all = part->whole->elements(c);
    if (!is_same(c.scope_->graph(), part->mask, mask) || !(all.shape() == x.shape())) return false;
    const Val to = value_to_store(c, part->whole, x.dtype());
    a->store(c, nullptr, v_select(widened(mask, x.shape().rank()), to, x));
    return true;
  }
  const Val to = value_to_store(c, value, x.dtype());
  if (mask.shape().rank() == x.shape().rank() && to.shape().rank() > 1) return false;  // TypeError
  const auto made = masked_set(x, mask, to);
  if (made) a->store(c, nullptr, *made);
  return made.has_value();
}

std::optional<Unmasked> unmasked(Context& c, const std::vector<V>& operands) {
  Unmasked r;
  int rank = 0;
  for (auto& v : operands)
    if (auto* m = as<MaskedValue>(v)) {
      const Shape shape = m->whole->elements(c).shape();
      if (r.mask && (!is_same(c.scope_->graph(), r.mask, m->mask) || rank != shape.rank()))
        return std::nullopt;
      r.mask = m->mask;
      rank = shape.rank();
    }
  if (!r.mask) return std::nullopt;
  for (auto& v : operands) {
    auto* m = as<MaskedValue>(v);
    auto* a = m ? nullptr : as_ndarray(c, v);
    if (a && (!a->is_followed(c) || a->elements(c).shape().rank() > rank - r.mask.shape().rank()))
      return std::nullopt;
    if (!m) {
      r.operands.push_back(v);
      continue;
    }
    Val x = m->whole->elements(c);
    if (!is_bool(x.dtype()))
      x = v_select(widened(r.mask, rank), x, c.scope_->graph().constant(x.dtype(), 1.0));
    r.operands.push_back(new_ndarray_value(c, x, axes_in_order(rank), false));
  }
  return r;
}

V masked_again(Context& c, const V& made, Val mask) {
  auto* a = as<NdarrayValue>(made);
  if (!a) return nullptr;
  PIJIT_CHECK(std::is_sorted(a->axes.begin(), a->axes.end()), "part of another order");
  return c.make<MaskedValue>(a, mask);
}

std::optional<V> MaskedValue::getattr(Context& c, PyObject* name) {
  PyObject* found = type_lookup(type(), name);
  if (!found) return std::nullopt;
  if (Py_TYPE(found) == &PyMethodDescr_Type)
    return protocol::bind(c, c.wrap_static(found), this, type());
  c.give_up(Reason::kUnsupportedAttribute, str_cat("ndarray.", text_of(name)), Case::kNumpyArray);
}

std::optional<V> MaskedValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                     Kwargs& kwargs) {
  std::vector<V> all{this};
  all.insert(all.end(), args.begin(), args.end());
  if (V made = apply_numpy(c, name, all, kwargs)) return made;
  c.give_up(Reason::kUnsupportedCall, "ndarray." + name, Case::kNumpyArray);
}

V MaskedValue::unary(Context& c, UnaryOp op) {
  const auto all = unmasked(c, {this});
  return all ? masked_again(c, all->operands[0]->unary(c, op), all->mask) : nullptr;
}

V MaskedValue::binary(Context& c, BinaryOp op, const V& other, Side side) {
  const auto all = op == BinaryOp::kMatmul ? std::nullopt : unmasked(c, {this, other});
  if (!all) return nullptr;
  return masked_again(c, all->operands[0]->binary(c, op, all->operands[1], side), all->mask);
}

V MaskedValue::compare(Context& c, CompareOp op, const V& other, Side side) {
  const auto all = unmasked(c, {this, other});
  if (!all) return nullptr;
  return masked_again(c, all->operands[0]->compare(c, op, all->operands[1], side), all->mask);
}

V MaskedValue::in_place(Context& c, BinaryOp op, const V& other) {
  auto* made = as<MaskedValue>(binary(c, op, other, Side::kLeft));
  const Val before = whole->elements(c);
  if (!made || !(made->whole->elements(c).type() == before.type()))
    c.give_up(Reason::kUnsupportedOperand, "an ndarray changed in place", Case::kNumpyArray);
  c.undoable([this, old = whole] { whole = old; });
  whole = made->whole;
  return this;
}

int MaskedValue::rebuild(Rebuilder& r) {
  return r.make<MaskedRecipe>(this, r.output(whole->elements(r.context())), r.output(mask));
}

}  // namespace pijit
