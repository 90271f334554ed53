#include "compile/passes/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "graph/rewriter.h"
#include "graph/vals.h"

namespace pijit {
namespace {

class Finder : public Rewriter {
 public:
  Finder(const Graph& g, const Served& served) : Rewriter(g), served_(served), readers_(g.size()) {
    for (uint32_t i = 0; i < g.size(); ++i)
      if (live_[i])
        for (auto s : g.node(i).in)
          if (s != kNoNode) readers_[s].push_back(i);
    for (auto& o : g.outputs) readers_[o.node].push_back(kNoNode);
  }

 private:
  // What is added to the scores; or where (or where not) a very low number replaces them.
  struct Mask {
    uint32_t operand;
    DType scores;
    std::optional<double> fill;
    bool where = true;
  };
  struct Scores {
    const Node* product = nullptr;
    double scale = 1;
    std::vector<std::pair<uint32_t, bool>> factors;  // that are known at run time; by division?
    std::vector<Mask> masks;
    std::vector<uint32_t> path;  // from the product to what the softmax reads
  };
  // A value, or its transpose (of the last two axes).
  struct Matrix {
    uint32_t id = kNoNode;
    bool transposed = false;
    explicit operator bool() const { return id != kNoNode; }
    bool operator==(const Matrix&) const = default;
    Matrix t() const { return {id, !transposed}; }
  };
  // What the backward walk made of an attention: where the cotangents of q, k and v stand, those
  // that were asked for, and the cotangent that it came from.
  struct Gradient {
    Matrix dq, dk, dv, ct;
    uint32_t bias = kNoNode;  // the cotangent of the mask that is added last
  };
  // An attention that is one node now, and what its gradient is emitted from.
  struct Attention {
    Gradient gradient;
    std::vector<Val> in;  // q, k, v, masks
    Val out;
    double scale;
    std::string how;
    bool apart;                                 // [batch, rows, heads, width]
    std::vector<std::pair<Val, bool>> factors;  // of q; by division?
    Val filled;                                 // the rows that are masked throughout
  };

  void op(const Node& n) override {
    if (const auto it = gradients_.find(n.id); it != gradients_.end()) emit_gradient(it->second);
    if (!map_[n.id]) map_[n.id] = attention(n);
    if (!map_[n.id]) map_[n.id] = copy(n);
  }

  const Node& from(uint32_t id) const { return from_.node(id); }
  static bool is(const Node& n, Role role) { return n.kind == Node::kOp && n.op->role == role; }
  // A number that stands in the program, alone or all over a tensor.
  std::optional<double> number(uint32_t id) const {
    while (is(from(id), Role::kBroadcast) || is(from(id), Role::kReshape)) id = from(id).in[0];
    return number_of(from(id));
  }
  static std::optional<double> number_of(const Node& n) {
    if (n.kind != Node::kConst || n.size) return std::nullopt;
    const auto half = static_cast<uint16_t>(n.bits);
    const auto word = static_cast<uint32_t>(n.bits);
    float f;
    double d;
    switch (n.type.dtype) {
      case DType::F16: return half_to_float(half);
      case DType::BF16: return bf16_to_float(half);
      case DType::F32: std::memcpy(&f, &word, sizeof f); return f;
      case DType::F64: std::memcpy(&d, &n.bits, sizeof d); return d;
      default: return std::nullopt;
    }
  }
  static bool served_type(DType t) { return is_half(t) || t == DType::F32; }
  static Val swapped(Val x) {
    Dims axes;
    const int rank = x.shape().rank();
    for (int k = 0; k < rank; ++k) axes.push_back(k < rank - 2 ? k : 2 * rank - 3 - k);
    return v_transpose(x, axes);
  }
  static Shape batch(const Shape& s) { return Shape(std::span(s.begin(), s.rank() - 2)); }

  int uses(uint32_t id) const { return static_cast<int>(readers_[id].size()); }
  // The one node that reads a value, once; null: none, more, or an output.
  const Node* reader(uint32_t id) const {
    return uses(id) == 1 && readers_[id][0] != kNoNode ? &from(readers_[id][0]) : nullptr;
  }
  static bool flag(const Node& n, const char* name) { return OpCtx{*n.op, n.attrs}.flag(name); }
  // Through transposes of the last two axes.
  Matrix matrix(uint32_t id, bool transposed) const {
    for (const Node* n = &from(id); is(*n, Role::kTranspose); n = &from(id)) {
      const Dims& axes = std::get<Dims>(n->attrs[0]);
      const auto rank = static_cast<int64_t>(axes.size());
      for (int64_t k = 0; k < rank; ++k)
        if (axes[k] != (k < rank - 2 ? k : 2 * rank - 3 - k)) return {id, transposed};
      id = n->in[0];
      transposed = !transposed;
    }
    return {id, transposed};
  }
  // Operands of a product, as it multiplies them.
  Matrix left(const Node& product) const { return matrix(product.in[0], flag(product, "trans_a")); }
  Matrix right(const Node& product) const {
    return matrix(product.in[1], flag(product, "trans_b"));
  }
  Val value_of(Matrix m) { return m.transposed ? swapped(value(m.id)) : value(m.id); }

