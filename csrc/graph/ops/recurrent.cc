#include "graph/recurrent.h"

#include "graph/grad.h"
#include "graph/rewriter.h"
#include "graph/vals.h"
#include "graph/vmap.h"

namespace pijit {
namespace {

using V = VjpCtx&;

Val part(Val x, Dims begin, Dims end) {
  Dims step(begin.size(), 1);
  return x.b->op("slice", {x}, {std::move(begin), std::move(end), std::move(step)});
}
// [begin, end) of an axis.
Val part(Val x, int axis, Dim begin, Dim end) {
  Dims first(x.shape().rank(), 0), past = x.shape().dims();
  first[axis] = begin, past[axis] = end;
  return part(x, std::move(first), std::move(past));
}
Val row(Val x, int64_t i) {  // of the first axis
  Shape s = x.shape();
  s.erase(0);
  return v_reshape(part(x, 0, i, i + 1), s);
}
Val joined(std::span<const Val> parts, int axis) {
  return parts[0].b->op(OpTable::get().at("concat"), parts, {Dim(axis)});
}
Val matmul(Val a, Val b, bool trans_a = false) {
  return a.b->op("matmul", {a, b}, {trans_a, false});
}

// The states behind a step from both parts of its gates and the states before.
std::vector<Val> cell(const Recurrence& r, Val of_x, Val of_h, std::span<const Val> before) {
  const auto gate = [&](Val x, int k) {
    return part(x, 1, r.hidden * Dim(k), r.hidden * Dim(k + 1));
  };
  const Val h = before[0];
  switch (r.cell) {
    case Recurrence::kTanh: return {v_op("tanh", of_x + of_h)};
    case Recurrence::kRelu: return {v_op("relu", of_x + of_h)};
    case Recurrence::kGru: {
      const Val reset = v_op("sigmoid", gate(of_x, 0) + gate(of_h, 0)),
                update = v_op("sigmoid", gate(of_x, 1) + gate(of_h, 1)),
                fresh = v_op("tanh", gate(of_x, 2) + reset * gate(of_h, 2));
      return {fresh + update * (h - fresh)};
    }
    case Recurrence::kLstm: {
      const auto both = [&](int k) { return gate(of_x, k) + gate(of_h, k); };
      const Val c =
          v_op("sigmoid", both(1)) * before[1] + v_op("sigmoid", both(0)) * v_op("tanh", both(2));
      return {v_op("sigmoid", both(3)) * v_op("tanh", c), c};
    }
  }
  return {};
}

Recurrence::Cell cell_of(const OpCtx& c) {
  const std::string& name = c.s("cell");
  const std::pair<const char*, Recurrence::Cell> all[] = {{"tanh", Recurrence::kTanh},
                                                          {"relu", Recurrence::kRelu},
                                                          {"gru", Recurrence::kGru},
                                                          {"lstm", Recurrence::kLstm}};
  for (auto& [known, cell] : all)
    if (name == known) return cell;
  throw OpError(OpError::kValue, str_cat("[", c.op.name, "] there is no cell '", name, "'"));
}

enum Operands { kX, kW, kB, kH, kC, kMask };
enum GradientOperands { kGx, kOfH, kGw, kBefore, kCt, kGMask };

void check(const InferCtx& c, size_t k, const Recurrence& r, const Shape& shape,
           bool is_mask = false) {
  if (!c.in[k]) return;
  const Type want{is_mask ? DType::Bool : r.dtype, shape, c.in[k]->device};
  const char* name = c.op.inputs[k].name.c_str();
  OP_CHECK(c.in[k]->dtype == want.dtype, kType, "[", c.op.name, "] ", name, " must be ", want.str(),
           ", got ", c.in[k]->str());
  OP_CHECK(*c.in[k] == want, kValue, "[", c.op.name, "] ", name, " must be ", want.str(), ", got ",
           c.in[k]->str());
}
Recurrence checked(const InferCtx& c) {
  OP_CHECK(c.shape(0).rank() == 3 && is_float(c.x(0).dtype), kValue, "[", c.op.name,
           "] expected floats of 3 dimensions, got ", c.x(0).str());
  const Recurrence r = recurrence_of(c, c.in);
  OP_CHECK(r.steps > 0, kValue, "[", c.op.name, "] there is no step in ", c.x(0).str());
  OP_CHECK(c.shape(0)[2] == r.hidden * Dim(r.gates()), kValue, "[", c.op.name, "] ", c.x(0).str(),
           " does not hold ", r.gates(), " gates of one size");
  return r;
}
Shape of_all(const Recurrence& r) { return Shape{Dim(r.states()), r.steps, r.batch, r.hidden}; }

// The parts of the flat gradient.
struct Parts {
  Val x, own;  // own: of_h's part of a GRU's new gate
  std::vector<Val> states;
};
Parts parts_of(const Recurrence& r, Val flat) {
  Parts p;
  Dim at = 0;
  const auto next = [&](Shape s) {
    const Dim n = s.numel(), begin = at;
    at += n;
    return v_reshape(part(flat, 0, begin, at), s);
  };
  p.x = next(Shape{r.steps, r.batch, r.hidden * Dim(r.gates())});
  if (r.gates_differ()) p.own = next(Shape{r.steps, r.batch, r.hidden});
  for (int k = 0; k < r.states(); ++k) p.states.push_back(next(Shape{r.batch, r.hidden}));
  return p;
}

void recurrent_vjp(V v) {
  std::vector<const Type*> types;
  for (auto x : v.in) types.push_back(x ? &x.type() : nullptr);
  const Recurrence r = recurrence_of(v, types);
  const Shape one{Dim(r.states()), Dim(1), r.batch, r.hidden};
  // what the states were before each step
  std::vector<Val> first{v_reshape(v.in[kH], Shape{Dim(1), Dim(1), r.batch, r.hidden})};
  if (v.in[kC]) first.push_back(v_reshape(v.in[kC], first[0].shape()));
  const Val start = first.size() > 1 ? joined(first, 0) : first[0];
  const Val rest = part(v.out, 1, r.reverse ? 1 : 0, r.reverse ? r.steps : r.steps - 1);
  const Val sides[] = {r.reverse ? rest : start, r.reverse ? start : rest};
  const Val before = joined(sides, 1);
  const Dim rows = r.steps * r.batch, columns = r.hidden * Dim(r.gates());
  const Val h = v_reshape(part(before, 0, 0, 1), Shape{rows, r.hidden});
  Val of_h = v_reshape(matmul(h, v.in[kW]), Shape{r.steps, r.batch, columns});
  if (v.in[kB]) of_h = of_h + v.in[kB];
  const Val flat =
      v.b.op("recurrent_gradient",
             {v.in[kX], of_h, v_transpose(v.in[kW], {1, 0}), before, v.ct, v.in[kMask]}, v.attrs);
  const Parts p = parts_of(r, flat);
  v.d[kX] = p.x;
  v.d[kH] = p.states[0];
  if (v.in[kC]) v.d[kC] = p.states[1];
  if (!v.need[kW] && !v.need[kB]) return;
  Val d = p.x;
  if (r.gates_differ()) {
    const Val both[] = {part(p.x, 2, 0, r.hidden * Dim(2)), p.own};
    d = joined(both, 2);
  }
  if (v.need[kW]) v.d[kW] = matmul(h, v_reshape(d, Shape{rows, columns}), true);
  if (v.need[kB]) v.d[kB] = v_sum(d, {0, 1}, false);
}

// Ops of g, once more in `to`.
std::vector<Val> inlined(const Graph& g, Builder& to, std::span<const Val> inputs) {
  std::vector<Val> map(g.size());
  for (size_t k = 0; k < inputs.size(); ++k) map[g.inputs()[k]] = inputs[k];
  const auto live = g.live();
  for (uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node(i);
    if (!live[i] || n.kind == Node::kInput) continue;
    if (n.kind == Node::kConst) {
      map[i] = n.size ? to.constant(n.type.dtype, *n.size) : to.constant(n.type.dtype, n.bits);
      continue;
    }
    std::vector<Val> in;
    for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : map[s]);
    map[i] = to.op(*n.op, in, n.attrs);
  }
  std::vector<Val> out;
  for (auto& o : g.outputs) out.push_back(map[o.node]);
  return out;
}

// recurrent_gradient, step by step.
Val unrolled_gradient(const Recurrence& r, std::span<const Val> in) {
  const auto step = recurrent_step_gradient(r);
  const int64_t steps = int64_t{r.steps};
  std::vector<Val> xs(static_cast<size_t>(steps)), own(xs), d;
  for (int k = 0; k < r.states(); ++k) d.push_back(v_zeros(*in[kGx].b, r.of_batch(r.hidden)));
  const auto state = [&](Val all, int k, int64_t t) { return row(row(all, k), t); };
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = r.reverse ? i : steps - 1 - i;
    std::vector<Val> args{row(in[kGx], t), row(in[kOfH], t), in[kGw]};
    for (int k = 0; k < r.states(); ++k) args.push_back(state(in[kBefore], k, t));
    for (int k = 0; k < r.states(); ++k) args.push_back(state(in[kCt], k, t));
    args.insert(args.end(), d.begin(), d.end());
    if (r.has_mask) args.push_back(row(in[kGMask], t));
    const auto out = inlined(*step, *in[kGx].b, args);
    size_t next = 0;
    const auto flat = [](Val x) { return v_reshape(x, Shape{x.shape().numel()}); };
    xs[static_cast<size_t>(t)] = flat(out[next++]);
    if (r.gates_differ()) own[static_cast<size_t>(t)] = flat(out[next++]);
    for (auto& x : d) x = out[next++];
  }
  if (r.gates_differ()) xs.insert(xs.end(), own.begin(), own.end());
  for (auto x : d) xs.push_back(v_reshape(x, Shape{r.state_numel()}));
  return joined(xs, 0);
}
void gradient_vjp(V v) {
  Graph g(false);
  std::vector<Val> in, outer, wrt;
  std::vector<const Type*> types;
  std::vector<size_t> of;
  for (size_t k = 0; k < v.in.size(); ++k) {
    types.push_back(v.in[k] ? &v.in[k].type() : nullptr);
    in.push_back(v.in[k] ? g.add_input(v.in[k].type()) : Val{});
    if (v.in[k]) outer.push_back(v.in[k]);
    if (v.need[k] && k != kGMask) wrt.push_back(in[k]), of.push_back(k);
  }
  const Val ct = g.add_input(v.ct.type());
  outer.push_back(v.ct);
  const auto begin = static_cast<uint32_t>(g.size());
  const Val out = unrolled_gradient(recurrence_of(v, types), in);
  const auto records = records_of(g, begin, static_cast<uint32_t>(g.size()));
  const Seed seeds[] = {{out, ct}};
  for (auto d : backward(g, records, seeds, wrt)) g.outputs.push_back({d.id});
  const auto d = inlined(g, v.b, outer);
  for (size_t k = 0; k < of.size(); ++k) v.d[of[k]] = d[k];
}

