// The place of an extremum among values that elementwise ops make. As a kernel of its own it would
// have them stored first; written as a reduction to the extremum and another to the least place
// that holds it, it takes its producers into the loops.
#include <limits>

#include "compile/passes/rematerialize.h"
#include "graph/rewriter.h"
#include "graph/vals.h"

namespace pijit {
namespace {

constexpr int64_t kLeastSplit =
    1 << 14;                         // elements; below, a second kernel costs more than it saves
constexpr int64_t kFewestLines = 8;  // that share the numbers of the places

class Extrema : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::unique_ptr<Graph> run() {
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (live_[i] && fits(from_.node(i))) return Rewriter::run();
    return nullptr;
  }

 private:
  static bool is_max(const Node& n) { return n.op->role == Role::kArgmax; }
  bool fits(const Node& n) const {
    if (n.kind != Node::kOp || (!is_max(n) && n.op->role != Role::kArgmin)) return false;
    const Node& x = from_.node(n.in[0]);
    const Shape& s = x.type.shape;
    const int axis = normalize_axis(n.op->name, OpCtx{*n.op, n.attrs}.i("axis"), s.rank());
    // Columns' two loops do not share tiles: the values would be stored, or computed twice.
    if (axis != s.rank() - 1 && !is_cheap(from_, x.id)) return false;
    return x.kind == Node::kOp && x.op->has(kElementwise) && !is_bool(x.type.dtype) &&
           s.numel() >= kLeastSplit && n.type.shape.numel() >= kFewestLines &&
           s.numel() / n.type.shape.numel() <= std::numeric_limits<int32_t>::max();
  }
  void op(const Node& n) override {
    if (!fits(n)) return Rewriter::op(n);
    to_->current_loc = n.loc;
    Val x = value(n.in[0]);
    if (is_half(x.dtype())) x = v_cast(x, DType::F32);  // loops reduce no halves
    const Shape& s = x.shape();
    const int axis = normalize_axis(n.op->name, OpCtx{*n.op, n.attrs}.i("axis"), s.rank());
    const Dims axes{Dim(axis)};
    const Val best = to_->Builder::op(OpTable::get().at(is_max(n) ? "reduce_max" : "reduce_min"),
                                      {x}, {axes, true});
    Val hit = v_op("equal", x, v_broadcast(best, s));
    if (is_inexact(x.dtype())) hit = v_op("logical_or", hit, v_op("not_equal", x, x));  // NaN
    Shape along;
    for (int k = axis; k < s.rank(); ++k) along.push_back(k == axis ? s[k] : Dim(1));
    const Val places =
        to_->Builder::op(OpTable::get().at("arange"), {}, {0.0, 1.0, s[axis], DType::I32});
    const Val none = v_broadcast(to_->constant(DType::I32, SizeNumber(s[axis])), s);
    const Val place = v_select(hit, v_broadcast(v_reshape(places, along), s), none);
    const Val first = to_->Builder::op(OpTable::get().at("reduce_min"), {place}, {axes, false});
    map_[n.id] = v_cast(first, n.type.dtype);
  }
};

}  // namespace

// Null: there are none.
std::unique_ptr<Graph> fuse_extrema(const Graph& g) { return Extrema(g).run(); }

}  // namespace pijit
