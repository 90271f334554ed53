#include "compile/fusion.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "base/config.h"
#include "compile/group_order.h"

namespace pijit {
namespace {

constexpr size_t kMaxMembers = 160, kMaxOperands = 56;

bool is_loop(const Graph& g, const Node& n) {
  return n.op->has(kElementwise) || n.op->has(kReduction) || !windows_of(g, n).empty();
}

// Over domain dims [lo, hi), an operand of shape s is either whole or broadcast, so that they act
// as one dim.
bool uniform(const Shape& s, const Shape& domain, int lo, int hi) {
  const int lead = domain.rank() - s.rank();
  bool whole = true, none = true;
  for (int d = lo; d < hi; ++d) {
    if (domain[d] == 1) continue;
    if (d >= lead && s[d - lead] == domain[d])
      none = false;
    else
      whole = false;
  }
  return whole || none;
}

class FusionPlanner {
 public:
  FusionPlanner(const Graph& g, const DeviceFacts& facts)
      : g_(g),
        live_(g.live()),
        halve_(facts.wide_types_halve_lanes),
        most_(facts.loop_instructions ? facts.loop_instructions : SIZE_MAX) {}

  FusionPlan run() {
    plan_.group_of.assign(g_.size(), -1);
    for (uint32_t i = 0; i < g_.size(); ++i) {
      const Node& n = g_.node(i);
      if (!live_[i] || n.kind != Node::kOp) continue;
      if (n.op->has(kView))
        place(i, FusionGroup::kView, {});
      else if (!is_loop(g_, n))
        place(i, FusionGroup::kLibrary, {});
      else
        place_loop(n);
    }
    return order();
  }

 private:
  const Shape& domain_of(const Node& n) const {
    return n.op->has(kReduction) ? g_.node(n.in[0]).type.shape : n.type.shape;
  }
  static void run_of(const Node& n, int rank, int* lo, int* hi) {
    const auto axes = normalize_axes(n.op->name, std::get<Dims>(n.attrs[0]), rank);
    *lo = axes.empty() ? 0 : static_cast<int>(axes.front());
    *hi = axes.empty() ? 0 : static_cast<int>(axes.back()) + 1;
  }

  int place(uint32_t id, FusionGroup::Kind kind, const Shape& domain) {
    const int u = static_cast<int>(plan_.groups.size());
    plan_.groups.push_back({kind, {}, domain});
    order_.add();
    add(id, u);
    return u;
  }
  void add(uint32_t id, int u) {
    plan_.group_of[id] = u;
    plan_.groups[u].nodes.push_back(id);
    for (auto s : g_.node(id).in)
      if (s != kNoNode && plan_.group_of[s] >= 0) order_.wait(u, plan_.group_of[s]);
  }

  size_t operands(int group) {
    const FusionGroup& u = plan_.groups[group];
    size_t windows = 0;
    outside_.clear();
    for (auto id : u.nodes) {
      if (g_.node(id).op->has(kWindows)) windows += windows_of(g_, g_.node(id)).size();
      for (auto s : g_.node(id).in)
        if (s != kNoNode && plan_.group_of[s] != group) outside_.push_back(s);
    }
    std::sort(outside_.begin(), outside_.end());
    const auto end = std::unique(outside_.begin(), outside_.end());
    return static_cast<size_t>(end - outside_.begin()) + windows + u.nodes.size();
  }

  // Long functions of 8-byte types and long functions of 4-byte types do not share a loop where the
  // latter would be computed on half of a register. Functions that call libm share none with a
  // reduction: around the calls, sums go through memory (measured: lgamma and its sum 9 % slower).
  enum Lanes : uint8_t { kAny = 0, kWide = 1, kNarrow = 2, kBoth = 3, kCalls = 4 };
  static constexpr size_t kLong = 12;  // instructions of a long function
  struct Code {
    Lanes lanes;
    size_t instructions;
  };
  Code code_of(const Node& n) {
    if (!n.op->has(kElementwise) || !n.op->scalar || n.in.empty()) return {kAny, 1};
    const auto key = std::tuple(n.op->id, g_.node(n.in[0]).type.dtype, n.type.dtype);
    if (const auto known = codes_.find(key); known != codes_.end()) return known->second;
    SBuilder sb;
    std::vector<SVal> in;
    for (auto s : n.in) in.push_back(sb.input(static_cast<int>(in.size()), g_.node(s).type.dtype));
    build_scalar(sb, *n.op, n.attrs, in, n.type.dtype);
    const bool wide = std::any_of(sb.nodes.begin(), sb.nodes.end(),
                                  [](const SNode& x) { return size_of(x.dt) == 8; });
    const bool calls = std::any_of(sb.nodes.begin(), sb.nodes.end(), [](const SNode& x) {
      return (x.op == SOp::kCall1 && x.c < 0) || x.op == SOp::kCall2;
    });
    const int lanes = !halve_ || sb.nodes.size() < kLong ? kAny : wide ? kWide : kNarrow;
    const auto instructions = std::count_if(sb.nodes.begin(), sb.nodes.end(), [](const SNode& x) {
      return x.op != SOp::kInput && x.op != SOp::kConst;
    });
    return codes_[key] = {static_cast<Lanes>(lanes | (calls ? kCalls : kAny)),
                          static_cast<size_t>(instructions)};
  }

