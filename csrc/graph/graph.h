// Graph: SSA nodes in an arena, in order of creation. A simplifying graph folds constants, applies
// exact identities and merges equal nodes at construction. Capture builds a plain graph, because
// the order in which gradients are summed, and so their last bits, must follow the program as
// written; the simplify pass rebuilds it afterwards. Effects stay outside the nodes: an output may
// be bound to an input ("assign"), which is how parameter updates and generator state leave a
// graph.
//
// Text form, printed and parsed:
//   graph(%0: f32[8,4] "x", %1: f32[4] "b") {
//     %2: f32[8,4] = add(%0, %1)
//     return %2, %1 := %3
//   }
#pragma once
#include <deque>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "graph/op.h"

namespace pijit {

class Graph;
using NodeIds = absl::InlinedVector<uint32_t, 4>;

struct Node {
  enum Kind : uint8_t { kInput, kConst, kOp };
  uint32_t id = 0;
  Kind kind = kInput;
  const OpDef* op = nullptr;
  NodeIds in;  // kNoNode: absent optional input
  Attrs attrs;
  Type type;
  uint64_t bits = 0;               // kConst
  std::optional<SizeNumber> size;  // kConst: the number, where it holds a symbol
  std::string name;                // kInput: a label for people
  bool parameter = false;          // kInput: it seldom changes between calls
  int loc = -1;                    // index into Graph::locations
  std::vector<std::shared_ptr<const Graph>> regions;
  bool may_fail = false;   // the op, or something in a region
  bool abandoned = false;  // of a capture step that was undone
};
constexpr uint32_t kNoNode = ~0u;

struct GraphOutput {
  uint32_t node;
  int assign_to = -1;  // index of the input whose tensor receives this value
};

class Graph : public Builder {
 public:
  explicit Graph(bool simplify = true) : simplify_(simplify) {}
  Val add_input(const Type& t, std::string name = "", bool parameter = false);
  Val emit(const OpDef& op, std::span<const Val> in, Attrs attrs, const Type& out) override;
  const Type& type(Val v) const override { return nodes_[v.id].type; }
  using Builder::constant;
  Val constant(DType dt, uint64_t bits) override;
  Val constant(DType dt, const SizeNumber& n) override;
  // The nodes of an op's gradient stand where the op does.
  bool run_vjp(const OpDef&, const Attrs&, std::span<const Val>, Val out, Val,
               const std::vector<bool>&, std::vector<Val>*) override {
    current_loc = nodes_[out.id].loc;
    return false;
  }
  Val constant_of(const Node& n) {  // of another graph
    return n.size ? constant(n.type.dtype, *n.size) : constant(n.type.dtype, n.bits);
  }
  // A node of another graph as it is; what it reads is here under the same numbers.
  Val append(Node n);
  // The same graph, node by node, with values for the symbols. Throws Misfit where a number comes
  // out of int64's range.
  std::shared_ptr<Graph> with_sizes(std::span<const Dim> values) const;
  // A node with regions, and one of its results. Throws OpError where types do not agree.
  Val emit_region(const OpDef& op, std::span<const Val> in,
                  std::vector<std::shared_ptr<const Graph>> regions);
  Val result(Val region, int64_t index);
  // Inputs in this order; `ids` holds all of them.
  void order_inputs(std::vector<uint32_t> ids) { inputs_ = std::move(ids); }

  const Node& node(uint32_t id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  Val val(uint32_t id) { return {this, id}; }
  const std::vector<uint32_t>& inputs() const { return inputs_; }
  std::vector<GraphOutput> outputs;
  std::vector<std::string> locations;  // "file:line"
  int current_loc = -1;

  std::string print(bool with_locations = true) const;
  static std::unique_ptr<Graph> parse(const std::string& text);  // throws OpError
  void verify() const;                                           // throws InternalError
  // Number of nodes per op name among those that outputs need.
  std::vector<std::pair<std::string, int>> op_counts() const;
  // Gives up the nodes from `begin` on: they no longer run for their failures alone.
  void abandon(uint32_t begin) { abandon(begin, static_cast<uint32_t>(size())); }
  void abandon(uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) nodes_[i].abandoned = true;
  }
  // Marks what must run: what the outputs need, and ops that may fail.
  std::vector<bool> live() const;

 private:
  Val try_fold(const OpDef& op, std::span<const Val> in, const Attrs& attrs, const Type& out);
  Val push(Node n);
  std::deque<Node> nodes_;
  std::vector<uint32_t> inputs_;
  absl::flat_hash_map<size_t, absl::InlinedVector<uint32_t, 2>> cse_;  // nodes by their hash
  void check_result(uint32_t of, int64_t index, const Type& t) const;
  bool simplify_;
  std::vector<uint32_t> ordered_;  // kOrdered nodes
};

// Evaluates a scalar rule on constants. bits in and out as stored in memory.
uint64_t eval_scalar(const OpDef& op, const Attrs& attrs, std::span<const DType> in_types,
                     std::span<const uint64_t> in_bits, DType out);
// Builds the scalar rule of an op over given inputs, with halves computed in float32 and rounded.
SVal build_scalar(SBuilder& sb, const OpDef& op, const Attrs& attrs, std::span<const SVal> in,
                  DType out);

}  // namespace pijit
