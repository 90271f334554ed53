#include "compile/passes/layout.h"

#include <algorithm>
#include <functional>
#include <map>

#include "graph/rewriter.h"
#include "graph/vals.h"
#include "runtime/kernel.h"
#include "runtime/loop_spec.h"

namespace pijit {
namespace {

// map_ holds values in the plain layout.
class Layouts : public Rewriter {
 public:
  Layouts(const Graph& g, int64_t block, const KernelRegistry& kernels, bool fast)
      : Rewriter(g),
        b_(block),
        kernels_(kernels),
        fast_(fast),
        part_(g.size(), kOther),
        chosen_(g.size()),
        blocked_(g.size()),
        mapped_(g.size()) {}

  // Null: nothing to gain.
  std::unique_ptr<Graph> run() {
    int convolutions = 0;
    for (uint32_t i = 0; i < from_.size(); ++i)
      trains_ |= live_[i] && from_.node(i).kind == Node::kOp &&
                 from_.node(i).op->role == Role::kConvWeights;
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (live_[i]) {
        part_[i] = part_of(from_.node(i));
        convolutions += part_[i] == kConv || part_[i] == kDepthwise;
      }
    if (convolutions < 2) return nullptr;
    choose();
    return Rewriter::run();
  }

 private:
  // kDepthwise: a convolution that is as fast in either layout.
  enum Part : uint8_t { kOther, kConv, kDepthwise, kPool, kMap, kSum, kMove };

