// Deaths that a program sees (python/lifetime.h). The values of a capture stand for objects that
// are not there, and effects come at its end: so where the last reference to such an object may go,
// CPython takes the step.
#pragma once
#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "capture/value.h"

namespace pijit {

class Tracer;
struct Frame;

// What of the state of the outermost frame must not die unseen while it is traced.
class Lifetimes {
 public:
  explicit Lifetimes(Tracer& t) : t_(t) {}
  std::vector<bool> mourned_state() const;  // by index
  void mourn(const V& v, int at);           // a value of the state, and its index
  void keep_mourned(const Frame& f) const;  // after a step; gives up where it let one go
  void let_go(const Frame& f, int slot);
  enum class Kept : uint8_t { kNothing, kReferable, kMourned };
  // `made`: does the entry make this value?
  Kept keeps_alive(const V& v, absl::FunctionRef<bool(const Value*)> made) const;

 private:
  Tracer& t_;
  std::vector<V> mourned_;
  std::vector<int> mourned_at_;
  std::set<int> let_go_;  // slots
};

}  // namespace pijit
