#include "runtime/eager.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "compile/compile.h"
#include "graph/vmap.h"
#include "runtime/record.h"
#include "runtime/watch.h"

namespace pijit {
namespace {

// An op, or the gradient of one: then the result and its cotangent follow the inputs.
struct Key {
  const OpDef* op;
  Attrs attrs;
  std::vector<Type> in;
  uint64_t absent;
  uint64_t need;  // of a gradient: which inputs want a cotangent; kForward: the op itself
};
constexpr uint64_t kForward = 0;
constexpr size_t kMaxMask = 64;
struct Entry {
  Key key;
  std::shared_ptr<const Program> program;
  std::vector<size_t> of;  // of a gradient: the inputs whose cotangents the program gives
};

size_t hash_type(const Type& t) {
  size_t h = static_cast<size_t>(t.dtype) * 31 + t.shape.rank();
  for (auto d : t.shape) h = hash_mix(h, d.hash());
  return h;
}

// A small direct-mapped table in front of the full one; one lock for both.
struct Cache {
  std::mutex mu;
  std::shared_ptr<const Entry> front[1024];
  std::unordered_multimap<size_t, std::shared_ptr<const Entry>> all;
};
Cache& cache() {
  static auto* c = new Cache;
  return *c;
}
constexpr size_t kMaxEntries = 20000;

thread_local std::vector<Tape*> tapes;

}  // namespace

size_t eager_cache_size() { return cache().all.size(); }

namespace {

// The entry for a call; `make` fills in graph and `of` of a new one, given inputs of the graph.
template <class Make>
std::shared_ptr<const Entry> find_entry(const EagerBuilder& b, const OpDef& op, const Attrs& attrs,
                                        std::span<const Val> in, uint64_t need, Make make) {
  auto type = [&](Val v) -> const Type& { return b.type(v); };
  size_t h = hash_mix(hash_mix(op.id, attrs.empty() ? 0 : hash_of(attrs)), need);
  uint64_t absent = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i])
      h = hash_mix(h, hash_type(type(in[i])));
    else
      absent |= uint64_t{1} << i % kMaxMask;
  }
  h = hash_mix(h, absent);
  auto matches = [&](const Entry& e) {
    if (e.key.op != &op || e.key.absent != absent || e.key.need != need ||
        e.key.in.size() != in.size() || !same(e.key.attrs, attrs))
      return false;
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i] && !e.key.in[i].same_as(type(in[i]))) return false;
    return true;
  };
  Cache& c = cache();
  std::shared_ptr<const Entry> entry;
  {
    std::lock_guard lock(c.mu);
    auto& front = c.front[h & 1023];
    if (front && matches(*front)) {
      entry = front;
    } else {
      auto [lo, hi] = c.all.equal_range(h);
      for (auto it = lo; it != hi && !entry; ++it)
        if (matches(*it->second)) entry = front = it->second;
    }
  }
  if (!entry) {
    auto fresh = std::make_shared<Entry>();
    fresh->key = {&op, attrs, {}, absent, need};
    for (auto v : in) fresh->key.in.push_back(v ? type(v) : Type{});
    Graph g(false);
    std::vector<Val> x;
    for (auto v : in) x.push_back(v ? g.add_input(type(v)) : Val{});
    make(g, x, &fresh->of);
    fresh->program = compile(g);
    entry = fresh;
    std::lock_guard lock(c.mu);
    if (c.all.size() >= kMaxEntries) {
      c.all.clear();
      for (auto& f : c.front) f.reset();
    }
    c.all.emplace(h, entry);
    c.front[h & 1023] = entry;
  }
  return entry;
}

}  // namespace

