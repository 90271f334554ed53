// What a tape made during capture has seen.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "capture/value.h"
#include "eager/tape.h"

namespace pijit {

struct CapturedTape {
  Tape::Use use = Tape::kReverse;
  bool active = false;
  Graph* graph = nullptr;  // where it was started
  static constexpr uint32_t kOpen = ~0u;
  std::vector<std::pair<uint32_t, uint32_t>> ranges;  // of nodes; while active, the last is open
  std::vector<Val> leaves;                            // what it was told to watch
  absl::flat_hash_set<std::pair<const Builder*, uint32_t>> watched;  // these
  size_t leaves_known = 0;                                           // how many `known` has
  bool watches(Val v) const { return watched.contains({v.b, v.id}); }
  template <class F>
  void map_leaves(F f) {
    watched.clear();
    leaves_known = 0;
    for (auto& x : leaves) x = f(x), watched.insert({x.b, x.id});
  }
  // A gradient of the user's own: `out` are nodes that stand for values computed from `in`.
  struct Custom {
    std::vector<uint32_t> in, out;
    V backward;
  };
  std::vector<Custom> customs;
  // What gets the whole gradient of a value and gives what goes on in its place.
  struct Hook {
    Val value;
    V function;
  };
  std::vector<Hook> hooks;
  uint64_t mapped_before = 0;  // Tracer::mapped_serial_
  // What depends on the leaves, among the nodes that were looked at.
  absl::flat_hash_set<uint32_t> known;
  uint32_t seen = 0;
};

}  // namespace pijit
