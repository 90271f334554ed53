// Complex values as pairs of real ones: every op on them by its `complex` rule. What stays complex
// are inputs and outputs of the graph and of regions, and what kTakesComplex ops read and give;
// "real" and "imag" take such a value apart, "complex" puts one together. What only moves elements
// of a value that is whole leaves it whole, where nobody asks for its parts.
#include <algorithm>

#include "compile/passes/passes.h"
#include "graph/infer.h"
#include "graph/rewriter.h"

namespace pijit {
namespace {

// map_ holds values as they are, or whole; parts_ what is known of their parts.
class Splitter : public Rewriter {
 public:
  explicit Splitter(const Graph& g) : Rewriter(g), parts_(g.size()), split_(g.size()) {
    for (uint32_t id = g.size(); id-- > 0;) {
      const Node& n = g.node(id);
      if (n.kind != Node::kOp) continue;
      const bool takes = moves(n) ? !split_[id] : !n.op->complex && n.op->has(kTakesComplex);
      const bool asks = n.op == &real_ || n.op == &imag_ || !takes;
      for (auto s : n.in)
        if (s != kNoNode && asks) split_[s] = true;
    }
  }

 private:
  // On the CPU, whose kernels move elements of any size.
  static bool moves(const Node& n) {
    static const OpTable& t = OpTable::get();
    static const OpDef* const all[] = {&t.at("reshape"), &t.at("slice"), &t.at("slice_update"),
                                       &t.at("concat")};
    return n.type.device.is_cpu() &&
           std::find(std::begin(all), std::end(all), n.op) != std::end(all);
  }
  bool is_whole(uint32_t id) const { return map_[id] && !parts_[id].re; }
  bool complex(uint32_t id) const { return is_complex(from_.node(id).type.dtype); }
  Val value(uint32_t id) override {
    if (!map_[id]) map_[id] = to_->Builder::op("complex", {parts_[id].re, parts_[id].im});
    return map_[id];
  }
  const Parts& parts(uint32_t id) {
    Parts& p = parts_[id];
    if (!p.re) p = {to_->Builder::op("real", {map_[id]}), to_->Builder::op("imag", {map_[id]})};
    return p;
  }

  void op(const Node& n) override {
    if (n.op == &join_) {
      parts_[n.id] = {value(n.in[0]), value(n.in[1])};
      return;
    }
    if (n.op == &real_ || n.op == &imag_) {
      const Parts& p = parts(n.in[0]);
      map_[n.id] = n.op == &real_ ? p.re : p.im;
      return;
    }
    bool split = complex(n.id);
    for (auto s : n.in) split |= s != kNoNode && complex(s);
    if (complex(n.id) && !split_[n.id] && moves(n) && is_whole(n.in[0])) {
      map_[n.id] = copy(n);
      return;
    }
    if (split && n.op->complex) {
      std::vector<Parts> in;
      for (auto s : n.in)
        in.push_back(s == kNoNode ? Parts{} : complex(s) ? parts(s) : Parts{value(s), {}});
      Parts p = n.op->complex(ComplexCtx{{*n.op, n.attrs}, *to_, in, n.type});
      // Parts of a number are constants, which lie on no device.
      for (Val* part : {&p.re, &p.im})
        if (*part) *part = placed(*part, n.type.device);
      if (complex(n.id))
        parts_[n.id] = p;
      else
        map_[n.id] = p.re;
      return;
    }
    map_[n.id] = copy(n);
  }

  const OpDef &join_ = OpTable::get().at("complex"), &real_ = OpTable::get().at("real"),
              &imag_ = OpTable::get().at("imag");
  std::vector<Parts> parts_;
  std::vector<bool> split_;  // somebody asks for its parts
};

}  // namespace

std::unique_ptr<Graph> split_complex(const Graph& g) {
  for (uint32_t i = 0; i < g.size(); ++i)
    if (is_complex(g.node(i).type.dtype)) return Splitter(g).run();
  return nullptr;
}

}  // namespace pijit
