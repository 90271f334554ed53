// Functions made during capture, and methods bound to objects.
#pragma once
#include "capture/value.h"

namespace pijit {

struct FunctionValue final : Value {
  FunctionValue() : Value(&kKind<FunctionValue>) {}
  static bool holds(Kind k) { return k == &kKind<FunctionValue>; }
  PyTypeObject* type() const override;
  V call(Context& c, std::vector<V> args, Kwargs kwargs) override;
  bool is_referable() const override { return true; }
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  py::object code, globals;
  py::object qualname;                                     // null: the code's
  V defaults, kwdefaults, closure, annotations, annotate;  // null: none
};

struct MethodValue final : Value {
  MethodValue() : Value(&kKind<MethodValue>) {}
  MethodValue(V self, V func) : Value(&kKind<MethodValue>), self(self), func(func) {}
  static bool holds(Kind k) { return k == &kKind<MethodValue>; }
  PyTypeObject* type() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  V call(Context& c, std::vector<V> args, Kwargs kwargs) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;

  V self, func;
};

Kwargs with_keywords(Kwargs kwargs, const Kwargs& others);
// A functools.partial made during capture.
struct PartialValue final : Value {
  PartialValue(V func, std::vector<V> args, Kwargs kwargs)
      : Value(&kKind<PartialValue>), func(func), args(std::move(args)), kwargs(std::move(kwargs)) {}
  static bool holds(Kind k) { return k == &kKind<PartialValue>; }
  PyTypeObject* type() const override { return partial_type(); }
  std::optional<V> getattr(Context& c, PyObject* name) override;
  V call(Context& c, std::vector<V> args, Kwargs kwargs) override;
  void traverse(Visit visit) const override;
  int rebuild(Rebuilder& r) override;
  static PyTypeObject* partial_type();

  V func;
  std::vector<V> args;
  Kwargs kwargs;
};

}  // namespace pijit
