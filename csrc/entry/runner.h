// Running an entry: its program, the objects that the caller sees, the side effects.
#pragma once
#include "absl/functional/function_ref.h"
#include "eager/tape.h"
#include "entry/entry.h"
#include "runtime/pooled.h"

namespace pijit {

// A tape records a captured region as one op, unless it is nested (the gradient's own ops would
// have to be recorded, too) or in forward mode.
bool tape_needs_single_ops();

class Runner {
 public:
  using Recheck = absl::FunctionRef<bool(Values*)>;
  // `instance` is kept by the caller, `values` (of the entry's sources) until compute() begins.
  Runner(const Entry& e, const Instance& instance, const Values& values)
      : e(e), instance(instance), values(values), made(e.recipes.size()) {
    for (auto [recipe, source] : e.from_sources)
      made[static_cast<size_t>(recipe)] = py::reinterpret_borrow<py::object>(values[source]);
  }
  // Throws OpError when a kernel finds bad data: nothing has happened then. `recheck`, which may be
  // null, checks the guards anew: with it, other threads may run Python while the kernels do.
  // False: what the entry is about to change is not any more what it has read.
  bool compute(const Recheck* recheck);
  const py::object& make(int recipe);
  // Null: the value is in the memory of the Tensor that it is assigned to.
  ArrayRef& output(int k) { return outputs[static_cast<size_t>(k)]; }
  const Number& size(int k) const { return instance.sizes[k]; }
  void apply_effects();
  // Drops what the run held.
  void clear() {
    outputs.clear();
    made.clear();
  }

 private:
  // The inputs of the program, while it runs.
  struct Inputs {
    Pooled<Array*, 16> in;
    Pooled<Program::Give, 16> give;
    Pooled<ArrayRef, 16> held;  // per input, where other threads may run; else numbers
  };
  void fetch(Inputs* inputs, bool hold);
  bool still_there(Inputs* inputs, const Recheck& recheck) const;
  std::optional<bool> compute_under(Tape& tape, std::span<Array* const> in,
                                    const absl::FunctionRef<bool()>* back);
  const py::object& build(int id);  // of parts that are made when they are needed
  void make_parts(int id);

  const Entry& e;
  const Instance& instance;
  const Values& values;
  Pooled<ArrayRef, 8> outputs;
  Pooled<py::object, 8> made;  // per recipe
  int depth = 0;               // of make in itself
};

}  // namespace pijit
