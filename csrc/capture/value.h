// What the symbolic interpreter knows about Python objects. Values live in the arena of one capture
// and die with it; no Entry holds one.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "base/operators.h"
#include "graph/grad.h"
#include "python/convert.h"

namespace pijit {

enum class Reason : uint8_t;
class Context;
class Merge;
class Rebuilder;
class Scope;
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

using Kwargs = std::vector<std::pair<std::string, V>>;
// What C code may be asked about the object of a constant. Where its class answers by Python code
// of its own, it is none: that code must run in each call.
enum class Ask : uint8_t { kAnything, kHash, kText, kIdentity };

// On which side of an operator a value stands.
enum class Side : uint8_t { kLeft, kRight };

// What capture asks of a value that CPython would not ask of the object.
struct CaptureSlots {
  virtual ~CaptureSlots() = default;
  // What a variable holds after a branch on a tensor, of whose arms one leaves this, the other
  // `other`. Null, by m.fail(): they do not agree.
  virtual V merge(Merge& m, const V& other);
  // A container from outside takes its items as they are, under a guard.
  virtual void settle(Context& c) {}
  // The object, where it is known in full; numbers that vary are fixed for that.
  virtual std::optional<py::object> object(Context& c, Ask what) { return std::nullopt; }
  // Tells what it holds, as tp_traverse does, as far as capture knows.
  using Visit = absl::FunctionRef<void(const V&)>;
  virtual void traverse(Visit visit) const {}
  // How often a container lost or got keys or items: iterators over it ask.
  virtual uint64_t generation() const { return 0; }
  // May there be weak references to it, or does it take more items, where it was made here?
  virtual bool is_referable() const { return false; }
  // Can all its items be listed now?
  virtual bool iterable() const { return false; }
  // Must effects on other objects leave it alone?
  virtual bool has_identity() const { return false; }
  // Methods of its class in Python count.
  virtual bool asks_class() const { return false; }
  // Guards that the class is as it is, where nothing else does.
  virtual void guard_methods(Context& c) {}
  // Begins with the object outside: `obj`, at `src`, of the exact type.
  virtual void from_outside(Context& c) {}
  // What a break is called that comes of it; `usual`: of any other operand there.
  virtual Reason reason(Reason usual) const { return usual; }
  // The value of the graph that a tensor, a number or an ndarray is; null: none.
  virtual Val node() const { return {}; }
  // An object of its type that fails in the same operations of C code; null: there is none.
  virtual py::object stand_in(Context& c) { return {}; }
  // The recipe by which each run makes it anew; not asked for what has a source.
  virtual int rebuild(Rebuilder& r) = 0;
};

struct Value : CaptureSlots {
  // Which class a value is of, for as(). A class is known to its own header alone: what its bases
  // share, as which they ask for it, is in `families`.
  enum Family : unsigned { kContainer = 1, kEntries = 2, kGrowing = 4, kKeyed = 8 };
  struct KindInfo {
    unsigned families;
  };
  using Kind = const KindInfo*;
  static constexpr unsigned kFamilies = 0;
  template <class T>
  static constexpr KindInfo kKind{T::kFamilies};
  const Kind kind;
  explicit Value(Kind kind) : kind(kind) {}
  Value(const Value&) = delete;

  // --- What CPython's type object has as slots. Where a kind says nothing, the class's own method
  // in Python is inlined; where it has none, the capture gives up.
  virtual PyTypeObject* type() const = 0;
  virtual std::optional<bool> truth(Context& c);  // empty: only a run can tell
  virtual V length(Context& c);
  virtual V getitem(Context& c, const V& index);
  virtual void setitem(Context& c, const V& index, const V& value);
  virtual void delitem(Context& c, const V& index);
  // Without __contains__ in Python, which comes first.
  virtual std::optional<bool> contains(Context& c, const V& x);
  virtual V iter(Context& c);  // without __iter__ in Python
  // Empty: there is no such attribute.
  virtual std::optional<V> getattr(Context& c, PyObject* name);
  virtual void setattr(Context& c, PyObject* name, const V& value);
  virtual void delattr(Context& c, PyObject* name);
  // The same by way of object.__setattr__ and __delattr__, where no descriptor of the class comes
  // first.
  virtual void store_attribute(Context& c, PyObject* name, const V& value);
  virtual void drop_attribute(Context& c, PyObject* name);
  // What __str__ or __repr__ gives, by the method's name. Empty: nothing that is known.
  virtual std::optional<V> text(Context& c, const char* name);
  // Its class has tp_call.
  virtual V call(Context& c, std::vector<V> args, Kwargs kwargs);
  // The next item of an iterator; its class has tp_iternext. False: there is none, now and later.
  virtual bool next(Context& c, V* value);

