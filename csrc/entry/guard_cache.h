// What the last full check of an entry's guards found, so that the next call only asks whether that
// is still so.
//
// A dict's version is given once in a process: while a dict has the version of the last check, it
// is that dict, and what it held then it has held ever since. So one comparison stands for all
// reads of the dict, and the objects found there are the same, not others that came to be at their
// addresses; the same goes for types and their versions, and for what tuples, methods and closures
// of such objects hold. These sources are *known*. Of their guards there remain those about what
// can change without a dict: the class of an object, which dict it has, the array of a Tensor, the
// code of a function, the length of a list.
//
// All other sources (arguments, cells, items of lists, what is computed) are fetched at every call
// and their guards checked in full. Where known sources lie below one, it must be where it was.
//
// A guard cache holds no references. It reads memory of an object only after what proves that the
// object lives; so its parts are in the order of the sources.
#pragma once
#include "absl/container/flat_hash_set.h"
#include "entry/guard.h"

namespace pijit {

class GuardCache {
 public:
  enum Answer : uint8_t {
    kHolds,
    kFails,    // guard `failed`, the first one of the entry that does
    kChanged,  // something has changed, which only the full check can judge
  };
  // Where the guards hold, `values` receives the objects of all sources.
  Answer check(const Entry& e, PyObject* func, PyObject* const* state, Values* values, int* failed);
  // After a full check that the guards passed. Where calls keep changing what a guard cache relies
  // on, it is made ever more rarely.
  void update(const Entry& e, PyObject* func, PyObject* const* state) {
    recorded_ = false;
    if (waste_ < kPatience || ++calls_ % 64 == 0) record(e, func, state);
  }

 private:
  void record(const Entry& e, PyObject* func, PyObject* const* state);
  struct Probe {
    const void* at;
    uint64_t want;
  };
  // A guard of a known object; of a Tensor, what its array's type must be.
  struct Check {
    PyObject* object;
    const Type* type;
    int guard;
  };
  struct TypeProbe {
    const PyTypeObject* type;
    unsigned version;
  };
  // Ends of what comes before a source is fetched.
  struct Fetch {
    uint32_t probes, checks;
    int source;     // -1: behind the last one
    bool anchored;  // known sources lie below it
  };
  struct Moving {
    int source;
    bool identity, changed;
  };
  // What the recordings so far found, by source.
  struct Version {
    uint64_t version = 0;
    uint8_t changes = 0;
  };
  struct Seen {
    PyObject* object = nullptr;
    uint8_t moves = 0;
    Version dict, globals;  // its own, and those it was found in
  };
  class Recorder;
  bool apart_still(const Entry& e, const Values& values) const;

  static constexpr uint32_t kPatience = 8, kSoon = 16;
  bool recorded_ = false;
  bool makes_objects_ = false;  // of types that the garbage collector tracks
  std::vector<TypeProbe> types_;
  std::vector<Probe> probes_;
  std::vector<Check> checks_;
  std::vector<Fetch> fetches_;
  std::vector<PyObject*> values_;
  std::vector<Moving> moving_;
  absl::flat_hash_set<PyObject*> identities_, changed_;  // but for those that move
  std::vector<Seen> seen_;
  uint32_t hits_ = 0;   // since the last recording
  uint32_t waste_ = 0;  // recordings in a row that soon did not hold
  uint32_t calls_ = 0;
};

}  // namespace pijit
