#include "eager/tape.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "graph/vmap.h"

namespace pijit {
namespace {

using Tapes = std::vector<Tape*>;
const Tapes kNone;
// Those that are active on this thread, read at each op.
constinit thread_local const Tapes* tapes = &kNone;
// Owns them, with the tapes, which may die on another thread.
struct Owner {
  std::shared_ptr<Tapes> list;
  ~Owner() { tapes = &kNone; }
};
thread_local Owner owner;

}  // namespace

Tape* Tape::innermost() { return tapes->empty() ? nullptr : tapes->back(); }
const std::vector<Tape*>& Tape::active() { return *tapes; }
void Tape::start() {
  if (!owner.list) owner.list = std::make_shared<Tapes>();
  tapes = owner.list.get();
  among_ = owner.list;
  among_->push_back(this);
}
Tape::~Tape() {
  if (among_) std::erase(*among_, this);
}
void Tape::stop() {
  if (among_) std::erase(*among_, this);
  among_ = nullptr;
  if (use != kBatch) return;
  for (auto& a : keep_) a->of_one_element = true;
  for (auto& e : entries_)
    for (auto& a : e.out) a->of_one_element = true;
}

bool Tape::watch(const ArrayRef& a) {
  const bool fresh = watched_.insert(a.get()).second;
  if (fresh) leaves_.insert(a.get());
  if (a->bearer) borne_[a->bearer] = a;
  keep_.push_back(a);
  return fresh;
}

// While one thread computes with a Parameter's value, another may take a gradient by it, too, and
// give it a later identity: it is still the value that is watched here.
bool Tape::takes_for_leaf(Array* a) {
  const auto leaf = borne_.find(a->bearer);
  if (leaf == borne_.end() || a->turn <= leaf->second->turn) return false;
  static const OpDef& identity = OpTable::get().at("identity");
  const ArrayRef* in[] = {&leaf->second};
  record(identity, {}, in, ArrayRef::share(a));
  return true;
}

void Tape::record(const OpDef& op, const Attrs& attrs, std::span<const ArrayRef* const> in,
                  const ArrayRef& out) {
  if (op.has(kNoGradient) && use != kBatch) return;
  bool any = false;
  for (auto* a : in) any |= a && watches(a->get());
  if (!any) return;
  Entry e{&op, attrs, {}, {out}, nullptr};
  for (auto* a : in) e.in.push_back(a ? *a : ArrayRef());
  watched_.insert(out.get());
  entries_.push_back(std::move(e));
}

void Tape::record_region(std::vector<ArrayRef> in, std::vector<ArrayRef> out, Region f) {
  for (auto& o : out) watched_.insert(o.get());
  entries_.push_back({nullptr, {}, std::move(in), std::move(out), nullptr, std::move(f)});
}

void Tape::check_batches(const Array* a) {
  OP_CHECK(!a->of_one_element, kRuntime,
           "[vmap] this value was computed in a mapped function for one element of the batch and "
           "stored outside; return it from the function instead");
  for (Tape* t : *tapes)
    OP_CHECK(t->use != kBatch || !t->watched_.count(a), kRuntime,
             "[vmap] a value that differs from element to element cannot be read, branched on or "
             "stored inside of the mapped function; use ops, such as where, or return it");
}

void Tape::follow(const ArrayRef& from, const ArrayRef& to) {
  static const OpDef& identity = OpTable::get().at("identity");
  const ArrayRef* in[] = {&from};
  for (Tape* t : *tapes)
    if (t->use == kBatch) t->record(identity, {}, in, to);
}

void Tape::record_custom(std::vector<ArrayRef> in, std::vector<ArrayRef> out, Backward f) {
  if (use == kBatch) return;  // it follows the single ops
  bool inside = false;
  for (Tape* t : *tapes) {
    for (auto& a : in)
      OP_CHECK(!inside || t->use != kBatch || !t->watches(a.get()), kRuntime,
               "[vmap] the gradient of a mapped function cannot use a bprop or a backward hook of "
               "the user's own; map the gradient instead");
    inside |= t == this;
  }
  for (auto& o : out) watched_.insert(o.get());
  entries_.push_back({nullptr, {}, std::move(in), std::move(out), std::move(f)});
}

void Tape::hook(const ArrayRef& a, Hook f) {
  if (use != kReverse) return;
  auto gives = [&](const Entry& e) {
    return !e.hook &&
           std::any_of(e.out.begin(), e.out.end(), [&](auto& o) { return o.get() == a.get(); });
  };
  // Behind what computed the value, and before earlier hooks of it: the walk goes backward.
  const auto by = std::find_if(entries_.rbegin(), entries_.rend(), gives).base();
  entries_.insert(by, {nullptr, {}, {}, {a}, nullptr, nullptr, std::move(f)});
}

// The entries as records of Vals.
class Tape::Replay {
 public:
  EagerBuilder b{EagerBuilder::kAmongOthers};
  std::vector<Record> records;

