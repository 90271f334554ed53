// How a run makes the objects that it hands out. One class per way, beside the kind of value that
// needs it; here those that several kinds use.
#pragma once
#include "entry/runner.h"

namespace pijit {

struct NullRecipe final : Recipe {
  py::object make(Runner&) const override { return {}; }
  std::string describe() const override { return "null"; }
};

struct ConstantRecipe final : Recipe {
  explicit ConstantRecipe(py::object o) : object(std::move(o)) {}
  py::object make(Runner&) const override { return object; }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(object.ptr());
    return 0;
  }
  std::string describe() const override { return "constant " + shown(object); }

  py::object object;
};

// A Runner has these from the start.
struct SourceRecipe final : Recipe {
  explicit SourceRecipe(int source) : source(source) {}
  py::object make(Runner&) const override { return {}; }
  std::string describe() const override { return str_cat("source ", source); }

  int source;
};

// What a callable gives; the first part, where no object is given.
struct CallRecipe final : Recipe {
  CallRecipe(py::object callable, std::vector<int> args) : callable(std::move(callable)) {
    parts = std::move(args);
  }
  py::object make(Runner& r) const override {
    py::list args;
    for (size_t k = callable ? 0 : 1; k < parts.size(); ++k) args.append(r.make(parts[k]));
    return (callable ? callable : r.make(parts[0]))(*args);
  }
  int visit(visitproc visit, void* arg) const override {
    Py_VISIT(callable.ptr());
    return 0;
  }
  std::string describe() const override {
    return "call of " + (callable ? shown(callable) : "the first part");
  }

  py::object callable;
};

}  // namespace pijit
