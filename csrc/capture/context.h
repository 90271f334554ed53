// What a kind of value may ask of the capture that it is part of: sources and guards, the graph,
// the journal of effects, and transactions. What Python does with values is protocol/protocol.h;
// what a kind does alone is in its header. The interpreter (tracer.h) adds frames; tests need none.
#pragma once
#include <chrono>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "capture/break_at.h"
#include "capture/capture.h"
#include "capture/value.h"

namespace pijit {

// An exception of the captured code, on its way to a handler.
struct Raised {
  V exception;
  std::string where, detail;
};

bool plain_tuple_type(PyTypeObject* t);
bool dict_like(PyTypeObject* t);
bool derived_dict(PyTypeObject* t);
bool immutable_constant(PyObject* o);
bool static_object(PyObject* o);
// A method or slot in C of a class, which is called with an object of it.
inline bool is_c_method(PyObject* o) {
  return Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type;
}
bool is_enum(PyTypeObject* t);
// Is what objects of the class have as __class__ their class?
bool says_its_class(PyTypeObject* t);
bool is_slot(PyObject* found, PyTypeObject* t);
// Does the class find attributes in a way of its own?
bool own_getattribute(PyTypeObject* t);
// Is this exactly NaN?
bool is_nan(PyObject* o);
// Is there one in this number or container?
bool holds_nan(PyObject* o);
// A function of pijit/_polyfills.py.
py::object polyfill(const char* name);
// A function in Python, behind @jit or not, that the class has under a name; else null.
PyObject* python_method(PyTypeObject* t, const char* name);

// A module of the Python library, of NumPy or ours, by its globals.
bool named_as_library(PyObject* globals);
// The source that another is read from, in the end.
const Source& root_of(const std::vector<Source>& sources, int src);

struct TensorValue;
// What needs frames: calls of Python code, and where capture is.
class Interpreter {
 public:
  virtual ~Interpreter() = default;
  // Inlines a function in Python, from outside or made during capture.
  virtual V call_function(const V& f, std::vector<V> args, Kwargs kwargs) = 0;
  // What the registry knows of a callable, or of objects of its class (f: it, where it is a value).
  // Null: nothing, or not with these arguments.
  virtual V call_known(PyObject* callable, std::vector<V>& args, Kwargs& kwargs,
                       const V& f = nullptr) = 0;
  // Under code that nobody decorated, a function behind @jit has graphs of its own: a break.
  virtual void meet_decorated(PyObject* jit_function) = 0;
  virtual std::string location() const = 0;  // file:line
  virtual std::string inner_module()
      const = 0;  // of the innermost frame, if not the outermost one's
  // The next value of a generator, to which something is sent or thrown. False: it has ended, and
  // the value is what it returns (null: it had ended before).
  virtual bool resume_generator(const V& it, V* value, const V& sent = nullptr,
                                const V& thrown = nullptr) = 0;
  virtual int outermost_instr() const = 0;  // of the frame that is captured; -1: none yet
};

class Context : public Interpreter {
 public:
  explicit Context(StartPoint& p);
  Context(const Context&) = delete;

  [[noreturn]] void give_up(Reason r, const std::string& detail = "", BreakAt at = {}) const;
  void tick(int64_t steps = 1);  // of the budget; ends the capture where a signal waits
  // A step into a value that is part of another: containers may hold themselves, or be nested
  // deeper than our stack, or be shared so often that a walk would never end.
  class Nested {
   public:
    explicit Nested(Context& t);
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;

   private:
    int& depth_;
  };
  int nesting_ = 0;

  // --- exceptions
  [[noreturn]] void raise(const V& exception, const std::string& detail = "");
  [[noreturn]] void raise(PyObject* cls, std::vector<V> args, const std::string& detail = "");
  [[noreturn]] void raise(PyObject* cls, const std::string& detail);  // of a text not known
  [[noreturn]] void raise(const py::error_already_set& e);  // of an operation on constants
  size_t exception_changes_ = 0;  // of undo_: changes of exceptions made during capture

  void check_effect(const V& v) const;   // may it be changed here?
  void check_binding(const V& v) const;  // may it be given another node of the same value?
  uint64_t arm_serial_ = 0;              // what was made before is outside of the branch
  uint64_t mapped_serial_ = 0;           // the same for a function that vmap runs for one element
  // What an arm of a branch does to something that exists outside of it: a tensor gets another
  // value, an attribute `name` of an object, or a cell, another content. Undone where the arm ends.
  struct Write {
    V target;
    py::object name;
    V before;  // null: an attribute that nothing was written to
    Val node;  // of a tensor, before
    bool is(const V& t, PyObject* n) const { return target == t && name.ptr() == n; }
  };
  std::vector<Write>* arm_writes_ = nullptr;  // of the arm in which code is traced
  // Is it outside of that arm? Then what is written to it is noted there. To be asked before.
  bool written_in_arm(const V& v, PyObject* name = nullptr);