  // From the softmax up to the product; false: not scores, or something else reads them.
  bool walk(uint32_t id, const Shape& shape, Scores* s) const {
    if (!step(id, shape, s)) return false;
    s->path.push_back(id);
    return true;
  }
  bool step(uint32_t id, const Shape& shape, Scores* s) const {
    const Node& n = from(id);
    if (n.kind != Node::kOp || uses(id) != 1 || !(n.type.shape == shape)) return false;
    const Role role = n.op->role;
    if (role == Role::kMatmul) {
      s->product = &n;
      return served_type(n.type.dtype);
    }
    if (role == Role::kCast) return is_float(n.type.dtype) && walk(n.in[0], shape, s);
    const bool product = role == Role::kMul, quotient = role == Role::kDiv,
               sum = role == Role::kAdd;
    const Scores before = *s;
    auto again = [&](uint32_t next) { return *s = before, walk(next, shape, s); };
    if (role == Role::kSelect) {
      constexpr double kVeryLow = -1e4;  // exponentials of it are 0
      for (int k = 1; k < 3; ++k) {
        const auto fill = number(n.in[k]);
        if (!fill || !(*fill <= kVeryLow) || from(n.in[0]).type.shape.rank() == 0 ||
            !again(n.in[3 - k]))
          continue;
        s->masks.push_back({n.in[0], n.type.dtype, fill, k == 1});
        return true;
      }
      return false;
    }
    for (int k = 0; k < 2 && (product || sum || (quotient && k == 0)); ++k) {
      const uint32_t other = n.in[1 - k];
      const Type& t = from(other).type;
      if (sum && t.shape.rank() > 0 && is_float(t.dtype) && size_of(t.dtype) <= 4 &&
          again(n.in[k])) {
        s->masks.push_back({other, n.type.dtype, std::nullopt});
        return true;
      }
      if (sum || t.shape.numel() != 1 || !again(n.in[k]) || !s->masks.empty()) continue;
      if (const auto c = number(other))
        s->scale = quotient ? s->scale / *c : s->scale * *c;
      else
        s->factors.push_back({other, quotient});
      return true;
    }
    return false;
  }