  const Type& type(uint32_t id) const { return from_.node(id).type; }
  bool has_blocks(const Shape& s) const { return s.rank() == 4 && s[1] % b_ == 0 && s.numel() > 0; }
  Part part_of(const Node& n) const {
    if (n.kind != Node::kOp) return kOther;
    switch (n.op->role) {
      case Role::kConv:
      case Role::kConvInput:
      case Role::kConvWeights:
        if (!is_convolution_in_blocks(n)) return kOther;
        return is_free_of_layouts(n) ? kDepthwise : kConv;
      case Role::kReduceSum:
        return std::get<Dims>(n.attrs[0]) == Dims{2, 3} && sums_in_lanes(type(n.in[0])) ? kSum
                                                                                        : kOther;
      case Role::kPool:
        return has_blocks(n.type.shape) && n.type.dtype == DType::F32 ? kPool : kOther;
      default: break;
    }
    if (!has_blocks(n.type.shape)) return kOther;
    if (moves_blocks(n)) return kMove;
    if (!n.op->has(kElementwise)) return kOther;
    for (auto s : n.in)
      if (s != kNoNode && !full(s, n) && !small(type(s).shape)) return kOther;
    return kMap;
  }
  // Channels joined, or some of them taken, in whole blocks.
  bool moves_blocks(const Node& n) const {
    static const OpDef& concat = OpTable::get().at("concat");
    if (n.type.dtype != DType::F32) return false;
    if (n.op == &concat)
      return normalize_axis(n.op->name, std::get<Dim>(n.attrs[0]), 4) == 1 &&
             std::all_of(n.in.begin(), n.in.end(),
                         [&](uint32_t s) { return has_blocks(type(s).shape); });
    if (n.op->role != Role::kSlice || !has_blocks(type(n.in[0]).shape)) return false;
    const Shape& from = type(n.in[0]).shape;
    const auto &begin = std::get<Dims>(n.attrs[0]), &step = std::get<Dims>(n.attrs[2]);
    for (int d = 0; d < 4; ++d)
      if (step[d] != 1 || (d != 1 && n.type.shape[d] != from[d])) return false;
    return begin[1] % b_ == 0;
  }
  bool is_convolution_in_blocks(const Node& n) const {
    const Role role = n.op->role;
    const Type& y = role == Role::kConv ? n.type : type(n.in[role == Role::kConvWeights]);
    const Type& x = role == Role::kConvInput ? n.type : type(n.in[0]);
    const Dim& groups = std::get<Dim>(n.attrs[n.op->attr_index("group")]);
    const bool whole_groups = groups == 1 || (groups == x.shape[1] && groups == y.shape[1]) ||
                              (x.shape[1] / groups % b_ == 0 && y.shape[1] / groups % b_ == 0);
    // Too few channels for a block, as those of an image, are read where they are.
    const bool fits = has_blocks(x.shape) || (role != Role::kConvInput && x.shape[1] <= 4);
    return y.dtype == DType::F32 && whole_groups && has_blocks(y.shape) && fits &&
           served_in_blocks(n);
  }
  // A convolution with a group per channel, for which there is a kernel of its own in the plain
  // layout; both give the same bits. The gradients of one read its maps in blocks.
  bool is_free_of_layouts(const Node& n) const {
    if (trains_ || n.op->role != Role::kConv) return false;
    const OpDef& plain = OpTable::get().at("conv2d");
    const size_t count = plain.attrs.size(), operands = plain.inputs.size();
    if (std::get<Dim>(n.attrs[plain.attr_index("group")]) != type(n.in[0]).shape[1]) return false;
    const Attrs attrs(n.attrs.begin(), n.attrs.begin() + static_cast<std::ptrdiff_t>(count));
    KernelRequest r{plain, attrs, {}, {}, n.type, fast_};
    for (size_t k = 0; k < operands; ++k) {
      r.present.push_back(n.in[k] != kNoNode);
      r.in.push_back(r.present[k] ? type(n.in[k]) : Type{});
    }
    Attrs blocked;
    return kernels_.choice(r) != kernels_.choice(in_blocks(n, &blocked));
  }
  // Is there a fast kernel? Not for every kernel size, stride and dilation.
  bool served_in_blocks(const Node& n) const {
    Attrs attrs;
    return kernels_.serves(in_blocks(n, &attrs));
  }
  // attrs: those of the request, which refers to them.
  KernelRequest in_blocks(const Node& n, Attrs* attrs) const {
    *attrs = n.attrs;
    attrs->emplace_back(b_);
    KernelRequest r{*n.op->blocked, *attrs, {}, {}, n.type, fast_};
    const bool gradient_of_weights = n.op->role == Role::kConvWeights;
    for (size_t k = 0; k < n.in.size(); ++k) {
      r.present.push_back(n.in[k] != kNoNode);
      r.in.push_back(r.present[k] ? type(n.in[k]) : Type{});
      const bool map = gradient_of_weights || k == 0 || k == 3;
      if (r.present[k] && map && has_blocks(r.in[k].shape))
        r.in[k].shape = in_blocks(r.in[k].shape);
    }
    if (!gradient_of_weights && has_blocks(r.out.shape)) r.out.shape = in_blocks(r.out.shape);
    return r;
  }
  // Maps that are summed over positions. A row's sum has kLanes lanes (runtime/loop_spec.h): a
  // position's place among them must not depend on the layout.
  static constexpr int64_t kLanes = kLaneBytes / 4;
  bool sums_in_lanes(const Type& t) const {
    if (t.dtype != DType::F32 || !has_blocks(t.shape)) return false;
    const int64_t positions = t.shape[2] * t.shape[3];
    return positions % kLanes == 0 &&
           (positions <= kChunk || positions % row_chunk(positions) == 0);
  }
  // An operand read at the output's own index.
  bool full(uint32_t s, const Node& n) const { return type(s).shape == n.type.shape; }
  // One without extent along both channels and positions: it is cheap in either layout.
  static bool small(const Shape& s) {
    const int r = s.rank();  // the axes are C, H, W at the end
    return r < 3 || s[r - 3] == 1 || s[r - 1] * s[r - 2] == 1;
  }

