// What capture knows of callables: a map from the objects themselves, so that another object under
// the same name is another thing.
#pragma once
#include <string>

#include "absl/container/node_hash_map.h"
#include "capture/tracer.h"

namespace pijit {

// How many positional arguments a callable takes, with its self, and whether it takes keywords.
struct Arity {
  size_t least, most;
  bool keywords = false;
};
constexpr size_t kAny = 1000;

struct Call {
  PyObject* callable;
  const std::string& name;
  std::vector<V>& args;
  Kwargs& kwargs;
  const V& function;  // null: a method that was found by the class of its self
};
// What a function of pijit/_polyfills.py of that name does, which is inlined.
V call_polyfill(Tracer& t, Call& c);
// A call of what has no effect: it is made while capturing.
V call_pure(Tracer& t, Call& c);
V print(Tracer& t, Call& c);
// Null: not with these arguments.
using Known = V (*)(Tracer&, Call&);

class Registry {
 public:
  static const Registry& get();
  // Python's own, as they are when we are imported: before a program can replace them.
  static void add_python();

  void add(py::handle callable, Arity arity, Known handler);
  void method(PyTypeObject* type, const char* name, Arity arity, Known handler);
  // What a call of any object of this type does.
  void objects(PyTypeObject* type, Known handler);
  // Functions of a module that are there.
  void functions(const char* module, std::initializer_list<const char*> names, Arity arity,
                 Known handler);

  struct Row {
    std::string name;
    Arity arity;
    Known handler;
    bool itself = true;  // is it of the object, not of its class?
  };
  const Row* find(PyObject* callable) const {
    if (auto it = rows_.find(callable); it != rows_.end()) return &it->second;
    auto it = of_type_.find(Py_TYPE(callable));
    return it == of_type_.end() ? nullptr : &it->second;
  }

 private:
  static Registry& own();
  static bool complete_, knows_numpy_;
  absl::node_hash_map<PyObject*, Row> rows_;  // which holds references
  absl::node_hash_map<PyTypeObject*, Row> of_type_;
};

void add_python(Registry& r);  // builtins/*.cc
void add_functional(Registry& r);
void add_containers(Registry& r);
void add_types(Registry& r);
void add_iterators(Registry& r);
void add_numpy(Registry& r);
void add_library(Registry& r);

}  // namespace pijit