  // The products and the softmax as one node, and its gradient as another where something reads
  // the weights to differentiate. Empty: it is none, or no kernel takes it.
  Val attention(const Node& n) {
    const int rank = n.type.shape.rank();
    if (!is(n, Role::kMatmul) || !served_type(n.type.dtype) || flag(n, "trans_a") || rank < 3 ||
        rank > 4)
      return {};
    uint32_t id = n.in[0];
    while (is(from(id), Role::kCast) && is_float(from(id).type.dtype)) id = from(id).in[0];
    const Node& softmax = from(id);
    if (!is(softmax, Role::kSoftmax)) return {};
    const int64_t axis = OpCtx{*softmax.op, softmax.attrs}.i("axis");
    Scores s;
    if ((axis != -1 && axis != rank - 1) || softmax.type.shape.rank() != rank ||
        !walk(softmax.in[0], softmax.type.shape, &s))
      return {};
    Attention a;
    if (!read_to_differentiate(n, softmax, s, &a.gradient)) return {};
    const Node& product = *s.product;
    const DType t = n.type.dtype;
    to_->current_loc = n.loc;
    Val q = value(product.in[0]), k = value(product.in[1]), v = value(n.in[1]);
    if (q.dtype() != t || k.dtype() != t || v.dtype() != t) return {};
    for (Val x : {q, k, v})
      if (x.shape().rank() != rank || !(batch(x.shape()) == batch(n.type.shape))) return {};
    if (flag(product, "trans_a")) q = swapped(q);
    if (!flag(product, "trans_b")) k = swapped(k);
    if (flag(n, "trans_b")) v = swapped(v);
    for (auto [factor, divides] : s.factors) {
      a.factors.push_back({v_cast(v_reshape(value(factor), Shape{}), DType::F32), divides});
      q = scaled(q, a.factors.back());
    }
    a.in = {q, k, v};
    a.scale = s.scale;
    for (auto& m : s.masks) {
      Val x = value(m.operand);
      if (x.shape().rank() > rank) return {};
      if (m.fill) {
        const Val low = to_->constant(m.scores, *m.fill);
        const Val high = to_->constant(m.scores, std::numeric_limits<double>::infinity());
        if (std::isfinite(*number_of(to_->node(low.id)))) add_filled(m.where ? x : not_(x), &a);
        x = v_select(x, m.where ? low : high, m.where ? high : low);
      }
      a.how += m.fill ? 'm' : 'a';
      a.in.push_back(x);
    }
    const bool differentiated = static_cast<bool>(a.gradient.ct);
    // Rows whose weights are all alike by finite fills pass nothing on to q and k. (Without a
    // fill in the way, a kernel of halves does not know.)
    if (!is_half(t)) a.filled = {};
    if (differentiated && a.filled) a.in[0] = without_filled(a.in[0], a);
    if (!settled(&a)) return {};
    if (differentiated) {
      attentions_.push_back(a);
      const Gradient& g = a.gradient;
      for (uint32_t of : {g.dq.id, g.dk.id, g.dv.id, g.bias})
        if (of != kNoNode) gradients_[of] = attentions_.size() - 1;
    }
    return turned(a.out, a.apart);
  }
  // Finds a kernel; what it refuses is read by nothing, and goes with the next pass. Where q, k and
  // v have heads and rows exchanged, one that reads them as they were first.
  bool settled(Attention* a) {
    std::vector<Val> apart = a->in;
    for (int k = 0; k < 3; ++k) {
      const Node& n = to_->node(a->in[k].id);
      if (!is(n, Role::kTranspose) || std::get<Dims>(n.attrs[0]) != exchanged()) {
        apart.clear();
        break;
      }
      apart[k] = Val{to_.get(), n.in[0]};
    }
    const std::vector<Val> plain = a->in;
    for (bool is_apart : {true, false}) {
      if (is_apart && apart.empty()) continue;
      a->apart = is_apart;
      a->in = is_apart ? apart : plain;
      const bool differentiated = static_cast<bool>(a->gradient.ct);
      a->out = to_->Builder::op(OpTable::get().at("attention"), a->in,
                                {a->scale, a->how, differentiated, is_apart});
      if (served_(*to_, to_->node(a->out.id)) && (!differentiated || gradient_served(*a)))
        return true;
    }
    return false;
  }
  static Dims exchanged() { return {0, 2, 1, 3}; }
  static Val turned(Val x, bool apart) { return apart ? v_transpose(x, exchanged()) : x; }

  static Val scaled(Val x, std::pair<Val, bool> factor) {
    const Val wide = v_cast(x, DType::F32);
    return v_cast(factor.second ? wide / factor.first : wide * factor.first, x.dtype());
  }
  static Val not_(Val x) { return v_op("logical_not", x); }
  static void add_filled(Val where, Attention* a) {
    a->filled = a->filled ? v_op("logical_or", a->filled, where) : where;
  }
  static Val without_filled(Val x, const Attention& a) {
    const Dim last = a.filled.shape().rank() - 1;
    const Val rows = x.b->op("reduce_all", {a.filled}, {Dims{last}, true});
    return v_select(rows, v_const(x, 0), x);
  }