// The batch's elements beside those of the layer's own batch, where all have the same weights.
Val vmap_recurrent(const VmapCtx& c) {
  if (c.batched[kW] || c.batched[kB]) return vmap_element_by_element(c);
  std::vector<Val> in(c.in.begin(), c.in.end());
  for (const size_t k : {kX, kH, kC, kMask}) {
    if (!in[k]) continue;
    Val x = c.front(static_cast<int>(k));
    const bool by_step = k == kX || k == kMask;
    if (by_step) x = v_transpose(x, {1, 0, 2, 3});
    Shape s = x.shape();
    const int at = by_step ? 1 : 0;
    s[at + 1] = s[at] * s[at + 1];
    s.erase(at);
    in[k] = v_reshape(x, s);
  }
  const Val y = c.b.op(c.op, in, c.attrs);
  Shape s = c.out.shape;
  s.insert(2, c.size);
  return v_transpose(v_reshape(y, s), {2, 0, 1, 3, 4});
}

}  // namespace

Recurrence recurrence_of(const OpCtx& c, std::span<const Type* const> in) {
  Recurrence r{cell_of(c), c.flag("reverse"), in[0]->shape[0], in[0]->shape[1],
               {},         in[0]->dtype,      in[0]->device};
  static const OpDef& forward = OpTable::get().at("recurrent");
  const bool gradient = &c.op != &forward;
  r.hidden = gradient ? in[kGw]->shape[1] : in[kW]->shape[0];
  r.has_bias = !gradient && in[kB];
  r.has_mask = in[gradient ? static_cast<int>(kGMask) : static_cast<int>(kMask)];
  return r;
}

