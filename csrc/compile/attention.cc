#include "compile/attention.h"

#include <limits>
#include <optional>

#include "graph/passes/rewriter.h"
#include "graph/vals.h"

namespace pijit {
namespace {

class Finder : public Rewriter {
 public:
  Finder(const Graph& g, const Served& served) : Rewriter(g), served_(served), uses_(g.size()) {
    for (uint32_t i = 0; i < g.size(); ++i)
      if (live_[i])
        for (auto s : g.node(i).in)
          if (s != kNoNode) ++uses_[s];
    for (auto& o : g.outputs) uses_[o.node] += 2;
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
  };

  void op(const Node& n) override {
    const Val found = attention(n);
    // What a kernel refuses is read by nothing, and goes with the next pass.
    const bool taken = found && served_(*to_, to_->node(found.id));
    map_[n.id] = taken ? found : copy(n);
  }

  const Node& from(uint32_t id) const { return from_.node(id); }
  static bool is(const Node& n, const char* name) {
    return n.kind == Node::kOp && n.op->name == name;
  }
  // A number that stands in the program, alone or all over a tensor.
  std::optional<double> number(uint32_t id) const {
    while (is(from(id), "broadcast_to") || is(from(id), "reshape")) id = from(id).in[0];
    const Node& n = from(id);
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
  static Val swapped(Val x) {
    Dims axes;
    const int rank = x.shape().rank();
    for (int k = 0; k < rank; ++k) axes.push_back(k < rank - 2 ? k : 2 * rank - 3 - k);
    return v_transpose(x, axes);
  }
  static Shape batch(const Shape& s) { return Shape(std::span(s.begin(), s.rank() - 2)); }

  // From the softmax up to the product; false: not scores, or something else reads them.
  bool walk(uint32_t id, const Shape& shape, Scores* s) const {
    const Node& n = from(id);
    if (n.kind != Node::kOp || uses_[id] != 1 || !(n.type.shape == shape)) return false;
    const std::string& name = n.op->name;
    if (name == "matmul") {
      s->product = &n;
      return is_half(n.type.dtype);
    }
    if (name == "cast") return is_float(n.type.dtype) && walk(n.in[0], shape, s);
    const bool product = name == "mul", quotient = name == "div", sum = name == "add";
    const Scores before = *s;
    auto again = [&](uint32_t next) { return *s = before, walk(next, shape, s); };
    if (name == "select") {
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

  Val attention(const Node& n) {
    const int rank = n.type.shape.rank();
    if (!is(n, "matmul") || !is_half(n.type.dtype) || OpCtx{*n.op, n.attrs}.flag("trans_a") ||
        rank < 3 || rank > 4)
      return {};
    uint32_t id = n.in[0];
    while (is(from(id), "cast") && uses_[id] == 1 && is_float(from(id).type.dtype))
      id = from(id).in[0];
    const Node& softmax = from(id);
    if (!is(softmax, "softmax") || uses_[id] != 1) return {};
    const int64_t axis = OpCtx{*softmax.op, softmax.attrs}.i("axis");
    Scores s;
    if ((axis != -1 && axis != rank - 1) || softmax.type.shape.rank() != rank ||
        !walk(softmax.in[0], softmax.type.shape, &s))
      return {};
    const OpCtx c{*s.product->op, s.product->attrs};
    Val q = value(s.product->in[0]), k = value(s.product->in[1]), v = value(n.in[1]);
    const DType t = n.type.dtype;
    if (q.dtype() != t || k.dtype() != t || v.dtype() != t) return {};
    for (Val x : {q, k, v})
      if (x.shape().rank() != rank || !(batch(x.shape()) == batch(n.type.shape))) return {};
    to_->current_loc = n.loc;
    if (c.flag("trans_a")) q = swapped(q);
    if (!c.flag("trans_b")) k = swapped(k);
    if (OpCtx{*n.op, n.attrs}.flag("trans_b")) v = swapped(v);
    for (auto [factor, divides] : s.factors) {
      const Val f = v_cast(v_reshape(value(factor), Shape{}), DType::F32);
      const Val wide = v_cast(q, DType::F32);
      q = v_cast(divides ? wide / f : wide * f, t);
    }
    std::vector<Val> in{q, k, v};
    std::string how;
    for (auto& m : s.masks) {
      Val x = value(m.operand);
      if (m.fill) {
        const Val low = to_->constant(m.scores, *m.fill);
        const Val high = to_->constant(m.scores, std::numeric_limits<double>::infinity());
        x = v_select(x, m.where ? low : high, m.where ? high : low);
      }
      if (x.shape().rank() > rank) return {};
      how += m.fill ? 'm' : 'a';
      in.push_back(x);
    }
    return to_->Builder::op(OpTable::get().at("attention"), in, {s.scale, how});
  }

  const Served& served_;
  std::vector<int> uses_;
};

}  // namespace

std::unique_ptr<Graph> find_attention(const Graph& g, const Served& served) {
  return Finder(g, served).run();
}

}  // namespace pijit
