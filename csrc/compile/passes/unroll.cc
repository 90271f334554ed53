// Broadcasts along a short last axis, as the coordinates of points: [i, j, 3] computed from small
// operands, then summed over the last axis (squared distances) or the one before (forces). Each
// component becomes a value of its own, of shape [i, j], so that vectors are full, nothing of three
// dimensions is stored, and distances, weights and sums share one loop.
//
// Bits stay: a sum over the short axis is written as the tree that rows have (runtime/loop_spec.h),
// and a sum over the axis before it, which takes rows in order, as a sum over columns of [j, i].
#include <algorithm>
#include <map>
#include <set>

#include "graph/rewriter.h"
#include "graph/vals.h"

namespace pijit {
namespace {

constexpr int64_t kLongest = 8;  // no longer than lanes are many: one value per lane of the tree
constexpr int64_t kLeastUnrolled =
    1 << 13;  // elements; below, kernels for slices cost more than they save
constexpr int64_t kFewestLanes = 16;  // elements along the axis that becomes the inner one
constexpr size_t kMostNodes = 44;     // that share a loop, see fusion.cc
constexpr size_t kMostShared = 6;     // instructions that may be computed a second time

// Values of a region stand for parts of the domain [..., i, j, k].
enum Part : uint8_t {
  kComponents,  // aligned with all of it: one value per index of the last axis
  kRest,        // aligned with [..., i, j]
};
using Member = std::pair<uint32_t, Part>;

class Unroller : public Rewriter {
 public:
  explicit Unroller(const Graph& g) : Rewriter(g), users_(g.size()), escapes_(g.size()) {}

  std::unique_ptr<Graph> run() {
    find_seeds();
    if (seeds_.empty()) return nullptr;
    return Rewriter::run();
  }

 private:
  struct Region {
    Shape domain;
    bool swapped = false;  // values are [..., j, i], as sums over j take columns
    std::set<Member> members;
  };

  static int64_t last(const Shape& s) { return s.rank() ? int64_t{s[s.rank() - 1]} : 1; }
  static Shape without_last(Shape s) {
    if (s.rank()) s.erase(s.rank() - 1);
    return s;
  }
  static bool reduces(const Node& n, int from_end, const Shape& s) {
    if (n.kind != Node::kOp || !n.op->has(kReduction) || std::get<bool>(n.attrs[1])) return false;
    const auto axes = normalize_axes(n.op->name, std::get<Dims>(n.attrs[0]), s.rank());
    return axes.size() == 1 && axes[0] == s.rank() - from_end;
  }
  // A reduction over the short axis that can be written as a few ops.
  bool folds(const Node& n) const {
    if (n.kind != Node::kOp || !n.op->has(kReduction)) return false;
    const Type& of = from_.node(n.in[0]).type;
    const Combiner c = n.op->combiner;
    const bool known =
        c == Combiner::kSum || c == Combiner::kProd || c == Combiner::kMax || c == Combiner::kMin;
    return known && !is_bool(of.dtype) && reduces(n, 1, of.shape) && last(of.shape) <= kLongest;
  }
  bool is_small(const Node& n, const Shape& domain) const {
    return n.kind == Node::kConst || n.type.shape.numel() * 8 <= domain.numel();
  }

