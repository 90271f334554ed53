// Capture: symbolic execution of bytecode into a graph, guards, effects and, where Python can't be
// captured, a break. Nothing user-visible happens during capture.
//
//   Value    what the symbolic interpreter knows about a Python object
//   Source   how to reach an object again from a frame's state; evaluated and guarded at every call
//   Recipe   how to make an object after the graph ran
//   Entry    the outcome: sources + guards, program, effects, then a result or a break
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include <map>
#include <set>

#include "capture/scope.h"
#include "compile/differentiated.h"
#include "graph/grad.h"
#include "python/code.h"
#include "python/objects.h"
#include "runtime/program.h"

namespace pijit {

enum class Reason : uint8_t {
#define BREAK(name, text, hint) name,
#include "capture/break_reasons.def"
#undef BREAK
};
const char* reason_text(Reason r);
const char* reason_hint(Reason r);

// Ends the graph before the current instruction. Caught where calls are inlined and at the frame's
// root.
struct GraphBreak {
  Reason reason;
  std::string detail;
  std::string where;  // file:line of the innermost frame
};

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

// Thrown where a generator that has run can't be handed to CPython: capture begins anew and leaves
// generators alone.
struct StartedGenerator {};
// Thrown where the code changes numbers and texts that it depends on: capture begins anew and takes
// these paths as varying.
struct ChangesItself {
  std::vector<uint64_t> paths;
};
// Thrown where a signal waits that the captured code, run plainly, would have seen long ago. Its
// handler is Python code, which nothing may run during a capture. `frames`: where capture was,
// innermost first.
struct Interrupted {
  std::vector<std::pair<Code, int>> frames;  // and lines
};

struct Guard {
  enum Kind : uint8_t {
    kType,         // exact type `obj`, of version `num`
    kExact,        // exact type `obj`
    kIs,           // the very object
    kEquals,       // same type and equal
    kTensor,       // tensor of python type `obj`, of that `version`, and of the element type and
                   // shape of `type`, but for the dims in the bit mask `num`
    kNumber,       // int (of 31 bits) or float, of type `obj`
    kRelation,     // compared with number `obj` by num / 2 (Py_LT ...), the answer is num % 2
    kLength,       // tuple or list of `num` items
    kAtLeast,      // list of `num` items or more
    kThere,        // it exists
    kKeys,         // dict with exactly these keys in this order
    kCode,         // function with this code and globals
    kSame,         // the same object as source `num`
    kNoDictAttr,   // the instance dict lacks `obj`
    kDictVersion,  // dict `obj` is at version `num`
    kTypeVersion,  // class `obj` is at version `num`
    kNull,         // slot is unbound
    kCellEmpty,
  } kind;
  int src;
  py::object obj, obj2;
  uint64_t num = 0;
  Type type;
  unsigned version = 0;
};

// --- Recipes
// ---------------------------------------------------------------------------------------
struct Recipe {
  enum Kind : uint8_t {
    kNull,
    kConst,
    kSource,
    kChoice,  // items[0] where output `index` is true, else items[1]
    kOutput,
    kNumber,  // an output as a Python number
    kSize,    // a number that follows from sizes
    kTuple,
    kList,
    kDict,
    kSet,  // of frozenset obj2 (or null), then obj
    kSlice,
    kCell,
    kFunction,
    kMethod,
    kListIter,
    kDictIter,  // over items[0], `index` steps on
    kInstance,  // of class `obj`, with attributes named by `obj2`
    kCall       // of obj, or of items[0]
  } kind;
  int index = 0;           // source or program output
  py::object obj;          // constant; code; keys of a dict; callable
  py::object obj2;         // globals
  std::vector<int> items;  // recipes
};
// What an entry does to objects from outside. Effects are applied in the order of the program; each
// one is the program's own operation on the object itself, so that what others did to it meanwhile
// (other threads, __del__, a stream that prints) stays. effects.cc
class Runner;
struct Effect {
  virtual ~Effect() = default;
  virtual void apply(Runner& r) const = 0;  // throws error_already_set
  virtual int visit(visitproc, void*) const { return 0; }
  virtual std::string describe() const = 0;
};

// --- Values
// ----------------------------------------------------------------------------------------
struct Frame;
struct Value;
using V = std::shared_ptr<Value>;
struct Value {
  ~Value();
  enum Kind : uint8_t {
    kNull,
    kConst,
    kVarying,  // an int, float or str that is read or computed anew at each call: `src`; or a
               // number that a branch or loop on a tensor gives: `node`
    kSize,
    kTensor,
    kTuple,
    kList,
    kDict,
    kOpenList,  // a list from outside, as long as its length is not asked for: `head`, then the
                // items of the source but `skip` at its beginning and `drop` at its end, then
                // `items`
    kOpenDict,  // a dict from outside, as long as all its keys are not asked for: what is known of
                // some keys, then `loose`, items set by keys whose values vary
    kSet,       // made during capture, of constants: of the frozenset obj, then keys added in order
    kSlice,
    kCell,
    kFunction,
    kMethod,
    kIter,
    kView,  // of a dict: items[0]
    kSuper,
    kObject,
    kArray,  // an ndarray made during capture, of constants: never seen by others, each run copies
             // it
    kInstance,  // of class `obj`, made during capture: its attributes are keys and items
    kException  // of class `obj`, made during capture of the arguments `content`; its `args` are
                // `items` (null: not known), other attributes `attrs`
  } kind;
  int src = -1;    // reachable from the frame's state
  py::object obj;  // the object: constants, objects, tensors and containers that have a source

