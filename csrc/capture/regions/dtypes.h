// NumPy's numbers that a region's code knows, as elements and as scalars.
#pragma once
#include <cstddef>
#include <cstdint>

#include "region/ir.h"

namespace pijit {

// What a variable or a stack entry holds: in the frame where a region begins, in its code, and in
// the frame where it ends.
enum class RegionKind : uint8_t {
  kNull,
  kEntry,   // what one of the sources was
  kObject,  // a constant
  kFree,    // a cell of the closure
  kInt,     // numbers, each in a word
  kFloat,
  kBool,
  kCharacter,  // a str of one, below 256
  kNumpyBool,  // scalars of NumPy, as in kDtypes
  kNumpyFloat64,
  kNumpyFloat32,
  kNumpyInt64,
  kNumpyInt32,
  kNumpyInt16,
  kNumpyInt8,
  kNumpyUInt32,
  kNumpyUInt16,
  kNumpyUInt8,
  kComplex,  // two words: the parts of a number of Python's
  kNumpyComplex128,
  kNumpyComplex64,
  kRange,      // two words: start, stop
  kCounter,    // an iterator over a range by 1: the next number, the end
  kRangeIter,  // the same with other steps: the next number, how many are left
  kRow,        // of an array of rank 2: its place
  kPart,   // a view of an array: of the items, for each axis, an int, kAxis, or kNull, a new one;
           // behind them, an array that code made
  kAxis,   // of a kPart: the first place, how many, and the step between them
  kArray,  // what is computed of arrays, until it is stored: its number in Draft::nodes
  kNewArray,   // that code made: a MadeArray, its elements; the items: kExtent, of each axis
  kExtent,     // how many places, and the bytes between them
  kArrayIter,  // over the only item: the next place
  kHeld,       // a list that is an item of a list, or was made
  kListIter,   // over the only item: the next place
  kTupleIter,  // over the only item: the next place
  kEnumerate,  // of the only item: the count
  kZip,        // of the items
  kTuple,
  kSlice,    // of the items: start, stop, step
  kCallee,   // a function that goes on where code left it, with variables and stack in the items
  kMade,     // a function that is called where it is made: its code, and cells in the items
  kContent,  // a cell that code sets or a followed function has: what it holds is the only item
  kTagged,   // three words: which of these, and its words or the number of a source or an object
};

namespace regions {

struct Dtype {
  RegionKind kind;
  char format;  // NumPy's code
  const char* name;
  int bytes;
  RegionKind base;  // what its numbers are in code; of complex ones, load and store are of a part
  int64_t least, most;  // of ints
  region::Op load, store;
};
inline constexpr Dtype kDtypes[] = {
    {RegionKind::kNumpyBool, '?', "bool_", 1, RegionKind::kBool, 0, 1, region::Op::kLoadU8,
     region::Op::kStoreU8},
    {RegionKind::kNumpyFloat64, 'd', "float64", 8, RegionKind::kFloat, 0, 0, region::Op::kLoadF64,
     region::Op::kStoreF64},
    {RegionKind::kNumpyFloat32, 'f', "float32", 4, RegionKind::kFloat, 0, 0, region::Op::kLoadF32,
     region::Op::kStoreF32},
    {RegionKind::kNumpyInt64, 'l', "int64", 8, RegionKind::kInt, INT64_MIN, INT64_MAX,
     region::Op::kLoadI64, region::Op::kStoreI64},
    {RegionKind::kNumpyInt32, 'i', "int32", 4, RegionKind::kInt, INT32_MIN, INT32_MAX,
     region::Op::kLoadI32, region::Op::kStoreI32},
    {RegionKind::kNumpyInt16, 'h', "int16", 2, RegionKind::kInt, INT16_MIN, INT16_MAX,
     region::Op::kLoadI16, region::Op::kStoreI16},
    {RegionKind::kNumpyInt8, 'b', "int8", 1, RegionKind::kInt, INT8_MIN, INT8_MAX,
     region::Op::kLoadI8, region::Op::kStoreU8},
    {RegionKind::kNumpyUInt32, 'I', "uint32", 4, RegionKind::kInt, 0, UINT32_MAX,
     region::Op::kLoadU32, region::Op::kStoreI32},
    {RegionKind::kNumpyUInt16, 'H', "uint16", 2, RegionKind::kInt, 0, UINT16_MAX,
     region::Op::kLoadU16, region::Op::kStoreI16},
    {RegionKind::kNumpyUInt8, 'B', "uint8", 1, RegionKind::kInt, 0, UINT8_MAX, region::Op::kLoadU8,
     region::Op::kStoreU8},
    {RegionKind::kNumpyComplex128, 'D', "complex128", 16, RegionKind::kComplex, 0, 0,
     region::Op::kLoadF64, region::Op::kStoreF64},
    {RegionKind::kNumpyComplex64, 'F', "complex64", 8, RegionKind::kComplex, 0, 0,
     region::Op::kLoadF32, region::Op::kStoreF32},
};
// The numbers in bytes and bytearrays are Python's.
inline constexpr Dtype kByte = {RegionKind::kInt,    'y', "bytes",   1,
                                RegionKind::kInt,    0,   UINT8_MAX, region::Op::kLoadU8,
                                region::Op::kStoreU8};
// So are the characters of strings that have none above.
inline constexpr Dtype kText = {RegionKind::kCharacter, 'u', "str",     1,
                                RegionKind::kCharacter, 0,   UINT8_MAX, region::Op::kLoadU8,
                                region::Op::kStoreU8};
// Null: none.
constexpr const Dtype* dtype_of(char format) {
  if (format == kByte.format) return &kByte;
  if (format == kText.format) return &kText;
  for (const Dtype& d : kDtypes)
    if (d.format == format) return &d;
  return nullptr;
}
constexpr const Dtype* dtype_of(RegionKind kind) {
  for (const Dtype& d : kDtypes)
    if (d.kind == kind) return &d;
  return nullptr;
}

}  // namespace regions
}  // namespace pijit
