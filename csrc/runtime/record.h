// Records of what runs and for how long, per thread, while somebody asks for them. While nobody
// does, a place that could record costs one branch, always taken the same way.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pijit {

// What an event is about.
struct Metadata {
  std::string name;                   // of a kernel: its ops; of a call: the function
  std::string detail = {};            // of a kernel: operands; of a piece of Python: why it is one
  std::string kernel = {};            // what computes it
  std::vector<std::string> ops = {};  // in order
  std::vector<std::string> places = {};  // "file:line", each once
  int64_t bytes = 0;                     // that one run reads and writes; 0: not known
  int64_t flops = 0;                     // 0: not known, or none
};
using MetadataRef = std::shared_ptr<const Metadata>;

struct TraceEvent {
  enum Kind : uint8_t {
    kKernel,
    kCall,      // of a captured function, all of it
    kGuards,    // whether an entry may be used
    kGraph,     // a run of an entry's program
    kOutcome,   // its effects, and the objects it makes
    kPython,    // a piece that CPython runs
    kCapture,   // the symbolic run; what it compiles lies within
    kOptimise,  // passes over the graph
    kGenerate,  // kernels made
    kOp,        // one op that the user's code calls
  } kind;
  int64_t begin, end;    // of the steady clock, in ns
  MetadataRef metadata;  // may be null
  size_t memory;         // bytes of arrays when it ended
};

// Begins a recording, which may begin and end inside of another one.
struct Recording {
  int64_t begin = 0;
  uint64_t allocations = 0, allocated_bytes = 0;  // counts as they stood
  size_t outer_peak = 0;
};
Recording start_recording();
struct Recorded {
  std::vector<std::pair<int64_t, TraceEvent>> events;  // with the number of their thread, by time
  uint64_t allocations = 0, allocated_bytes = 0;
  size_t peak_bytes = 0;
  uint64_t dropped = 0;  // events that came when there were too many
};
Recorded stop_recording(const Recording& r);

// The line of the user's code that calls an op. Null: nobody knows.
extern MetadataRef (*caller_metadata)();
extern std::atomic<int> recordings;
inline bool recording() { return __builtin_expect(recordings.load(std::memory_order_relaxed), 0); }
// Nanoseconds of the steady clock, from which all times are taken; a test may set what it shows.
int64_t clock_ns();
constexpr int64_t kRealTime = -1;
void set_clock(int64_t ns);
// Adds an event that ends now, and says when that was.
int64_t record_event(TraceEvent::Kind kind, int64_t begin, MetadataRef metadata);
// Of a block of memory; `used`: with it.
void record_allocation(size_t bytes, size_t used);

// An event from here to the end of the scope.
class Span {
 public:
  explicit Span(TraceEvent::Kind kind) : kind_(kind), begin_(recording() ? clock_ns() : 0) {}
  // `metadata` makes the metadata where it is needed.
  template <class F>
  Span(TraceEvent::Kind kind, F metadata) : Span(kind) {
    if (begin_) [[unlikely]]
      metadata_ = metadata();
  }
  ~Span() { end(); }
  Span(const Span&) = delete;
  void end() {
    if (begin_) [[unlikely]]
      record_event(kind_, std::exchange(begin_, 0), std::move(metadata_));
  }

 private:
  TraceEvent::Kind kind_;
  int64_t begin_;
  MetadataRef metadata_;
};

}  // namespace pijit
