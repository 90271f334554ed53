// What the symbolic interpreter knows about Python objects. Values live in the arena of one capture
// and die with it; no Entry holds one.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/grad.h"
#include "python/convert.h"

namespace pijit {

struct Frame;
struct Value;
// Refers to a value; null at first.
class V {
 public:
  V() = default;
  V(std::nullptr_t) {}                    // NOLINT: implicit
  V(Value* p) : p_(p) {}                  // NOLINT: implicit
  operator Value*() const { return p_; }  // NOLINT: implicit
  Value* operator->() const { return p_; }
  Value& operator*() const { return *p_; }

 private:
  Value* p_ = nullptr;
};

struct Value {
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
  explicit Value(Kind kind) : kind(kind) {}
  virtual ~Value() = default;
  Value(const Value&) = delete;

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
  uint64_t serial = 0;   // in order of making
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

// One class per kind.
struct NullValue : Value {
  NullValue() : Value(kNull) {}
};
struct ConstantValue : Value {
  ConstantValue() : Value(kConst) {}
};
struct TensorValue : Value {
  TensorValue() : Value(kTensor) {}
};
struct TupleValue : Value {
  TupleValue() : Value(kTuple) {}
};
struct ListValue : Value {
  ListValue() : Value(kList) {}
};
struct DictValue : Value {
  DictValue() : Value(kDict) {}
};
struct SetValue : Value {
  SetValue() : Value(kSet) {}
};
struct SliceValue : Value {
  SliceValue() : Value(kSlice) {}
};
struct CellValue : Value {
  CellValue() : Value(kCell) {}
};
struct FunctionValue : Value {
  FunctionValue() : Value(kFunction) {}
};
struct MethodValue : Value {
  MethodValue() : Value(kMethod) {}
};
struct IteratorValue : Value {
  IteratorValue() : Value(kIter) {}
};
struct ViewValue : Value {
  ViewValue() : Value(kView) {}
};
struct SuperValue : Value {
  SuperValue() : Value(kSuper) {}
};
struct ObjectValue : Value {
  ObjectValue() : Value(kObject) {}
};
struct ArrayValue : Value {
  ArrayValue() : Value(kArray) {}
};
struct InstanceValue : Value {
  InstanceValue() : Value(kInstance) {}
};
struct ExceptionValue : Value {
  ExceptionValue() : Value(kException) {}
};

// Where the values of a capture live.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  template <class T>
  T* make() {
    auto made = std::make_unique<T>();
    T* v = made.get();
    v->serial = next_serial();
    values_.push_back(std::move(made));
    return v;
  }
  // In the order of making.
  uint64_t next_serial() { return serial_++; }
  uint64_t serial() const { return serial_; }

 private:
  std::vector<std::unique_ptr<Value>> values_;
  uint64_t serial_ = 1;
};
// A new tuple, list or dict.
inline V make_container(Arena& arena, Value::Kind kind) {
  if (kind == Value::kTuple) return arena.make<TupleValue>();
  if (kind == Value::kList) return arena.make<ListValue>();
  return arena.make<DictValue>();
}

}  // namespace pijit
