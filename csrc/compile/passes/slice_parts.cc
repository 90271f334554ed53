// Slices of joined values: what lies within one of them is a slice of that one. So a gate that was
// computed apart is not copied into the join and out of it, and a join that is read by its parts
// alone goes.
#include <optional>

#include "graph/rewriter.h"
#include "graph/vals.h"

namespace pijit {
namespace {

class SliceParts : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::unique_ptr<Graph> run() {
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (live_[i] && part_of(from_.node(i))) return Rewriter::run();
    return nullptr;
  }

 private:
  // The one of the joined values that a slice lies in, and where that begins in the join.
  struct Part {
    uint32_t node;
    int axis;
    Dim begin;
  };
  std::optional<Part> part_of(const Node& n) const {
    static const OpDef& concat = OpTable::get().at("concat");
    if (n.kind != Node::kOp || n.op->role != Role::kSlice) return std::nullopt;
    const Node& join = from_.node(n.in[0]);
    if (join.kind != Node::kOp || join.op != &concat) return std::nullopt;
    const OpCtx slice{*n.op, n.attrs};
    const int axis =
        normalize_axis(concat.name, OpCtx{concat, join.attrs}.i("axis"), join.type.shape.rank());
    const Dim begin = slice.ints("begin")[axis], end = slice.ints("end")[axis];
    if (slice.ints("step")[axis] < 1 || end <= begin) return std::nullopt;
    Dim at = 0;
    for (auto id : join.in) {
      const Dim next = at + from_.node(id).type.shape[axis];
      if (begin >= at && end <= next) return Part{id, axis, at};
      at = next;
    }
    return std::nullopt;
  }
  void op(const Node& n) override {
    const auto part = part_of(n);
    if (!part) return Rewriter::op(n);
    to_->current_loc = n.loc;
    const OpCtx slice{*n.op, n.attrs};
    Dims begin = slice.ints("begin"), end = slice.ints("end");
    begin[part->axis] = begin[part->axis] - part->begin;
    end[part->axis] = end[part->axis] - part->begin;
    map_[n.id] = to_->Builder::op(*n.op, {value(part->node)}, {begin, end, slice.ints("step")});
  }
};

}  // namespace

// Null: no slice lies within one part.
std::unique_ptr<Graph> slice_parts(const Graph& g) { return SliceParts(g).run(); }

}  // namespace pijit
