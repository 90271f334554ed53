// What is known of variables and stack entries while a region's code is made.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "capture/regions/region.h"
#include "python/code.h"

namespace pijit::regions {

using region::kNoExit;
using region::kNoValue;
using region::Op;
using region::Type;
using In = region::Instr;
using BOp = pijit::Op;  // of bytecode
using BIn = pijit::Instr;
using K = RegionKind;

// What a variable or a stack entry is, as far as it is known: some values of the region's code, or
// an object that is there.
struct Av {
  using enum RegionKind;
  RegionKind kind = kNull;
  std::array<int, 3> v{kNoValue, kNoValue, kNoValue};  // values
  // Of a source, or a free variable; of kRange and kRangeIter, the step if it is known; of a number
  // of NumPy or kNewArray, its dtype's format; of kPart, that of what code made, -1; of kHeld, its
  // kind of list; of kTuple, whether it is an object that is there.
  int index = 0;
  int same = 0;  // of a kTuple that is to be made: its number, where several hold the same one
  PyObject* object = nullptr;
  std::vector<Av> items;
  bool reversed = false;  // of kPart: the last of its axes is the first one

  int values() const {
    switch (kind) {
      case kInt:
      case kFloat:
      case kBool:
      case kCharacter:
      case kRow:
      case kHeld:
      case kListIter:
      case kTupleIter:
      case kEnumerate:
      case kArrayIter: return 1;
      case kTuple: return index ? 1 : 0;
      case kRange:
      case kRangeIter: return index ? 2 : 3;
      case kCounter:
      case kNewArray:
      case kExtent:
      case kComplex: return 2;
      case kAxis:
      case kTagged: return 3;
      default: return 0;
    }
  }
  Type type(int k) const {
    return kind == kFloat || kind == kComplex ? Type::kF64 : kind == kBool ? Type::kB1 : Type::kI64;
  }
  bool of_numpy() const { return (is_number() || kind == kComplex) && index != 0; }
  bool is_numpy_bool() const { return kind == kBool && index != 0; }
  const Dtype* dtype() const { return of_numpy() ? dtype_of(static_cast<char>(index)) : nullptr; }
  bool is_float32() const { return kind == kFloat && index == 'f'; }
  bool is_number() const { return kind == kInt || kind == kFloat || kind == kBool; }
};

inline Av number(RegionKind kind, int v) {
  Av a;
  a.kind = kind;
  a.v[0] = v;
  return a;
}

// May values of `a` stand where those of `b` are?
inline bool same_shape(const Av& a, const Av& b) {
  if (a.kind != b.kind || a.index != b.index || a.object != b.object || a.reversed != b.reversed ||
      a.items.size() != b.items.size())
    return false;
  for (size_t k = 0; k < a.items.size(); ++k)
    if (!same_shape(a.items[k], b.items[k])) return false;
  return true;
}
// Calls g(array) for all that code made and that `a` holds.
template <class G>
void each_new_array(const Av& a, G g) {
  if (a.kind == K::kNewArray) g(a);
  for (const Av& i : a.items) each_new_array(i, g);
}
bool has_new_arrays(const Av& a);

struct Frame {
  std::vector<Av> slots, stack;
  // Of the functions that called this one, the outermost first, as they were before the call.
  struct Caller {
    std::vector<Av> slots, stack;
    int at = 0;                // the call
    size_t callable = 0;       // what is called, on the stack
    PyObject* func = nullptr;  // the same; null: one that was made for it
  };
  std::vector<Caller> callers;
  // Since the outermost of these calls, code has changed what others see: it is not done anew.
  bool changed = false;

  // Calls g(list of values) for all that there is.
  template <class G>
  void each_part(G g) {
    g(slots);
    g(stack);
    for (Caller& c : callers) g(c.slots), g(c.stack);
  }
};

inline Av pop(Frame& f) {
  Av a = std::move(f.stack.back());
  f.stack.pop_back();
  return a;
}
// May code choose an item of the tuple by its place?
bool can_be_chosen_from(const Av& tuple);
// An iterator advances for all that hold it: none but the stack may.
bool is_iterator(const Av& a);
void stay_alone(const Av& a);
// A tuple that is to be made when code is left, not one that is there.
inline bool is_to_be_made(const Av& a) {
  return a.kind == Av::kTuple && !a.index && !a.items.empty();
}

inline Av int_of(int v) { return number(K::kInt, v); }
inline Av float_of(int v) { return number(K::kFloat, v); }
inline Av bool_of(int v) { return number(K::kBool, v); }
// The kind of a number with its class.
inline RegionKind number_kind_of(const Av& a) {
  const Dtype* d = a.dtype();
  return d ? d->kind : a.kind;
}

// Why code can't go on: what stands there, and what would help.
struct Leave {
  std::string why, help;
  bool of_arrays = false;  // whole arrays are computed with: a graph's work
};
[[noreturn]] void leave(std::string why, std::string help = "", bool of_arrays = false);
inline constexpr const char* kNumbers =
    "machine code has ints of 64 bits, floats, complex numbers, bools, characters, NumPy's numbers "
    "but for uint64 and float16, and arrays, tuples and lists of these";

// With its article.
std::string a_(const std::string& what);
// What an instruction is that has no code.
std::string described(const BIn& in);

inline In ins(Op op, Type t, int a = kNoValue, int b = kNoValue, int c = kNoValue) {
  In in{op, t};
  in.args[0] = a;
  in.args[1] = b;
  in.args[2] = c;
  return in;
}

}  // namespace pijit::regions