Val EagerBuilder::emit(const OpDef& op, std::span<const Val> in, Attrs attrs, const Type& out) {
  const Span span(TraceEvent::kOp, [] { return caller_subject ? caller_subject() : nullptr; });
  if (eager_watcher) eager_watcher();
  const auto entry = find_entry(*this, op, attrs, in, kForward,
                                [&](Graph& g, std::span<const Val> x, std::vector<size_t>*) {
                                  g.outputs = {{g.emit(op, x, attrs, out).id}};
                                });
  Array* small[8];
  std::vector<Array*> big;
  Array** args = small;
  if (in.size() > 8) {
    big.resize(in.size());
    args = big.data();
  }
  size_t n = 0;
  for (auto v : in) {
    if (!v) continue;
    args[n++] = array(v).get();
    if (args[n - 1]->of_one_element) Tape::check_read(args[n - 1]);
  }
  ArrayRef result;
  entry->program->run(std::span<Array* const>(args, n), nullptr, &result);
  if (!tapes.empty()) {
    // An op that hands its input through gives the result an identity of its own.
    for (size_t i = 0; i < n; ++i)
      if (args[i] == result.get()) {
        result = alias_array(result, result->type);
        break;
      }
    std::vector<const ArrayRef*> refs;
    for (auto v : in) refs.push_back(v ? &array(v) : nullptr);
    for (Tape* t : tapes) t->record(op, attrs, refs, result);
  }
  return wrap(std::move(result));
}

bool EagerBuilder::run_vjp(const OpDef& op, const Attrs& attrs, std::span<const Val> in, Val out,
                           Val ct, const std::vector<bool>& need, std::vector<Val>* d) {
  if (!tapes.empty() || in.size() + 2 > kMaxMask) return false;
  uint64_t mask = 0;
  for (size_t k = 0; k < in.size(); ++k)
    if (need[k]) mask |= uint64_t{1} << k;
  if (mask == kForward) return true;
  std::vector<Val> args(in.begin(), in.end());
  args.push_back(out);
  args.push_back(ct);
  const auto entry = find_entry(
      *this, op, attrs, args, mask, [&](Graph& g, std::span<const Val> x, std::vector<size_t>* of) {
        const size_t n = in.size();
        const auto cts = apply_vjp(g, op, attrs, x.first(n), x[n], x[n + 1], need);
        for (size_t k = 0; k < n; ++k)
          if (cts[k]) g.outputs.push_back({cts[k].id}), of->push_back(k);
      });
  std::vector<Array*> arrays;
  for (auto v : args)
    if (v) arrays.push_back(array(v).get());
  std::vector<ArrayRef> results(entry->of.size());
  entry->program->run(arrays, nullptr, results.data());
  for (size_t i = 0; i < results.size(); ++i) (*d)[entry->of[i]] = wrap(std::move(results[i]));
  return true;
}

Tape* Tape::innermost() { return tapes.empty() ? nullptr : tapes.back(); }
const std::vector<Tape*>& Tape::active() { return tapes; }
void Tape::start() { tapes.push_back(this); }
void Tape::stop() {
  auto it = std::find(tapes.begin(), tapes.end(), this);
  if (it != tapes.end()) tapes.erase(it);
  if (use != kBatch) return;
  for (auto& a : keep_) a->of_one_element = true;
  for (auto& e : entries_)
    for (auto& a : e.out) a->of_one_element = true;
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
  for (Tape* t : tapes)
    OP_CHECK(t->use != kBatch || !t->watches(a), kRuntime,
             "[vmap] a value that differs from element to element cannot be read, branched on or "
             "stored inside of the mapped function; use ops, such as where, or return it");
}

void Tape::follow(const ArrayRef& from, const ArrayRef& to) {
  static const OpDef& identity = OpTable::get().at("identity");
  const ArrayRef* in[] = {&from};
  for (Tape* t : tapes)
    if (t->use == kBatch) t->record(identity, {}, in, to);
}

void Tape::record_custom(std::vector<ArrayRef> in, std::vector<ArrayRef> out, Backward f) {
  if (use == kBatch) return;  // it follows the single ops
  bool inside = false;
  for (Tape* t : tapes) {
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
  EagerBuilder b;
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
  std::unordered_map<const Array*, Val> ids_;
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

}  // namespace pijit
