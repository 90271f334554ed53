// A region in the making: what it asks of the frame where it begins, and its code so far.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "capture/fast_ufuncs.h"
#include "capture/regions/abstract.h"
#include "capture/regions/frames.h"
#include "graph/scalar.h"

namespace pijit::regions {

// The inputs that code has of an array.
struct Array {
  int need;  // -1: code made it
  int data, rank;
  char format;
  std::vector<int> sizes, strides;
};

// A step of what is computed of arrays.
struct ArrayNode {
  SOp op = SOp::kInput;             // of the leaf
  const FastUfunc* fast = nullptr;  // in op's place
  DType type = DType::F64;
  std::array<int, 3> args{-1, -1, -1};
  Av leaf;  // a kPart, or a number in a word of the type
  int rank = 0;
  bool flags = false;   // may raise one of IEEE's exceptions
  std::vector<int> of;  // of what a ufunc made it, where that are not the args
};

// A list, as code has it.
struct List {
  int object = kNoValue;  // its address
  int kind = 0;           // of ListKinds
};

// What lists hold, as far as was seen: code that reads an item looks whether it is that, so that a
// wrong guess costs an exit. What is first known behind a place that reads is there in the next
// attempt to make the region.
class ListKinds {
 public:
  struct Kind {
    K item = K::kNull;
    int inner = -1;           // of an item that is a list
    bool sure = false;        // not only what a list was filled with when it was made
    std::vector<Kind> items;  // of one that is a tuple
    bool same_items(const Kind& o) const {
      return item == o.item && inner == o.inner &&
             std::equal(items.begin(), items.end(), o.items.begin(), o.items.end(),
                        [](const Kind& a, const Kind& b) { return a.same_items(b); });
    }
  };
  // Of the list that comes into being at a place.
  int made_at(const void* code, int instr);
  int known(Kind kind);
  const Kind& of(int kind) const { return kinds_[static_cast<size_t>(kind)]; }
  // What is read; kNull: nobody knows.
  Kind read(int kind);
  void note(int kind, Kind item);
  // Is there more to know than there was where it was asked for?
  bool asks_again() const { return asked_ && grown_; }
  void begin() { asked_ = grown_ = false; }

 private:
  int canonical(int kind, int deep = 0);
  std::vector<Kind> kinds_;
  std::map<std::pair<const void*, int>, int> places_;
  bool asked_ = false, grown_ = false;
};

class Draft {
 public:
  Draft(const Region::Frame& frame, ListKinds& kinds)
      : entry(frame), r(std::make_unique<Region>()), lists(kinds) {}

  int source(RegionSource s);
  Av given(RegionSource::Where where, size_t k, PyObject* o);
  PyObject* object_at(int source) const;
  int input(Type t);
  int constant(Type t, int64_t bits);
  int icon(int64_t n);
  int fcon(double x);
  bool is_const(int v, int64_t* n) const;
  Av input_of(RegionKind kind);
  // A number, or what else is known, that a source holds.
  Av typed_source(int s);
  // Are NumPy's types known, as it is loaded?
  bool uses_numpy();
  PyTypeObject* class_of(const Av& complex) const;
  // A tuple that is there as its items; else what it is.
  Av as_items(const Av& a);
  // An ndarray whose elements code may read; null: it is none.
  const Array* array_of_value(const Av& a);
  // A list whose items code may read; null: it is none.
  const List* list_of_value(const Av& a);
  // The C interface of a generator of NumPy's, or of what a method is bound to, whose lock a run
  // holds; kNoValue: it is none.
  int generator_of_value(const Av& a);
  // The very object: its identity is asked for.
  Av known_object(int s, PyObject* o);
  Av object(PyObject* o);
  void keep(PyObject* o);
  int object_number(PyObject* o) const;
  // May it be dropped in the middle of a region? What CPython would run then, such as __del__,
  // could change all that the region has read.
  bool dies_quietly(const Av& a);
  bool can_be_tagged(const Av& a);
  // What a variable or the stack held may die here, which numbers and arrays do unseen as well.
  void drop(const Av& a);
  // The same of what a cell holds, which is given.
  void drop_content(const Av& cell);
  Av typed(const Av& a);
  // For one more that holds it: tuples in it are the same ones here and there.
  Av held_twice(Av& a);
  bool is_over_items(Av& a);
  // An iterator that is given, at its place.
  Av place_in(const Av& iterator, RegionKind kind, const Av& over);
  // False: an iterator that a region must leave alone, as others hold it, too.
  bool is_known_iterator(Av& a);
  Av constant_object(PyObject* o);
  int poll_address();
  int arena();  // of objects that code makes
  // What it is now it must be where the region is entered.
  void note_function(PyObject* func);
  // What a value is, in words.
  std::string described(const Av& a) const;

  const Region::Frame entry;
  std::unique_ptr<Region> r;
  ListKinds& lists;
  region::Function f;
  int64_t words = 0;
  bool stores = false;
  bool fast = false;                             // numerics
  bool sets_cells = false, reads_cells = false;  // its own function's; those of functions it calls
  std::map<int, Av> typed_sources;               // by source
  std::map<int, Array> arrays;                   // the same
  std::vector<ArrayNode> nodes;                  // of all kArray

 private:
  int numbered_ = 0;  // tuples that several hold
  std::map<std::pair<Type, int64_t>, int> constants_;
  std::map<int, bool> quiet_;  // by source
  std::map<int, Av> tuples_;   // by source
  std::map<int, List> lists_;  // the same
  std::map<int, Array> made_;  // by value
  std::map<int, int> generators_;
  int poll_ = -1, arena_ = -1;
};

}  // namespace pijit::regions