  // --- wrap.cc: values of objects
  V wrap(PyObject* o, int src);  // an object with a source; adds guards
  V wrap_static(PyObject* o);    // an object known for good (library, constant of the code)
  template <class T, class... A>
  T* make(A&&... args) {
    T* v = arena_.make<T>(std::forward<A>(args)...);
    if constexpr (requires { v->made_at; }) v->made_at = outermost_instr();
    return v;
  }
  V null() const { return null_; }
  V constant(py::object o);
  V constant_int(int64_t i) { return constant(py::int_(i)); }
  V tuple(std::vector<V> items);
  V list(std::vector<V> items);
  TensorValue* tensor(Val node);
  void touch(const V& v);  // before a change in place
  // --- effects.cc: what is done to objects from outside, in order ---
  struct Note {
    enum Kind : uint8_t {
      kAssign,   // of a tensor: what it is in the end
      kSetAttr,  // `name`
      kDelAttr,
      kSetGlobal,
      kSetClass,  // attribute `name` of a class
      kSetCell,
      kPrint,   // `values`, by the function `name` with `keywords`
      kExtend,  // a list by `values`
      kSetItem,
      kDelItem,
      kCall,  // of the C method `name` with `values`
      kStore  // in an ndarray: `values` are it or a view of it, where in that, and what
    } kind;
    V target;
    py::object name, globals;
    std::vector<V> values;
    py::object keywords = {};
  };
  void log(Note n);

  int guard_class(PyTypeObject* t);
  unsigned version_of(PyTypeObject* t) const;  // gives up where it has none

  // --- sources that differ from call to call
  bool unstable(int src) const { return start_.unstable.count(sources_[src].path) > 0; }
  // A question whose answer the code takes into account.
  bool decided(bool outcome, Source s);

  // What a dict from outside has under a key (borrowed), without asking Python code; null: nothing.
  PyObject* found_in(PyObject* dict, PyObject* key) const;

  // --- sources and guards ---
  int add_source(Source s);
  int source_of(const V& v);  // makes a constant source where there is none
  void guard(Guard::Kind k, int src, py::object obj = {}, uint64_t num = 0, py::object obj2 = {});
  void guard_type(const V& v);
  bool is_library(PyObject* globals);  // and guards it

  template <class F>
  void undoable(F restore) {
    undo_.push_back(std::move(restore));
  }

  StartPoint& start_;
  Val add_input(Type t, int src, uint64_t dynamic, bool parameter = false);

  Arena arena_;
  const V null_;  // an unbound variable
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>(false);
  Scope root_scope_{graph_.get()};
  Scope* scope_ = &root_scope_;
  SizeEnv symbols_;
  SizeEnv::Use use_symbols_{&symbols_};
  std::vector<int> input_source_;
  std::vector<std::pair<int, int>> dynamic_;    // of each symbol, as Entry::dynamic
  absl::flat_hash_map<int, V> dynamic_values_;  // inputs, by source
  std::vector<uint32_t> raising_;               // nodes, by note_flags (values/ndarray.h)
  std::vector<V> open_tapes_;                   // outermost first
  std::vector<TensorValue*> views_;             // in the order in which they were made
  std::vector<py::object> held_;
  std::vector<Source> sources_;
  absl::flat_hash_map<std::tuple<int, int, int, PyObject*, int, std::vector<int>>, int>
      source_index_;
  std::vector<Guard> guards_;
  absl::flat_hash_set<std::tuple<int, int, uint64_t, PyObject*>> guard_index_;  // of guard()
  int unmourned_ = 0;                        // Guard::kUnmourned among them
  absl::flat_hash_map<PyObject*, V> known_;  // objects with identity
  std::set<PyObject*> instance_dicts_;       // of objects whose attributes were looked for
  bool plain_tensors_ = false;               // a guard asks for the class Tensor as it is
  absl::flat_hash_map<const Value*, py::object> keys_made_;
  absl::flat_hash_map<PyObject*, V> key_values_;
  std::map<std::pair<PyObject*, std::string>, V> global_writes_, class_writes_;
  std::vector<Note> journal_;
  std::set<PyObject*> lasting_;              // what check_removed() has looked at
  absl::flat_hash_set<const Value*> moved_;  // sequences from outside whose items left their places
  std::vector<std::function<void()>> undo_;
  int64_t budget_, before_ops_;
  int64_t inlined_turns_ = 0;  // of the loops of a function that is called
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// The object that a value is, where it is known in full.
inline std::optional<py::object> as_constant(Context& c, const V& v, Ask what = Ask::kAnything) {
  return v->object(c, what);
}
inline Operand operand_of(Context& c, const V& v) { return v->operand(c, *c.scope_); }
// Does C code, asked about an object of the class, run Python code of the user's? Guards the class.
bool asks_user_code(Context& c, PyTypeObject* t, Ask what);
// lifetimes.cc: gives up where somebody sees what an effect removes.
void check_removed(Context& c, const Context::Note& n);

}  // namespace pijit
