#include "capture/control_flow/merge.h"

#include "capture/context.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"

namespace pijit {
namespace {

// On another device than the CPU, single elements of the CPU's go with all others: a constant that
// one way gives, and what the other computes, are of one type there.
bool alike(const Type& a, const Type& b) {
  if (a == b) return true;
  const DeviceId home = default_device();
  return a.dtype == b.dtype && a.shape.rank() == 0 && b.shape.rank() == 0 &&
         (a.device.is_cpu() || a.device == home) && (b.device.is_cpu() || b.device == home);
}

}  // namespace

V Merge::merge(const V& a, const V& b) {
  if (a == b) return a;
  V& known = merged_[{a, b}];
  if (known) return known;
  constexpr int kDeepest = 100;
  if (depth_ > kDeepest) return fail("a container that holds itself, or many");
  ++depth_;
  const V made = a->merge(*this, b);
  --depth_;
  return known = made;
}

V Merge::fail(const char* why) {
  if (problem.empty()) problem = why;
  return nullptr;
}

size_t Merge::output(const V& a, const V& b, DType t) {
  out_.list.push_back({a, b, t});
  return out_.list.size() - 1;
}
void Merge::wait(const V& v, Val* place, size_t index) {
  out_.waiting.push_back({place, index});
  out_.keep.push_back(v);
}

V Merge::tensor(TensorValue* a, TensorValue* b) {
  if (!alike(a->last.type(), b->last.type()))
    return fail("the branches give tensors of different types");
  for (auto* v : {a, b}) {  // made in an arm
    const TensorValue* root = v;
    while (root->origin && root->src < 0 && root->serial >= serial_) root = root->origin;
    const bool made = v->src < 0 && v->serial >= serial_;
    if (made && (root->src >= 0 || root->serial < serial_))
      return fail("which part of a tensor it is depends on the branch");
    root = v;
    auto base_of = [](const TensorValue* t) { return t->base ? t->base : t->doubted; };
    while (base_of(root) && root->src < 0 && root->serial >= serial_) root = base_of(root);
    if (made && (root->src >= 0 || root->serial < serial_))
      return fail("whose elements a view shows depends on the branch");
  }
  auto* r = arena_.make<TensorValue>();
  const size_t index = output(a, b, a->last.dtype());
  wait(r, &r->last, index);
  r->pred = pred_;
  outer(a, &r->first, index, true);
  outer(b, &r->second, index, false);
  return r;
}

void Merge::outer(TensorValue* v, TensorValue** slot, size_t index, bool is_first) {
  if (v->serial < serial_ || v->src >= 0) {
    v->aliased = true;
    *slot = v;
    return;
  }
  if (!v->is_choice()) {
    // an object that the arm makes; if two variables hold it, they do so afterwards
    Made& m = made_[{v, is_first}];
    if (!m.slot) {
      m.slot = slot;
      m.index = index;
      return;
    }
    if (!m.object) {
      m.object = arena_.make<TensorValue>();
      wait(m.object, &m.object->last, m.index);
      *m.slot = m.object;
    }
    *slot = m.object;
    return;
  }
  // the outcome of a branch inside the arm: its predicate leaves the region as well
  auto* c = arena_.make<TensorValue>();
  wait(c, &c->last, index);
  auto* inner = arena_.make<TensorValue>();
  inner->last = v->pred;
  auto* no = arena_.make<ScalarValue>(py::bool_(false));
  wait(c, &c->pred, is_first ? output(inner, no, DType::Bool) : output(no, inner, DType::Bool));
  if (v->first) outer(v->first, &c->first, index, is_first);
  if (v->second) outer(v->second, &c->second, index, is_first);
  *slot = c;
}

V Merge::number(const V& a, const V& b) {
  const double bound = std::max(magnitude(a), magnitude(b));
  auto* r = arena_.make<ScalarValue>(a->obj, ScalarValue::Computed{{}, bound});
  if (bound > kExactInt) return fail("a number that is too large");
  wait(r, r->place(), output(a, b, number_dtype(a)));
  return r;
}

bool Merge::new_alike(Container* a, const V& other) const {
  const auto* b = as<Container>(other);
  auto made_in_arms = [&] { return a->serial >= serial_ && b->serial >= serial_; };
  return b && a->kind == b->kind && a->src < 0 && b->src < 0 &&
         (as<TupleValue>(a) || made_in_arms()) && a->items.size() == b->items.size();
}

bool Merge::items_into(Container* made, Container* a, const V& other) {
  if (!new_alike(a, other)) return differ();
  auto* b = as<Container>(other);
  for (V v : {V(a), other})  // two variables hold it in one branch alone
    if (!as<TupleValue>(v) && !containers_.insert(v).second)
      return fail("a container that two variables share");
  if (a->type() != b->type()) return fail("the branches leave containers of different classes");
  for (size_t k = 0; k < a->items.size(); ++k) {
    if (!a->items[k] || !b->items[k]) return fail("a container is not read yet");
    made->items.push_back(merge(a->items[k], b->items[k]));
    if (!made->items.back()) return false;
  }
  return true;
}

}  // namespace pijit
