#include "graph/grad.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/rewriter.h"
#include "graph/infer.h"
#include "graph/vals.h"

namespace pijit {

namespace {

// g's nodes, again in `to`, on other inputs.
std::vector<Val> inlined(const Graph& g, Graph& to, std::span<const Val> inputs) {
  std::vector<Val> map(g.size());
  for (size_t k = 0; k < inputs.size(); ++k) map[g.inputs()[k]] = inputs[k];
  for (uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node(i);
    if (n.kind == Node::kInput) continue;
    std::vector<Val> in;
    for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : map[s]);
    map[i] = copy_node(to, n, in);
  }
  std::vector<Val> out;
  for (auto& o : g.outputs) out.push_back(map[o.node]);
  return out;
}

// The inputs of a graph, by their places, that a value may be.
void inputs_that_may_be(const Graph& g, uint32_t id, std::set<size_t>* places) {
  const Node& n = g.node(id);
  if (n.kind == Node::kInput) {
    const auto& in = g.inputs();
    places->insert(static_cast<size_t>(std::find(in.begin(), in.end(), id) - in.begin()));
  } else if (n.kind == Node::kOp && n.op->role == Role::kResult) {
    const Node& from = g.node(n.in[0]);
    const auto k = static_cast<size_t>(int64_t{std::get<Dim>(n.attrs[0])});
    if (from.op->role != Role::kCond) return;
    for (auto& r : from.regions) {
      std::set<size_t> inner;
      inputs_that_may_be(*r, r->outputs[k].node, &inner);
      for (auto i : inner) inputs_that_may_be(g, from.in[i + 1], places);
    }
  }
}

// Terms that reach one object under two names, in the order of the plain program: the first name's
// sum may have any number of terms before all others, each further name one. Else they would have
// to be added term by term, and which ones is not known before the program runs.
void check_order(std::vector<Sum> sums) {
  std::sort(sums.begin(), sums.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (size_t k = 1; k < sums.size(); ++k)
    OP_CHECK(sums[k].terms == 1 && sums[k - 1].last < sums[k].first, kRuntime,
             "[cond] the gradient adds up in an order that depends on the branch");
}

// What a region's gradient starts from: cotangents of outputs, and what inputs have received so
// far.
struct RegionSeed {
  bool of_output;
  size_t index;  // of the output, or of the input
  Sum sum;
};

// The inputs of a loop's body that depend, at some turn, on those that are `varied`.
std::vector<bool> varied_in_turns(const Graph& body, std::vector<bool> varied) {
  while (true) {
    const auto depends = depending(body, varied);
    bool more = false;
    for (size_t k = 0; k < varied.size(); ++k)
      if (!varied[k] && depends[body.outputs[k].node]) varied[k] = more = true;
    if (!more) return varied;
  }
}

// Which results of a node with regions depend on the varied ones of the regions' inputs. Empty: not
// known one by one.
std::vector<bool> varied_results(const Node& n, const std::vector<bool>& varied) {
  if (n.op->role == Role::kWhile) return varied_in_turns(*n.regions[1], varied);
  if (n.op->role != Role::kCond) return {};
  std::vector<bool> r;
  for (auto& region : n.regions) {
    const auto depends = depending(*region, varied);
    r.resize(region->outputs.size());
    for (size_t k = 0; k < r.size(); ++k) r[k] = r[k] || depends[region->outputs[k].node];
  }
  return r;
}
size_t first_of_regions(const Node& n) { return n.op->role == Role::kCond ? 1 : 0; }

// The gradient of a region: from its inputs and the seeds to the sums of the inputs that receive
// something, not yet made outputs. What the backward walk needs is computed again.
struct RegionGradient {
  std::shared_ptr<Graph> g;
  std::vector<Received> sums;
  std::vector<Val> cts;  // the seeds' cotangents: inputs behind the region's own
};
RegionGradient backward_region(const Graph& g, std::span<const RegionSeed> from,
                               const std::vector<bool>& last, const std::vector<bool>& need) {
  auto b = std::make_shared<Graph>(false);
  std::vector<Val> in, cts;
  for (auto i : g.inputs()) in.push_back(b->add_input(g.node(i).type));
  for (auto& s : from) cts.push_back(b->add_input(s.sum.value.type()));
  const uint32_t begin = static_cast<uint32_t>(b->size());
  const auto out = inlined(g, *b, in);
  const auto records = records_of(*b, begin, static_cast<uint32_t>(b->size()));
  std::vector<Seed> seeds;
  for (size_t k = 0; k < from.size(); ++k)
    seeds.push_back({from[k].of_output ? out[from[k].index] : in[from[k].index], cts[k]});
  std::map<size_t, std::vector<Sum>> names;  // by input
  for (auto& s : from) {
    if (!s.of_output) continue;
    std::set<size_t> places;
    inputs_that_may_be(g, g.outputs[s.index].node, &places);
    for (auto p : places) names[p].push_back(s.sum);
  }
  for (auto& s : from)
    if (!s.of_output && names.count(s.index)) names[s.index].push_back(s.sum);
  for (auto& [k, sums] : names) check_order(sums);
  std::vector<Val> wanted;
  std::vector<bool> ends;
  for (size_t k = 0; k < in.size(); ++k)
    if (need[k]) wanted.push_back(in[k]), ends.push_back(last[k]);
  const auto found = backward_part(*b, records, seeds, wanted, ends);
  RegionGradient r{b, std::vector<Received>(in.size()), cts};
  for (size_t k = 0, next = 0; k < in.size(); ++k)
    if (need[k]) r.sums[k] = found[next++];
  return r;
}

// What a record has of a node with regions: the regions' inputs, and results with their places.
std::vector<int64_t> take_results(Graph& g, uint32_t id, uint32_t end, Record* rec) {
  std::vector<int64_t> indices;
  const auto& in = g.node(id).in;
  for (size_t k = first_of_regions(g.node(id)); k < in.size(); ++k) rec->in.push_back(g.val(in[k]));
  for (uint32_t i = id + 1; i < end; ++i) {
    const Node& n = g.node(i);
    if (n.kind != Node::kOp || n.op->role != Role::kResult || n.in[0] != id) continue;
    rec->out.push_back(g.val(i));
    indices.push_back(int64_t{std::get<Dim>(n.attrs[0])});
  }
  rec->reach = [&g, id, indices](const std::vector<bool>& varied) {
    const auto results = varied_results(g.node(id), varied);
    std::vector<bool> r;
    for (auto k : indices) r.push_back(results.empty() || results[static_cast<size_t>(k)]);
    return r;
  };
  return indices;
}

// A cond's gradient is the cond of its regions' gradients.
Record cond_record(Graph& g, uint32_t id, uint32_t end) {
  Record rec;
  const auto indices = take_results(g, id, end, &rec);
  rec.region = [&g, id, indices](std::span<const Sum> cts, std::span<const Sum> so_far,
                                 const std::vector<bool>& last, const std::vector<bool>& need) {
    const Node& n = g.node(id);
    std::vector<Val> in;
    for (auto s : n.in) in.push_back(g.val(s));
    std::vector<RegionSeed> seeds;
    for (size_t k = 0; k < cts.size(); ++k)
      if (cts[k].value) seeds.push_back({true, static_cast<size_t>(indices[k]), cts[k]});
    for (size_t k = 0; k < so_far.size(); ++k)
      if (so_far[k].value) seeds.push_back({false, k, so_far[k]});
    std::sort(seeds.begin(), seeds.end(),
              [](auto& a, auto& b) { return a.sum.first < b.sum.first; });
    for (auto& s : seeds) in.push_back(s.sum.value);
    std::vector<RegionGradient> arms;
    for (auto& r : n.regions) arms.push_back(backward_region(*r, seeds, last, need));
    // What an input has received may stand for nothing as long as no arm adds to it.
    for (size_t s = 0; s < seeds.size(); ++s) {
      if (seeds[s].of_output || !seeds[s].sum.alone) continue;
      in.push_back(seeds[s].sum.alone);
      for (auto& arm : arms) {
        const Val alone = arm.g->add_input(seeds[s].sum.alone.type());
        Received& r = arm.sums[seeds[s].index];
        if (r.sum == arm.cts[s]) r.alone = alone;
      }
    }
    std::vector<size_t> flows;
    for (size_t k = 0; k < so_far.size(); ++k) {
      const auto none = [&](auto& arm) { return !arm.sums[k].sum; };
      if (std::all_of(arms.begin(), arms.end(), none)) continue;
      OP_CHECK(last[k] || std::none_of(arms.begin(), arms.end(), none), kRuntime,
               "[cond] whether an operand has a gradient depends on the branch");
      flows.push_back(k);
    }
    std::vector<Received> d(so_far.size());
    if (flows.empty()) return d;
    // two outputs for those that may be alone
    std::vector<bool> doubled(so_far.size());
    for (auto k : flows)
      for (auto& arm : arms) doubled[k] = doubled[k] || !arm.sums[k].sum || arm.sums[k].alone;
    std::vector<std::shared_ptr<const Graph>> regions;
    std::vector<std::vector<Val>> given;
    for (auto& arm : arms) {
      given.emplace_back();
      for (auto k : flows) {
        const Received& r = arm.sums[k];
        const Type t = arm.g->node(arm.g->inputs()[k]).type;
        given.back().push_back(r.sum ? r.sum : v_full(*arm.g, t, -0.0));
        if (doubled[k])
          given.back().push_back(r.alone ? r.alone : r.sum ? r.sum : v_zeros(*arm.g, t));
      }
      regions.push_back(arm.g);
    }
    for (size_t o = 0; o < given[0].size(); ++o) {
      const DeviceId home = device_of_both(given[0][o].type(), given[1][o].type());
      for (size_t a : {0, 1}) arms[a].g->outputs.push_back({placed(given[a][o], home).id});
    }
    const Val node = g.emit_region(*n.op, in, std::move(regions));
    int64_t next = 0;
    for (auto k : flows) {
      d[k].sum = g.result(node, next++);
      if (doubled[k]) d[k].alone = g.result(node, next++);
    }
    return d;
  };
  return rec;
}

Record no_gradient_record(Graph& g, uint32_t id, uint32_t end) {
  Record rec;
  take_results(g, id, end, &rec);
  rec.region = [&g, id](std::span<const Sum>, std::span<const Sum>, const std::vector<bool>&,
                        const std::vector<bool>&) -> std::vector<Received> {
    throw OpError(OpError::kRuntime, str_cat("[", g.node(id).op->name, "] has no gradient"));
  };
  return rec;
}

// A loop's gradient runs the loop again, keeps the values of each turn, and then the body's
// gradient from the last turn to the first. What the body only reads receives its terms one by one,
// in the order of the plain program.
Record loop_record(Graph& g, uint32_t id, uint32_t end) {
  Record rec;
  const auto indices = take_results(g, id, end, &rec);
  rec.region = [&g, id, indices](std::span<const Sum> cts, std::span<const Sum> so_far,
                                 const std::vector<bool>& last, const std::vector<bool>& need) {
    const Node n = g.node(id);
    const Graph& body = *n.regions[1];
    const size_t count = n.in.size();
    const std::vector<bool> varied = varied_in_turns(body, need);
    // the body's gradient: from its inputs and the cotangents of a turn's end to those of its start
    auto b = std::make_shared<Graph>(false);
    std::vector<Val> in, wrt, ends, from_cts;
    for (auto i : body.inputs()) in.push_back(b->add_input(body.node(i).type));
    std::vector<size_t> carried;
    for (size_t k = 0; k < count; ++k)
      if (varied[k]) carried.push_back(k);
    for (auto k : carried) from_cts.push_back(b->add_input(in[k].type()));
    const Val turns = b->add_input({DType::I64, {}, b->home()});
    const uint32_t begin = static_cast<uint32_t>(b->size());
    const auto out = inlined(body, *b, in);
    const auto records = records_of(*b, begin, static_cast<uint32_t>(b->size()));
    std::vector<Seed> seeds;
    std::vector<Val> operands;
    for (auto s : n.in) operands.push_back(g.val(s));
    std::vector<bool> read_only(count);
    for (size_t c = 0; c < carried.size(); ++c) {
      const size_t k = carried[c];
      const Val x = operands[k];
      Sum given;
      for (size_t r = 0; r < indices.size(); ++r)
        if (indices[r] == static_cast<int64_t>(k)) given = cts[r];
      read_only[k] = body.outputs[k].node == body.inputs()[k];
      OP_CHECK(!(given.value && so_far[k].value), kRuntime,
               "[while_loop] a value has a gradient beside the loop's");
      if (read_only[k]) {
        OP_CHECK(so_far[k].value || last[k], kRuntime,
                 "[while_loop] whether an operand has a gradient depends on the turns");
        // -0.0 adds nothing to any term
        operands.push_back(so_far[k].value ? so_far[k].value
                           : given.value   ? given.value
                                           : v_full(g, x.type(), -0.0));
        seeds.push_back({in[k], from_cts[c]});
      } else {
        OP_CHECK(given.value, kRuntime,
                 "[while_loop] whether a value has a gradient depends on the turn");
        operands.push_back(given.value);
        seeds.push_back({out[k], from_cts[c]});
      }
      wrt.push_back(in[k]);
    }
    if (carried.empty()) return std::vector<Received>(so_far.size());
    operands.push_back(g.constant_int(DType::I64, 0));
    const auto sums = backward_part(*b, records, seeds, wrt, std::vector<bool>(wrt.size()));
    for (size_t c = 0; c < sums.size(); ++c) {
      OP_CHECK(sums[c].sum && !sums[c].alone, kRuntime,
               "[while_loop] whether a value has a gradient depends on the turn");
      b->outputs.push_back({placed(sums[c].sum, from_cts[c].type().device).id});
    }
    b->outputs.push_back({v_op("add", turns, b->constant_int(DType::I64, 1)).id});
    static const OpDef& op = OpTable::get().at("while_gradient");
    const Val node = g.emit_region(op, operands, {n.regions[0], n.regions[1], b});
    std::vector<Received> d(so_far.size());
    const Val ran = v_op("greater", g.result(node, static_cast<int64_t>(carried.size())),
                         g.constant_int(DType::I64, 0));
    for (size_t c = 0; c < carried.size(); ++c) {
      const size_t k = carried[c];
      if (!need[k]) continue;
      d[k].sum = g.result(node, static_cast<int64_t>(c));
      if (read_only[k] && last[k] && (!so_far[k].value || so_far[k].alone))
        d[k].alone = v_select(ran, d[k].sum,
                              so_far[k].alone ? so_far[k].alone : v_zeros(g, d[k].sum.type()));
    }
    return d;
  };
  return rec;
}

// What values have received so far. Terms that reach a part of a value are kept as they come, and
// become one sum when someone reads it: see add_slices. The order in which terms are added, and so
// each bit, is that of the walk. Where a sum begins does not matter: a region may hold a part of
// the walk, and what it starts from is -0.0 where plainly there is nothing.
class Cotangents {
 public:
  explicit Cotangents(Builder& b) : b_(b), from_(b.values()) {}

  void add(Val v, Val term) {
    Entry& e = at(v);
    settle(&e);
    e.sum.value = e.sum.value ? e.sum.value + term : term;
    count(&e);
  }
  // What a record that reads a part of its first operand gives it. False: it is no such record.
  bool add_part(const Record& r, Val term) {
    const bool slice = r.op->role == Role::kSlice;
    if ((!slice && r.op->role != Role::kGather) || is_bool(term.dtype())) return false;
    Entry& e = at(r.in[0]);
    if (!e.parts.empty() && !(e.op == r.op && (slice || same(e.parts[0].attrs, r.attrs))))
      settle(&e);
    e.op = r.op;
    e.parts.push_back({r.attrs, slice ? Val{} : r.in[1], term});
    count(&e);
    return true;
  }
  // Empty: nothing.
  Sum of(Val v) {
    const auto it = all_.find(v.id);
    if (it == all_.end()) return {};
    settle(&it->second);
    return it->second.sum;
  }
  // The same of what receives nothing more.
  Sum take(Val v) {
    const Sum sum = of(v);
    all_.erase(v.id);
    return sum;
  }
  // Instead of all that came.
  void replace(Val v, Val by) {
    all_[v.id].sum = {by, {}, place_, place_, 1};
    ++place_;
  }
  // A region's sum, which holds what came before.
  void continue_by(Val v, const Received& r) {
    Sum& s = at(v).sum;
    if (!s.terms) s.first = place_;
    s.terms += 2;  // of unknown number
    s.last = place_++;
    s.value = r.sum;
    s.alone = r.alone;
  }
  // Between records: now and then what no sum holds is given up.
  void sweep() {
    if (b_.values() < next_sweep_) return;
    absl::flat_hash_set<uint32_t> held;
    const auto hold = [&](Val x) {
      if (x && x.id >= from_) held.insert(x.id);
    };
    for (auto& [id, e] : all_) {
      hold(e.sum.value), hold(e.sum.alone);
      for (auto& p : e.parts) hold(p.term);
    }
    for (; swept_ < b_.values(); ++swept_) survivors_.push_back(swept_);
    std::erase_if(survivors_, [&](uint32_t id) {
      if (held.count(id)) return false;
      b_.drop({&b_, id});
      return true;
    });
    next_sweep_ = b_.values() + 64 + 2 * static_cast<uint32_t>(held.size());
  }

 private:
  struct Part {
    Attrs attrs;
    Val indices, term;
  };
  struct Entry {
    Val v;
    Sum sum;
    std::vector<Part> parts;  // all of one op; of gathers, along one axis
    const OpDef* op = nullptr;
  };
  Entry& at(Val v) {
    Entry& e = all_[v.id];
    e.v = v;
    return e;
  }
  void count(Entry* e) {
    e->sum.alone = {};
    if (!e->sum.terms++) e->sum.first = place_;
    e->sum.last = place_++;
  }
  void settle(Entry* e) {
    if (e->parts.empty()) return;
    Val& value = e->sum.value;
    value = e->op->role == Role::kSlice ? slices(*e, value) : rows(*e, value);
    e->parts.clear();
  }
  Val slices(const Entry& e, Val before) {
    const Type t = e.v.type();
    if (e.parts.size() == 1 && !before)
      return b_.op("slice_update", {v_zeros(b_, t), e.parts[0].term}, e.parts[0].attrs);
    Dims places[3];
    std::vector<Val> in{before};
    for (auto& p : e.parts) {
      for (size_t k = 0; k < 3; ++k) {
        const Dims& own = std::get<Dims>(p.attrs[k]);
        places[k].insert(places[k].end(), own.begin(), own.end());
      }
      in.push_back(p.term);
    }
    static const OpDef& op = OpTable::get().at("add_slices");
    return b_.op(op, in, {t.shape.dims(), places[0], places[1], places[2]});
  }
  // Updates are added one by one to what is there, whether all at once or some after others.
  Val rows(const Entry& e, Val before) {
    static const OpDef& concat = OpTable::get().at("concat");
    const Type t = e.v.type();
    const int axis = static_cast<int>(
        normalize_axis("gather", std::get<Dim>(e.parts[0].attrs[0]), t.shape.rank()));
    std::vector<Val> indices, terms;
    bool wide = false;
    for (auto& p : e.parts) wide |= p.indices.dtype() != e.parts[0].indices.dtype();
    for (auto& p : e.parts) {
      const Dim n = p.indices.shape().numel();
      Shape rows = t.shape;
      rows[axis] = n;
      const Val flat = v_reshape(p.indices, Shape{n});
      indices.push_back(wide ? v_cast(flat, DType::I64) : flat);
      terms.push_back(v_reshape(p.term, rows));
    }
    const bool one = terms.size() == 1;
    const Val to = before ? before + 0.0 : v_zeros(b_, t);
    return b_.op("index_add",
                 {to, one ? e.parts[0].indices : b_.op(concat, indices, {Dim(0)}),
                  one ? e.parts[0].term : b_.op(concat, terms, {Dim(axis)})},
                 {Dim(axis)});
  }

  Builder& b_;
  const uint32_t from_;  // values of the walk
  uint32_t swept_ = from_, next_sweep_ = from_ + 64;
  std::vector<uint32_t> survivors_;
  absl::flat_hash_map<uint32_t, Entry> all_;
  int place_ = 0;
};

}  // namespace

std::vector<bool> depending(const Graph& g, const std::vector<bool>& varied) {
  std::vector<bool> depends(g.size());
  for (size_t k = 0; k < varied.size(); ++k) depends[g.inputs()[k]] = varied[k];
  absl::flat_hash_map<uint32_t, std::vector<bool>> results;
  for (uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node(i);
    if (n.kind != Node::kOp) continue;
    if (n.op->role == Role::kResult) {
      const auto& all = results[n.in[0]];
      depends[i] = all.empty() ? depends[n.in[0]]
                               : all[static_cast<size_t>(int64_t{std::get<Dim>(n.attrs[0])})];
      continue;
    }
    if (n.op->has(kNoGradient) && n.regions.empty()) continue;
    std::vector<bool> in;
    for (size_t k = first_of_regions(n); k < n.in.size(); ++k)
      in.push_back(n.in[k] != kNoNode && depends[n.in[k]]);
    depends[i] = std::find(in.begin(), in.end(), true) != in.end();
    if (depends[i] && !n.regions.empty()) results[i] = varied_results(n, in);
  }
  return depends;
}

std::vector<bool> needed_records(std::span<const Record> records, std::span<const Val> of,
                                 bool may_fail) {
  absl::flat_hash_set<uint32_t> needed;
  for (auto v : of) needed.insert(v.id);
  std::vector<bool> r(records.size());
  for (size_t i = records.size(); i-- > 0;) {
    const Record& rec = records[i];
    r[i] = may_fail && rec.op && rec.op->has(kMayFail);
    for (auto v : rec.out) r[i] = r[i] || needed.count(v.id);
    if (!r[i]) continue;
    for (auto v : rec.in)
      if (v) needed.insert(v.id);
  }
  return r;
}

std::vector<Record> records_of(Graph& g, uint32_t begin, uint32_t end) {
  std::vector<Record> r;
  for (uint32_t i = begin; i < end; ++i) {
    const Node& n = g.node(i);
    if (n.kind != Node::kOp || n.op->role == Role::kResult) continue;
    if (!n.regions.empty()) {
      r.push_back(n.op->role == Role::kCond    ? cond_record(g, i, end)
                  : n.op->role == Role::kWhile ? loop_record(g, i, end)
                                               : no_gradient_record(g, i, end));
      continue;
    }
    Record rec;
    rec.op = n.op;
    rec.attrs = n.attrs;
    for (auto s : n.in) rec.in.push_back(s == kNoNode ? Val{} : g.val(s));
    rec.out = {g.val(i)};
    r.push_back(std::move(rec));
  }
  return r;
}

std::vector<Val> apply_vjp(Builder& b, const OpDef& op, const Attrs& attrs, std::span<const Val> in,
                           Val out, Val ct, const std::vector<bool>& need) {
  OP_CHECK(op.vjp, kRuntime, "[", op.name, "] has no gradient");
  std::vector<Val> d(in.size());
  // dL/d Re + i dL/d Im of the operands: a holomorphic function multiplies the cotangent by the
  // conjugate of its derivative.
  const bool conjugate = is_complex(out.dtype()) && !op.has(kLinear) && !op.has(kOwnAdjoint);
  VjpCtx v{{op, attrs}, b, in, out, conjugate ? v_op("conj", ct) : ct, d, need};
  op.vjp(v);
  for (size_t k = 0; k < in.size(); ++k) {
    if (!need[k]) d[k] = {};
    if (!d[k]) continue;
    if (op.has(kElementwise)) d[k] = v_unbroadcast(d[k], in[k].shape());
    if (conjugate && is_complex(d[k].dtype())) d[k] = v_op("conj", d[k]);
    if (is_bool(in[k].dtype()) && !is_bool(d[k].dtype())) d[k] = v_cast(d[k], DType::Bool);
    PIJIT_CHECK(d[k].dtype() == in[k].dtype() && d[k].shape() == in[k].shape(), "gradient of ",
                op.name, " input ", k, " has type ", d[k].type().str(), ", not ",
                in[k].type().str());
  }
  return d;
}

std::vector<Val> backward(Builder& b, std::span<const Record> records, std::span<const Seed> seeds,
                          std::span<const Val> wrt) {
  std::vector<Val> d;
  for (auto& r : backward_part(b, records, seeds, wrt, std::vector<bool>(wrt.size(), true)))
    d.push_back(r.alone ? r.alone : r.sum ? r.sum : v_zeros(b, wrt[d.size()].type()));
  return d;
}

namespace {

// Which records depend on wrt; `varied`: the values that do.
std::vector<bool> active_records(std::span<const Record> records,
                                 absl::flat_hash_set<uint32_t>* varied) {
  std::vector<bool> active(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    const Record& r = records[i];
    if (r.op && r.op->has(kNoGradient)) continue;
    for (auto v : r.in)
      if (v && varied->count(v.id)) active[i] = true;
    if (!active[i]) continue;
    std::vector<bool> in;
    for (auto v : r.in) in.push_back(v && varied->count(v.id));
    const auto reached = r.reach ? r.reach(in) : std::vector<bool>(r.out.size(), true);
    for (size_t k = 0; k < r.out.size(); ++k)
      if (reached[k]) varied->insert(r.out[k].id);
  }
  return active;
}

void call_hook(const Record& r, Cotangents& ct) {
  const Sum sum = ct.of(r.out[0]);
  if (!sum.value) return;
  const Val given = r.hook(sum.alone ? sum.alone : sum.value);
  OP_CHECK(given.type() == r.out[0].type(), kValue, "a hook's gradient is ", given.type().str(),
           ", the tensor ", r.out[0].type().str());
  ct.replace(r.out[0], given);
}

// `ends`: where the walk ends for good, by inputs.
void through_region(const Record& r, const std::vector<Sum>& sums, const std::vector<bool>& ends,
                    const std::vector<bool>& need, Cotangents& ct) {
  std::vector<Sum> so_far(r.in.size());
  absl::flat_hash_set<uint32_t> seen;
  for (size_t k = 0; k < r.in.size(); ++k) {
    if (r.in[k] && seen.insert(r.in[k].id).second) so_far[k] = ct.of(r.in[k]);
  }
  const auto received = r.region(sums, so_far, ends, need);
  seen.clear();
  for (size_t k = 0; k < r.in.size(); ++k) {
    if (!seen.insert(r.in[k].id).second) {
      if (received[k].sum) ct.add(r.in[k], received[k].sum);
      continue;
    }
    if (received[k].sum) ct.continue_by(r.in[k], received[k]);
  }
}

// A gradient of the user's own, in the types of the inputs.
std::vector<Val> by_custom(Builder& b, const Record& r, std::vector<Val> cts,
                           const std::vector<bool>& need) {
  for (size_t k = 0; k < cts.size(); ++k)
    if (!cts[k]) cts[k] = v_zeros(b, r.out[k].type());
  std::vector<Val> d = r.custom(cts);
  OP_CHECK(d.size() == r.in.size(), kType, "a gradient of the user's own returned ", d.size(),
           " values for ", r.in.size(), " inputs");
  for (size_t k = 0; k < d.size(); ++k) {
    if (!need[k] || !d[k] || d[k].type() == r.in[k].type()) continue;
    OP_CHECK(d[k].shape() == r.in[k].shape(), kValue, "a gradient of the user's own is ",
             d[k].type().str(), ", the input ", r.in[k].type().str());
    d[k] = v_cast(d[k], r.in[k].dtype());
  }
  return d;
}

}  // namespace

std::vector<Received> backward_part(Builder& b, std::span<const Record> records,
                                    std::span<const Seed> seeds, std::span<const Val> wrt,
                                    const std::vector<bool>& last) {
  absl::flat_hash_set<uint32_t> varied;  // depends on wrt
  for (auto v : wrt) varied.insert(v.id);
  const std::vector<bool> active = active_records(records, &varied);

  Cotangents ct(b);
  for (auto& s : seeds)
    if (varied.count(s.value.id)) ct.add(s.value, s.cotangent);

  // A leaf that is itself computed by a record (the argument of an inner function) stops the walk
  // there.
  absl::flat_hash_map<uint32_t, bool> leaves;  // whether the walk ends there for good
  for (size_t k = 0; k < wrt.size(); ++k) leaves.emplace(wrt[k].id, last[k]);

  for (size_t i = records.size(); i-- > 0;) {
    const Record& r = records[i];
    ct.sweep();
    if (r.hook) {
      call_hook(r, ct);
      continue;
    }
    if (!active[i]) continue;
    std::vector<Sum> sums;
    std::vector<Val> cts;
    bool any = false;
    for (auto o : r.out) {
      sums.push_back(leaves.count(o.id) ? Sum{} : ct.take(o));
      cts.push_back(sums.back().value);
      any |= static_cast<bool>(cts.back());
    }
    if (!any) continue;
    std::vector<Val> d(r.in.size());
    std::vector<bool> need(r.in.size());
    for (size_t k = 0; k < r.in.size(); ++k) need[k] = r.in[k] && varied.count(r.in[k].id);
    if (r.op && need[0] && ct.add_part(r, cts[0])) continue;
    if (r.region) {
      std::vector<bool> ends;
      for (auto v : r.in) {
        auto it = leaves.find(v.id);
        ends.push_back(it != leaves.end() ? it->second : !varied.count(v.id));
      }
      through_region(r, sums, ends, need, ct);
      continue;
    }
    if (r.custom) {
      d = by_custom(b, r, std::move(cts), need);
    } else if (!b.run_vjp(*r.op, r.attrs, r.in, r.out[0], cts[0], need, &d)) {
      d = apply_vjp(b, *r.op, r.attrs, r.in, r.out[0], cts[0], need);
    }
    for (size_t k = 0; k < r.in.size(); ++k)
      if (need[k] && d[k]) ct.add(r.in[k], d[k]);
  }
  std::vector<Received> out;
  for (auto v : wrt) {
    const Sum sum = ct.of(v);
    out.push_back({sum.value, sum.alone});
  }
  return out;
}

}  // namespace pijit