  // Who reads the weights? False: something else than the product `n` and the gradients of both
  // products and of the softmax. `g` stays empty where none of these does.
  bool read_to_differentiate(const Node& n, const Node& softmax, const Scores& s,
                             Gradient* g) const {
    // Weights are the softmax and its casts.
    std::vector<uint32_t> weights{softmax.id}, factors;
    const Node* dv = nullptr;
    auto is_weights = [&](uint32_t id) {
      return std::find(weights.begin(), weights.end(), id) != weights.end();
    };
    for (size_t i = 0; i < weights.size(); ++i)
      for (uint32_t r : readers_[weights[i]]) {
        if (r == kNoNode) return false;
        const Node& user = from(r);
        if (is(user, Role::kCast) && is_float(user.type.dtype)) {
          weights.push_back(r);
        } else if (is(user, Role::kMul)) {
          factors.push_back(r);
        } else if (is(user, Role::kMatmul)) {
          if (is_weights(user.in[0]) && is_weights(user.in[1])) return false;
          if (r == n.id) continue;
          if (dv) return false;
          dv = &user;
        } else {
          return false;
        }
      }
    if (is_weights(n.in[1])) return false;
    if (dv) {  // dv = weights^T ct, or its transpose
      const bool first = is_weights(dv->in[0]);
      if (first != flag(*dv, first ? "trans_a" : "trans_b")) return false;
      g->dv = {dv->id, !first};
      g->ct = first ? right(*dv) : left(*dv).t();
    }
    return factors.empty() || scores_differentiate(n, s, weights, factors, g);
  }
  // The cotangent of the weights, ct v^T, goes through the softmax and the steps between it and
  // the product q k^T, whose gradient follows.
  bool scores_differentiate(const Node& n, const Scores& s, const std::vector<uint32_t>& weights,
                            const std::vector<uint32_t>& factors, Gradient* g) const {
    // d = weights * c - weights * sum(weights * c)
    if (factors.size() != 2) return false;
    auto other = [&](const Node& factor) {
      for (int k = 0; k < 2; ++k)
        if (std::find(weights.begin(), weights.end(), factor.in[k]) != weights.end())
          return factor.in[1 - k];
      return kNoNode;
    };
    const Node *first = &from(factors[0]), *second = &from(factors[1]);
    if (is(from(other(*first)), Role::kReduceSum)) std::swap(first, second);
    const uint32_t total = other(*second);
    const Node& sum = from(total);
    const int64_t last = s.product->type.shape.rank() - 1;
    if (!is(sum, Role::kReduceSum) || sum.in[0] != first->id || reader(total) != second ||
        uses(first->id) != 2)
      return false;
    const OpCtx c{*sum.op, sum.attrs};
    const Node* d = reader(second->id);
    if (normalize_axes(sum.op->name, c.ints("axis"), static_cast<int>(last) + 1) !=
            std::vector<int64_t>{last} ||
        !c.flag("keepdims") || !d || !is(*d, Role::kSub) || d->in[0] != first->id)
      return false;
    uint32_t id = other(*first);
    while (is(from(id), Role::kCast) && is_float(from(id).type.dtype) && reader(id))
      id = from(id).in[0];
    const Node& dp = from(id);
    if (!is(dp, Role::kMatmul) || !reader(id)) return false;
    const Matrix ct = left(dp);
    if (right(dp) != right(n).t() || (g->ct && g->ct != ct)) return false;
    g->ct = ct;
    // ... from what the softmax reads to the product
    const Node* at = d;
    auto follow = [&](auto is_next) {
      const Node* next = nullptr;
      for (uint32_t r : readers_[at->id]) {
        if (r == g->bias && r != kNoNode) continue;
        if (next || r == kNoNode || !is_next(from(r))) return false;
        next = &from(r);
      }
      if (next) at = next;
      return next != nullptr;
    };
    auto cast_to = [&](DType t) {
      return at->type.dtype == t ||
             follow([&](const Node& x) { return is(x, Role::kCast) && x.type.dtype == t; });
    };
    for (size_t k = s.path.size(); k-- > 0;) {
      const Node& step = from(s.path[k]);
      if (!cast_to(step.type.dtype)) return false;
      if (is(step, Role::kAdd)) {
        for (uint32_t r : readers_[at->id])
          if (r != kNoNode && sums_to_bias(from(r), s)) g->bias = r;
        const Node* only = reader(at->id);
        if (only && only->id == g->bias) return true;
      }
      if (k == 0 || is(step, Role::kCast) || is(step, Role::kAdd)) continue;
      const uint32_t before = s.path[k - 1];
      const bool passed = follow([&](const Node& x) {
        if (x.op != step.op) return false;
        if (is(x, Role::kSelect))
          return x.in[0] == step.in[0] &&
                 (step.in[1] == before ? x.in[1] == at->id && number(x.in[2]) == 0
                                       : x.in[2] == at->id && number(x.in[1]) == 0);
        const uint32_t factor = step.in[step.in[0] == before];
        return (x.in[0] == at->id && x.in[1] == factor) ||
               (is(x, Role::kMul) && x.in[1] == at->id && x.in[0] == factor);
      });
      if (!passed) return false;
    }
    // dq = d k, dk = d^T q, or their transposes
    const Matrix q = left(*s.product), k = right(*s.product).t();
    for (uint32_t r : readers_[at->id]) {
      if (r != kNoNode && r == g->bias) continue;
      if (r == kNoNode || !is(from(r), Role::kMatmul)) return false;
      const Node& x = from(r);
      const bool leads = x.in[0] == at->id;
      if (x.in[0] == x.in[1]) return false;
      const bool of_q = leads != flag(x, leads ? "trans_a" : "trans_b");
      const Matrix with = leads ? right(x) : left(x).t();
      Matrix& found = of_q ? g->dq : g->dk;
      if (found || with != (of_q ? k : q)) return false;
      found = {r, !leads};
    }
    return true;
  }

