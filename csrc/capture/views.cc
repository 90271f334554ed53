#include "capture/views.h"

#include <algorithm>

#include "capture/protocol/protocol.h"
#include "graph/vals.h"
#include "objects/views.h"

namespace pijit {
namespace {

bool is_symbolic(const Dims& d) {
  return std::any_of(d.begin(), d.end(), [](Dim x) { return x.symbolic(); });
}
bool is_symbolic(const Attrs& attrs) {
  return std::any_of(attrs.begin(), attrs.end(), [](auto& a) {
    auto* d = std::get_if<Dims>(&a);
    return d && is_symbolic(*d);
  });
}
bool is_symbolic(std::span<const IndexItem> items) {
  return std::any_of(items.begin(), items.end(), [](auto& it) {
    auto symbol = [](const std::optional<Dim>& d) { return d && d->symbolic(); };
    return it.kind == IndexItem::kTake || it.i.symbolic() || symbol(it.start) || symbol(it.stop) ||
           symbol(it.step);
  });
}

// Where it lies in the buffer, as far as its sizes are known.
std::optional<Layout> layout_of(const TensorValue* t) {
  if (t->last.shape().symbolic()) return std::nullopt;
  if (!t->base) return Layout::contiguous(t->last.shape());
  return t->layout;
}

Dims without_ones(const Shape& s) {
  Dims d;
  for (auto n : s)
    if (!n.is_one()) d.push_back(n);
  return d;
}

// Do the elements of a part lie side by side where those of the whole do? Of sizes not known; no
// where it is not seen.
bool keeps_packed(const OpDef& op, const Attrs& attrs, const Shape& s) {
  switch (op.role) {
    case Role::kIdentity: return true;
    case Role::kTranspose: {
      const Dims& perm = std::get<Dims>(attrs[0]);
      for (size_t k = 0; k < perm.size(); ++k)
        if (perm[k] != static_cast<int64_t>(k)) return false;
      return true;
    }
    case Role::kSlice: {
      const Dims &begin = std::get<Dims>(attrs[0]), &end = std::get<Dims>(attrs[1]),
                 &step = std::get<Dims>(attrs[2]);
      for (size_t k = 0; k < begin.size(); ++k) {
        const bool full = begin[k].same_as(0) && end[k].same_as(s[static_cast<int>(k)]);
        if (!step[k].is_one() || (k > 0 && !full)) return false;
      }
      return true;
    }
    default: return false;
  }
}
bool keeps_packed(std::span<const IndexItem> items) {
  bool cut = false;  // behind a slice, all else must be whole
  for (auto& it : items) switch (it.kind) {
      case IndexItem::kEllipsis: cut = true; break;
      case IndexItem::kNewAxis: break;
      case IndexItem::kInt:
        if (cut) return false;
        break;
      case IndexItem::kSlice:
        if ((it.step && !it.step->is_one()) || (cut && (it.start || it.stop))) return false;
        cut = true;
        break;
      default: return false;
    }
  return true;
}

void note(Context& c, TensorValue* part) {
  c.undoable([&c, n = c.views_.size()] { c.views_.resize(std::min(n, c.views_.size())); });
  c.views_.push_back(part);
}

// A copy, where the argument that it comes from is no view: those of other calls may be.
void doubt(Context& c, TensorValue* part, TensorValue* whole, const OpDef& op, const V& how) {
  const TensorValue* root = whole;
  while (root->base) root = root->base;
  if (root->src < 0 && !root->doubted) return;
  part->doubted = whole;
  part->by = &op;
  part->how = how;
  note(c, part);
}

void link(Context& c, TensorValue* part, TensorValue* whole, const OpDef* op, const Attrs& attrs,
          const V& how) {
  part->base = whole;
  part->by = op;
  part->attrs = attrs;
  part->how = how;
  part->context = &c;
  part->seen = whole->version;
  note(c, part);
}

// What the base is after its view has changed.
Val base_of(Context& c, TensorValue* part) {
  Graph& g = c.scope_->graph();
  const Val now = c.scope_->val(part->node()), before = c.scope_->val(part->base->node());
  if (!part->by) return index_set(g, before, index_items(c, part->how, before.shape()), now);
  switch (part->by->role) {
    case Role::kReshape: return v_reshape(now, before.shape());
    case Role::kTranspose: {
      const Dims& perm = std::get<Dims>(part->attrs[0]);
      Dims inverse(perm.size());
      for (size_t k = 0; k < perm.size(); ++k) inverse[perm[k]] = static_cast<int64_t>(k);
      return v_transpose(now, inverse);
    }
    case Role::kSlice: return g.op("slice_update", {before, now}, part->attrs);
    case Role::kDiagonal:
      return v_put_diagonal(before, now, static_cast<int64_t>(std::get<Dim>(part->attrs[0])));
    case Role::kIdentity: return now;
    default:
      c.give_up(Reason::kUnsupportedOperand, "item assignment on a Tensor that was broadcast");
  }
}
// What a view is after its base has changed.
Val view_of(Context& c, TensorValue* part) {
  Graph& g = c.scope_->graph();
  const Val base = c.scope_->val(part->base->node());
  if (!part->by) return index_get(g, base, index_items(c, part->how, base.shape()));
  if (part->by->role == Role::kIdentity) return base;
  const Val in[] = {base};
  return g.Builder::op(*part->by, in, part->attrs);
}

// Has taken in the last change of its base.
void keep_up(Context& c, TensorValue* part) {
  c.undoable([part, seen = part->seen, version = part->version] {
    part->seen = seen, part->version = version;
  });
  part->seen = part->base->version;
  ++part->version;
}
void count_change(Context& c, TensorValue* t) {
  c.undoable([t, version = t->version] { t->version = version; });
  ++t->version;
}

}  // namespace

bool TensorValue::is_behind() const {
  for (const TensorValue* t = this; t->base; t = t->base)
    if (t->seen != t->base->version) return true;
  return false;
}

Val TensorValue::node() const {
  if (!base || !is_behind()) return last;
  std::vector<TensorValue*> chain{const_cast<TensorValue*>(this)};
  while (chain.back()->base) chain.push_back(chain.back()->base);
  for (size_t k = chain.size() - 1; k-- > 0;) {
    TensorValue* t = chain[k];
    if (t->seen == t->base->version) continue;
    Context& c = *t->context;
    const Val now = view_of(c, t);
    c.undoable([t, old = t->last] { t->last = old; });
    t->last = now;
    keep_up(c, t);
  }
  return last;
}

void make_view(Context& c, TensorValue* part, TensorValue* whole, const OpDef& op,
               const Attrs& attrs, const V& how) {
  if (part == whole || !c.open_tapes_.empty()) return;
  const auto l = layout_of(whole);
  if (l && !is_symbolic(attrs) && !part->last.shape().symbolic()) {
    part->layout = pijit::layout_of(*l, op, attrs, part->last.shape());
    if (!part->layout) return doubt(c, part, whole, op, how);
    part->packed = part->layout->contiguous();
  } else if (op.role == Role::kReshape) {
    part->packed = whole->packed;
    if (!whole->packed && !(without_ones(part->last.shape()) == without_ones(whole->last.shape())))
      return doubt(c, part, whole, op, how);
  } else {
    part->packed = whole->packed && keeps_packed(op, attrs, whole->last.shape());
  }
  link(c, part, whole, &op, attrs, how);
}

void make_view(Context& c, TensorValue* part, TensorValue* whole, const V& index) {
  if (!c.open_tapes_.empty()) return;
  const auto items = index_items(c, index, whole->last.shape());
  if (!is_basic_index(items)) return;
  const auto l = layout_of(whole);
  if (l && !is_symbolic(items)) {
    part->layout = pijit::layout_of(*l, items);
    if (!part->layout) return;
    part->packed = part->layout->contiguous();
  } else {
    part->packed = whole->packed && keeps_packed(items);
  }
  link(c, part, whole, nullptr, {}, index);
}

V view_of_all(Context& c, const V& whole, Val node) {
  TensorValue* made = c.tensor(node);
  make_view(c, made, as<TensorValue>(whole), OpTable::get().at("identity"), {}, c.tuple({}));
  return made;
}

void check_alone(Context& c, TensorValue* t) {
  for (TensorValue* root = t->doubted; root; root = root->base ? root->base : root->doubted)
    if (root->src >= 0) check_alone(c, root);
  if (t->src < 0) return;
  if (is_part(t->obj.ptr()))
    c.give_up(Reason::kUnsupportedOperand, "item assignment on a part of another tensor");
  if (is_viewed(t->obj.ptr()))
    c.give_up(Reason::kUnsupportedOperand, "a change of a Tensor that shares its elements");
  c.guard(Guard::kNoPart, c.source_of(t));
}

void set_shared(Context& c, TensorValue* t, Val node) {
  if (!c.open_tapes_.empty()) return set_alone(c, t, node);
  if (t->base || !c.views_.empty()) {  // a gradient around the call makes values of views
    c.guard(Guard::kRecords, c.source_of(c.constant(py::none())), {}, records());
    if (records()) return set_alone(c, t, node);
  }
  check_alone(c, t);
  t->node();  // what it shares elements with is as it is now
  set_node(c, t, node);
  count_change(c, t);
  for (TensorValue* p = t; p->base; p = p->base) {
    const Val base = base_of(c, p);
    check_alone(c, p->base);
    if (c.arm_writes_ && p->base->may_be_another())
      c.give_up(Reason::kTensorValue, "a change of a tensor that may be another variable's, too",
                Case::kEffect);
    set_node(c, p->base, base);
    count_change(c, p->base);
    keep_up(c, p);
  }
  keep_views_up(c, false);
}

void keep_views_up(Context& c, bool all) {
  for (size_t k = 0; k < c.views_.size(); ++k) {  // bases come before their views
    TensorValue* v = c.views_[k];
    if (v->src < 0 && !c.arm_writes_ && !all) continue;
    if (!v->base || !v->is_behind()) continue;
    check_alone(c, v);
    set_node(c, v, view_of(c, v));
    keep_up(c, v);
  }
}

void set_alone(Context& c, TensorValue* t, Val node) {
  check_alone(c, t);
  std::vector<TensorValue**> views;
  for (auto* v : c.views_)
    for (TensorValue** base : {&v->base, &v->doubted})
      if (*base == t) views.push_back(base);
  if (t->base || t->doubted || !views.empty()) {
    if (c.arm_writes_)
      c.give_up(Reason::kTensorValue,
                "a Tensor that stops sharing its elements in a branch or loop",
                Case::kTensorBranch);
    // What it was stays what its views show.
    TensorValue* rest = c.tensor(t->last);
    rest->context = t->context, rest->version = t->version, rest->seen = t->seen;
    rest->base = t->base, rest->doubted = t->doubted, rest->by = t->by, rest->attrs = t->attrs,
    rest->how = t->how;
    rest->layout = t->layout, rest->packed = t->packed;
    t->base = t->doubted = nullptr;
    t->packed = true;
    for (auto** base : views) *base = rest;
    for (auto*& v : c.views_)
      if (v == t) v = rest;
    c.undoable([&c, t, rest, views] {
      t->base = rest->base, t->doubted = rest->doubted;
      t->packed = rest->packed;
      for (auto** base : views) *base = t;
      for (auto*& v : c.views_)
        if (v == rest) v = t;
    });
  }
  set_node(c, t, node);
}

}  // namespace pijit
