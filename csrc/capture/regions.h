// Loops over numbers as machine code: what a function does from an instruction on, for the types
// that its variables have there, as typed SSA (region/ir.h). Blocks are made per types, so that a
// variable that changes its type in a loop makes another version of the loop's body. What can't be
// followed is an exit: CPython goes on at that instruction, with the frame as it would be.
#pragma once
#include <optional>
#include <span>

#include "capture/capture.h"
#include "region/ir.h"

namespace pijit {

// How an exit makes one variable or stack entry anew.
struct RegionPiece {
  enum Kind : uint8_t {
    kNull,
    kEntry,   // what source `at` was
    kObject,  // a constant
    kFree,    // cell `at` of the closure
    kInt,     // word `at` of the buffer
    kFloat,
    kBool,
    kRange,      // words at, at + 1: start, stop
    kCounter,    // an iterator: words at, at + 1: the next number, the end
    kRangeIter,  // the same with steps: the next number, how many are left
    kTuple,
    kNumpyInt,  // scalars of NumPy
    kNumpyFloat,
    kNumpyBool,
    kTagged,  // word at: a RegionTag; at + 1: the value, or the number of a source or object
  } kind = kNull;
  int at = 0;
  int step = 0;
  PyObject* object = nullptr;  // the region keeps it
  std::vector<int> sources;    // the number may be the object that is there
  std::vector<RegionPiece> items;
};
enum class RegionTag : int64_t {
  kNull,
  kInt,
  kFloat,
  kBool,
  kNumpyInt,
  kNumpyFloat,
  kNumpyBool,
  kEntry,
  kObject
};

struct RegionExit {
  int instr = 0;
  bool returns = false;  // the stack's top is all that is left
  std::vector<RegionPiece> slots, stack;
  uint64_t count = 0;
};

// Where a region finds what it works on.
struct RegionSource {
  enum Where : uint8_t { kSlot, kStack, kFree, kCell, kGlobal, kModule } where;
  int index = 0;
  py::object module, name;
  bool operator==(const RegionSource& o) const {
    return where == o.where && index == o.index && module.is(o.module) && name.is(o.name);
  }
};
// What it must be there.
struct RegionNeed {
  enum Kind : uint8_t {
    kIs,
    kInt,
    kFloat,
    kBool,
    kNumpyInt,
    kNumpyFloat,
    kNumpyBool,
    kRangeIter,
    kArray,
    kQuiet
  } kind;
  int source;
  py::object object;  // of kIs
  int64_t step = 0;   // of kRangeIter
  int word = 0;       // where its value goes; of kRangeIter: the next number, and how many are left
  // Of kArray, whose words are the address, the sizes and the strides:
  char format = 0;
  int rank = 0;
  bool packed = false;  // elements of the last axis lie side by side
  bool written = false;
};

struct Region {
  int instr = 0;
  size_t slots = 0, stack = 0;
  std::vector<bool> nulls;  // slots and stack entries that are not set
  std::vector<RegionSource> sources;
  std::vector<RegionNeed> needs;
  std::vector<py::object> objects;
  std::vector<RegionExit> exits;
  bool numpy = false;  // arithmetic of its scalars, which may warn
  py::object numpy_float, numpy_int, numpy_true, numpy_false;
  // How its errors are told: the context variable, its value where nobody set it, and who says what
  // another value means.
  py::object errors, usual_errors, geterr;
  int poll_word = -1;
  size_t words = 0;
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
  // Fills the buffer; false: it is not for this frame.
  // `views` keeps the memory of arrays where it is.
  using Views = std::vector<std::unique_ptr<Py_buffer, void (*)(Py_buffer*)>>;
  bool enter(const Frame& frame, int64_t* buffer, Views* views) const;
  // Runs, and makes the frame at the exit that it returns.
  const RegionExit& run(const Frame& frame, int64_t* buffer, std::vector<py::object>* slots,
                        std::vector<py::object>* stack);
  int visit(visitproc visit, void* arg) const;
};

// Null: there is no loop in it.
std::unique_ptr<Region> make_region(const Code& code, int instr, const Region::Frame& frame);

}  // namespace pijit