  // Is the layout that of the operands?
  bool follows_operands(uint32_t i) const {
    return part_[i] == kPool || part_[i] == kMove || part_[i] == kDepthwise;
  }
  void choose() {
    std::vector<bool> native(from_.size());  // could come in blocks
    for (uint32_t i = 0; i < from_.size(); ++i) {
      const Node& n = from_.node(i);
      int with = 0, without = 0;
      bool movable = true;
      if (follows_operands(i) || part_[i] == kMap)
        for (size_t k = 0; k < n.in.size(); ++k) {
          const uint32_t s = n.in[k];
          if (s == kNoNode || (part_[i] == kMap && !full(s, n)) ||
              (part_[i] == kDepthwise && (k == 1 || k == 2)))  // weights and a bias
            continue;
          native[s] ? ++with : ++without;
          movable &= native[s] || type(s).dtype == DType::F32;
        }
      // What is made of small operands alone is as cheap in blocks.
      const bool follows = with >= without && movable;
      native[i] = (part_[i] == kConv && n.op->role != Role::kConvWeights) ||
                  (part_[i] == kMap && follows) || (follows_operands(i) && follows && with > 0);
    }
    std::vector<bool> wanted(from_.size());
    for (uint32_t i = static_cast<uint32_t>(from_.size()); i-- > 0;) {
      const Node& n = from_.node(i);
      if (part_[i] == kOther) continue;
      chosen_[i] = part_[i] == kConv ||
                   (native[i] && (part_[i] == kPool || part_[i] == kDepthwise || wanted[i])) ||
                   (part_[i] == kSum && native[n.in[0]]);
      if (!chosen_[i]) continue;
      rows_of_lanes_ |= part_[i] == kSum;
      for (auto s : n.in)
        if (s != kNoNode && type(s).shape.rank() == 4 && (part_[i] != kMap || full(s, n)))
          wanted[s] = true;
    }
  }

  void op(const Node& n) override {
    if (chosen_[n.id])
      compute_blocked(n);
    else
      map_[n.id] = copy(n);
  }
  void compute_blocked(const Node& n) {
    std::vector<Val> in;
    if (part_[n.id] == kMap) {
      for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : operand(s, n));
      Attrs attrs = n.attrs;
      if (n.op->role == Role::kBroadcast) attrs[0] = in_rows(n.type.shape).dims();
      mapped_[n.id] = to_->Builder::op(*n.op, in, attrs);
      return;
    }
    if (part_[n.id] == kSum) {
      const Val x = mapped(n.in[0]);  // [N, C/b, (chunks,) rows, lanes, b]
      const int64_t rows = x.shape().rank() - 3;
      Val y = to_->op("fold_lanes", {v_sum(x, {rows}, false)});
      if (rows == 3) y = v_sum(y, {2}, false);
      map_[n.id] = v_reshape(y, n.type.shape);
      return;
    }
    if (part_[n.id] == kMove) {
      for (auto s : n.in) in.push_back(blocked(s));
      Attrs attrs{int64_t{1}};
      if (n.op->role == Role::kSlice) {
        attrs = n.attrs;
        for (size_t k = 0; k < 3; ++k) {
          auto& of = std::get<Dims>(attrs[k]);
          if (k < 2) of[1] = of[1] / b_;
          of.push_back(k == 1 ? b_ : int64_t{k == 2});
        }
      }
      blocked_[n.id] = to_->Builder::op(*n.op, in, attrs);
      return;
    }
    Attrs attrs = n.attrs;
    attrs.emplace_back(b_);
    const bool gradient_of_weights = n.op->role == Role::kConvWeights;
    for (size_t k = 0; k < n.in.size(); ++k) {
      const bool convolves = part_[n.id] == kConv || part_[n.id] == kDepthwise;
      const bool weights = k == 1 && convolves && !gradient_of_weights;
      if (n.in[k] == kNoNode)
        in.push_back({});
      else
        in.push_back(!weights && has_blocks(type(n.in[k]).shape) ? blocked(n.in[k])
                                                                 : value(n.in[k]));
    }
    const Val v = to_->Builder::op(*n.op->blocked, in, attrs);
    (gradient_of_weights ? map_ : blocked_)[n.id] = v;
  }
  Shape in_blocks(const Shape& s) const { return Shape{s[0], s[1] / b_, s[2], s[3], b_}; }
  // The same elements as elementwise nodes see them: [N, C/b, rows, positions of a row, b].
  Shape in_rows(const Shape& s) const {
    const int64_t positions = s[2] * s[3];
    if (!rows_of_lanes_ || positions % kLanes != 0) return in_blocks(s);
    const int64_t chunk = row_chunk(positions);
    if (positions > kChunk && positions % chunk == 0)
      return Shape{s[0], s[1] / b_, positions / chunk, chunk / kLanes, kLanes, b_};
    return Shape{s[0], s[1] / b_, positions / kLanes, kLanes, b_};
  }