  // Short functions stay with their operands, so that a loop ends where a long one begins.
  bool too_long(size_t a, size_t b) const { return a + b > most_ && std::min(a, b) >= kLong; }

  // Registers are saved around every such call, so that many calls in one loop take longer than in
  // loops of their own. (Calls for a few lanes keep registers, and do not count.)
  static constexpr int kMaxCalls = 3;
  int calls_of(const FusionGroup& u) {
    if (!(u.lanes & kCalls)) return 0;
    return static_cast<int>(std::count_if(u.nodes.begin(), u.nodes.end(), [&](auto id) {
      return code_of(g_.node(id)).lanes & kCalls;
    }));
  }

  // Can a node (with its reduced run, if any) be computed inside group u?
  bool fits(const Node& n, int u) {
    const FusionGroup& group = plan_.groups[u];
    const Code code = code_of(n);
    const int lanes = group.lanes | code.lanes;
    if ((lanes & kBoth) == kBoth) return false;
    if ((lanes & kCalls) && (group.reduces() || n.op->has(kReduction))) return false;
    if ((code.lanes & kCalls) && calls_of(group) >= kMaxCalls) return false;
    if (group.kind != FusionGroup::kLoop || !(group.domain == domain_of(n)) ||
        group.nodes.size() >= kMaxMembers || too_long(group.instructions, code.instructions))
      return false;
    int lo = group.lo, hi = group.hi;
    if (n.op->has(kReduction)) {
      run_of(n, group.domain.rank(), &lo, &hi);
      if (group.reduces() && (group.lo != lo || group.hi != hi)) return false;
    }
    for (auto s : n.in) {
      if (s == kNoNode) continue;
      const int v = plan_.group_of[s];
      // needs the finished result
      if (v == u && (g_.node(s).op->has(kReduction) || n.op->has(kWindows))) return false;
    }
    if (lo >= 0 && !(reads_uniformly(n, group.domain, lo, hi) &&
                     (group.reduces() || reads_uniformly(group, lo, hi))))
      return false;
    if (operands(u) + windows_of(g_, n).size() + n.in.size() + 1 > kMaxOperands) return false;
    return std::none_of(n.in.begin(), n.in.end(), [&](uint32_t s) {  // waits for u by another way
      return s != kNoNode && plan_.group_of[s] >= 0 && order_.waits(plan_.group_of[s], u);
    });
  }

  // Where [lo, hi) is reduced.
  bool reads_uniformly(const Node& n, const Shape& domain, int lo, int hi) const {
    const int rank = domain.rank();
    if (n.op->has(kWindows)) {
      const auto windows = windows_of(g_, n);
      return std::all_of(windows.begin(), windows.end(), [&](const Window& w) {
        return w.merges(domain, lo, hi) && w.merges(domain, hi, rank);
      });
    }
    for (auto s : n.in) {
      if (s == kNoNode) continue;
      const Shape& shape = g_.node(s).type.shape;
      if (!uniform(shape, domain, lo, hi) || (hi < rank && !uniform(shape, domain, hi, rank)))
        return false;
    }
    return true;
  }
  bool reads_uniformly(const FusionGroup& u, int lo, int hi) const {
    return std::all_of(u.nodes.begin(), u.nodes.end(),
                       [&](auto id) { return reads_uniformly(g_.node(id), u.domain, lo, hi); });
  }

  bool can_merge(int a, int b) {
    const FusionGroup &x = plan_.groups[a], &y = plan_.groups[b];
    if (x.kind != FusionGroup::kLoop || y.kind != FusionGroup::kLoop || !(x.domain == y.domain))
      return false;
    const int lanes = x.lanes | y.lanes;
    if ((lanes & kBoth) == kBoth || ((lanes & kCalls) && (x.reduces() || y.reduces())))
      return false;
    if ((lanes & kCalls) && calls_of(x) + calls_of(y) > kMaxCalls) return false;
    if (x.reduces() && y.reduces() && (x.lo != y.lo || x.hi != y.hi)) return false;
    if (x.reduces() != y.reduces() &&
        !(x.reduces() ? reads_uniformly(y, x.lo, x.hi) : reads_uniformly(x, y.lo, y.hi)))
      return false;
    return x.nodes.size() + y.nodes.size() < kMaxMembers &&
           !too_long(x.instructions, y.instructions) && operands(a) + operands(b) <= kMaxOperands &&
           !order_.waits(a, b) && !order_.waits(b, a);
  }
  void merge(int into, int from) {
    FusionGroup &x = plan_.groups[into], &y = plan_.groups[from];
    for (auto id : y.nodes) plan_.group_of[id] = into;
    x.nodes.insert(x.nodes.end(), y.nodes.begin(), y.nodes.end());
    std::sort(x.nodes.begin(), x.nodes.end());
    if (y.reduces()) x.lo = y.lo, x.hi = y.hi;
    x.lanes |= y.lanes;
    x.instructions += y.instructions;
    y.nodes.clear();
    order_.merge(into, from);
  }

