// Where a graph that is being captured takes its values from. A region's values of the graph around
// it become inputs of the region when they are first asked for.
#pragma once
#include <map>
#include <vector>

#include "graph/graph.h"

namespace pijit {

class Scope {
 public:
  explicit Scope(Graph* graph, Scope* parent = nullptr) : graph_(graph), parent_(parent) {}
  Graph& graph() { return *graph_; }
  Val val(Val v);

  struct Import {
    Val outer;  // of the parent
    Val inner;  // an input
  };
  const std::vector<Import>& imports() const { return imports_; }
  // The input that stands for a value of the parent, made if there is none.
  Val import(Val outer);

 private:
  Graph* graph_;
  Scope* parent_;
  std::vector<Import> imports_;
};

}  // namespace pijit