  void find_seeds() {
    for (uint32_t i = 0; i < from_.size(); ++i) {
      if (!live_[i]) continue;
      for (auto s : from_.node(i).in)
        if (s != kNoNode) users_[s].push_back(i);
    }
    for (auto& o : from_.outputs) escapes_[o.node] = true;
    for (uint32_t i = 0; i < from_.size(); ++i) {
      const Node& n = from_.node(i);
      if (!live_[i] || n.kind != Node::kOp || !n.op->has(kReduction)) continue;
      Region r;
      r.domain = from_.node(n.in[0]).type.shape;
      const int rank = r.domain.rank();
      const int64_t k = last(r.domain);
      if (rank < 2 || k < 2 || k > kLongest || r.domain.numel() < kLeastUnrolled) continue;
      r.swapped = rank >= 3 && reduces(n, 2, r.domain);
      if (!r.swapped && !folds(n)) continue;
      if (r.domain[rank - (r.swapped ? 3 : 2)] < kFewestLanes) continue;
      if (covers(n.in[0], kComponents, &r) && r.members.count({n.in[0], kComponents}) &&
          nodes(r) <= kMostNodes)
        seeds_.emplace(i, std::move(r));
    }
    // What is needed elsewhere too is computed twice; that must be little.
    for (bool again = true; again;) {
      again = false;
      inside_.clear();
      for (auto& [id, r] : seeds_) {
        inside_.insert(id);
        for (auto& m : r.members) inside_.insert(m.first);
      }
      for (auto it = seeds_.begin(); it != seeds_.end();) {
        const Region& r = it->second;
        const bool keep = std::all_of(r.members.begin(), r.members.end(), [&](const Member& m) {
          std::set<Member> counted;
          return !is_shared(m.first) || cost(m, r, &counted) <= kMostShared;
        });
        if (!keep) again = true;
        it = keep ? std::next(it) : seeds_.erase(it);
      }
    }
  }
  size_t nodes(const Region& r) const {
    size_t n = 0;
    for (auto& m : r.members) n += m.second == kComponents ? size_t(last(r.domain)) : 1;
    return n;
  }
  // Does something outside of the regions read it?
  bool is_shared(uint32_t id) const {
    return escapes_[id] || std::any_of(users_[id].begin(), users_[id].end(),
                                       [&](uint32_t u) { return !inside_.count(u); });
  }
  size_t cost(const Member& m, const Region& r, std::set<Member>* counted) const {
    if (!r.members.count(m) || !counted->insert(m).second) return 0;
    const Node& n = from_.node(m.first);
    size_t sum = instructions(n);
    for (auto s : n.in) {
      const bool same = r.members.count({s, m.second}) > 0;
      const Part other = m.second == kRest ? kComponents : kRest;
      sum += cost({s, same ? m.second : other}, r, counted);
    }
    return sum;
  }
  size_t instructions(const Node& n) const {
    if (!n.op->has(kElementwise)) return 1;
    SBuilder sb;
    std::vector<SVal> in;
    for (auto s : n.in)
      in.push_back(sb.input(static_cast<int>(in.size()), from_.node(s).type.dtype));
    build_scalar(sb, *n.op, n.attrs, in, n.type.dtype);
    size_t count = 0;
    for (auto& s : sb.nodes) {
      const bool slow =
          s.op == SOp::kDiv || s.op == SOp::kSqrt || s.op == SOp::kCall1 || s.op == SOp::kCall2;
      count += s.op == SOp::kInput || s.op == SOp::kConst ? 0 : slow ? kMostShared + 1 : 1;
    }
    return count;
  }

  // Can the value be computed in the region? Adds what it takes to the region.
  bool covers(uint32_t id, Part part, Region* r) const {
    if (id == kNoNode) return false;
    const Node& n = from_.node(id);
    const Shape& s = n.type.shape;
    if (r->members.count({id, part})) return true;
    if (part == kComponents && s.rank() && last(s) != 1 && last(s) != last(r->domain)) return false;
    if (is_small(n, r->domain)) return true;
    if (!r->swapped && (part == kRest || last(s) == 1)) return true;  // lies there as it is read
    if (n.kind != Node::kOp || n.op->has(kCallOut)) return false;
    if (n.op->has(kElementwise) && !n.in.empty()) {
      if (!std::all_of(n.in.begin(), n.in.end(), [&](auto i) { return covers(i, part, r); }))
        return false;
    } else if (part == kComponents && is_reshape(n) && last(s) == 1) {
      if (!(from_.node(n.in[0]).type.shape == without_last(s)) || !covers(n.in[0], kRest, r))
        return false;
    } else if (part == kRest && folds(n) && from_.node(n.in[0]).type.shape == r->domain) {
      if (!covers(n.in[0], kComponents, r)) return false;
    } else {
      return false;
    }
    r->members.insert({id, part});
    return true;
  }
  static bool is_reshape(const Node& n) {
    static const OpDef& reshape = OpTable::get().at("reshape");
    return n.op == &reshape;
  }

  // --- the new graph --------------------------------------------------------------------------
  void op(const Node& n) override {
    const auto it = seeds_.find(n.id);
    if (it == seeds_.end()) {
      Rewriter::op(n);
      return;
    }
    const Region& r = it->second;
    if (!r.swapped) {
      map_[n.id] = v_reshape(fold(n, r), n.type.shape);
      return;
    }
    std::vector<Val> sums;
    for (int64_t k = 0; k < last(r.domain); ++k) {
      const Val x = component(n.in[0], k, r);
      const Val sum = to_->Builder::op(*n.op, {x}, {Dims{x.shape().rank() - 2}, false});
      Shape s = sum.shape();
      s.push_back(1);
      sums.push_back(v_reshape(sum, s));
    }
    static const OpDef& concat = OpTable::get().at("concat");
    const int axis = sums[0].shape().rank() - 1;
    map_[n.id] = v_reshape(to_->Builder::op(concat, sums, {Dim(axis)}), n.type.shape);
  }

