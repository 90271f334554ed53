// What an outer loop whose turns threads share has for them, and how it is run.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "region/ir.h"

namespace pijit::region {

struct ParallelLoop {
  // The words of `function`: how many turns, the address of a thread's own ones, what its
  // parameters begin with, then what does not change in the loop. By exit 0 it gives the parameters
  // after its turns; it leaves by another one where the loop would. In the loop's own words, the
  // first is how often it is not asked for its turns, as they are known to be short.
  static constexpr size_t kTurns = 0, kOwnWords = 1, kParams = 2, kNotAsked = kTurns;
  enum Param : uint8_t { kCounter, kSum, kRealSum, kLast, kLastTruth };

  // Places in memory, as far as turns decide them: by nodes that come before their users.
  struct Node {
    // kBetween: of what is at least the first and at most the second; kMin, kMax: of two that are
    // as right; kEither: of one of two; kWithin: of the first, which is known to be within the
    // second.
    enum Kind : uint8_t {
      kConst,
      kWord,
      kTurn,
      kAdd,
      kSub,
      kMul,
      kBetween,
      kMin,
      kMax,
      kEither,
      kWithin
    };
    Kind kind = kConst;
    int a = -1, b = -1;
    int64_t imm = 0;  // kConst; else the word: of kTurn what it is in the first turn
  };
  struct Access {
    int node;
    int64_t bytes;
    bool stores;
  };

  struct Test {
    int less, more;
    bool equal;
    int access;  // that is reached only where it holds; -1: it has to hold
  };

  Function function;
  std::vector<Param> params;
  std::vector<Node> nodes;
  std::vector<Access> accesses;  // none where nothing is stored
  std::vector<Test> tests;
  std::vector<int64_t> words;
  // Of the loop's poll: the word that has the address, and the bits.
  size_t poll = 0;
  uint32_t mask = 0;

  // --- what was seen of it
  std::unique_ptr<Code> code;
  double cost = 0;                // ns of a turn of the loop itself; 0: not known
  unsigned measured = 0;          // how often that was measured: the first times take longer
  double took = 0, alone_ns = 0;  // ns that shares took of late, and the loop itself would take
  double spent = 0;               // ns that shares might have saved so far
  unsigned alone = 0;             // times that it was asked and was short
  int64_t began = 0, given = 0;   // turns that are being measured
  unsigned refused = 0;           // calls in a row that did nothing
  size_t shared = 0;              // turns that threads did

  bool is_awaited() const {
    return mask != 0 && (*reinterpret_cast<const volatile uint32_t*>(words[poll]) & mask) != 0;
  }
};

// Of type CallOut. How many of so many turns the loop is to do before it asks again; 0: all are
// shared now. `again`: those that it was told are done.
int64_t turns_to_measure(int64_t loop, int64_t turns, int64_t again);
// Of type CallOut: how many of so many turns were done.
int64_t run_shared(int64_t loop, int64_t turns, int64_t);

// The threads that loops are shared by: how many, and f(begin, end) over [0, n) by as many.
struct LoopThreads {
  int (*count)();
  void (*share)(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& f);
};
bool register_loop_threads(LoopThreads t);

}  // namespace pijit::region
