// Running an entry: its program, the objects that the caller sees, the side effects.
#pragma once
#include "entry/entry.h"

namespace pijit {

// A tape records a captured region as one op, unless it is nested (the gradient's own ops would
// have to be recorded, too) or in forward mode.
bool tape_needs_single_ops();

class Runner {
 public:
  // `instance` and `values` (of the entry's sources) are kept by the caller.
  Runner(const Entry& e, const Instance& instance, std::vector<py::object>& values)
      : e(e), instance(instance), values(values) {}
  void compute();  // throws OpError when a kernel finds bad data: nothing has happened then
  py::object make(int recipe);
  const ArrayRef& output(int k) const { return outputs[k]; }
  const py::object& value(int source) const { return values[source]; }
  const Number& size(int k) const { return instance.sizes[k]; }
  void apply_effects();
  // Drops what the run held.
  void clear() {
    outputs.clear();
    made.clear();
  }

 private:
  bool compute_under(Tape& tape, std::span<Array* const> in);
  py::object build(int id);  // of parts that are made when they are needed
  void make_parts(int id);

  const Entry& e;
  const Instance& instance;
  std::vector<py::object>& values;
  std::vector<ArrayRef> outputs;
  std::vector<py::object> made;  // per recipe
  int depth = 0;                 // of make in itself
};

}  // namespace pijit