  Val node;                // kTensor; kVarying: 0-d, made where an op needs it
  SizeNumber expr;         // kSize
  double bound = 0;        // kVarying, an int with a node: greatest magnitude
  bool parameter = false;  // kTensor: may be assigned
  // kTensor that a branch on a tensor gave: where pred, it is the object `first`, else the object
  // `second`; null stands for a new one.
  Val pred;
  V first, second;
  bool aliased = false;  // such a tensor may be this object
  static inline uint64_t next_serial = 1;
  uint64_t serial = next_serial++;  // in order of making
  std::vector<V> items;  // kTuple, kList: null items are read from the source on demand. kSlice: 3.
                         // kIter: operands
  std::vector<py::object> keys;  // kDict, kInstance: with items. kSet: those added
  py::object index;  // kDict: a dict of places by key; kSet: a set of the elements. Null: not made
  // kOpenList
  std::vector<V> head;
  int64_t skip = 0, drop = 0;
  std::map<int64_t, V> read;  // of the source, by index; the last is -1
  bool whole = false;         // kList: no item is null
  // kOpenDict
  struct Known {
    py::object key;
    bool present;
    V value;               // null: not read
    bool written = false;  // else as in the source
    bool moved = false;    // stands behind the source's keys if present: it was deleted before
    uint64_t order = 0;    // among those that stand behind
  };
  std::vector<Known> known;
  std::unordered_multimap<Py_hash_t, size_t> known_index;  // by hash of the key
  std::vector<std::pair<V, V>> loose;  // kOpenList, too: items set at places that vary
  bool dirty = false;                  // kList, kDict, kCell, kTensor: differs from its source;
                                       // kException: from a new one of the same arguments
  V content;                           // kCell, kException
  bool raised = false;       // kException: it has a traceback by now, and cannot be rebuilt
  py::object cls;            // kTuple made during capture: its class, if that is not tuple
  V self, func;              // kMethod; kSuper: self, and the class to look behind
  py::object code, globals;  // kFunction
  V defaults, kwdefaults, closure, annotations;
  // kGenerator: self is the function, items are what it was called with
  enum IterKind : uint8_t {
    kSequence,
    kRange,
    kZip,
    kEnumerate,
    kMap,
    kReversed,  // of a tuple or list, at `pos`
    kGenerator
  } iter = kSequence;
  std::shared_ptr<Frame> frame;  // of a generator; null: it has ended
  int64_t pos = 0, stop = 0;     // kRange: places in the range obj
  uint64_t changes = 0;  // kDict: how often it lost or got keys; kIter: those that were seen
  V watched;  // kIter: a dict that had `stop` entries and must keep them; self is what is iterated
  enum ViewKind : uint8_t { kKeys, kValues, kItems } view = kKeys;
  std::unordered_map<std::string, V> attrs;  // kObject: pending attribute writes
};

// --- Entries
// ---------------------------------------------------------------------------------------
struct BreakRecord {
  Reason reason;
  std::string detail, location;
};

// An entry's program for inputs of certain sizes.
struct Instance {
  bool fits = true;  // false: with these sizes, capture would have taken another way
  std::shared_ptr<const Program> program;  // null: nothing to compute
  std::vector<bool> donatable;
  std::vector<Number> sizes;  // of kSize recipes
  // For a tape: gradients, by the inputs that it watches.
  std::shared_ptr<const Graph> graph;
  mutable std::map<std::vector<Differentiated::Leaf>, std::shared_ptr<Differentiated>>
      differentiated;
};

struct Entry {
  std::vector<Source> sources;
  std::vector<Guard> guards;
  std::vector<std::pair<int, int>> guard_range;  // per source
  std::string graph_text;
  std::vector<std::pair<std::string, int>> ops;
  std::vector<int> inputs;  // source per program input
  // What varies: dims of inputs, as (input, axis). Instances by those dims.
  std::vector<std::pair<int, int>> varying;
  std::map<std::vector<int64_t>, std::shared_ptr<const Instance>> instances;
  // Where something varies, how to build a further instance: the graph in terms of a symbol per
  // varying dim, for sizes that fulfil these constraints.
  std::shared_ptr<const Graph> graph;
  SizeEnv symbols;
  std::vector<SizeNumber> sizes;  // of kSize recipes
  std::vector<int> changed;       // sources of objects that effects change, and
  std::vector<int> identities;    // of all objects with an identity: none of these may be the same
  std::vector<Recipe> recipes;
  std::vector<std::unique_ptr<const Effect>> effects;
  int result = -1;  // recipe; -1: ends in a break
  // The break: state to continue with, before instruction `instr`.
  int instr = -1;
  bool rest_in_python = false;                   // continue in CPython to the end
  std::vector<int> slot_recipes, stack_recipes;  // -1: unbound
  std::optional<BreakRecord> break_record;
  uint64_t calls = 0;
  int first_line = 0;
  bool fast = false;
  bool own_gradients = false;  // of the user; a tape must see them
};

// Equal for a guard: of one type, floats by their bits.
bool equal_constants(PyObject* a, PyObject* b);
// Of a bound method of C code: the descriptor of its object's class (borrowed); null where it is
// none.
PyObject* method_behind(PyObject* builtin);
// An int that may vary: sums and products of a few stay exact.
inline bool small_int(int64_t i) { return i > -(int64_t{1} << 31) && i < (int64_t{1} << 31); }

// What a frame starts from: the function's entry, or an instruction after a break.
struct StartPoint {
  PyObject* func;  // borrowed
  Code code;
  int instr = 0;
  int stack_size = 0;
  // What changed between calls before: numbers, and dims of tensors (a bit mask), by the paths of
  // their sources.
  std::map<uint64_t, uint64_t> varying = {};
  // The paths of what changed more often than entries can follow: nothing may depend on its value.
  std::set<uint64_t> unstable = {};
  // The paths of what the code itself changes at each call.
  std::set<uint64_t> own_changes = {};
  bool fast = false;  // numerics
};

// Captures from a state (slots, then stack; null: unbound). Throws InternalError on our own faults;
// never returns null. Adds to `varying` and `own_changes`.
std::unique_ptr<Entry> capture(StartPoint& p, const std::vector<PyObject*>& state, bool whole);

// Checks guards. `values` receives the objects of all sources (new references).
bool check_guards(const Entry& e, PyObject* func, PyObject* const* state,
                  std::vector<py::object>* values, int* failed);
// The instance for the sizes of these inputs, built if need be; null: the entry does not fit them.
std::shared_ptr<const Instance> instance_for(Entry& e, const std::vector<py::object>& values);
// The text of an entry's graph; where sizes vary, with a line per symbol that says what it is.
std::string graph_text(const Entry& e, const CodeInfo& code);
// What must hold of the sizes that vary, as Python expressions.
std::vector<std::string> describe_constraints(const Entry& e, const CodeInfo& code);
// Adds what in `state` differs from what the entry was captured for, if numbers and sizes are all
// that differs.
void find_varying(const Entry& e, PyObject* func, PyObject* const* state, const CodeInfo& code,
                  std::map<uint64_t, uint64_t>* varying);
std::string describe_source(const std::vector<Source>& sources, int src, const CodeInfo& code);
std::string describe_guard(const Entry& e, const Guard& g, const CodeInfo& code);

// --- JitFunction
// -----------------------------------------------------------------------------------
extern PyTypeObject* jit_function_type;
PyObject* jit_inner(PyObject* jit_function);  // borrowed
void init_jit(py::module_& m);
bool graph_mode();

}  // namespace pijit
