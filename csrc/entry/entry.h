// The outcome of a capture, as data.
//
//   Source   how to reach an object again from a frame's state; evaluated and guarded at every call
//   Recipe   how to make an object after the graph ran
//   Entry    sources + guards, program, effects, then a result or a break
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "compile/joint_partition.h"
#include "entry/time_in_numpy.h"
#include "graph/dim.h"
#include "python/code.h"
#include "objects/objects.h"
#include "runtime/program.h"

namespace pijit {

// Why a graph ends before its function does.
enum class Reason : uint8_t {
#define BREAK(id, name, text, hint) name,
#define CASE(id, name, what, where, hint)
#include "entry/break_reasons.def"
#undef BREAK
#undef CASE
};
const char* reason_text(Reason r);

// A break of a kind that has a hint of its own.
enum class Case : uint8_t {
  kNone,
#define BREAK(id, name, text, hint)
#define CASE(id, name, what, where, hint) name,
#include "entry/break_reasons.def"
#undef BREAK
#undef CASE
};
// The case of a break at an object of this module and name, or in code of the module.
Case case_of(std::string_view module, std::string_view name);

// What explanations and their pages call it, as PB012, and what helps.
std::string break_id(Reason r, Case c);
const char* break_hint(Reason r, Case c);

// --- Sources and guards
// ----------------------------------------------------------------------------
struct Source {
  enum Kind : uint8_t {
    kState,
    kClosure,
    kGlobal,
    kAttr,       // of the class, through the MRO
    kSlot,       // what an object holds in a slot of its class (__slots__)
    kClassName,  // __name__, __qualname__ or __module__ of a class
    kDictAttr,
    kItem,      // of a tuple or list; from the end where negative
    kDictItem,  // of a dict; no user code is asked, not even a subclass's
    kLength,    // of a list or dict, as an int
    kHasKey,    // whether the dict has the key, as a bool
    kCell,
    kFuncClosure,
    kFuncDefaults,
    kFuncKwDefault,
    kMethodSelf,
    kMethodFunc,
    kComputed,  // what the C function `key`, which has no effects, gives for `args`
    kPack,      // the tuple of `args`
    kMember,    // what a C descriptor, the key, reads from the object
    kConst
  } kind;
  int parent = -1;
  int index = 0;
  py::object key;  // name, dict key, globals dict or constant
  int other = -1;  // kDictItem, kHasKey: the source of the key, where that varies
  std::vector<int> args = {};
  uint64_t path = 0;  // the same for the same way to an object in every capture
};
// The path of a source whose parent has the path `parent`.
uint64_t path_of(const Source& s, uint64_t parent);

struct Guard {
  enum Kind : uint8_t {
    kType,         // exact type `obj`, of version `num`
    kExact,        // exact type `obj`
    kIs,           // the very object
    kIsStill,      // the object that weak reference `obj` refers to
    kEquals,       // same type and equal
    kTensor,       // tensor of python type `obj`, of that `version`, and of the element type and
                   // shape of `type`, but for the dims in the bit mask `num`
    kNdarray,      // exactly an ndarray, of the dtype and shape of `type`, but for the dims in the
                   // bit mask `num`, without gaps, in the order `version`
    kNumber,       // int (of 31 bits) or float, of type `obj`
    kRelation,     // compared with number `obj` by num / 2 (Py_LT ...), the answer is num % 2
    kLength,       // tuple or list of `num` items
    kAtLeast,      // list of `num` items or more
    kThere,        // it exists
    kKeys,         // dict or set with exactly these keys in this order; num: places in the table
    kCode,         // function with this code and globals
    kSame,         // the same object as source `num`
    kNotSame,      // another object than source `num`
    kNoDictAttr,   // the instance dict lacks `obj`
    kDictVersion,  // dict `obj` is at version `num`
    kTypeVersion,  // class `obj` is at version `num`
    kNull,         // slot is unbound
    kCellEmpty,
    kNoPart,     // a tensor that is no part of another
    kRecords,    // are gradients being recorded? `num`
    kUnmourned,  // unbound, or nobody sees it die as far as a glance tells
  } kind;
  int src;
  py::object obj, obj2;
  uint64_t num = 0;
  Type type;
  unsigned version = 0;
};

// --- Recipes and effects

class Runner;
// How to make an object after the graph ran (recipe.h).
struct Recipe {
  virtual ~Recipe() = default;
  virtual py::object make(Runner& r) const = 0;  // throws error_already_set
  // Of objects that their parts may lead back to: made without them, then filled.
  virtual py::object allocate() const { return {}; }
  virtual void fill(Runner& r, const py::object& made) const {}
  virtual int visit(visitproc, void*) const { return 0; }
  virtual std::string describe() const = 0;

