// Branches and loops on a tensor's value, which become regions of the graph.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "capture/context.h"

namespace pijit {

class Tracer;
struct Frame;

class ControlFlow {
 public:
  explicit ControlFlow(Tracer& t) : t_(t) {}
  // The frame stands before a jump by the truth of x, which a run decides. `keeps`: the way (0
  // false, 1 true) that has x on the stack; -1 for none.
  void branch(Frame& f, const V& x, int if_true, int if_false, int keeps = -1);

  struct Arm {
    std::shared_ptr<Graph> graph = std::make_shared<Graph>(false);
    std::unique_ptr<Scope> scope;
    bool returned = false;
    V value;
    std::vector<Context::Write> writes;
    std::vector<V> after;  // what was written, by the places of `writes`
    void end_writes(Context& c);
    V written(const V& target, PyObject* name) const;  // null: nothing was
  };

 private:
  class Inside;
  class TensorBranch;
  class TensorLoop;
  class Branching;
  // The turn of a loop on a tensor that is being traced: the next one begins at the jump `test`,
  // with its condition on the stack; the loop is left to `after`.
  struct Turn {
    const Frame* frame;
    int test, after;
    bool negated;
  };
  void loop(Frame& f, const V& x, int body, int after, bool negated);
  void run_until(Frame& f, int pc, int stop, Arm* arm);
  std::optional<Turn> turn_of(const Frame& f) const;
  void merge_writes(const V& target, const py::object& name, const V& value);

  Tracer& t_;
  std::vector<std::pair<const Frame*, int>> branching_;
  int unrolled_ = 0;  // branches in turns of a loop over items
  std::vector<Turn> turns_;
};

}  // namespace pijit
