// Actions: what a capture did to its graph, kept so that it can be done again. Every change of the
// graph during capture is an action, a function of a Scope. Capture runs it once; a call whose
// sizes differ from those of the capture runs the same actions on a new graph, where all shape
// rules see the new sizes. A decision that capture took from a size is an action, too: it throws
// Misfit where the new sizes would decide otherwise.
#pragma once
#include <functional>
#include <map>
#include <variant>

#include "graph/graph.h"

namespace pijit {

struct Misfit {};

class Scope {
 public:
  // The scope of a capture (its Vals stand for themselves), or of a replay.
  Scope(Graph* graph, bool replay, Scope* parent = nullptr)
      : graph_(graph), replay_(replay), parent_(parent) {}
  Graph& graph() { return *graph_; }
  // The value here of a value of the capture. One that belongs to an enclosing scope becomes an
  // input of this graph.
  Val val(Val captured);
  void bind(Val captured, Val here) { here_[{captured.b, captured.id}] = here; }

  std::vector<uint32_t> starts;  // number of nodes before each action
  std::vector<Val> operands;     // of the parent: what the inputs stand for; those made by val()
  size_t own = 0;                // come after `own` others

 private:
  Graph* graph_;
  bool replay_;
  Scope* parent_;
  std::map<std::pair<Builder*, uint32_t>, Val> here_;
};

struct Action {
  std::function<std::vector<Val>(Scope&)> run;
  std::vector<Val> results;
};
void replay(const std::vector<Action>& actions, Scope& s);

// A number computed from sizes: exact, as Python computes it. Throws Misfit where it cannot.
using Number = std::variant<int64_t, double>;
using SizeExpr = std::function<Number(Scope&)>;
Number number_arithmetic(const std::string& op, Number a, Number b);
bool number_relation(const std::string& op, Number a, Number b);

}  // namespace pijit