  void place_loop(const Node& n) {
    int home = -1;
    if (config().fuse) {
      for (auto s : n.in) {
        if (s == kNoNode || plan_.group_of[s] < 0) continue;
        const int u = plan_.group_of[s];
        if (u == home || !fits(n, u)) continue;
        if (home < 0)
          home = u;
        else if (can_merge(home, u))
          merge(home, u);
      }
    }
    if (home < 0)
      home = place(n.id, FusionGroup::kLoop, domain_of(n));
    else
      add(n.id, home);
    FusionGroup& group = plan_.groups[home];
    if (n.op->has(kReduction)) run_of(n, group.domain.rank(), &group.lo, &group.hi);
    const Code code = code_of(n);
    group.lanes |= code.lanes;
    group.instructions += code.instructions;
  }

  FusionPlan order() {
    FusionPlan out;
    out.group_of.assign(g_.size(), -1);
    std::vector<int> state(plan_.groups.size());
    std::function<void(int)> visit = [&](int u) {
      if (state[u]) {
        PIJIT_CHECK(state[u] == 2, "fusion made a cycle");
        return;
      }
      state[u] = 1;
      for (auto id : plan_.groups[u].nodes)
        for (auto s : g_.node(id).in)
          if (s != kNoNode && plan_.group_of[s] >= 0 && plan_.group_of[s] != u)
            visit(plan_.group_of[s]);
      state[u] = 2;
      for (auto id : plan_.groups[u].nodes) out.group_of[id] = static_cast<int>(out.groups.size());
      out.groups.push_back(std::move(plan_.groups[u]));
    };
    for (size_t u = 0; u < plan_.groups.size(); ++u)
      if (!plan_.groups[u].nodes.empty()) visit(static_cast<int>(u));
    return out;
  }

  const Graph& g_;
  std::vector<bool> live_;
  FusionPlan plan_;
  const bool halve_;
  const size_t most_;                                    // instructions of a group
  std::map<std::tuple<int, DType, DType>, Code> codes_;  // by op, first operand and result
  GroupOrder order_;
  std::vector<uint32_t> outside_;  // used again and again
};

}  // namespace

std::vector<Window> windows_of(const Graph& g, const Node& n) {
  if (n.kind != Node::kOp || !n.op->has(kWindows)) return {};
  const Type& of = g.node(n.in[0]).type;
  const Shape& s = n.type.shape;
  if (is_complex(of.dtype)) {  // real or imaginary parts, side by side in memory
    static const OpDef &imag = OpTable::get().at("imag"), &real = OpTable::get().at("real");
    if (n.op != &imag && n.op != &real) return {};  // moved as they are
    Window w{of.shape.strides(), n.op == &imag ? 1 : 0};
    for (auto& stride : w.strides) stride *= 2;
    return {w};
  }
  // Lanes of halves are float32, through which a NaN's bits do not pass unchanged.
  if (s.rank() == 0 || s.numel() == 0 || is_half(of.dtype)) return {};
  Window w{of.shape.strides(), 0};
  if (n.op->combiner != Combiner::kNone) {  // the axis before the last is folded
    const int axis = s.rank() - 1;
    const int64_t lane = w.strides[axis];
    w.strides[axis] = w.strides[axis + 1];
    std::vector<Window> lanes(static_cast<size_t>(int64_t{of.shape[axis]}), w);
    for (size_t k = 0; k < lanes.size(); ++k) lanes[k].offset = static_cast<int64_t>(k) * lane;
    return lanes;
  }
  const OpCtx c{*n.op, n.attrs};
  const auto begin = c.numbers("begin"), step = c.numbers("step");
  int64_t side_by_side = 1;
  for (int d = s.rank() - 1; d >= 0; --d) {
    if (step[d] < 1) return {};
    w.offset += begin[d] * w.strides[d];
    w.strides[d] *= step[d];
    if (w.strides[d] == side_by_side) side_by_side *= s[d];
  }
  constexpr int64_t kFew = 4;  // copied apart; a single one is read
  if (side_by_side < kFew && !(s.numel() == Dim(1))) return {};
  return {w};
}
bool Window::merges(const Shape& s, int lo, int hi) const {
  int64_t next = -1;  // stride of the dims merged so far
  for (int d = hi - 1; d >= lo; --d) {
    if (s[d] == 1) continue;
    if (next >= 0 && strides[d] != next) return false;
    next = strides[d] * s[d];
  }
  return true;
}

FusionPlan plan_fusion(const Graph& g, const DeviceFacts& facts) {
  return FusionPlanner(g, facts).run();
}

}  // namespace pijit
