// Complex values as pairs of real ones: every op on them by its `complex` rule. What stays complex
// are inputs and outputs of the graph and of regions, and what kTakesComplex ops read and give;
// "real" and "imag" take such a value apart, "complex" puts one together.
#include "graph/passes/passes.h"

namespace pijit {
namespace {

class Splitter {
 public:
  explicit Splitter(const Graph& g)
      : g_(g), to_(std::make_unique<Graph>()), whole_(g.size()), parts_(g.size()) {}

  std::unique_ptr<Graph> run() {
    to_->locations = g_.locations;
    const auto live = g_.live();
    for (uint32_t i = 0; i < g_.size(); ++i) {
      const Node& n = g_.node(i);
      to_->current_loc = n.loc;
      if (n.kind == Node::kInput)
        whole_[i] = to_->add_input(n.type, n.name);
      else if (!live[i])
        continue;
      else if (n.kind == Node::kConst)
        whole_[i] = to_->constant_of(n);
      else
        build(n);
    }
    std::vector<uint32_t> order;
    for (auto i : g_.inputs()) order.push_back(whole_[i].id);
    to_->order_inputs(std::move(order));
    for (auto& o : g_.outputs) to_->outputs.push_back({whole(o.node).id, o.assign_to});
    return std::move(to_);
  }

 private:
  bool complex(uint32_t id) const { return is_complex(g_.node(id).type.dtype); }
  Val whole(uint32_t id) {
    if (!whole_[id]) whole_[id] = to_->Builder::op("complex", {parts_[id].re, parts_[id].im});
    return whole_[id];
  }
  const Parts& parts(uint32_t id) {
    Parts& p = parts_[id];
    if (!p.re) p = {to_->Builder::op("real", {whole_[id]}), to_->Builder::op("imag", {whole_[id]})};
    return p;
  }

  void build(const Node& n) {
    static const OpTable& t = OpTable::get();
    static const OpDef &join = t.at("complex"), &real = t.at("real"), &imag = t.at("imag");
    if (n.op == &join) {
      parts_[n.id] = {whole(n.in[0]), whole(n.in[1])};
      return;
    }
    if (n.op == &real || n.op == &imag) {
      const Parts& p = parts(n.in[0]);
      whole_[n.id] = n.op == &real ? p.re : p.im;
      return;
    }
    bool split = complex(n.id);
    for (auto s : n.in) split |= s != kNoNode && complex(s);
    if (split && n.op->complex) {
      std::vector<Parts> in;
      for (auto s : n.in)
        in.push_back(s == kNoNode ? Parts{} : complex(s) ? parts(s) : Parts{whole(s), {}});
      const Parts p = n.op->complex(ComplexCtx{{*n.op, n.attrs}, *to_, in, n.type});
      if (complex(n.id))
        parts_[n.id] = p;
      else
        whole_[n.id] = p.re;
      return;
    }
    std::vector<Val> in;
    for (auto s : n.in) in.push_back(s == kNoNode ? Val{} : whole(s));
    whole_[n.id] = n.regions.empty() ? to_->emit(*n.op, in, n.attrs, n.type)
                                     : to_->emit_region(*n.op, in, n.regions);
  }

  const Graph& g_;
  std::unique_ptr<Graph> to_;
  std::vector<Val> whole_;
  std::vector<Parts> parts_;
};

}  // namespace

std::unique_ptr<Graph> split_complex(const Graph& g) {
  for (uint32_t i = 0; i < g.size(); ++i)
    if (is_complex(g.node(i).type.dtype)) return Splitter(g).run();
  return nullptr;
}

}  // namespace pijit
