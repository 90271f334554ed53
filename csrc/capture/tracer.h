// The symbolic interpreter's state and operations. Each group of methods has a file of its own.
#pragma once

#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "capture/context.h"
#include "capture/control_flow/control_flow.h"
#include "capture/gradients.h"
#include "capture/lifetimes.h"
#include "eager/tape.h"

namespace pijit {

struct Frame {
  Code code;
  PyObject* globals;  // borrowed
  V func;
  std::vector<V> slots, stack;
  int pc = 0;
  int64_t turns = 0;       // of its loops
  V handled = nullptr;     // the exception that is handled, or None
  int* reached = nullptr;  // Tracer::reached_
  std::optional<bool> of_library;

  V pop() {
    const V v = stack.back();
    stack.pop_back();
    return v;
  }
  std::vector<V> popn(int n) {
    std::vector<V> v(stack.end() - n, stack.end());
    stack.resize(stack.size() - static_cast<size_t>(n));
    return v;
  }
};

struct Call;
class Tracer final : public Context {
 public:
  // CPython runs the instructions of `left` in the outermost frame, for these reasons.
  using Left = std::map<int, GraphBreak>;
  Tracer(StartPoint& p, const std::vector<PyObject*>& state, Left left);
  std::unique_ptr<Entry> run();

  V call_function(const V& f, std::vector<V> args, Kwargs kwargs) override;  // frames/inline.cc
  V call_known(PyObject* callable, std::vector<V>& args, Kwargs& kwargs, const V& f) override;
  void meet_decorated(PyObject* jit_function) override;
  std::string location() const override;
  std::string inner_module() const override;
  int outermost_instr() const override { return frames_.empty() ? -1 : frames_.front()->pc; }
  bool resume_generator(const V& it, V* value, const V& sent = nullptr,
                        const V& thrown = nullptr) override;

  // --- frames/: frames and instructions ---
  void step(Frame& f);
  // By families of instructions, each in frames/<family>.cc: the next place.
  int step_variables(Frame& f, const Instr& in);
  int step_attributes(Frame& f, const Instr& in);
  int step_operators(Frame& f, const Instr& in);
  int step_items(Frame& f, const Instr& in);
  int step_containers(Frame& f, const Instr& in);
  int step_control(Frame& f, const Instr& in);
  int jump_by_truth(Frame& f, const Instr& in, bool keeps);
  int for_iter(Frame& f, const Instr& in);
  int step_generators(Frame& f, const Instr& in);
  int step_calls(Frame& f, const Instr& in);
  // A callable, with NULL beside it; back, with the object of a method or null.
  void push_callable(Frame& f, const V& callable);
  V pop_callable(Frame& f, V* self);
  int step_exceptions(Frame& f, const Instr& in);
  void count(Frame& f);  // its next instruction, where the budget counts it
  void meet(Frame& f, const V& item, uint64_t serial);
  int place();  // in the graph's list: the line that runs, of the user's code where there is some
  V run_inlined(Frame& f);
  bool returned_ = false;
  V return_value_;
  V yielded_;
  V import_module(Frame& f, const std::string& name, const V& from, int64_t level);
  // Generators that run code when they are dropped half-way: nobody here would see when.
  std::vector<V> cleaning_;
  Lifetimes lifetimes{*this};

  // --- frames/exceptions.cc ---
  bool advance(Frame& f);                            // a step; true: into an exception's handler
  bool enter_handler(Frame& f, const V& exception);  // of the current instruction; false: none
  // Raises it where a generator waits, or in what it delegates to. True: that has given a value.
  bool throw_into(Frame& f, const V& exception, V* value);
  bool send(const V& it, const V& sent, V* value);  // what SEND does; false: it has ended
  V handled_at_start_;
  bool handles_exception(const Frame& f) const;
  bool handles_stream_errors(const Frame& f) const;
  V exception_from(const V& x);  // what `raise x` raises
  bool exception_matches(const V& exception, const V& match);
  std::string describe(const Raised& r) const;

  ControlFlow control_flow{*this};

  // What a function of pijit/_polyfills.py does, which is inlined.
  V call_polyfill(const char* name, std::vector<V> args, const Kwargs& kwargs = {});

  Tapes tapes{*this};

  void compute_in(std::optional<DType> t);
  const std::optional<DType> compute_dtype_at_start_ = compute_dtype;

  const std::vector<PyObject*>& state_;
  std::vector<Frame*> frames_;
  const Left left_;
  std::map<std::tuple<const Graph*, const CodeInfo*, int>, int> place_index_;
  absl::flat_hash_map<PyObject*, bool> of_library_;  // by globals
  std::set<std::string> places_;                     // that frames went through
  // The furthest instruction that ran of a function, by its code and what its call, or the turn of
  // its loop, is about.
  absl::node_hash_map<std::pair<const CodeInfo*, const void*>, int> reached_;
  struct {
    const Graph* graph = nullptr;
    const CodeInfo* code = nullptr;
    int line = 0, index = 0;
  } last_place_;
  int64_t counted_ = INT64_MAX;  // what is left of the budget, without what is free
  bool counts_ = false;          // the instruction that runs came back
  size_t ops_before_ = 0;        // it: of the graph
};

}  // namespace pijit
