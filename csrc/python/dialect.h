// The bytecode of the running CPython: what its versions share is told by names and numbers of its
// own `opcode` module, what they do differently by the dialect of the version. For the decoder and
// the encoder.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "python/code.h"

namespace pijit {

// How an instruction of CPython's becomes ours: what its argument means.
enum class Arg : uint8_t {
  kNone,
  kFixed,       // a is the row's
  kCount,       // a
  kTwoSlots,    // four bits each; the second instruction is the row's
  kConst,       // an index of co_consts
  kSmallInt,    // the number itself
  kCommon,      // an index of what opcode._common_constants lists
  kName,        // an index of co_names
  kImport,      // an index of co_names, shifted; the lowest bit: when it is asked for
  kNullName,    // the same, shifted; the low bit: push NULL, too
  kMethodName,  // the same; the low bit: LOAD_METHOD
  kSuperName,   // an index shifted by two; the low bit: push NULL, too
  kLowBit,      // a
  kBinary,      // number of a BinaryOp; from 13 on, in place; 26: an item
  kCompare,     // number of a CompareOp
  kIter,        // for what the iterator is: a loop, or `yield from`; b is the row's
  kForward,     // a jump; a and b are the row's
  kBackward,
  kReturnConst,  // two instructions
  kKeywords,     // of the CALL that follows
  kOfCall,       // belongs to the CALL that follows
  kCall,
  kIntrinsic,
  kTruth,     // belongs to the jump or `not` that follows
  kFunction,  // its attributes; what follows may set more
  kConvert,   // a; belongs to the kFormat that may follow
  kFormat,
  // Of 3.9 and 3.10 alone:
  kAbsolute,  // a jump; a and b are the row's
  kCell,      // an index of cells and then free variables; a is its slot
  kCalled,    // a; b is the row's
  kRotate,    // the top goes below others: in all, as many as the row's a, or the argument
  kCopies,    // of the top, as many entries as the row's a
  kPop,
  kSetUp,  // a block for exceptions
  kPopBlock,
  kMatches,    // an exception is compared, and a jump taken
  kMatch,      // the row's instruction, and whether it gave something
  kYieldFrom,  // several instructions
};
struct Row {
  const char* name;
  Op op;
  Arg arg = Arg::kNone;
  int a = 0;
  Op second = Op::NOP;
  int b = 0;
};

// Null: an instruction that is executed, but not known.
const Row* row_of(int opcode);

struct Dialect {
  int compare_shift;  // of COMPARE_OP's argument
  int import_shift;   // of IMPORT_NAME's
  int truth_bit;      // of the same: the result becomes a bool; 0: there is none
  int loop_end;       // instructions that FOR_ITER skips where it jumps to
  bool precall;       // PRECALL comes before CALL
  bool stack_seen;    // C code that a frame calls finds its stack, and may change it
};
extern const Dialect dialect;

// Opcode numbers and names of the running interpreter.
struct Opcodes {
  absl::flat_hash_map<std::string, int> number;
  std::string name[256];
  int caches[256] = {};
  std::set<int> jumps, relative;  // by numbers: all, and those by a distance
  int have_argument = 0;          // opcodes from here on
  std::vector<PyObject*> common;  // what LOAD_COMMON_CONSTANT loads
  Opcodes();
  int operator[](const char* n) const;
  bool has(const char* n) const { return number.contains(n); }
};
const Opcodes& opcodes();

std::string code_bytes(PyObject* code);
// An instruction of CPython's; offsets in units: its first extended argument, itself, and what is
// behind its caches.
struct Raw {
  int op, arg, start, at, next;
};
std::vector<Raw> raw_instructions(PyObject* code);
// An instruction of ours for it, that begins at `offset`, or where it does (-1).
Instr instr_of(const Raw& raw, int offset, int line, Op op, int a, PyObject* obj);

}  // namespace pijit
