// Tapes under capture. The library's Python code of gradients, tangents and mapped functions is
// inlined as it stands; a tape made there records no ops: what it has seen are the nodes that the
// graph got between its start and its stop, and its questions are graph transforms.
#include "capture/gradients.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"
#include "capture/views.h"
#include "graph/vals.h"
#include "graph/vmap.h"

namespace pijit {
namespace {

// What failed for one element is found out by the op on all of them.
void forget_failures(Graph& g, const std::vector<std::pair<uint32_t, uint32_t>>& ranges,
                     std::span<const Seed> examples) {
  absl::flat_hash_set<uint32_t> of_one;
  for (auto& s : examples) of_one.insert(s.value.id);
  for (auto [begin, end] : ranges)
    for (uint32_t i = begin; i < end; ++i)
      for (auto x : g.node(i).in)
        if (of_one.count(x)) {
          of_one.insert(i);
          g.abandon(i, i + 1);
        }
}

}  // namespace

V Tapes::make(Tape::Use use) { return c_.make<TapeValue>(use); }

V Tapes::active() {
  own_gradients = true;
  return c_.list(c_.open_tapes_);
}

CapturedTape& Tapes::tape_of(const V& v) {
  auto* t = as<TapeValue>(v);
  if (!t) c_.give_up(Reason::kUnsupportedCall, "Tape");
  return t->tape;
}

Val Tapes::node_of(const V& x) {
  if (!as<TensorValue>(x)) c_.give_up(Reason::kRaises, "a tape works on Tensors");
  return c_.scope_->val(x->node());
}

std::vector<Val> Tapes::nodes_of(const V& list) {
  std::vector<Val> nodes;
  for (auto& x : protocol::items_of(c_, list)) nodes.push_back(node_of(x));
  return nodes;
}

void Tapes::start(const V& v) {
  CapturedTape& t = tape_of(v);
  if (t.active) c_.give_up(Reason::kUnsupportedCall, "Tape.start");
  keep_views_up(c_, true);  // ops of views would be taken for the function's own
  t.map_leaves([&](Val x) { return c_.scope_->val(x); });
  t.graph = &c_.scope_->graph();
  t.active = true;
  t.ranges.push_back({static_cast<uint32_t>(t.graph->size()), CapturedTape::kOpen});
  c_.open_tapes_.push_back(v);
  c_.undoable([this, mapped = c_.mapped_serial_, n = c_.open_tapes_.size()] {
    c_.open_tapes_.resize(n - 1);
    c_.mapped_serial_ = mapped;
  });
  t.mapped_before = c_.mapped_serial_;
  if (t.use == Tape::kBatch) c_.mapped_serial_ = c_.arena_.serial();
}

void Tapes::stop(const V& v) {
  CapturedTape& t = tape_of(v);
  if (c_.open_tapes_.empty() || c_.open_tapes_.back() != v)
    c_.give_up(Reason::kUnsupportedCall, "Tape.stop");
  if (t.graph != &c_.scope_->graph()) c_.give_up(Reason::kTensorValue, "a gradient in a branch");
  t.ranges.back().second = static_cast<uint32_t>(t.graph->size());
  t.active = false;
  c_.open_tapes_.pop_back();
  c_.undoable([this, v, mapped = c_.mapped_serial_] {
    c_.open_tapes_.push_back(v);
    c_.mapped_serial_ = mapped;
  });
  c_.mapped_serial_ = t.mapped_before;
}

bool Tapes::watch(const V& v, const V& x) {
  CapturedTape& t = tape_of(v);
  const Val node = node_of(x);
  if (!t.watched.insert({node.b, node.id}).second) return false;
  t.leaves.push_back(node);
  return true;
}

bool Tapes::watches(const V& v, const V& x) {
  CapturedTape& t = tape_of(v);
  if (!as<TensorValue>(x)) return false;
  const Val node = node_of(x);
  if (t.watches(node)) return true;
  if (!t.graph) return false;
  if (t.graph != &c_.scope_->graph())
    c_.give_up(Reason::kTensorValue, "a gradient of the user's own in a branch");
  for (; t.leaves_known < t.leaves.size(); ++t.leaves_known)
    t.known.insert(t.leaves[t.leaves_known].id);
  const auto apart = detached_.find(t.graph);
  for (auto [begin, end] : t.ranges) {
    end = std::min(end, static_cast<uint32_t>(t.graph->size()));
    for (uint32_t i = std::max(begin, t.seen); i < end; ++i) {
      const Node& n = t.graph->node(i);
      if (n.kind != Node::kOp || (n.op->has(kNoGradient) && n.regions.empty())) continue;
      if (t.use != Tape::kBatch && apart != detached_.end() && apart->second.count(i)) continue;
      if (std::any_of(n.in.begin(), n.in.end(), [&](uint32_t k) { return t.known.count(k); }))
        t.known.insert(i);
    }
  }
  t.seen = static_cast<uint32_t>(t.graph->size());
  return t.known.count(node.id) > 0;
}

void Tapes::record_custom(const V& v, const V& inputs, const V& outputs, const V& backward) {
  CapturedTape& t = tape_of(v);
  if (t.use == Tape::kBatch) return;  // it follows the single ops
  if (t.graph != &c_.scope_->graph())
    c_.give_up(Reason::kTensorValue, "a gradient of the user's own in a branch");
  const auto inside = std::find(c_.open_tapes_.begin(), c_.open_tapes_.end(), v);
  for (auto it = inside; it != c_.open_tapes_.end(); ++it)
    for (auto& x : protocol::items_of(c_, inputs))
      if (tape_of(*it).use == Tape::kBatch && watches(*it, x))
        c_.give_up(Reason::kRaises, "a gradient of the user's own in a mapped function");
  CapturedTape::Custom c;
  for (auto x : nodes_of(inputs)) c.in.push_back(x.id);
  for (auto x : nodes_of(outputs)) c.out.push_back(x.id), t.known.insert(x.id);
  c.backward = backward;
  t.customs.push_back(std::move(c));
}

void Tapes::hook_gradient(const V& v, const V& x, const V& function) {
  CapturedTape& t = tape_of(v);
  if (t.use != Tape::kReverse) return;
  if (t.graph && t.graph != &c_.scope_->graph())
    c_.give_up(Reason::kTensorValue, "a hook in a branch");
  t.hooks.push_back({node_of(x), function});
}

V Tapes::detached(const V& x) {
  static const OpDef& identity = OpTable::get().at("identity");
  const Val in[] = {node_of(x)};
  const Val made = c_.scope_->graph().Builder::op(identity, in, {});
  detached_[&c_.scope_->graph()].insert(made.id);
  return c_.tensor(made);
}

V Tapes::aliased(const V& x) {
  static const OpDef& identity = OpTable::get().at("identity");
  const Val in[] = {node_of(x)};
  return c_.tensor(c_.scope_->graph().Builder::op(identity, in, {}));
}

void Tapes::renew_identity(const V& x) {
  c_.check_binding(x);
  const Val node = node_of(aliased(x));
  auto* t = as<TensorValue>(x);
  if (!t) c_.give_up(Reason::kRaises, "_renew_identity");
  c_.undoable([t, old = t->last] { t->last = old; });
  t->last = node;
}

std::vector<Record> Tapes::records(const CapturedTape& t) {
  std::vector<Record> seen;
  for (auto [begin, end] : t.ranges) {
    auto more = records_of(*t.graph, begin, std::min(end, static_cast<uint32_t>(t.graph->size())));
    std::move(more.begin(), more.end(), std::back_inserter(seen));
  }
  const auto apart = detached_.find(t.graph);
  if (t.use == Tape::kBatch || (t.customs.empty() && t.hooks.empty() && apart == detached_.end()))
    return seen;
  absl::flat_hash_map<uint32_t, std::pair<const CapturedTape::Custom*, bool>> customs;
  for (auto& c : t.customs)
    for (size_t k = 0; k < c.out.size(); ++k) customs[c.out[k]] = {&c, k == 0};
  std::vector<Record> r;
  auto add_hooks = [&](auto of) {  // the walk goes backward: what was registered first comes last
    for (size_t k = t.hooks.size(); k-- > 0;) {
      const CapturedTape::Hook& h = t.hooks[k];
      if (!of(h.value)) continue;
      Record hook;
      hook.out = {h.value};
      hook.hook = [this, f = h.function](Val ct) {
        return node_of(protocol::call(c_, f, {c_.tensor(ct)}, {}));
      };
      r.push_back(std::move(hook));
    }
  };
  absl::flat_hash_set<uint32_t> made;
  for (auto& rec : seen)
    for (auto o : rec.out) made.insert(o.id);
  add_hooks([&](Val x) { return !made.count(x.id); });
  for (auto& rec : seen) {
    const std::vector<Val> out = rec.out;
    const auto custom = out.empty() ? customs.end() : customs.find(out[0].id);
    if (custom != customs.end()) {
      if (custom->second.second) {
        const CapturedTape::Custom& c = *custom->second.first;
        Record own;
        for (auto i : c.in) own.in.push_back(t.graph->val(i));
        for (auto o : c.out) own.out.push_back(t.graph->val(o));
        own.custom = [this, f = c.backward](std::span<const Val> cts) {
          std::vector<V> given;
          for (auto v : cts) given.push_back(c_.tensor(v));
          std::vector<Val> grads;
          for (auto& x : protocol::items_of(c_, protocol::call(c_, f, {c_.list(given)}, {}))) {
            const bool none = is_none(x);
            grads.push_back(none ? Val{} : node_of(x));
          }
          return grads;
        };
        r.push_back(std::move(own));
      }
    } else if (out.empty() || apart == detached_.end() || !apart->second.count(out[0].id)) {
      r.push_back(std::move(rec));
    }
    add_hooks([&](Val x) { return std::find(out.begin(), out.end(), x) != out.end(); });
  }
  return r;
}

CapturedTape& Tapes::finished(const V& v) {
  CapturedTape& t = tape_of(v);
  if (!t.graph || t.active || t.graph != &c_.scope_->graph())
    c_.give_up(Reason::kTensorValue, "a gradient that is taken elsewhere than recorded");
  t.map_leaves([&](Val x) { return c_.scope_->val(x); });
  return t;
}

namespace {
std::vector<Seed> seeds_of(const std::vector<Val>& values, const std::vector<Val>& given) {
  OP_CHECK(values.size() == given.size(), kValue, "[Tape] got ", given.size(), " Tensors for ",
           values.size());
  std::vector<Seed> seeds;
  for (size_t k = 0; k < values.size(); ++k) seeds.push_back({values[k], given[k]});
  return seeds;
}
void check_shapes(std::span<const Seed> seeds) {
  for (auto& s : seeds)
    OP_CHECK(s.value.shape() == s.cotangent.shape(), kValue, "[Tape] a Tensor of shape ",
             s.cotangent.shape().str(), " does not fit ", s.value.shape().str());
}
}  // namespace

V Tapes::gradient(const V& v, const V& outputs, const V& cotangents, const V& wrt) {
  const CapturedTape& t = finished(v);
  const auto seeds = seeds_of(nodes_of(outputs), nodes_of(cotangents));
  check_shapes(seeds);
  const std::vector<Val> of = nodes_of(wrt);
  std::vector<V> grads;
  for (auto g : backward(c_.scope_->graph(), records(t), seeds, of)) grads.push_back(c_.tensor(g));
  return c_.list(grads);
}

V Tapes::tangents(const V& v, const V& inputs, const V& given, const V& outputs) {
  const CapturedTape& t = finished(v);
  const auto seeds = seeds_of(nodes_of(inputs), nodes_of(given));
  check_shapes(seeds);
  const std::vector<Val> of = nodes_of(outputs);
  std::vector<V> results;
  for (auto x : pushforward(c_.scope_->graph(), records(t), seeds, of))
    results.push_back(c_.tensor(x));
  return c_.list(results);
}

V Tapes::batch(const V& v, const V& examples, const V& batches, const V& outputs) {
  const CapturedTape& t = finished(v);
  const auto seeds = seeds_of(nodes_of(examples), nodes_of(batches));
  if (seeds.empty()) c_.give_up(Reason::kUnsupportedCall, "Tape.batch");
  const std::vector<Val> of = nodes_of(outputs);
  const Dim size = seeds[0].cotangent.shape()[0];
  std::vector<V> results;
  for (auto x : vmapped(c_.scope_->graph(), records(t), seeds, of, size))
    results.push_back(x ? c_.tensor(x) : c_.constant(py::none()));
  forget_failures(c_.scope_->graph(), t.ranges, seeds);
  return c_.list(results);
}

}  // namespace pijit