  // An operand of an elementwise node in blocks.
  Val operand(uint32_t s, const Node& n) {
    if (full(s, n)) return mapped(s);
    const Val x = value(s);
    if (x.shape().numel() == 1) return x;
    Shape t = x.shape();
    while (t.rank() < 4) t.insert(0, 1);
    const Shape whole = in_rows(n.type.shape);
    if (t[1] == 1) {
      if (t[2] * t[3] == 1 || whole == in_blocks(n.type.shape)) {
        while (t.rank() < whole.rank()) t.push_back(1);
        return v_reshape(x, t);
      }
      // By position: in full, as rows need not be those of the map.
      const Shape full{t[0], 1, n.type.shape[2], n.type.shape[3]};
      Shape rows = in_rows(Shape{t[0], b_, full[2], full[3]});
      rows[rows.rank() - 1] = 1;
      return v_reshape(v_broadcast(v_reshape(x, t), full), rows);
    }
    // Per channel: repeated along a row, so that inner loops run over rows and not over one block.
    Shape row{t[0], t[1] / b_};
    while (row.rank() < whole.rank() - 1) row.push_back(1);
    row.push_back(b_);
    const Val y = v_reshape(x, row);
    row[row.rank() - 2] = whole[whole.rank() - 2];
    return v_broadcast(y, row);
  }
  Val blocked(uint32_t id) {
    if (!blocked_[id])
      blocked_[id] = mapped_[id] ? v_reshape(mapped_[id], in_blocks(type(id).shape))
                                 : to_->op("block_channels", {value(id)}, {b_});
    return blocked_[id];
  }
  Val mapped(uint32_t id) {
    if (!mapped_[id]) mapped_[id] = v_reshape(blocked(id), in_rows(type(id).shape));
    return mapped_[id];
  }
  Val value(uint32_t id) override {
    if (!map_[id]) {
      // Reorders move float32 only; other dtypes come from maps, whose operands lead back to it.
      if (at_hand(id) || type(id).dtype != DType::F32)
        map_[id] = copy(from_.node(id));
      else
        map_[id] = to_->op("unblock_channels", {blocked(id)});
    }
    return map_[id];
  }
  // Can it be computed anew, within the kernel that reads it, from what is there in the plain
  // layout?
  bool at_hand(uint32_t id) const {
    std::map<uint32_t, bool> known;
    std::function<bool(uint32_t)> ask = [&](uint32_t i) {
      if (i == kNoNode || map_[i]) return true;
      if (part_[i] != kMap) return false;
      const auto [it, fresh] = known.try_emplace(i, true);
      if (fresh) {
        const auto& in = from_.node(i).in;
        it->second = std::all_of(in.begin(), in.end(), ask);
      }
      return it->second;
    };
    return ask(id);
  }

  const int64_t b_;
  const KernelRegistry& kernels_;
  const bool fast_;  // numerics
  std::vector<Part> part_;
  std::vector<bool> chosen_;           // computed in blocks
  bool rows_of_lanes_ = false;         // there are sums over positions
  bool trains_ = false;                // there are gradients of weights
  std::vector<Val> blocked_, mapped_;  // made so far
};

}  // namespace

std::unique_ptr<Graph> assign_layouts(const Graph& g, int64_t block, const KernelRegistry& kernels,
                                      bool fast) {
  return Layouts(g, block, kernels, fast).run();
}

}  // namespace pijit
