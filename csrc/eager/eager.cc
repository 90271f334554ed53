#include "eager/eager.h"

#include <algorithm>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/config.h"
#include "base/second_chance.h"
#include "compile/compile.h"
#include "eager/tape.h"
#include "runtime/hidden_bytes.h"
#include "runtime/record.h"
#include "runtime/watch.h"

namespace pijit {
namespace {

// Memory of a program's steps and of what describes them.
size_t bytes_of(const Program& p) {
  // An object with vectors, and what lies idle between them (measured: a loop of ever new
  // attributes takes 3,700 bytes in all).
  constexpr size_t kKernel = 4096;
  const auto text = [](const std::string& s) { return s.capacity(); };
  const auto list = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  // Slots and literals once more in the frame of a run.
  size_t n = sizeof p + list(p.input_types) + 2 * list(p.slots) + list(p.literals) + list(p.steps) +
             list(p.output_buffers) + list(p.outputs);
  for (auto& st : p.steps) {
    n += kKernel + text(st.text) + 4 * (list(st.in) + list(st.out));
    if (!st.metadata) continue;
    n += sizeof(Metadata) + text(st.metadata->detail) + text(st.metadata->kernel);
    for (auto* texts : {&st.metadata->ops, &st.metadata->places})
      for (auto& s : *texts) n += sizeof(std::string) + text(s);
  }
  return n;
}

// An op, or the gradient of one: then the result and its cotangent follow the inputs.
struct Key {
  const OpDef* op;
  Attrs attrs;
  std::vector<Type> in;
  uint64_t absent;
  uint64_t need;    // of a gradient: which inputs want a cotangent; kForward: the op itself
  DeviceId device;  // of the result, which no operand may tell
};
constexpr uint64_t kForward = 0;
constexpr size_t kMaxMask = 64;
struct Entry {
  Key key;
  size_t hash;
  std::shared_ptr<const Program> program;
  std::vector<size_t> of;  // of a gradient: the inputs whose cotangents the program gives
  size_t bytes = 0;
  bool used = false;  // under the cache's lock
  void measure(size_t hidden) {
    bytes = sizeof *this + bytes_of(*program) + hidden + key.in.capacity() * sizeof(Type) +
            key.attrs.capacity() * sizeof(AttrValue) + of.capacity() * sizeof(size_t);
  }
};

size_t hash_type(const Type& t) {
  size_t h = static_cast<size_t>(t.dtype) * 31 + t.shape.rank() + 4099 * size_t{t.device.number};
  for (auto d : t.shape) h = hash_mix(h, d.hash());
  return h;
}

// A small direct-mapped table in front of the full one; one lock for both. They share what `kept`
// holds within the bytes that the option allows.
struct Cache {
  std::mutex mu;
  std::shared_ptr<Entry> front[1024];
  absl::flat_hash_map<size_t, absl::InlinedVector<std::shared_ptr<Entry>, 1>> all;
  SecondChance<Entry> kept;