  // --- Operators: what C code of the class does; methods in Python are asked before (protocol.h).
  // Null: NotImplemented, or it has no such slot. What it does and capture does not follow ends the
  // graph.
  virtual V unary(Context& c, UnaryOp op) { return nullptr; }
  virtual V binary(Context& c, BinaryOp op, const V& other, Side side) { return nullptr; }
  virtual V in_place(Context& c, BinaryOp op, const V& other) { return nullptr; }
  virtual V compare(Context& c, CompareOp op, const V& other, Side side) { return nullptr; }
  // Does it give NotImplemented, as far as is known, to an object of a class in Python?
  virtual bool declines_binary(const V& other) const { return false; }
  virtual bool declines_comparison(const V& other) const { return false; }
  // What it is as a number, where its class leaves the operators to int or float; else null.
  virtual V base_number(Context& c) { return nullptr; }
  // `d`, a method in C of its class or of a base, is called on it.
  virtual V call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs);
  // A method of its class in C. Empty: it is not followed.
  virtual std::optional<V> method(Context& c, const std::string& name, std::vector<V>& args,
                                  Kwargs& kwargs) {
    return std::nullopt;
  }

  // --- What it is made of.
  // Of containers that are seen through (tuples, lists, dicts, slices): what they hold, read from
  // the source if need be, and a new one of the same form.
  virtual std::vector<V> parts(Context& c) { return {}; }
  virtual V with_parts(Context& c, std::vector<V> parts) { return this; }
  // As an operand of an op in a scope: a tensor or a number.
  virtual bool is_operand() const { return false; }
  virtual Operand operand(Context& c, Scope& s);

  int src = -1;    // reachable from the frame's state
  py::object obj;  // the object: constants, objects, tensors and containers that have a source

  uint64_t serial = 0;  // in order of making
  // Of lists, dicts, cells, tensors: differs from its source. Of an iterator: a branch on a tensor
  // decides where it stands. Of an exception: differs from a new one of the same arguments.
  bool dirty = false;
};

// v as a value of this class; null if it is of another.
template <class T>
T* as(Value* v) {
  return v && T::holds(v->kind) ? static_cast<T*>(v) : nullptr;
}
template <class T>
const T* as(const Value* v) {
  return v && T::holds(v->kind) ? static_cast<const T*>(v) : nullptr;
}
template <class T>
T* as(const V& v) {
  return as<T>(static_cast<Value*>(v));
}

// One of the methods of T in C: its name, how many arguments it takes, what it does.
template <class T>
struct Method {
  std::string_view name;
  size_t least, most;
  V (*run)(Context& c, T& self, const std::vector<V>& args);
};
void check_arity(Context& c, const std::string& name, size_t least, size_t most, size_t given);
template <class T, size_t N>
std::optional<V> run_method(const Method<T> (&table)[N], T& self, Context& c,
                            const std::string& name, const std::vector<V>& args,
                            const Kwargs& kwargs) {
  for (auto& m : table)
    if (m.name == name) {
      check_arity(c, name, m.least, m.most, args.size() + (kwargs.empty() ? 0 : m.most + 1));
      return m.run(c, self, args);
    }
  return std::nullopt;
}

// An attribute that objects of a kind have by themselves.
template <class T>
struct Member {
  std::string_view name;
  V (*get)(Context& c, T& self);
};
// Null: it is none of these.
template <class T, size_t N>
V member_of(const Member<T> (&table)[N], T& self, Context& c, std::string_view name) {
  for (auto& m : table)
    if (m.name == name) return m.get(c, self);
  return nullptr;
}

// Where the values of a capture live.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  ~Arena() {
    for (Value* v : values_)
      if (v) v->~Value();
  }
  template <class T, class... A>
  T* make(A&&... args) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    const size_t at = values_.size();
    values_.push_back(nullptr);
    T* v = new (room(sizeof(T))) T(std::forward<A>(args)...);
    values_[at] = v;
    v->serial = next_serial();
    return v;
  }
  // In the order of making.
  uint64_t next_serial() { return serial_++; }
  uint64_t serial() const { return serial_; }

 private:
  // Beside the last one: long code has many small values, which are made and end in this order.
  void* room(size_t bytes);

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte *next_ = nullptr, *end_ = nullptr;  // in the last block
  std::vector<Value*> values_;
  uint64_t serial_ = 1;
};

}  // namespace pijit
