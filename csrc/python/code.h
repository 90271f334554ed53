// Code objects: decoded instructions, and code made for continuing after a break. Everything that
// differs between CPython versions stays in this folder.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "python/convert.h"

namespace pijit {
namespace py = pybind11;

enum class Op : uint8_t {
#define I(name, pops, pushes, jump_pushes, slot, flow) name,
#include "python/isa.def"
#undef I
};
const char* op_name(Op op);

// The columns of isa.def.
enum class SlotUse : uint8_t { NONE, READ, WRITE, CLEAR, CELL, FREE };
enum class Flow : uint8_t { NEXT, JUMP, BRANCH, END };

// Is it all of its code unit, or the first or a later one of several? Added: CPython does without.
enum class Part : uint8_t { kWhole, kFirst, kSecond, kAdded };

struct Instr {
  Op op;
  int a = 0, b = 0;
  PyObject* obj = nullptr;  // borrowed: owned by the code object or interned
  int target = -1;          // instruction index
  // Of the original instruction, in code units: where it begins (with extended arguments, and what
  // else belongs to it), the instruction itself, and what is behind it.
  int offset = 0, at = 0, next = 0;
  int line = -1;
  Part part = Part::kWhole;
  // CPython's instruction takes a bool where ours takes a value: the one before it, a comparison,
  // makes it one.
  bool truth_first = false;
};
// Where NULL lies beside a callable on the stack.
constexpr bool kNullAboveCallable = PY_VERSION_HEX >= 0x030D0000;
// Which of its variables a frame that is left drops first.
constexpr bool kLastSlotDiesFirst = PY_VERSION_HEX >= 0x030E0000;
// Loads of variables put no references of their own on the stack.
constexpr bool kVariablesAreLent = PY_VERSION_HEX >= 0x030E0000;
constexpr int kUnknownEffect = -1000;  // b of an instruction that cannot be executed alone
SlotUse slot_use(const Instr& in);
Flow flow(const Instr& in);
// What an instruction does to a stack of this size, by the columns of isa.def.
struct StackUse {
  int pops, pushes, jump_pushes;
};
StackUse stack_use(const Instr& in, int stack_size);

// An entry of the exception table: where an instruction in [begin, end) raises, the stack is cut to
// `depth`, the raising instruction's place is pushed (lasti) and the exception, and code goes on at
// `target`.
struct Handler {
  int begin, end, target, depth;
  bool lasti;
};

// Up to CPython 3.10 an exception is three values on the stack, and handlers are blocks that the
// code puts on a stack of the frame. For the stack before an instruction, from its bottom:
//   v  an entry of ours              tec  the exception that is handled, one entry of ours
//   l  an entry of ours alone        TEC  the one that was handled before, one entry of ours
//   d  its class once more           (traceback, value, class)
struct FrameBlock {
  int handler;  // in code units; -1: an exception is handled
  int level;    // how many of these entries lie below
};
struct StackLayout {
  std::string entries;
  std::vector<FrameBlock> blocks;
};

struct CodeInfo;

// At which instructions a slot may be read later: live[pc][slot]. Long code has many slots, few of
// which are alive at once; but where code leads to a handler, nearly all are.
class Liveness {
 public:
  class Row {
   public:
    Row(const Liveness& of, int pc) : of_(of), pc_(pc) {}
    bool operator[](size_t slot) const;

   private:
    const Liveness& of_;
    int pc_;
  };
  Row operator[](int pc) const { return {*this, pc}; }
  void analyse(const CodeInfo& code);

 private:
  // By instruction: are slots alive there, unless ranges say otherwise?
  std::vector<bool> usual_;
  // Ranges [begin, end) of instructions, in order; those of a slot begin at first_[slot].
  std::vector<std::pair<int, int>> ranges_;
  std::vector<size_t> first_;
};

struct CodeInfo {
  PyObject* code;  // borrowed: it owns this
  std::vector<Instr> instrs;
  int num_slots = 0;  // locals, cells, free variables
  int num_locals = 0;
  int num_free = 0;  // the last slots
  std::vector<std::string> slot_names;
  std::vector<Handler> handlers;     // by instruction indices, in order; no two cover the same
  std::vector<StackLayout> layouts;  // each once, and those of instructions, up to CPython 3.10
  std::vector<int> layout_of;
  Liveness live;
  bool generator = false;
  bool reflective = false;       // it names functions that look at the names of its frame
  bool compares_frames = false;  // it may compare its frame with that of a traceback
  std::string filename, name;
  const Handler* handler_of(int i) const;
};

// The innermost loop around an instruction: from the target of a jump back over it to behind the
// last such jump; (-1, -1): none.
std::pair<int, int> loop_around(const CodeInfo& code, int at);
bool has_loop(const CodeInfo& code);
// The first and the last line of the instructions from one to another: a compiler puts the
// condition of a loop at its end, too.
std::pair<int, int> lines_of(const CodeInfo& code, int first, int last);

// Where code may go on behind an instruction, exceptions aside; -1: out of the function.
absl::InlinedVector<int, 2> successors(const CodeInfo& c, int pc);

// A code object with its decoding.
class Code {
 public:
  Code() = default;
  Code(const CodeInfo* info, PyObject* code)
      : info_(info), code_(py::reinterpret_borrow<py::object>(code)) {}
  explicit operator bool() const { return info_; }
  const CodeInfo& operator*() const { return *info_; }
  const CodeInfo* operator->() const { return info_; }