std::unique_ptr<Graph> recurrent_step(const Recurrence& r) {
  auto g = std::make_unique<Graph>(false);
  const Dim columns = r.hidden * Dim(r.gates());
  const Val x = g->add_input(r.of_batch(columns)),
            w = g->add_input({r.dtype, Shape{r.hidden, columns}, r.device}),
            b = r.has_bias ? g->add_input({r.dtype, Shape{columns}, r.device}) : Val{};
  std::vector<Val> before;
  for (int k = 0; k < r.states(); ++k) before.push_back(g->add_input(r.of_batch(r.hidden)));
  Val of_h = matmul(before[0], w);
  if (b) of_h = of_h + b;
  auto behind = cell(r, x, of_h, before);
  if (r.has_mask) {
    const Val mask = g->add_input({DType::Bool, Shape{r.batch, Dim(1)}, r.device});
    for (size_t k = 0; k < behind.size(); ++k) behind[k] = v_select(mask, behind[k], before[k]);
  }
  for (auto s : behind) g->outputs.push_back({s.id});
  return g;
}

std::unique_ptr<Graph> recurrent_step_gradient(const Recurrence& r) {
  auto g = std::make_unique<Graph>(false);
  const Dim columns = r.hidden * Dim(r.gates());
  const Val x = g->add_input(r.of_batch(columns)), of_h = g->add_input(r.of_batch(columns)),
            w = g->add_input({r.dtype, Shape{columns, r.hidden}, r.device});
  std::vector<Val> before, given, ct;
  for (auto* list : {&before, &given, &ct})
    for (int k = 0; k < r.states(); ++k) list->push_back(g->add_input(r.of_batch(r.hidden)));
  const Val mask =
      r.has_mask ? g->add_input({DType::Bool, Shape{r.batch, Dim(1)}, r.device}) : Val{};
  for (size_t k = 0; k < ct.size(); ++k) ct[k] = given[k] + ct[k];
  const auto begin = static_cast<uint32_t>(g->size());
  auto behind = cell(r, x, of_h, before);
  if (mask)
    for (size_t k = 0; k < behind.size(); ++k) behind[k] = v_select(mask, behind[k], before[k]);
  const auto records = records_of(*g, begin, static_cast<uint32_t>(g->size()));
  std::vector<Seed> seeds;
  for (size_t k = 0; k < ct.size(); ++k) seeds.push_back({behind[k], ct[k]});
  std::vector<Val> wrt{x, of_h};
  wrt.insert(wrt.end(), before.begin(), before.end());
  const auto d = backward_part(*g, records, seeds, wrt, std::vector<bool>(wrt.size(), true));
  g->outputs.push_back({d[0].sum.id});
  if (r.gates_differ()) g->outputs.push_back({part(d[1].sum, 1, r.hidden * Dim(2), columns).id});
  for (size_t k = 0; k < before.size(); ++k) {
    Val sum = d[2 + k].sum;
    if (k == 0) {
      const Val through = matmul(d[1].sum, w);
      sum = sum ? sum + through : through;
    }
    g->outputs.push_back({sum.id});
  }
  return g;
}

