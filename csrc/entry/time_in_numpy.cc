#include "entry/time_in_numpy.h"

#include <algorithm>

#include "graph/graph.h"
#include "graph/op.h"

namespace pijit {

namespace {

// Whatever sizes there may be: to compare one would make a guard of it.
bool is_one_element(const Type& t) {
  return std::all_of(t.shape.begin(), t.shape.end(), [](Dim d) { return d.is_one(); });
}

bool only_moves(const OpDef& op) {
  switch (op.role) {
    case Role::kIdentity:
    case Role::kReshape:
    case Role::kTranspose:
    case Role::kBroadcast:
    case Role::kSlice:
    case Role::kDiagonal:
    case Role::kGather: return true;
    default: return op.has(kView);
  }
}

// An operation on arrays, one that only moves elements, and one on a number or an element.
constexpr int64_t kComputes = 1000, kMoves = 100, kElement = 80;

// How many elements a part has that is set; -1: that varies.
int64_t size_of(const Type& t) {
  constexpr int64_t kMany = 1 << 20;
  int64_t n = 1;
  for (Dim d : t.shape) {
    if (d.symbolic() || d > kMany || n > kMany) return -1;
    n *= d;
  }
  return n;
}

int64_t time_of(const Graph& g, const Node& n) {
  const OpDef& op = *n.op;
  const bool one = is_one_element(n.type);
  if (op.has(kElementwise)) return n.type.shape.rank() == 0 ? kElement : kComputes;
  if (op.has(kPicks)) return one ? kElement : kMoves;
  if (only_moves(op)) {
    // a number that is an element of something is read; another form of one costs nothing
    const bool read = one && !n.in.empty() && !is_one_element(g.node(n.in[0]).type);
    return read ? kElement : one ? 0 : kMoves;
  }
  const bool sets = op.has(kSets) && n.in.size() > 1 && n.in.back() != kNoNode;
  const int64_t elements = sets ? size_of(g.node(n.in.back()).type) : -1;
  return elements < 0 ? kComputes : std::min(kElement + elements, kComputes);
}

// Of an argument that is copied, as a part of it is set.
int64_t bytes_copied(const Graph& g, const Node& n) {
  if (!n.op->has(kSets) || n.in.empty()) return 0;
  const Node* whole = &g.node(n.in[0]);
  while (whole->kind == Node::kOp && only_moves(*whole->op) && !whole->in.empty())
    whole = &g.node(whole->in[0]);
  if (whole->kind != Node::kInput) return 0;
  const int64_t elements = size_of(n.type);
  return elements < 0 ? 0 : elements * static_cast<int64_t>(pijit::size_of(n.type.dtype));
}

}  // namespace

TimeInNumpy time_in_numpy(const Graph& g) {
  TimeInNumpy all;
  const auto live = g.live();
  for (uint32_t id = 0; id < g.size(); ++id) {
    if (!live[id] || g.node(id).kind != Node::kOp) continue;
    const int64_t ns = time_of(g, g.node(id));
    all.ns += ns;
    all.of_elements &= ns < kComputes;
    all.copied += bytes_copied(g, g.node(id));
  }
  return all;
}

}  // namespace pijit