  // Lanes fold by halves; those beyond the last element hold the identity. They matter where zeros
  // are negative alone: a sum begins with 0, so that theirs is 0 as well.
  Val fold(const Node& n, const Region& r) {
    const Combiner c = n.op->combiner;
    const char* name = c == Combiner::kSum    ? "add"
                       : c == Combiner::kProd ? "mul"
                       : c == Combiner::kMax  ? "maximum"
                                              : "minimum";
    std::vector<Val> lanes;
    for (int64_t k = 0; k < last(r.domain); ++k) lanes.push_back(component(n.in[0], k, r));
    for (size_t h = kLongest / 2; h > 0; h /= 2)
      for (size_t i = 0; i < h; ++i)
        if (i + h < lanes.size()) lanes[i] = v_op(name, lanes[i], lanes[i + h]);
    return c == Combiner::kSum && is_float(lanes[0].dtype()) ? lanes[0] + 0.0 : lanes[0];
  }
  Val component(uint32_t id, int64_t k, const Region& r) {
    const Node& n = from_.node(id);
    if (last(n.type.shape) == 1) k = 0;
    const auto key = std::tuple(id, kComponents, k, r.swapped);
    if (Val v = made_[key]) return v;
    Val made;
    if (!r.members.count({id, kComponents})) {
      made = leaf(map_[id], k, r);
    } else if (n.op->has(kElementwise)) {
      made = elementwise(
          n, r, [&](uint32_t i) { return component(i, k, r); }, true);
    } else {
      made = rest(n.in[0], r);
    }
    return made_[key] = made;
  }
  Val rest(uint32_t id, const Region& r) {
    const auto key = std::tuple(id, kRest, int64_t{0}, r.swapped);
    if (Val v = made_[key]) return v;
    const Node& n = from_.node(id);
    Val made;
    if (!r.members.count({id, kRest}))
      made = r.swapped ? swapped(map_[id]) : map_[id];
    else if (n.op->has(kElementwise))
      made = elementwise(
          n, r, [&](uint32_t i) { return rest(i, r); }, false);
    else
      made = fold(n, r);
    return made_[key] = made;
  }
  template <class F>
  Val elementwise(const Node& n, const Region& r, F operand, bool drops_last) {
    static const OpDef& broadcast = OpTable::get().at("broadcast_to");
    std::vector<Val> in;
    for (auto i : n.in) in.push_back(operand(i));
    to_->current_loc = n.loc;
    if (n.op != &broadcast) return to_->Builder::op(*n.op, in, n.attrs);
    Shape s = drops_last ? without_last(n.type.shape) : n.type.shape;
    if (r.swapped && s.rank() == 1)
      s.push_back(1);
    else if (r.swapped && s.rank())
      std::swap(s[s.rank() - 1], s[s.rank() - 2]);
    return v_broadcast(in[0], s);
  }
  Val leaf(Val x, int64_t k, const Region& r) {
    const Shape& s = x.shape();
    if (s.rank() == 0) return x;
    if (last(s) != 1) {
      Dims begin(static_cast<size_t>(s.rank()), 0), step(static_cast<size_t>(s.rank()), 1);
      Dims end = s.dims();
      begin.back() = k;
      end.back() = k + 1;
      x = x.b->op("slice", {x}, {begin, end, step});
    }
    x = v_reshape(x, without_last(s));
    return r.swapped ? swapped(x) : x;
  }
  // Its last two axes the other way round.
  static Val swapped(Val x) {
    Shape s = x.shape();
    const int rank = s.rank();
    if (rank == 0) return x;
    if (rank == 1) {
      s.push_back(1);
      return v_reshape(x, s);
    }
    std::swap(s[rank - 1], s[rank - 2]);
    if (s[rank - 1] == 1 || s[rank - 2] == 1) return v_reshape(x, s);
    Dims perm;
    for (int d = 0; d < rank; ++d) perm.push_back(d);
    std::swap(perm[static_cast<size_t>(rank - 1)], perm[static_cast<size_t>(rank - 2)]);
    return v_transpose(x, perm);
  }

  std::vector<std::vector<uint32_t>> users_;
  std::vector<bool> escapes_;
  std::set<uint32_t> inside_;  // members of all regions, and what they are for
  std::map<uint32_t, Region> seeds_;
  std::map<std::tuple<uint32_t, Part, int64_t, bool>, Val> made_;
};

}  // namespace

// Null: no such axis.
std::unique_ptr<Graph> unroll_axes(const Graph& g) { return Unroller(g).run(); }

}  // namespace pijit