void register_recurrent(OpTable& t) {
  t.add("recurrent")
      .in({"x", "w", "b?", "h", "c?", "mask?"})
      .attr("cell", AttrKind::kString)
      .attr("reverse", AttrKind::kBool, false)
      .flags(kAccumulatesF32)
      .flops([](const InferCtx& c, const Shape&) {
        const Shape& w = c.shape(kW);
        return 2 * int64_t{c.shape(kX)[0] * c.shape(kX)[1] * w[0] * w[1]};
      })
      .infer([](const InferCtx& c) {
        OP_CHECK(c.shape(kW).rank() == 2, kValue, "[recurrent] w must have 2 dimensions, got ",
                 c.x(kW).str());
        const Recurrence r = checked(c);
        const Dim columns = r.hidden * Dim(r.gates());
        OP_CHECK(static_cast<bool>(c.in[kC]) == (r.states() > 1), kValue,
                 "[recurrent] c belongs to an LSTM");
        check(c, kW, r, Shape{r.hidden, columns});
        check(c, kB, r, Shape{columns});
        check(c, kH, r, Shape{r.batch, r.hidden});
        check(c, kC, r, Shape{r.batch, r.hidden});
        check(c, kMask, r, Shape{r.steps, r.batch, Dim(1)}, true);
        return Type{r.dtype, of_all(r)};
      })
      .vjp(recurrent_vjp)
      .vmap(vmap_recurrent);
  t.add("recurrent_gradient")
      .in({"x", "of_h", "w", "before", "ct", "mask?"})
      .attr("cell", AttrKind::kString)
      .attr("reverse", AttrKind::kBool, false)
      .flags(kAccumulatesF32)
      .flops([](const InferCtx& c, const Shape&) {
        const Shape& w = c.shape(kGw);
        return 2 * int64_t{c.shape(kGx)[0] * c.shape(kGx)[1] * w[0] * w[1]};
      })
      .infer([](const InferCtx& c) {
        OP_CHECK(c.shape(kGw).rank() == 2, kValue,
                 "[recurrent_gradient] w must have 2 dimensions, got ", c.x(kGw).str());
        const Recurrence r = checked(c);
        const Dim columns = r.hidden * Dim(r.gates());
        check(c, kOfH, r, c.shape(kGx));
        check(c, kGw, r, Shape{columns, r.hidden});
        check(c, kBefore, r, of_all(r));
        check(c, kCt, r, of_all(r));
        check(c, kGMask, r, Shape{r.steps, r.batch, Dim(1)}, true);
        const Dim of_steps = r.gates_numel() + (r.gates_differ() ? r.state_numel() : Dim(0));
        return Type{r.dtype, Shape{r.steps * of_steps + Dim(r.states()) * r.state_numel()}};
      })
      .vjp(gradient_vjp);
}

}  // namespace pijit
