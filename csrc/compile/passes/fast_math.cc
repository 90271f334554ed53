#include "compile/passes/fast_math.h"

#include <bit>
#include <map>
#include <optional>

#include "compile/pipeline.h"
#include "graph/rewriter.h"
#include "graph/vals.h"

namespace pijit {
namespace {

// x * relu6(x + 3) / 6 as one op.
class HardSwish : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  void op(const Node& n) override {
    const uint32_t x = operand_of(n);
    map_[n.id] = x == kNoNode ? copy(n) : to_->op("hardswish", {value(x)});
  }
  bool is_number(uint32_t id, float value) const {
    const Node& n = from_.node(id);
    return n.kind == Node::kConst && n.type.dtype == DType::F32 && !n.size &&
           n.bits == std::bit_cast<uint32_t>(value);
  }
  // The one operand of an op with that role that is not this number.
  uint32_t beside(const Node& n, Role role, float number) const {
    if (n.kind != Node::kOp || n.op->role != role || n.in.size() != 2) return kNoNode;
    if (is_number(n.in[1], number)) return n.in[0];
    return role == Role::kAdd && is_number(n.in[0], number) ? n.in[1] : kNoNode;
  }
  uint32_t operand_of(const Node& n) const {
    const uint32_t product = beside(n, Role::kDiv, 6);
    if (product == kNoNode || n.type.dtype != DType::F32) return kNoNode;
    const Node& m = from_.node(product);
    if (m.kind != Node::kOp || m.op->role != Role::kMul) return kNoNode;
    for (const int k : {0, 1}) {
      const Node& bounded = from_.node(m.in[1 - k]);
      if (bounded.kind != Node::kOp || bounded.op != &OpTable::get().at("relu6")) continue;
      const uint32_t x = beside(from_.node(bounded.in[0]), Role::kAdd, 3);
      if (x == m.in[k] && from_.node(x).type == n.type) return x;
    }
    return kNoNode;
  }
};

class Relaxation : public Rewriter {
 public:
  Relaxation(const Graph& g, int64_t block) : Rewriter(g), block_(block), uses_(g.size()) {
    for (uint32_t i = 0; i < g.size(); ++i)
      if (live_[i])
        for (auto s : g.node(i).in)
          if (s != kNoNode) ++uses_[s];
    for (auto& o : g.outputs) uses_[o.node] += 2;  // is to be seen as it is
  }

 private:
  // A convolution or product that may still take in what follows it.
  struct Pending {
    const Node* node;
    Val x, w, b, residual;
    std::string activation;
    int channel_axis;
    bool convolution() const { return node->op->role == Role::kConv; }
  };

  Val value(uint32_t id) override {
    if (!map_[id]) {
      auto it = pending_.find(id);
      PIJIT_CHECK(it != pending_.end(), "value %", id, " is missing");
      map_[id] = emit(it->second);
      pending_.erase(it);
    }
    return map_[id];
  }
  Val emit(const Pending& p) {
    to_->current_loc = p.node->loc;
    std::vector<Val> in{p.x, p.w, p.b};
    Attrs attrs = p.node->attrs;
    if (!p.residual && p.activation.empty()) return to_->Builder::op(*p.node->op, in, attrs);
    in.push_back(p.residual);
    attrs.emplace_back(p.activation);
    return to_->Builder::op(*p.node->op->post, in, attrs);
  }

  void op(const Node& n) override {
    if (n.op->post && n.type.dtype == DType::F32) {
      Pending p{&n, value(n.in[0]), value(n.in[1]), {}, {}, "", 1};
      if (n.in[2] != kNoNode) p.b = value(n.in[2]);
      if (!p.convolution()) p.channel_axis = n.type.shape.rank() - 1;
      pending_.emplace(n.id, p);
      return;
    }
    if (!take_in(n)) map_[n.id] = copy(n);
  }

  // Makes n part of the convolution or product that it reads, if it can be.
  bool take_in(const Node& n) {
    const Role role = n.op->role;
    const bool sum = role == Role::kAdd, product = role == Role::kMul;
    for (size_t k = 0; k < n.in.size() && k < 2; ++k) {
      auto it = pending_.find(n.in[k]);
      if (it == pending_.end() || uses_[n.in[k]] != 1 || !it->second.activation.empty() ||
          !(n.type == from_.node(n.in[k]).type))
        continue;
      Pending p = it->second;
      if (n.in.size() == 1) {
        const bool bounded = role == Role::kBounded && block_ && it->second.convolution();
        if (role != Role::kActivation && !bounded) return false;
        p.activation = n.op->name;
      } else if (n.in.size() == 2 &&
                 (sum || product || (k == 0 && (role == Role::kSub || role == Role::kDiv)))) {
        const uint32_t other = n.in[1 - k];
        if (const auto c = per_channel(other, p)) {
          if (p.residual) continue;
          fold(*n.op, *c, &p);
        } else if (sum && !p.residual && p.convolution() && other != n.in[k] &&
                   from_.node(other).type == n.type && takes_residual(p)) {
          p.residual = value(other);
        } else {
          continue;
        }
      } else {
        return false;
      }
      pending_.erase(n.in[k]);
      pending_.emplace(n.id, p);
      return true;
    }
    return false;
  }

