// Loops over numbers as machine code: what a function does from an instruction on, for the types
// that its variables have there, as typed SSA (region/ir.h). Blocks are made per types, so that a
// variable that changes its type in a loop makes another version of the loop's body. What can't be
// followed is an exit: CPython goes on at that instruction, with the frame as it would be.
#pragma once
#include <optional>
#include <span>

#include "capture/capture.h"
#include "capture/regions/dtypes.h"
#include "region/ir.h"

namespace pijit {

// How an exit makes one variable or stack entry anew.
struct RegionPiece {
  RegionKind kind = RegionKind::kNull;
  int at = 0;                  // of a source or cell; else its first word
  int source = 0;              // of kRow, kPart; of kContent, the cell's; -1: none;
                               // of kTuple, whether it is in a word; of kCallee, how many variables
  int step = 0;                // 0: in the third word; of kCallee, the instruction
  int same = 0;                // pieces of one number are one object; 0: no other is
  PyObject* object = nullptr;  // the region keeps it
  bool reversed = false;       // of kPart
  std::vector<int> sources;    // the number may be the object that is there
  std::vector<RegionPiece> items;
};

struct RegionExit {
  int instr = 0;
  bool returns = false;  // the stack's top is all that is left
  std::vector<RegionPiece> slots, stack;
  uint64_t count = 0;
  std::string why;         // no machine code goes on from there
  bool of_arrays = false;  // but a graph may
};

// Where a region finds what it works on.
struct RegionSource {
  // kIterated: the array or list that an iterator on the stack is over. kItem: of a tuple.
  enum Where : uint8_t { kSlot, kStack, kFree, kCell, kGlobal, kModule, kIterated, kItem } where;
  int index = 0;
  py::object module, name;  // for module: a function, whose globals or closure it is, if another's
  std::shared_ptr<const RegionSource> tuple;  // of kItem
  bool operator==(const RegionSource& o) const {
    return where == o.where && index == o.index && module.is(o.module) && name.is(o.name) &&
           (tuple == o.tuple || (tuple && o.tuple && *tuple == *o.tuple));
  }
};
// What it must be there.
struct RegionNeed {
  enum Kind : uint8_t {
    kIs,
    kFunction,  // without a closure, made of the same code
    kNumber,
    kComplex,
    kRangeIter,
    kPlace,
    kArray,
    kList,
    kTuple,
    kGenerator,
    kQuiet,
    kUnset
  } kind;
  int source;
  // Of kIs, kFunction; of kGenerator: its class, or the function of its method.
  py::object object;
  RegionKind number = RegionKind::kNull;  // of kNumber: one of its kinds
  int64_t step = 0;                       // of kRangeIter: 1, or any
  int word = 0;  // where its value goes; of kComplex, its parts; of kRangeIter: the next number,
                 // how many are left, and a step that is not 1
  // Of kArray, whose words are the address, the sizes and the strides:
  char format = 0;
  int rank = 0;         // of kTuple: how many items it has
  bool packed = false;  // elements of the last axis lie side by side
  bool written = false;
};

// A generator of NumPy's, whose lock is held: no other thread draws from it.
class HeldGenerator {
 public:
  HeldGenerator(py::object bits, py::object lock)
      : bits_(std::move(bits)), lock_(std::move(lock)) {}
  HeldGenerator(HeldGenerator&&) = default;
  HeldGenerator(const HeldGenerator&) = delete;
  HeldGenerator& operator=(const HeldGenerator&) = delete;
  HeldGenerator& operator=(HeldGenerator&&) = delete;
  ~HeldGenerator();
  bool has(const py::object& lock) const { return lock_.is(lock); }

 private:
  py::object bits_, lock_;
};

struct Region {
  int instr = 0;
  size_t slots = 0, stack = 0;
  std::vector<bool> nulls;  // slots and stack entries that are not set
  std::vector<RegionSource> sources;
  std::vector<RegionNeed> needs;
  std::vector<py::object> objects;
  std::vector<std::shared_ptr<void>> statements;  // with arrays, which its code runs
  std::vector<std::shared_ptr<region::ParallelLoop>> parallel;
  std::vector<RegionExit> exits;
  // Functions whose lines it has.
  struct Followed {
    py::object func, code, defaults;
  };
  std::vector<Followed> functions;
  std::vector<PyObject*> draws;  // of `objects`: methods of Python's library that it does itself
  size_t calls_deep = 0;         // of these, below one another
  bool recursive = false;        // the function calls itself: all of it, or nothing
  bool numpy = false;            // arithmetic of its scalars, which may warn
  bool calls_numpy = false;      // functions of its own
  // In the order of regions::kDtypes; none where NumPy is not loaded.
  std::vector<py::object> numpy_types;
  py::object numpy_true, numpy_false;
  // How its errors are told: the context variable, its value where nobody set it, and who says what
  // another value means.
  py::object errors, usual_errors;
  int poll_word = -1, depth_word = -1, arena_word = -1;
  size_t words = 0, code_size = 0;  // instructions
  std::unique_ptr<region::Code> code;
  std::unique_ptr<region::Code> reference;  // what the code is compared with; null: nothing
  std::string text;
  int first_line = 0, last_line = 0;
  uint64_t runs = 0;

  // What holds in a frame is not kept up: slots and stack may be borrowed.
  struct Frame {
    PyObject* func;
    std::span<PyObject*const> slots, stack;
  };
  // What a run relies on: the memory of arrays stays where it is.
  using View = std::unique_ptr<Py_buffer, void (*)(Py_buffer*)>;
  struct Views {
    std::vector<View> arrays;
    std::vector<HeldGenerator> generators;
    void clear() { arrays.clear(), generators.clear(); }
  };
  // Fills the buffer; false: it is not for this frame.
  bool enter(const Frame& frame, int64_t* buffer, Views* views) const;
  // Makes what goes on with a call of a function from an instruction on, whatever it is called
  // with.
  using RestOfCall = py::object (*)(PyObject* func, int instr, std::vector<py::object> slots,
                                    std::vector<py::object> stack);
  // The frame at an exit.
  struct Left {
    std::vector<py::object> slots, stack;
    py::object error;  // what a handler of a signal raised there; null: none did
  };
  const RegionExit& run(const Frame& frame, int64_t* buffer, RestOfCall rest_of_call, Left* left);
  int visit(visitproc visit, void* arg) const;
  bool has_room() const;  // for the calls that it has, as CPython counts
  // Generators, which other threads may hold.
  bool has_generators() const;

 private:
  int calls_left() const;
  int stack_calls() const;
};

// Why a loop has none.
struct NoRegion {
  int line = 0;                       // where it would leave
  int first_line = 0, last_line = 0;  // of the loop
  std::string why, help;
  bool given_up = false;  // it had one
  // Where there is none, as this instruction comes before any branch and has no code; -1: other
  // reasons.
  int before = -1;
};
// Null: there is none, as `because` says.
// `fast`: numerics.
std::unique_ptr<Region> make_region(const Code& code, int instr, const Region::Frame& frame,
                                    bool fast, NoRegion* because);

}  // namespace pijit
