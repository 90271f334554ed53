// Matrices that a program is given and transposes for a product alone, as in `x @ w.T`: the product
// takes them as they are given. Its kernel transposes them, so that the bits stay the same, and
// keeps the transposed form with their memory until that is written (runtime/packed.h).
#include "graph/rewriter.h"
#include "graph/vals.h"

namespace pijit {
namespace {

class TransposedOperands : public Rewriter {
 public:
  explicit TransposedOperands(const Graph& g)
      : Rewriter(g), matmul_(OpTable::get().at("matmul")), elsewhere_(g.size()) {
    for (uint32_t i = 0; i < g.size(); ++i) {
      const Node& n = g.node(i);
      if (!live_[i] || n.kind != Node::kOp) continue;
      for (size_t k = 0; k < n.in.size(); ++k)
        if (n.in[k] != kNoNode && n.op != &matmul_) elsewhere_[n.in[k]] = true;
    }
    for (auto& o : g.outputs) elsewhere_[o.node] = true;
  }
  // Null: there are none.
  std::unique_ptr<Graph> run() {
    for (uint32_t i = 0; i < from_.size(); ++i)
      if (live_[i] && side_of(from_.node(i)) >= 0) return Rewriter::run();
    return nullptr;
  }

 private:
  // A matrix that is an input, transposed for products alone.
  bool is_transposed(uint32_t id) const {
    const Node& n = from_.node(id);
    return n.kind == Node::kOp && n.op->role == Role::kTranspose && n.type.shape.rank() == 2 &&
           !n.type.shape.symbolic() && !elsewhere_[id] && from_.node(n.in[0]).kind == Node::kInput;
  }
  // Which operand of a product is; -1: none, or not a product.
  int side_of(const Node& n) const {
    if (n.op != &matmul_) return -1;
    return is_transposed(n.in[1]) ? 1 : is_transposed(n.in[0]) ? 0 : -1;
  }
  void op(const Node& n) override {
    if (is_transposed(n.id)) return;  // copied where a product asks for it after all
    const int side = side_of(n);
    if (side < 0) return Rewriter::op(n);
    to_->current_loc = n.loc;
    std::vector<Val> in{value(n.in[0]), value(n.in[1])};
    in[side] = value(from_.node(n.in[side]).in[0]);
    Attrs attrs = n.attrs;
    attrs.emplace_back(side == 1);
    map_[n.id] = to_->Builder::op(OpTable::get().at("matmul_transposed"), in, attrs);
  }

  Val value(uint32_t id) override {
    if (!map_[id]) map_[id] = copy(from_.node(id));
    return map_[id];
  }

  const OpDef& matmul_;
  std::vector<bool> elsewhere_;  // read by what is no product
};

}  // namespace

std::unique_ptr<Graph> transpose_in_products(const Graph& g) { return TransposedOperands(g).run(); }

}  // namespace pijit
