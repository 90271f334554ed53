// Single elements of arrays, taken by subscripts: numbers that are computed of them alone are
// computed as arrays of one element, as which loops read them where they lie.
#include <algorithm>

#include "graph/rewriter.h"
#include "graph/vals.h"

namespace pijit {
namespace {

class Elements : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::unique_ptr<Graph> run() {
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (live_[i] && is_number(from_.node(i)) && is_element(from_.node(from_.node(i).in[0])))
        return Rewriter::run();
    return nullptr;
  }

 private:
  static bool is_one(const Type& t) {
    return t.shape.rank() == 1 && !t.shape.symbolic() && t.shape[0] == Dim(1);
  }
  // An array of one element as a number.
  static bool is_number_form(const Graph& g, const Node& n) {
    return n.kind == Node::kOp && n.op->role == Role::kReshape && n.type.shape.rank() == 0 &&
           is_one(g.node(n.in[0]).type);
  }
  bool is_number(const Node& n) const { return is_number_form(from_, n); }
  static bool is_element(const Node& n) {
    return n.kind == Node::kOp && n.op->role == Role::kSlice && is_one(n.type);
  }
  // The array that a value of the new graph is a form of; null: it is none.
  Val array_of(Val v) const {
    const Node& n = to_->node(v.id);
    return is_number_form(*to_, n) ? Val{to_.get(), n.in[0]} : Val{};
  }
  void op(const Node& n) override {
    if (n.kind == Node::kOp && n.op->role == Role::kReshape && is_one(n.type))
      if (const Val whole = array_of(value(n.in[0]))) {
        map_[n.id] = whole;
        return;
      }
    std::vector<Val> in = operands(n);
    bool any = false,
         all = n.op->has(kElementwise) && n.op->outputs == 1 && n.type.shape.rank() == 0;
    for (auto& v : in) {
      if (!all || !v || to_->node(v.id).kind == Node::kConst) continue;
      const Val whole = array_of(v);
      if (!whole) all = false;
      if (whole) v = whole, any = true;
    }
    if (!all || !any) return Rewriter::op(n);
    to_->current_loc = n.loc;
    map_[n.id] = v_reshape(to_->Builder::op(*n.op, in, n.attrs), Shape{});
  }
};

}  // namespace

// Null: no element is taken.
std::unique_ptr<Graph> gather_elements(const Graph& g) { return Elements(g).run(); }

}  // namespace pijit