  // Others would bring the residual into blocks first.
  bool takes_residual(const Pending& p) const {
    const Shape& w = p.node->type.shape.rank() == 4 ? p.w.shape() : Shape{};
    return block_ && (p.node->type.shape[1] % block_ == 0 || w[2] * w[3] == 1);
  }
  // The operand as [channels], where it differs from channel to channel alone.
  std::optional<Val> per_channel(uint32_t id, const Pending& p) {
    if (pending_.count(id)) return std::nullopt;
    const Shape& s = from_.node(id).type.shape;
    if (from_.node(id).type.dtype != DType::F32) return std::nullopt;
    const int64_t channels = p.node->type.shape[p.channel_axis];
    const int at = p.channel_axis - (p.node->type.shape.rank() - s.rank());
    if (s.numel() == 1 && s.rank() <= p.node->type.shape.rank())
      return v_broadcast(v_reshape(value(id), Shape{1}), Shape{channels});
    if (at < 0 || s.numel() != channels || s[at] != channels) return std::nullopt;
    return v_reshape(value(id), Shape{channels});
  }
  void fold(const OpDef& op, Val c, Pending* p) {
    auto folded = [&](Val x, Val with) { return x.b->op(op, {x, with}, {}); };
    if (op.role == Role::kMul || op.role == Role::kDiv) {
      Shape s{c.shape()[0]};
      while (s.rank() < p->w.shape().rank()) s.push_back(1);
      p->w = folded(p->w, v_reshape(c, s));
      if (p->b) p->b = folded(p->b, c);
    } else if (p->b) {
      p->b = folded(p->b, c);
    } else {
      p->b = op.role == Role::kAdd ? c : -c;
    }
  }

  const int64_t block_;
  std::vector<int> uses_;
  std::map<uint32_t, Pending> pending_;
};

}  // namespace

bool may_be_taken_in(const Node& n) { return n.op->role == Role::kNormalize; }

std::unique_ptr<Graph> unfuse_activations(const Graph& g, const KernelRegistry& kernels) {
  const OpDef &plain = OpTable::get().at("conv2d"), &post = *plain.post;
  bool changes = false;
  auto made = rewrite(g, [&](Graph& to, const Node& n, std::span<const Val> in) -> Val {
    const OpDef* alone = n.op == &post ? &plain : n.op == post.blocked ? plain.blocked : nullptr;
    if (!alone) return copy_node(to, n, in);
    size_t at = 0;
    while (n.op->attrs[at].name != std::string_view("activation")) ++at;
    const auto& activation = std::get<std::string>(n.attrs[at]);
    Attrs attrs = n.attrs;
    attrs.erase(attrs.begin() + static_cast<std::ptrdiff_t>(at));
    const KernelRequest fused = request_of(g, n, true);
    KernelRequest r{*alone, attrs, fused.in, fused.present, n.type, true};
    r.in.pop_back();  // the residual
    r.present.pop_back();
    if (kernels.choice(r) == kernels.choice(fused)) return copy_node(to, n, in);
    changes = true;
    Val y = to.Builder::op(*alone, in.first(3), attrs);
    if (in[3]) y = to.op("add", {y, in[3]});
    return activation.empty() ? y : to.op(activation.c_str(), {y});
  });
  return changes ? std::move(made) : nullptr;
}

std::unique_ptr<Graph> fast_functions(const Graph& g) {
  bool changes = false;
  auto made = rewrite(g, [&](Graph& to, const Node& n, std::span<const Val> in) -> Val {
    if (!n.op->fast || n.type.dtype != DType::F32) return copy_node(to, n, in);
    changes = true;
    return to.Builder::op(*n.op->fast, in, n.attrs);
  });
  return changes ? std::move(made) : nullptr;
}

std::unique_ptr<Graph> fast_math(const Graph& g, int64_t channel_block) {
  return Relaxation(*HardSwish(g).run(), channel_block).run();
}

}  // namespace pijit