  std::vector<int> parts;  // recipes; -1: none
};
// What an entry does to objects from outside. Effects are applied in the order of the program; each
// one is the program's own operation on the object itself, so that what others did to it meanwhile
// (other threads, __del__, a stream that prints) stays. effects.cc
struct Effect {
  virtual ~Effect() = default;
  virtual void apply(Runner& r) const = 0;  // throws error_already_set
  virtual int visit(visitproc, void*) const { return 0; }
  virtual std::string describe() const = 0;
  // Whether it only says of objects that the call hands out whose elements they share.
  virtual bool of_views() const { return false; }
};

// --- Entries
// ---------------------------------------------------------------------------------------
struct BreakRecord {
  Reason reason;
  std::string detail, location;
  Case of = Case::kNone;
};

// An entry's program for inputs of certain sizes.
struct Instance {
  bool fits = true;  // false: with these sizes, capture would have taken another way
  std::shared_ptr<const Program> program;  // null: nothing to compute
  std::vector<bool> donatable;
  std::vector<Number> sizes;  // that recipes ask for
  // For a tape: gradients, by the inputs that it watches.
  std::shared_ptr<const Graph> graph;
  mutable std::map<std::vector<JointPartition::Leaf>, std::shared_ptr<JointPartition>> joint;
  // Runs among other threads, and those that were in vain as others changed what they had read.
  // Where that keeps happening, others wait.
  mutable uint32_t among_others = 0, in_vain = 0;
  bool went(bool well) const {
    ++among_others, in_vain += !well;
    return well;
  }
  bool contended() const { return in_vain >= 4 && in_vain * 4 > among_others; }
};

class GuardCache;

struct Entry {
  Entry();
  ~Entry();
  std::vector<Source> sources;
  std::vector<Guard> guards;
  std::vector<std::pair<int, int>> guard_range;  // per source
  std::string graph_text;
  std::vector<std::pair<std::string, int>> ops;  // by name, and how many
  uint64_t num_ops = 0;
  TimeInNumpy in_numpy;     // of these
  std::vector<int> inputs;  // source per program input
  // Per input: whether it is a Tensor that an effect assigns to before anything else happens, and
  // only once; the new value may stay in the memory of the old one.
  std::vector<bool> assigned_first;
  // What varies: dims of inputs, as (input, axis), and inputs that are sizes themselves, or whose
  // negatives are. Instances by those dims.
  static constexpr int kNumber = -1, kNegated = -2;  // axis
  std::vector<std::pair<int, int>> dynamic;
  std::map<std::vector<int64_t>, std::shared_ptr<const Instance>> instances;
  // Where something varies, how to build a further instance: the graph in terms of a symbol per
  // dynamic dim, for sizes that fulfil these constraints.
  std::shared_ptr<const Graph> graph;
  SizeEnv symbols;
  std::vector<SizeNumber> sizes;  // that recipes ask for
  std::vector<int> changed;       // sources of objects that effects change, and
  std::vector<int> identities;    // of all objects with an identity: none of these may be the same
  // The addresses of `identities` that were last found to be so (not held).
  mutable std::vector<PyObject*> apart;
  mutable std::unique_ptr<GuardCache> guard_cache;
  std::vector<std::unique_ptr<const Recipe>> recipes;
  std::vector<std::pair<int, int>> from_sources;  // recipes that are the object of a source
  std::vector<std::unique_ptr<const Effect>> effects;
  int result = -1;  // recipe; -1: ends in a break
  // The break: state to continue with, before instruction `instr`.
  int instr = -1;
  bool rest_in_python = false;                   // continue in CPython to the end
  std::vector<int> slot_recipes, stack_recipes;  // -1: unbound
  int handled = -1;  // the exception that is handled there, or None; -1: the same as before
  std::optional<BreakRecord> break_record;
  // The paths of numbers of the graph in that state: their values differ from call to call.
  std::vector<uint64_t> numbers;
  uint64_t calls = 0, failures = 0;
  int first_line = 0;
  std::vector<std::string> places;  // "file:line" that capture went through
  bool fast = false;
  // Computes what NumPy would: where a run raises flags that NumPy tells of, NumPy computes it.
  bool watches_flags = false;
  std::vector<int> stored;  // inputs that effects store in: no other input may share their memory
  std::optional<DType> compute_dtype;  // under which it was captured, and may run
  bool own_gradients = false;          // of the user; a tape must see them
};

// What `jit` makes of a function (dispatch/jit.cc), and the function in it (borrowed).
extern PyTypeObject* jit_function_type;
PyObject* jit_inner(PyObject* jit_function);
// Equal for a guard: of one type, floats by their bits.
bool equal_constants(PyObject* a, PyObject* b);
// Of a bound method of C code: the descriptor of its object's class (borrowed); null where it is
// none.
PyObject* method_behind(PyObject* builtin);
// An int that may vary: sums and products of a few stay exact.
inline bool small_int(int64_t i) { return i > -(int64_t{1} << 31) && i < (int64_t{1} << 31); }

// The objects of an entry's sources in one call; null: the path no longer exists.
struct Values {
  PyObject* operator[](size_t s) const { return at[s]; }
  PyObject* operator[](int s) const { return at[s]; }
  PyObject** at = nullptr;  // borrowed: `own`, or a guard cache's
  std::vector<PyObject*> own;
  std::vector<py::object> held;  // what keeps those in `own`, and what was made for the call
};
// Checks all guards. `failed` receives the first that does not hold.
bool check_guards(const Entry& e, PyObject* func, PyObject* const* state, Values* values,
                  int* failed);
// The same, by what the last check found.
bool recheck_guards(const Entry& e, PyObject* func, PyObject* const* state, Values* values,
                    int* failed);
// An instance of an entry: its program, for a graph without symbols, and sizes.
std::shared_ptr<const Instance> instance_of(const Entry& e,
                                            const std::shared_ptr<const Graph>& graph,
                                            std::vector<Number> sizes);
// The same for these values of what varies; it may not fit.
std::shared_ptr<const Instance> instance_at(const Entry& e, const std::vector<int64_t>& dims);
// The instance for the sizes of these inputs, built if need be; null: the entry does not fit them.
std::shared_ptr<const Instance> instance_for(Entry& e, const Values& values);
// The text of an entry's graph; where sizes vary, with a line per symbol that says what it is.
std::string graph_text(const Entry& e, const CodeInfo& code);
// What must hold of the sizes that vary, as Python expressions.
std::vector<std::string> describe_constraints(const Entry& e, const CodeInfo& code);
// Adds what in `state` differs from what the entry was captured for, if numbers and sizes are all
// that differs.
void find_dynamic(const Entry& e, PyObject* func, PyObject* const* state, const CodeInfo& code,
                  std::map<uint64_t, uint64_t>* dynamic);
std::string describe_source(const std::vector<Source>& sources, int src, const CodeInfo& code);
std::string describe_guard(const Entry& e, const Guard& g, const CodeInfo& code);

// Sources, guards, graph, recipes and effects as text.
std::string describe(const Entry& e, const CodeInfo& code);
// Adds it to what the option `replay` asks for.
void write_replay(const Entry& e, const CodeInfo& code, int instr);

}  // namespace pijit