 private:
  const CodeInfo* info_ = nullptr;
  py::object code_;
};

// Decoded once per code object and kept as long as that lives; false for coroutines, code whose
// names live in dicts, and, if they are not asked for, generators.
Code code_info(PyObject* code, bool generators = false);
// Does a generator clean up when it is dropped (try, with)? What ends an inlined comprehension does
// not count.
bool cleans_up(const CodeInfo& info);
// What else is kept with a code object: one thing, of whoever asks.
std::shared_ptr<void>& attached_to_code(PyObject* code);

// The version's own decoding: instructions, slots and handlers.
void decode_code(PyObject* code, CodeInfo* out);
// Once, when the module is loaded.
void init_code();
// The exception table, in code units.
std::vector<Handler> exception_table(PyObject* code);

// What stands for the place of an instruction that raised, in code units, on a stack: an int. A
// frame of CPython 3.14 or later has a number there that is no object.
py::object place_in_code(int unit);
bool is_place_in_code(PyObject* o);

// Code that continues a function at an instruction, in a frame with its slots and stack, which it
// takes from a ResumeScope. `nulls`: which stack entries are NULL. Like the next, it takes a
// function's arguments that have names of their own, by position (any: they are replaced): super()
// looks for the first. call_in_frame() calls it.
py::object make_resume_code(const CodeInfo& info, int instr, const std::vector<bool>& nulls);
// The same for a loop, the instructions [begin, end): it ends where it goes on beyond them, and
// take_left_loop() tells with what. Where the function returns in it, or a handler beyond the loop
// takes over, it goes on to the function's end. Null: the code has no room for that, or NULLs lie
// where this CPython can't pass them on.
py::object make_loop_code(const CodeInfo& info, int instr, int begin, int end,
                          const std::vector<bool>& nulls);
struct LeftLoop {
  int instr;
  std::vector<py::object> slots, stack;
  py::object frame;  // its frame object, if there is one
};
std::optional<LeftLoop> take_left_loop();  // of this thread, since it was asked last
// Code that executes one instruction, CPython's own, in a frame like the function's: with its
// names, slots and place. The values that the instruction sees come from a ResumeScope. It returns
// what step_results() takes apart.
py::object make_step_code(const CodeInfo& info, int instr, const std::vector<bool>& nulls);
struct StepResults {
  std::vector<py::object> values;  // in the place of what the instruction saw, then its slot
  bool jumped = false;
};
StepResults step_results(const Instr& in, py::object returned);
// A function of `code` in the place of `func`, with its globals and, where asked for, its closure.
py::object function_like(PyObject* func, const py::object& code, bool closure);
// A frame's slots and then its stack, or a part of that, around the call of a function made from
// such code. What that did not get to, because the call failed as it began, is dropped.
class ResumeScope {
 public:
  // `begins`: called with the frame object once the frame has its slots, before it runs.
  using Begins = std::function<void(const py::object&)>;
  ResumeScope(std::vector<py::object> slots, std::vector<py::object> stack, Begins begins = {});
  ~ResumeScope();
  ResumeScope(const ResumeScope&) = delete;

 private:
  size_t depth_;
};

// The exception that is set, cleared, with its traceback.
py::object raised_exception();
// The exception that is handled where we are called from (null: none), as sys.exc_info() gives it.
py::object handled_exception();
void set_handled_exception(const py::object& e);

// Adds a traceback entry for the code at a line to the current exception.
void add_traceback(const CodeInfo& info, int line);

// The qualified name of a function with this code (borrowed). Up to CPython 3.10 code does not know
// it: it is looked for among the globals and their classes, and otherwise the name alone.
PyObject* qualname_of(PyObject* code, PyObject* globals);
void note_qualname(PyObject* func);  // of its code

PyObject* builtins_of(PyObject* globals);  // borrowed dict
bool has_builtins(PyObject* globals);      // of their own, not those of the frame that runs
// Has `__builtins__` of its globals been replaced since the function was made, which keeps the old?
bool has_other_builtins(PyObject* func);
PyObject** closure_of(PyObject* func, Py_ssize_t* n);
PyObject* type_dict(PyTypeObject* t);  // new reference
// The class and its bases, in the order in which attributes are looked up. A class in C that its
// module never made ready is made so, as CPython does at its first attribute.
PyObject* mro_of(PyTypeObject* t);
bool instances_have_dict(PyTypeObject* t);
// The dict of an instance, or null. New reference.
PyObject* instance_dict(PyObject* o);
// What that dict has under a name, as quiet_item() gives it. On CPython 3.11 an object whose values
// lie in it is not asked for a dict.
PyObject* own_attribute(PyObject* o, PyObject* name, bool* unsure = nullptr);
void note_values_of(PyObject* o);  // which is asked for its dict
// CPython 3.11 is slow with the attributes of an object that has been asked for its dict: what was
// asked since this began is as before when it ends, but for dicts that others hold.
class DictsForNow {
 public:
  DictsForNow();
  ~DictsForNow();
  DictsForNow(const DictsForNow&) = delete;

 private:
  size_t before_;
};
// Where an instance, which is no class or module, keeps its dict; null: it has none.
PyObject** instance_dict_place(PyObject* o);
// What o holds in the slot that a member descriptor of its class stands for; null: it is not set.
PyObject* slot_value(PyObject* descriptor, PyObject* o);
// A number that changes whenever the dict does, and that no other dict ever had. From 3.13 on one
// whose values lie in an object has another number each time; instance_dict_place() takes them out.
uint64_t dict_version(PyObject* dict);
// Where it stands, while the dict lives and, whatever it shows then, after that.
const void* dict_version_at(PyObject* dict);
void init_dict_versions();  // by init_code()
// A number that changes whenever the type or a base does; 0: none.
unsigned type_version(PyTypeObject* t);
// What a class has under a name, through the MRO (borrowed). Nothing where it has names that are no
// texts: such a class is not looked into.
PyObject* type_lookup(PyTypeObject* t, PyObject* name);

}  // namespace pijit