  explicit Replay(const Tape& t) {
    for (auto& e : t.entries_) {
      Record r;
      r.op = e.op;
      r.attrs = e.attrs;
      for (auto& a : e.in) r.in.push_back(val(a));
      for (auto& a : e.out) r.out.push_back(val(a));
      if (e.custom)
        r.custom = [this, f = e.custom](std::span<const Val> cts) {
          std::vector<ArrayRef> a;
          for (auto v : cts) a.push_back(b.array(v));
          std::vector<Val> d;
          for (auto& x : f(a)) d.push_back(x ? b.wrap(x) : Val{});
          return d;
        };
      if (e.hook) r.hook = [this, f = e.hook](Val ct) { return b.wrap(f(b.array(ct))); };
      if (e.region)
        r.region = [this, f = e.region](std::span<const Sum> cts, std::span<const Sum> so_far,
                                        const std::vector<bool>&, const std::vector<bool>&) {
          auto arrays = [&](std::span<const Sum> v) {
            std::vector<ArrayRef> a;
            for (auto& x : v) a.push_back(x.value ? b.array(x.value) : ArrayRef());
            return a;
          };
          auto val = [&](const ArrayRef& x) { return x ? b.wrap(x) : Val{}; };
          std::vector<Received> d;
          for (auto& [sum, alone] : f(arrays(cts), arrays(so_far)))
            d.push_back({val(sum), val(alone)});
          return d;
        };
      records.push_back(std::move(r));
    }
  }
  Val val(const ArrayRef& a) {
    if (!a) return Val{};
    auto [it, fresh] = ids_.emplace(a.get(), Val{});
    if (fresh) it->second = b.wrap(a);
    return it->second;
  }
  std::vector<Val> vals(std::span<const ArrayRef> a) {
    std::vector<Val> r;
    for (auto& x : a) r.push_back(val(x));
    return r;
  }
  std::vector<Seed> seeds(std::span<const ArrayRef> values, std::span<const ArrayRef> cts) {
    std::vector<Seed> r;
    for (size_t i = 0; i < values.size(); ++i) r.push_back({val(values[i]), val(cts[i])});
    return r;
  }
  std::vector<ArrayRef> arrays(std::span<const Val> v) {
    std::vector<ArrayRef> r;
    for (auto x : v) r.push_back(b.array(x));
    return r;
  }

 private:
  absl::flat_hash_map<const Array*, Val> ids_;
};

std::vector<ArrayRef> Tape::gradient(std::span<const ArrayRef> outputs,
                                     std::span<const ArrayRef> cts,
                                     std::span<const ArrayRef> wrt) const {
  Replay r(*this);
  const auto seeds = r.seeds(outputs, cts);
  return r.arrays(backward(r.b, r.records, seeds, r.vals(wrt)));
}

std::vector<ArrayRef> Tape::pushforward(std::span<const ArrayRef> inputs,
                                        std::span<const ArrayRef> tangents,
                                        std::span<const ArrayRef> outputs) const {
  Replay r(*this);
  const auto seeds = r.seeds(inputs, tangents);
  return r.arrays(pijit::pushforward(r.b, r.records, seeds, r.vals(outputs)));
}

std::vector<ArrayRef> Tape::batch(std::span<const ArrayRef> examples,
                                  std::span<const ArrayRef> batches, std::span<const ArrayRef> of,
                                  int64_t size) const {
  Replay r(*this);
  const auto seeds = r.seeds(examples, batches);
  std::vector<ArrayRef> out;
  for (auto v : vmapped(r.b, r.records, seeds, r.vals(of), size))
    out.push_back(v ? r.b.array(v) : ArrayRef());
  return out;
}

ArrayRef moved(const ArrayRef& a, DeviceId to) {
  if (a->type.device == to) return a;
  ArrayRef r = array_on(a, to);
  for (Tape* t : Tape::active()) {
    if (!t->watches(a.get())) continue;
    OP_CHECK(t->use == Tape::kReverse, kRuntime,
             "[Tensor.to] a value cannot move to another device within vmap or forward mode");
    t->record_custom({a}, {r}, [from = a->type.device](const std::vector<ArrayRef>& cts) {
      return std::vector<ArrayRef>{array_on(cts[0], from)};
    });
  }
  return r;
}

}  // namespace pijit
