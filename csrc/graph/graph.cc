#include "graph/graph.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "graph/eval/scalar_eval.h"
#include "graph/infer.h"

namespace pijit {
namespace {
size_t key_of(const OpDef& op, std::span<const uint32_t> in, const Attrs& attrs) {
  size_t h = hash_mix(op.id, hash_of(attrs));
  for (auto i : in) h = hash_mix(h, i);
  return h;
}
// Do slices, by their attributes, lie apart along some axis? False where sizes do not tell.
bool apart(const Attrs& a, const Attrs& b) {
  const auto reach = [](const Attrs& of, size_t d) -> std::pair<int64_t, int64_t> {
    const Dim begin = std::get<Dims>(of[0])[d], end = std::get<Dims>(of[1])[d],
              step = std::get<Dims>(of[2])[d];
    if (begin.symbolic() || end.symbolic() || step.symbolic()) return {0, INT64_MAX};
    return int64_t{step} > 0 ? std::pair(int64_t{begin}, int64_t{end} - 1)
                             : std::pair(int64_t{end} + 1, int64_t{begin});
  };
  for (size_t d = 0; d < std::get<Dims>(a[0]).size(); ++d) {
    const auto [a_first, a_last] = reach(a, d);
    const auto [b_first, b_last] = reach(b, d);
    if (a_last < b_first || b_last < a_first) return true;
  }
  return false;
}
}  // namespace

Val Graph::push(Node n) {
  n.id = static_cast<uint32_t>(nodes_.size());
  n.loc = current_loc;
  nodes_.push_back(std::move(n));
  return {this, nodes_.back().id};
}

Val Graph::add_input(const Type& t, std::string name, bool parameter) {
  Node n;
  n.kind = Node::kInput;
  n.type = t;
  n.name = std::move(name);
  n.parameter = parameter;
  settle(t);
  Val v = push(std::move(n));
  inputs_.push_back(v.id);
  return v;
}

Val Graph::constant(DType dt, uint64_t bits) {
  const size_t h = hash_mix(static_cast<size_t>(dt) + 0x1000, bits);
  for (uint32_t id : cse_[h]) {
    const Node& n = nodes_[id];
    if (n.kind == Node::kConst && n.type.dtype == dt && n.bits == bits) return {this, n.id};
  }
  Node n;
  n.kind = Node::kConst;
  n.type = Type{dt, {}};
  n.bits = bits;
  Val v = push(std::move(n));
  cse_[h].push_back(v.id);
  return v;
}

Val Graph::constant(DType dt, const SizeNumber& x) {
  if (!symbolic(x)) return Builder::constant(dt, x);
  if (is_complex(dt))
    return op("complex", {constant(part_of(dt), x), Builder::constant(part_of(dt), 0.0)});
  Node n;
  n.kind = Node::kConst;
  n.type = Type{dt, {}};
  n.size = x;
  return push(std::move(n));
}

Val Graph::append(Node n) {
  if (n.kind == Node::kInput) {
    settle(n.type);
    inputs_.push_back(static_cast<uint32_t>(nodes_.size()));
  }
  if (n.kind == Node::kOp && n.op->has(kOrdered))
    ordered_.push_back(static_cast<uint32_t>(nodes_.size()));
  return push(std::move(n));
}

std::shared_ptr<Graph> Graph::with_sizes(std::span<const Dim> values) const {
  auto g = std::make_shared<Graph>(false);
  g->place_as(*this);
  g->inputs_ = inputs_;
  g->outputs = outputs;
  g->locations = locations;
  auto set = [&](Dim& d) {
    if (d.symbolic()) d = substitute(d, values);
  };
  for (auto& from : nodes_) {
    g->nodes_.push_back(from);
    Node& n = g->nodes_.back();
    for (int i = 0; i < n.type.shape.rank(); ++i) set(n.type.shape[i]);
    if (!n.type.shape.symbolic()) (void)n.type.bytes();  // throws where they do not fit a number
    for (auto& a : n.attrs) {
      if (auto* d = std::get_if<Dim>(&a)) set(*d);
      if (auto* list = std::get_if<Dims>(&a))
        for (auto& d : *list) set(d);
    }
    for (auto& r : n.regions) r = r->with_sizes(values);
    if (!n.size) continue;
    n.size = substitute(*n.size, values);
    if (symbolic(*n.size)) continue;
    Graph one(false);
    n.bits = one.node(one.constant(n.type.dtype, *n.size).id).bits;
    n.size.reset();
  }
  return g;
}

SVal build_scalar(SBuilder& sb, const OpDef& op, const Attrs& attrs, std::span<const SVal> in,
                  DType out) {
  std::vector<SVal> x(in.begin(), in.end());
  for (auto& v : x)
    if (is_half(v.dtype())) v = s_cast(v, DType::F32);
  const DType compute = is_half(out) ? DType::F32 : out;
  SVal r = op.scalar(ScalarCtx{{op, attrs}, sb, x, compute});
  return s_cast(r, out);
}

uint64_t eval_scalar(const OpDef& op, const Attrs& attrs, std::span<const DType> in_types,
                     std::span<const uint64_t> in_bits, DType out) {
  SBuilder sb;
  std::vector<SVal> in;
  for (size_t i = 0; i < in_types.size(); ++i)
    in.push_back(sb.input(static_cast<int>(i), in_types[i]));
  SVal r = build_scalar(sb, op, attrs, in, out);
  std::vector<const void*> src;
  std::vector<int64_t> strides(in.size(), 0);
  for (auto& b : in_bits) src.push_back(&b);
  uint64_t result = 0;
  BlockProgram p(sb.nodes, {r.id}, {out});
  void* dst[] = {&result};
  int64_t ostride[] = {1};
  p.run(src.data(), strides.data(), in_types.data(), dst, ostride, 1);
  return result;
}

namespace {
// Are they the bits of 1 as a real dtype?
bool is_one(uint64_t bits, DType t) {
  static const std::vector<uint64_t> ones = [] {
    const OpDef& cast = OpTable::get().at("cast");
    std::vector<uint64_t> of;
    for (int k = 0; k < kNumDTypes; ++k) {
      const auto type = static_cast<DType>(k);
      of.push_back(is_complex(type) ? 0
                                    : eval_scalar(cast, {type}, std::vector<DType>{DType::I64},
                                                  std::vector<uint64_t>{1}, type));
    }
    return of;
  }();
  return !is_complex(t) && bits == ones[static_cast<size_t>(t)];
}
}  // namespace

Val Graph::try_fold(const OpDef& op, std::span<const Val> in, const Attrs& attrs, const Type& out) {
  static const OpDef& identity = OpTable::get().at("identity");
  if (op.has(kCallOut)) return {};
  if (&op == &identity && !out.device.is_cpu()) return {};  // what places a constant: infer.h
  // An elementwise op on 0-d constants is computed by the block interpreter: the bits of a run.
  if (op.has(kElementwise) && !in.empty() && out.shape.rank() == 0) {
    bool all = true;
    std::vector<DType> dts;
    std::vector<uint64_t> bits;
    for (auto v : in) {
      if (!v || nodes_[v.id].kind != Node::kConst || nodes_[v.id].size) {
        all = false;
        break;
      }
      dts.push_back(nodes_[v.id].type.dtype);
      bits.push_back(nodes_[v.id].bits);
    }
    if (all) return constant(out.dtype, eval_scalar(op, attrs, dts, bits, out.dtype));
  }
  if (in.empty() || !in[0]) return {};
  const Node& x = nodes_[in[0].id];
  // The identity of type-preserving views and casts.
  static const OpTable& t = OpTable::get();
  static const OpDef &cast = t.at("cast"), &broadcast = t.at("broadcast_to"),
                     &transpose = t.at("transpose"), &reshape = t.at("reshape"), &mul = t.at("mul"),
                     &div = t.at("div"), &sub = t.at("sub"), &slice = t.at("slice"),
                     &update = t.at("slice_update");
  if (&op == &identity) return {};
  if ((&op == &cast || &op == &broadcast || &op == &reshape) && x.type.same_as(out)) return in[0];
  if (&op == &reshape && x.op == &reshape) {
    const Type& inner = nodes_[x.in[0]].type;
    if (inner.same_as(out)) return {this, x.in[0]};
    return emit(reshape, std::vector<Val>{{this, x.in[0]}}, attrs, out);
  }
  if (&op == &transpose) {
    auto& p = std::get<Dims>(attrs[0]);
    if (std::is_sorted(p.begin(), p.end())) return in[0];
    if (x.op == &transpose) {  // compose
      auto& q = std::get<Dims>(x.attrs[0]);
      Dims r;
      for (auto i : p) r.push_back(q[i]);
      return emit(transpose, std::vector<Val>{{this, x.in[0]}}, {r}, out);
    }
  }
  if (&op == &slice && x.op == &update) {
    // What was stored there last, or what was there before all stores elsewhere.
    constexpr int kMost = 4096;
    const Node* from = &x;
    for (int k = 0; k < kMost && from->op == &update; ++k) {
      if (same(from->attrs, attrs)) return {this, from->in[1]};
      if (!apart(from->attrs, attrs)) break;
      from = &nodes_[from->in[0]];
    }
    if (from == &x) return {};
    return emit(slice, std::vector<Val>{{this, from->id}}, attrs, out);
  }
  if (op.has(kInvolution) && x.op == &op && same(x.attrs, attrs)) return {this, x.in[0]};
  if (op.has(kIdempotent) && x.op == &op && same(x.attrs, attrs)) return in[0];
  // x * 1, x / 1 and x - 0 are exact for every value; x + 0 is not (-0.0), x * 0 is not (NaN).
  if (in.size() == 2 && in[1] && nodes_[in[1].id].kind == Node::kConst && !nodes_[in[1].id].size &&
      x.type.same_as(out)) {
    const Node& c = nodes_[in[1].id];
    if ((&op == &mul || &op == &div) && is_one(c.bits, out.dtype)) return in[0];
    if (&op == &sub && c.bits == 0) return in[0];
  }
  if (&op == &mul && x.kind == Node::kConst && !x.size && nodes_[in[1].id].type.same_as(out)) {
    if (is_one(x.bits, out.dtype)) return in[1];
  }
  return {};
}

Val Graph::emit(const OpDef& op, std::span<const Val> in, Attrs attrs, const Type& out) {
  for (auto v : in)
    PIJIT_CHECK(!v || (v.b == this && v.id < nodes_.size()), "value of another graph");
  if (simplify_)
    if (Val f = try_fold(op, in, attrs, out)) return f;
  NodeIds ids;
  for (auto v : in) ids.push_back(v ? v.id : kNoNode);
  if (op.has(kOrdered)) {
    while (!ordered_.empty() && nodes_[ordered_.back()].abandoned) ordered_.pop_back();
    uint32_t& after = ids[static_cast<size_t>(op.after)];
    if (after == kNoNode && !ordered_.empty()) after = ordered_.back();
    ordered_.push_back(static_cast<uint32_t>(nodes_.size()));
  }
  const size_t h = key_of(op, ids, attrs);
  if (simplify_ && !op.has(kCallOut)) {
    for (uint32_t id : cse_[h]) {
      const Node& n = nodes_[id];
      if (n.op == &op && n.in == ids && same(n.attrs, attrs)) return {this, n.id};
    }
  }
  if (op.has(kRegion)) {
    OP_CHECK(op.role == Role::kResult, kValue, "[", op.name, "] needs regions");
    check_result(ids.at(0), std::get<Dim>(attrs[0]), out);
  }
  Node n;
  n.kind = Node::kOp;
  n.op = &op;
  n.may_fail = op.has(kMayFail);
  n.in = std::move(ids);
  n.attrs = std::move(attrs);
  n.type = out;
  Val v = push(std::move(n));
  if (simplify_) cse_[h].push_back(v.id);
  return v;
}

static bool is_flag(const Type& t) { return is_bool(t.dtype) && t.shape.rank() == 0; }

Val Graph::emit_region(const OpDef& op, std::span<const Val> in,
                       std::vector<std::shared_ptr<const Graph>> regions) {
  const bool gradient = op.role == Role::kWhileGradient, loop = gradient || op.role == Role::kWhile;
  // Constants go with any device, and regions say on which one they expect them.
  std::vector<Val> operands(in.begin(), in.end());
  if (!regions.empty()) {
    const Graph& r = *regions.back();
    for (size_t k = loop ? 0 : 1, i = 0; k < operands.size() && i < r.inputs().size(); ++k, ++i)
      operands[k] = placed(operands[k], r.node(r.inputs()[i]).type.device);
    in = operands;
  }
  std::span<const Val> xs = loop ? in : in.subspan(std::min<size_t>(in.size(), 1));
  OP_CHECK(regions.size() == (gradient ? 3 : 2), kValue, "[", op.name, "] got ", regions.size(),
           " regions");
  if (gradient) {
    const Graph& back = *regions[2];
    OP_CHECK(back.inputs().size() == xs.size() && back.outputs.size() <= xs.size(), kValue,
             "[while_gradient] the third region takes ", back.inputs().size(), " values, the op ",
             xs.size());
    for (size_t k = 0; k < xs.size(); ++k)
      OP_CHECK(back.node(back.inputs()[k]).type == xs[k].type(), kType,
               "[while_gradient] a region takes ", back.node(back.inputs()[k]).type.str(),
               " as value ", k, ", the op ", xs[k].type().str());
    const size_t own = xs.size() - back.outputs.size();
    for (size_t k = 0; k < back.outputs.size(); ++k)
      OP_CHECK(back.node(back.outputs[k].node).type == xs[own + k].type() &&
                   back.outputs[k].assign_to < 0,
               kType, "[while_gradient] the third region changes value ", k);
    xs = xs.first(own);
  }
  if (!loop)
    OP_CHECK(!in.empty() && is_flag(in[0].type()), kType, "[cond] the predicate must be bool[]");
  for (size_t i = 0; i < 2; ++i) {
    const auto& r = regions[i];
    OP_CHECK(r->inputs().size() == xs.size(), kValue, "[", op.name, "] a region takes ",
             r->inputs().size(), " values, the op ", xs.size());
    for (size_t k = 0; k < xs.size(); ++k)
      OP_CHECK(r->node(r->inputs()[k]).type == xs[k].type(), kType, "[", op.name,
               "] a region takes ", r->node(r->inputs()[k]).type.str(), " as value ", k,
               ", the op ", xs[k].type().str());
    for (auto& o : r->outputs)
      OP_CHECK(o.assign_to < 0, kValue, "[", op.name, "] a region cannot assign");
  }
  auto out_type = [&](int r, size_t k) {
    return regions[r]->node(regions[r]->outputs[k].node).type;
  };
  if (loop) {
    OP_CHECK(regions[0]->outputs.size() == 1 && is_flag(out_type(0, 0)), kType,
             "[while_loop] the condition must give bool[]");
    OP_CHECK(regions[1]->outputs.size() == xs.size(), kValue,
             "[while_loop] the body must give as many values as it takes");
    for (size_t k = 0; k < xs.size(); ++k)
      OP_CHECK(out_type(1, k) == xs[k].type(), kType, "[while_loop] the body changes value ", k,
               " from ", xs[k].type().str(), " to ", out_type(1, k).str());
  } else {
    OP_CHECK(regions[0]->outputs.size() == regions[1]->outputs.size(), kValue,
             "[cond] the regions give different numbers of values");
    for (size_t k = 0; k < regions[0]->outputs.size(); ++k)
      OP_CHECK(out_type(0, k) == out_type(1, k), kType, "[cond] the regions give ",
               out_type(0, k).str(), " and ", out_type(1, k).str(), " as value ", k);
  }
  Node n;
  n.kind = Node::kOp;
  n.op = &op;
  for (auto v : in) {
    PIJIT_CHECK(v.b == this && v.id < nodes_.size(), "value of another graph");
    n.in.push_back(v.id);
  }
  n.type = {DType::U8, Shape{0}};
  for (auto& r : regions) {
    const auto live = r->live();
    for (uint32_t i = 0; i < r->size(); ++i) n.may_fail |= live[i] && r->node(i).may_fail;
    for (uint32_t i = 0; i < r->size(); ++i)
      OP_CHECK(!live[i] || !r->node(i).op || !r->node(i).op->has(kOrdered), kRuntime, "[",
               r->node(i).op->name,
               "] whether a collective runs, and how often, may not depend on values of a graph");
  }
  n.regions = std::move(regions);
  return push(std::move(n));
}

void Graph::check_result(uint32_t of, int64_t index, const Type& t) const {
  const Node& n = nodes_[of];
  OP_CHECK(!n.regions.empty(), kValue, "[result] needs an op with regions");
  const Graph& r = *n.regions.back();
  OP_CHECK(index >= 0 && index < static_cast<int64_t>(r.outputs.size()), kValue,
           "[result] has no value ", index);
  OP_CHECK(r.node(r.outputs[index].node).type == t, kType, "[result] value ", index, " is ",
           r.node(r.outputs[index].node).type.str(), ", not ", t.str());
}

Val Graph::result(Val region, int64_t index) {
  const Graph& r = *nodes_[region.id].regions.back();
  const Type& t = r.node(r.outputs.at(index).node).type;
  const Val in[] = {region};
  return emit(OpTable::get().at("result"), in, {index, t.dtype, t.shape.dims()}, t);
}

std::vector<bool> Graph::live() const {
  std::vector<bool> live(nodes_.size());
  for (auto& o : outputs) live[o.node] = true;
  for (auto& n : nodes_)
    if (n.may_fail && !n.abandoned) live[n.id] = true;
  for (size_t i = nodes_.size(); i-- > 0;)
    if (live[i])
      for (auto s : nodes_[i].in)
        if (s != kNoNode) live[s] = true;
  return live;
}

std::vector<std::pair<std::string, int>> Graph::op_counts() const {
  std::map<std::string, int> m;
  auto l = live();
  for (auto& n : nodes_)
    if (n.kind == Node::kOp && l[n.id]) ++m[n.op->name];
  return {m.begin(), m.end()};
}

void Graph::verify() const {
  for (auto& n : nodes_) {
    if (n.kind != Node::kOp) {
      PIJIT_CHECK(n.in.empty(), "leaf %", n.id, " has inputs");
      continue;
    }
    PIJIT_CHECK(n.op, "node %", n.id, " has no op");
    PIJIT_CHECK(n.attrs.size() == n.op->attrs.size(), "node %", n.id,
                " has a wrong number of attributes");
    for (size_t k = 0; k < n.attrs.size(); ++k)
      PIJIT_CHECK(n.attrs[k].index() == static_cast<size_t>(n.op->attrs[k].kind), "node %", n.id,
                  ": attribute ", n.op->attrs[k].name, " has the wrong kind");
    const size_t declared = n.op->inputs.size();
    PIJIT_CHECK(n.op->variadic() ? n.in.size() + 1 >= declared : n.in.size() == declared, "node %",
                n.id, " (", n.op->name, ") has ", n.in.size(), " inputs");
    std::vector<const Type*> ts;
    for (size_t k = 0; k < n.in.size(); ++k) {
      if (n.in[k] == kNoNode) {
        PIJIT_CHECK(n.op->inputs[k].optional, "node %", n.id, ": required input ", k, " absent");
        ts.push_back(nullptr);
        continue;
      }
      PIJIT_CHECK(n.in[k] < n.id, "node %", n.id, " uses %", n.in[k], " before its definition");
      ts.push_back(&nodes_[n.in[k]].type);
    }
    for (auto& r : n.regions) r->verify();
    Type t = n.type;
    if (n.op->has(kRegion)) {  // what regions give lies where they say
      t = n.op->infer(InferCtx{{*n.op, n.attrs}, ts});
      t.device = n.type.device;
    } else {
      t = infer_on_device(*n.op, n.attrs, ts, n.type.device);
    }
    PIJIT_CHECK(t == n.type, "node %", n.id, " (", n.op->name, ") has type ", n.type.str(),
                ", the rule gives ", t.str());
  }
  for (auto& o : outputs) {
    PIJIT_CHECK(o.node < nodes_.size(), "output %", o.node, " does not exist");
    if (o.assign_to >= 0) {
      PIJIT_CHECK(static_cast<size_t>(o.assign_to) < inputs_.size(),
                  "assignment to a missing input");
      PIJIT_CHECK(nodes_[inputs_[o.assign_to]].type == nodes_[o.node].type,
                  "assignment changes the type");
    }
  }
}

}  // namespace pijit
