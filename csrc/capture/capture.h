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
    kAttr,
    kDictAttr,
    kItem,
    kDictItem,
    kCell,
    kFuncClosure,
    kFuncDefault,
    kFuncKwDefault,
    kMethodSelf,
    kMethodFunc,
    kConst
  } kind;
  int parent = -1;
  int index = 0;
  py::object key;  // name, dict key, globals dict or constant
};

struct Guard {
  enum Kind : uint8_t {
    kType,         // exact type `obj`, of version `num`
    kIs,           // the very object
    kEquals,       // same type and equal
    kTensor,       // tensor of python type `obj` and the element type and shape of `type`
    kLength,       // tuple or list of `num` items
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
};

// --- Recipes
// ---------------------------------------------------------------------------------------
struct Recipe {
  enum Kind : uint8_t {
    kNull,
    kConst,
    kSource,
    kOutput,
    kTuple,
    kList,
    kDict,
    kSlice,
    kCell,
    kFunction,
    kMethod,
    kListIter,
    kCall
  } kind;
  int index = 0;           // source or program output
  py::object obj;          // constant; code; keys of a dict; callable
  py::object obj2;         // globals
  std::vector<int> items;  // recipes
};
struct Effect {
  enum Kind : uint8_t { kAssign, kSetAttr, kSetGlobal, kSetCell, kSetList, kSetDict } kind;
  int target = -1;  // recipe of the object
  py::object name;  // attribute, global, or globals dict in obj
  py::object globals;
  int value = -1;  // recipe
};

// --- Values
// ----------------------------------------------------------------------------------------
struct Value;
using V = std::shared_ptr<Value>;
struct Value {
  enum Kind : uint8_t {
    kNull,
    kConst,
    kTensor,
    kTuple,
    kList,
    kDict,
    kSlice,
    kCell,
    kFunction,
    kMethod,
    kIter,
    kSuper,
    kObject
  } kind;
  int src = -1;    // reachable from the frame's state
  py::object obj;  // the object: constants, objects, tensors and containers that have a source

  Val node;                // kTensor
  bool parameter = false;  // kTensor: may be assigned
  std::vector<V> items;  // kTuple, kList: null items are read from the source on demand. kSlice: 3.
                         // kIter: operands
  std::vector<py::object> keys;  // kDict, with items
  bool dirty = false;            // kList, kDict, kCell, kTensor: differs from its source
  V content;                     // kCell
  V self, func;                  // kMethod; kSuper: self, and the class to look behind
  py::object code, globals;      // kFunction
  V defaults, kwdefaults, closure;
  enum IterKind : uint8_t { kSequence, kRange, kZip, kEnumerate, kMap } iter = kSequence;
  int64_t pos = 0, stop = 0, step = 1;
  std::unordered_map<std::string, V> attrs;  // kObject: pending attribute writes
};

// --- Entries
// ---------------------------------------------------------------------------------------
struct BreakRecord {
  Reason reason;
  std::string detail, location;
};

struct Entry {
  std::vector<Source> sources;
  std::vector<Guard> guards;
  std::vector<std::pair<int, int>> guard_range;  // per source
  std::shared_ptr<const Program> program;        // null: nothing to compute
  std::string graph_text;
  std::vector<std::pair<std::string, int>> ops;
  std::vector<int> inputs;  // source per program input
  std::vector<bool> donatable;
  std::vector<int> changed;     // sources of objects that effects change, and
  std::vector<int> identities;  // of all objects with an identity: none of these may be the same
  std::vector<Recipe> recipes;
  std::vector<Effect> effects;
  int result = -1;  // recipe; -1: ends in a break
  // The break: state to continue with, before instruction `instr`.
  int instr = -1;
  bool rest_in_python = false;                   // continue in CPython to the end
  std::vector<int> slot_recipes, stack_recipes;  // -1: unbound
  std::optional<BreakRecord> break_record;
  uint64_t calls = 0;
  int first_line = 0;
};

// What a frame starts from: the function's entry, or an instruction after a break.
struct StartPoint {
  PyObject* func;  // borrowed
  std::shared_ptr<const CodeInfo> code;
  int instr = 0;
  int stack_size = 0;
};

// Captures from a state (slots, then stack; null: unbound). Throws InternalError on our own faults;
// never returns null.
std::unique_ptr<Entry> capture(const StartPoint& p, const std::vector<PyObject*>& state,
                               bool whole);

// Checks guards. `values` receives the objects of all sources (new references).
bool check_guards(const Entry& e, PyObject* func, PyObject* const* state,
                  std::vector<py::object>* values, int* failed);
std::string describe_source(const Entry& e, int src, const CodeInfo& code);
std::string describe_guard(const Entry& e, const Guard& g, const CodeInfo& code);

// --- JitFunction
// -----------------------------------------------------------------------------------
extern PyTypeObject* jit_function_type;
PyObject* jit_inner(PyObject* jit_function);  // borrowed
void init_jit(py::module_& m);
bool graph_mode();

}  // namespace pijit
