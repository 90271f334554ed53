// One call of a captured function. Its parts are in files of their own: run.cc goes through
// entries and breaks, entries.cc finds and captures them, regions.cc runs loops over numbers.
#pragma once
#include <algorithm>

#include "dispatch/run.h"
#include "dispatch/turn_meter.h"
#include "entry/runner.h"
#include "python/call_in_frame.h"

namespace pijit {

// Tensors, and objects that can be called, as networks are.
inline bool is_promising(PyObject* o) {
  if (o && PyCell_Check(o)) o = PyCell_GET(o);
  return o && PyType_HasFeature(Py_TYPE(o), Py_TPFLAGS_HEAPTYPE) &&
         (Py_TYPE(o)->tp_call || is_tensor(o));
}

// Programs for further sizes are part of what compiling costs.
void note_sizes(FunctionCache* state);
// Lets entries go that were given up, unless one of them may still run.
void drop_given_up(FunctionCache& state);

// One call of a function: entries, break instructions and what follows them, to its end.
class Execution {
 public:
  Execution(const Target& target, std::span<PyObject* const> slots,
            absl::FunctionRef<py::object()> original)
      : target_(target),
        state_(target.state),
        code_(target.code),
        given_(slots),
        original_(original) {
    if (!target.osr) return;
    instr_ = target.osr->instr;
    stack_ = target.osr->stack;
  }

  // As a frame does that is left: variables go in their order.
  ~Execution() {
    values_.held.clear();
    stack_.clear();
    handled_ = {};
    if (!shown_.empty()) shown_.show(slots_);
    for (size_t k = 0, n = slots_.size(); k < n; ++k)
      slots_[kLastSlotDiesFirst ? n - 1 - k : k] = {};
  }
  Execution(const Execution&) = delete;
  py::object run();

 private:
  struct Found {
    Entry* entry = nullptr;  // null: what follows runs in Python
    std::shared_ptr<const Instance> instance;
  };
  Found lookup(ResumePoint& point);
  Found known(ResumePoint& point);
  bool is_new_size(const Entry& e);
  StartPoint start_point(const ResumePoint& point) const;
  void note_declared(ResumePoint& point) const;
  bool make_room(ResumePoint& point);
  Found capture_here(ResumePoint& point);
  std::unique_ptr<Entry> captured(ResumePoint& point);
  bool note_break(Entry& fresh);
  bool has_nothing(const Entry& fresh) const;
  Found keep(ResumePoint& point, std::unique_ptr<Entry> entry);
  // The result; null: the entry ends in a break, or could not run (`failed_`, `overtaken_`).
  py::object run_entry(const Found& found);
  bool compute(const Found& found, Runner* r);
  void go_on_behind(const Found& found, Runner* r);
  void note_failure(ResumePoint& point, Entry& e);
  bool is_hopeless(ResumePoint& point);
  bool may_capture_more(const ResumePoint& point) const;
  bool promises() const { return std::any_of(raw_.begin(), raw_.end(), is_promising); }
  int64_t patience() const;
  void leave_stand();
  // Of a function of loops over numbers: runs a region from here on, where there is one, to one of
  // its exits. False: the rest is CPython's.
  bool run_region(ResumePoint& point);
  using Words = absl::InlinedVector<int64_t, 64>;
  Region* region_for(ResumePoint& point, const Region::Frame& frame, Words* words,
                     Region::Views* views);
  Region* region_made(ResumePoint& point, const Region::Frame& frame);
  bool step_to_region(ResumePoint& point, bool loops);
  bool region_pays(const Region& r, const RegionExit& left);
  bool is_over_numbers() const;
  bool at_handler() const {
    return std::any_of(code_->handlers.begin(), code_->handlers.end(),
                       [&](auto& h) { return h.target == instr_; });
  }
  bool signal_raises();
  void handle_raised(int at);
  bool step();  // the break instruction; false: it must run with all that follows
  py::object plain();
  py::object rest_in_python();
  ResumeScope::Begins begins(const py::object& code, py::object* frame);
  // The result, or null, where it is captured again behind a loop.
  py::object end_capture(ResumePoint& point);
  // The innermost loop here, in CPython; false: there is none that can run so. The result: the
  // function has returned.
  bool loop_in_python(py::object* result);
  py::object loop_code(const std::vector<bool>& nulls);
  bool go_on_in_loop(std::optional<LeftLoop> left, py::object* frame, py::object* result);

  static inline uint64_t calls = 0;
  const uint64_t number_ = ++calls;
  uint64_t graphs_ = graphs_run;       // when the last of this call had run
  bool won_ = false;                   // one has
  bool over_numbers_ = false;          // loops over numbers are regions
  int steps_ = 0;                      // of CPython since the last one
  ResumePoint* steps_from_ = nullptr;  // where these began
  uint64_t region_runs_ = 0;
  int64_t region_ns_ = 0;
  uint64_t fruitless_ = 0;  // breaks since then, at places that this call had been at
  TurnMeter turns_;         // of a loop with breaks, over ndarrays
  const Target& target_;
  FunctionCache& state_;
  const Code& code_;
  const std::span<PyObject* const> given_;  // slots before anything has happened
  Slots slots_;                             // from then on: without as_given_
  bool as_given_ = true;
  std::vector<py::object> stack_;
  ShownFrames shown_;
  const absl::FunctionRef<py::object()> original_;
  int instr_ = 0;
  bool untouched_ = true;   // nothing has happened yet
  bool failed_ = false;     // the entry
  bool signalled_ = false;  // one came as the graph ran
  SignalDelay signals_;
  bool overtaken_ = false;  // it ran for nothing: other threads changed what it had read
  bool alone_ = false;      // so that they wait when it runs again
  bool by_size_ = false;    // a new size: plainly
  bool plainly_ = false;    // what follows the entry runs in Python
  std::string why_;         // the last graph broke
  absl::InlinedVector<PyObject*, 16>
      raw_;  // the state: slots, stack, the exception that is handled
  py::object handled_;
  Values values_;
  std::vector<int> misses_;        // per entry, the guard that failed
  std::vector<uint64_t> numbers_;  // of the graph, in the state: by their paths
};

}  // namespace pijit