  // Is it what an added mask receives? A kernel gives that of a single one behind all others, which
  // is as large as the scores but for the batch and the heads.
  bool sums_to_bias(const Node& sum, const Scores& s) const {
    const auto adds =
        std::count_if(s.masks.begin(), s.masks.end(), [](auto& m) { return !m.fill; });
    if (!is(sum, Role::kReduceSum) || adds != 1 || s.masks.back().fill) return false;
    const Type &bias = from(s.masks.back().operand).type, &scores = s.product->type;
    const int rank = scores.shape.rank(), lead = rank - bias.shape.rank();
    if (bias.dtype != scores.dtype || sum.type.dtype != scores.dtype || lead < 0) return false;
    const auto axes = normalize_axes(sum.op->name, OpCtx{*sum.op, sum.attrs}.ints("axis"), rank);
    for (int k = 0; k < rank; ++k) {
      const bool summed = std::find(axes.begin(), axes.end(), k) != axes.end();
      const bool whole = k >= lead && bias.shape[k - lead] == scores.shape[k];
      if (summed ? k >= rank - 2 || (whole && scores.shape[k] != 1)
                 : !whole && scores.shape[k] != 1)
        return false;
    }
    return true;
  }

  // Is there a kernel for the gradient? Asked before the forward half is settled: on its types.
  bool gradient_served(const Attention& a) const {
    Graph g;
    auto like = [&](Val v) { return g.add_input(v.type()); };
    std::vector<Val> in{like(a.in[0]), like(a.in[1]), like(a.in[2]), like(a.out)};
    in.push_back(g.add_input(statistics_of(a.out.type())));
    in.push_back(like(a.out));
    for (size_t k = 3; k < a.in.size(); ++k) in.push_back(like(a.in[k]));
    const Val made = g.op(gradient_op(), in, {a.scale, a.how, a.gradient.bias != kNoNode, a.apart});
    return served_(g, g.node(made.id));
  }
  static const OpDef& gradient_op() { return OpTable::get().at("attention_gradient"); }
  static Type statistics_of(Type out) {
    out.shape[out.shape.rank() - 1] = out.dtype == DType::F32 ? 2 : 1;
    out.dtype = DType::F32;
    return out;
  }
  Val output(Val of, int64_t index, const Type& t) {
    return to_->Builder::op("output", {of}, {index, t.dtype, t.shape.dims()});
  }
  // In place of what comes first of dq, dk, dv and the bias's.
  void emit_gradient(size_t index) {
    const Attention& a = attentions_[index];
    const Gradient& g = a.gradient;
    std::vector<Val> in(a.in.begin(), a.in.begin() + 3);
    in.push_back(a.out);
    in.push_back(output(a.out, 1, statistics_of(a.out.type())));
    in.push_back(turned(value_of(g.ct), a.apart));
    in.insert(in.end(), a.in.begin() + 3, a.in.end());
    const Val made =
        to_->Builder::op(gradient_op(), in, {a.scale, a.how, g.bias != kNoNode, a.apart});
    auto put = [&](Matrix m, Val x) { map_[m.id] = m.transposed ? swapped(x) : x; };
    if (g.dq) {
      Val dq = turned(made, a.apart);
      if (a.filled) dq = without_filled(dq, a);
      for (auto factor : a.factors) dq = scaled(dq, factor);
      put(g.dq, dq);
    }
    if (g.dk) put(g.dk, turned(output(made, 1, a.in[1].type()), a.apart));
    if (g.dv) put(g.dv, turned(output(made, 2, a.in[2].type()), a.apart));
    if (g.bias != kNoNode)
      map_[g.bias] = v_reshape(output(made, 3, a.in.back().type()), from(g.bias).type.shape);
    for (uint32_t id : {g.dq.id, g.dk.id, g.dv.id, g.bias}) gradients_.erase(id);
  }

  const Served& served_;
  std::vector<std::vector<uint32_t>> readers_;  // kNoNode: an output
  std::vector<Attention> attentions_;           // that are differentiated
  std::map<uint32_t, size_t> gradients_;        // of which: by the old nodes of dq, dk, dv, bias
};

}  // namespace

std::unique_ptr<Graph> find_attention(const Graph& g, const Served& served) {
  return Finder(g, served).run();
}

}  // namespace pijit
