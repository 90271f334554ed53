// What variables hold after a branch on a tensor: the same as in both arms, or a value of the
// region.
#pragma once
#include <map>
#include <set>
#include <string>

#include "capture/value.h"
#include "capture/values/container.h"
#include "capture/values/tensor.h"

namespace pijit {

// Values that a region gives, and who waits for them.
struct Outputs {
  struct One {
    V first, second;  // in the arms
    DType dtype;
  };
  std::vector<One> list;
  std::vector<std::pair<Val*, size_t>> waiting;
  std::vector<V> keep;
};

class Merge {
 public:
  Merge(Arena& arena, Val pred, uint64_t serial, Outputs* out)
      : arena_(arena), pred_(pred), serial_(serial), out_(*out) {}
  // Null: the arms do not agree; `problem` says why.
  V merge(const V& a, const V& b);
  std::string problem;

  // --- for kinds of values, whose slot `merge` decides
  V fail(const char* why);
  V differ() { return fail("the branches leave different values in a variable"); }
  V tensor(TensorValue* a, TensorValue* b);
  V number(const V& a, const V& b);
  // Containers of a kind, item by item, into a new one.
  template <class T>
  T* items(T* a, const V& b) {
    T* made = arena_.make<T>();
    return items_into(made, a, b) ? made : nullptr;
  }
  // Are these new, of the same size? Lists and dicts can change later; a tuple's identity does not
  // matter.
  bool new_alike(Container* a, const V& b) const;

 private:
  size_t output(const V& a, const V& b, DType t);
  void wait(const V& v, Val* place, size_t index);
  // Fills `slot` with the object that an arm hands on, if it exists outside of the arm or is handed
  // on twice: its identity must survive.
  void outer(TensorValue* v, TensorValue** slot, size_t index, bool is_first);
  bool items_into(Container* made, Container* a, const V& b);

  Arena& arena_;
  Val pred_;
  int depth_ = 0;
  uint64_t serial_;
  Outputs& out_;
  std::map<std::pair<V, V>, V> merged_;
  std::set<V> containers_;
  struct Made {
    TensorValue** slot = nullptr;  // of its first holder
    size_t index = 0;
    TensorValue* object = nullptr;
  };
  std::map<std::pair<TensorValue*, bool>, Made> made_;
};

}  // namespace pijit
