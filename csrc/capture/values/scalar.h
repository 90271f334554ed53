// Numbers, texts and other objects that never change: known, or one that capture does not fix.
#pragma once
#include <variant>

#include "base/operators.h"
#include "capture/value.h"

namespace pijit {

constexpr double kExactInt = 9007199254740992.0;  // 2^53
constexpr double kSmallInt = 2147483648.0;

struct ScalarValue final : Value {
  struct Known {};  // it is `obj`
  // A number that follows from sizes of tensors that vary: known whenever the graph is built. `obj`
  // is what it is now.
  struct Size {
    SizeNumber expr;
  };
  // An int, float or str that is read or computed anew at each call, at `src` (a backed symbol):
  // `obj` is what it is now.
  struct Input {
    Val node;  // of the graph, made where an op needs it
  };
  // An int, float or bool that the graph gives (an unbacked symbol): `obj` is one of its type.
  struct Computed {
    Val node;
    double bound = 0;  // of an int: the greatest magnitude
    // Of arithmetic, if that is of few numbers: of what. Where these are inputs and sizes, `obj` is
    // what it is now.
    struct Arithmetic {
      BinaryOp op;
      V a, b;
      int numbers;
    };
    std::shared_ptr<const Arithmetic> of = nullptr;
  };
  using State = std::variant<Known, Size, Input, Computed>;

  explicit ScalarValue(py::object o, State s = Known{}) : Value(&kKind<ScalarValue>), state_(s) {
    obj = std::move(o);
  }
  static bool holds(Kind k) { return k == &kKind<ScalarValue>; }
  PyTypeObject* type() const override;
  std::optional<py::object> object(Context& c, Ask what) override;
  std::optional<bool> truth(Context& c) override;
  V length(Context& c) override;
  V getitem(Context& c, const V& index) override;
  std::optional<bool> contains(Context& c, const V& x) override;
  V iter(Context& c) override;
  bool iterable() const override;
  std::optional<V> getattr(Context& c, PyObject* name) override;
  std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                          Kwargs& kwargs) override;
  V unary(Context& c, UnaryOp op) override;
  V binary(Context& c, BinaryOp op, const V& other, Side side) override;
  V compare(Context& c, CompareOp op, const V& other, Side side) override;
  V in_place(Context& c, BinaryOp op, const V& other) override;
  bool declines_binary(const V& other) const override;
  bool declines_comparison(const V& other) const override;
  V merge(Merge& m, const V& other) override;
  int rebuild(Rebuilder& r) override;
  Val node() const override;
  bool is_operand() const override;
  Operand operand(Context& c, Scope& s) override;

  py::object stand_in(Context&) override { return obj; }

  template <class S>
  const S* state() const {
    return std::get_if<S>(&state_);
  }
  // Where the region that gives it enters its value.
  Val* place() { return &std::get<Computed>(state_).node; }
  // A size or an input becomes known, under a guard; taken back with the journal. Of what the graph
  // gives, capture gives up.
  void fix(Context& c);
  // Makes the input of the graph that it is. False where it is too large: it is fixed then.
  bool make_input(Context& c);
  // An int that a shape depends on and that follows from inputs and sizes becomes a size: these are
  // read anew at each call. False: it is none.
  bool make_size(Context& c);
  bool may_be_size() const;

 private:
  V arithmetic(Context& c, BinaryOp op, const V& other, const char* function);

  State state_;
};

template <class S>
const S* state_of(const V& v) {
  const auto* s = as<ScalarValue>(v);
  return s ? s->state<S>() : nullptr;
}
inline bool is_known(const V& v) { return state_of<ScalarValue::Known>(v); }
inline bool is_size(const V& v) { return state_of<ScalarValue::Size>(v); }
inline bool is_input(const V& v) { return state_of<ScalarValue::Input>(v); }
inline bool is_computed(const V& v) { return state_of<ScalarValue::Computed>(v); }
inline bool varies(const V& v) { return as<ScalarValue>(v) && !is_known(v); }
inline bool is_none(const V& v) { return is_known(v) && v->obj.is_none(); }
inline bool is_text(const V& v) { return is_known(v) && PyUnicode_Check(v->obj.ptr()); }
// A Python int, float or bool itself, known or not; its type in a graph, its magnitude now, or the
// greatest.
bool plain_number(const V& v);
DType number_dtype(const V& v);
double magnitude(const V& v);
// An int, float or bool, or an object of a class derived from one.
bool is_number(const V& v);
// Only a run can tell whether it is true.
bool undecided(const V& v);

inline void fix(Context& c, const V& v) {
  if (auto* s = as<ScalarValue>(v)) s->fix(c);
}
// Of an int, which is fixed.
std::optional<int64_t> as_int(Context& c, const V& v);

// --- sizes
V size_value(Context& c, const SizeNumber& n);
V dim(Context& c, const V& tensor, int axis);
V shape_of(Context& c, const V& tensor);
V source_length(Context& c, const V& container);  // of one from outside, before changes
V element_count(Context& c, const V& tensor, int64_t times);
// A constant as the Python object that it is, with symbolic_object for the ints in it that vary.
// Floats and numbers passed in are fixed. Empty: not a constant.
std::optional<py::object> object_with_sizes(Context& c, const V& v);
bool holds_size(Context& c, const V& v);  // or is one

// --- inputs
// Whether `o`, found at `src`, is read anew at each call: it varied before.
bool is_dynamic(Context& c, PyObject* o, int src);
V input_at(Context& c, PyObject* o, int src);
// What stands for v here as an argument of a computed source; null where it cannot be one.
py::object argument(Context& c, const V& v);
int argument_source(Context& c, const V& v);  // of a value that has an `argument`
// What a function of C without effects gives, computed anew before each run. Null: it is not known
// to be of a type that may vary, or raises here.
V at_each_run(Context& c, PyObject* f, const std::vector<V>& args);

// --- numbers that the graph gives: what float(), item() or a comparison makes of a Tensor's one
// element, and what branches on tensors leave in variables
// x, of one element, as a float (F64), an int (I64) or a bool. No gradient goes through it.
V graph_number(Context& c, Val x, DType t);
// What float() or int(), or item(), of no type, makes of a tensor; null: not possible.
V number_of(Context& c, const V& x, PyTypeObject* type);
// The integer that a Tensor is which the code itself made of a number, as Tensor(2); else empty.
std::optional<int64_t> constant_integer(const V& x);
// Whether a value that is undecided is true, of one element.
Val truth_val(Context& c, const V& x, bool negated);
// A comparison as Python computes it; null: not possible.
V graph_relation(Context& c, CompareOp op, const V& a, const V& b);

// --- operators where an operand varies; null, or empty: not possible
V scalar_arithmetic(Context& c, BinaryOp op, const V& a, const V& b);
V scalar_negation(Context& c, const V& x);
std::optional<bool> scalar_relation(Context& c, CompareOp op, const V& a, const V& b);

}  // namespace pijit