  void add(std::shared_ptr<Entry> e) {
    std::vector<std::shared_ptr<Entry>> gone;  // may be the last to hold them: behind the lock
    std::lock_guard lock(mu);
    gone = kept.add(e, static_cast<size_t>(config().program_bytes));
    for (auto& old : gone) {
      if (front[old->hash & 1023] == old) front[old->hash & 1023] = nullptr;
      const auto same_hash = all.find(old->hash);
      auto& list = same_hash->second;
      list.erase(std::find(list.begin(), list.end(), old));
      if (list.empty()) all.erase(same_hash);
    }
    all[e->hash].push_back(e);
    front[e->hash & 1023] = std::move(e);
  }
};
Cache& cache() {
  static auto* c = new Cache;
  return *c;
}

// The entry for a call; `make` fills in graph and `of` of a new one, given inputs of the graph.
template <class Make>
std::shared_ptr<const Entry> find_entry(const EagerBuilder& b, const OpDef& op, const Attrs& attrs,
                                        std::span<const Val> in, uint64_t need, DeviceId device,
                                        Make make) {
  auto type = [&](Val v) -> const Type& { return b.type(v); };
  size_t h = hash_mix(hash_mix(op.id, attrs.empty() ? 0 : hash_of(attrs)), need);
  if (!device.is_cpu()) h = hash_mix(h, device.number);
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
        !(e.key.device == device) || e.key.in.size() != in.size() || !same(e.key.attrs, attrs))
      return false;
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i] && !e.key.in[i].same_as(type(in[i]))) return false;
    return true;
  };
  Cache& c = cache();
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(c.mu);
    auto& front = c.front[h & 1023];
    if (front && matches(*front)) {
      entry = front;
    } else {
      if (auto same_hash = c.all.find(h); same_hash != c.all.end())
        for (auto& e : same_hash->second)
          if (matches(*e)) {
            entry = front = e;
            break;
          }
    }
    if (entry && !entry->used) entry->used = true;
  }
  if (!entry) {
    auto fresh = std::make_shared<Entry>();
    fresh->key = {&op, attrs, {}, absent, need, device};
    fresh->hash = h;
    for (auto v : in) fresh->key.in.push_back(v ? type(v) : Type{});
    Graph g(false);
    const auto of_cpu = [&](Val v) {
      return !v || (type(v).device.is_cpu() && type(v).shape.rank() == 0);
    };
    // Single elements of the CPU say nothing of where the op runs.
    if (std::all_of(in.begin(), in.end(), of_cpu)) g.place(device);
    std::vector<Val> x;
    for (auto v : in) x.push_back(v ? g.add_input(type(v)) : Val{});
    make(g, x, &fresh->of);
    const size_t hidden = HiddenBytes::count();
    fresh->program = compile(g);
    fresh->measure(HiddenBytes::count() - hidden);
    entry = fresh;
    c.add(std::move(fresh));
  }
  return entry;
}

}  // namespace

Val EagerBuilder::emit(const OpDef& op, std::span<const Val> in, Attrs attrs, const Type& out) {
  const Span span(TraceEvent::kOp, [] { return caller_metadata ? caller_metadata() : nullptr; });
  if (eager_watcher) eager_watcher();
  const auto entry = find_entry(*this, op, attrs, in, kForward, out.device,
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
  // Whoever draws random numbers changes the state that they are drawn from next.
  static const OpDef& draw = OpTable::get().at("random_bits");
  const std::span<Array* const> arrays(args, n);
  if (&op == &draw)
    entry->program->run(arrays, nullptr, &result);
  else
    run(*entry->program, arrays, &result);
  if (const auto& tapes = Tape::active(); !tapes.empty()) {
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
  if (!Tape::active().empty() || in.size() + 2 > kMaxMask) return false;
  uint64_t mask = 0;
  for (size_t k = 0; k < in.size(); ++k)
    if (need[k]) mask |= uint64_t{1} << k;
  if (mask == kForward) return true;
  std::vector<Val> args(in.begin(), in.end());
  args.push_back(out);
  args.push_back(ct);
  const auto entry = find_entry(*this, op, attrs, args, mask, type(ct).device,
                                [&](Graph& g, std::span<const Val> x, std::vector<size_t>* of) {
                                  const size_t n = in.size();
                                  const auto cts =
                                      apply_vjp(g, op, attrs, x.first(n), x[n], x[n + 1], need);
                                  for (size_t k = 0; k < n; ++k)
                                    if (cts[k]) g.outputs.push_back({cts[k].id}), of->push_back(k);
                                });
  std::vector<Array*> arrays;
  for (auto v : args)
    if (v) arrays.push_back(array(v).get());
  std::vector<ArrayRef> results(entry->of.size());
  run(*entry->program, arrays, results.data());
  for (size_t i = 0; i < results.size(); ++i) (*d)[entry->of[i]] = wrap(std::move(results[i]));
  return true;
}

}  // namespace pijit
