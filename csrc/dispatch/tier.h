// Plain or captured: one record decides that for each place. A place is a decorated function, a
// function that is called below one, or a function or loop that nobody decorated. How the four
// differ stands in the rows of TierPolicy.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace pijit {

// The last few times, in nanoseconds.
class Samples {
 public:
  void add(int64_t ns) { last_[n_++ % kKept] = static_cast<double>(ns); }
  uint64_t size() const { return n_; }
  void clear() { n_ = 0; }
  double median() const;
  double least() const;
  // The median; of a few, one of which may have compiled something or been interrupted, the least.
  double typical() const { return n_ < 4 ? least() : median(); }

 private:
  static constexpr size_t kKept = 9;
  double last_[kKept] = {};
  uint64_t n_ = 0;
};

// What keeps failing is attempted ever more rarely: after `patience` failures in a row only at the
// 2^k-th question.
class Backoff {
 public:
  explicit Backoff(unsigned patience = 0) : patience_(patience) {}
  bool due() {
    ++asked_;
    return failures_ < patience_ || (asked_ & (asked_ - 1)) == 0;
  }
  void failed() { ++failures_; }
  void worked() { failures_ = 0; }

 private:
  unsigned patience_, failures_ = 0;
  uint64_t asked_ = 0;
};

// Sizes of a place at which programs for ever new ones have cost more than they gained: one gets a
// program when it comes back.
class NewSizes {
 public:
  // A captured run has built a program for a new size, or none.
  void ran(bool built) { in_a_row_ = built ? in_a_row_ + 1 : 0; }
  bool ever_new() const { return in_a_row_ >= kEverNew; }
  bool several() const { return in_a_row_ >= kSeveral; }
  bool wait() { return !std::exchange(waiting_, true); }  // false: it did already
  bool waiting() const { return waiting_; }
  // Is a run looked at? Ever fewer, as long as no size of theirs comes back.
  bool due() {
    if (skipped_ == 0) return true;
    --skipped_;
    return false;
  }
  void known() { every_ = 1; }
  // Of a size without a program: was it here lately?
  bool comes_back(uint64_t size) {
    if (auto* it = std::find(last_, last_ + kKept, size); it != last_ + kKept) {
      *it = 0;
      every_ = 1;
      return true;
    }
    last_[n_++ % kKept] = size;
    every_ = std::min(every_ * 2, kLeast);
    skipped_ = every_ - 1;
    return false;
  }

 private:
  static constexpr uint32_t kEverNew = 24, kSeveral = 4, kLeast = 16;
  static constexpr size_t kKept = 64;
  bool waiting_ = false;
  uint32_t in_a_row_ = 0, every_ = 1, skipped_ = 0;
  uint64_t last_[kKept] = {}, n_ = 0;
};

// What trying may cost, in nanoseconds: an allowance, and a share of the time that the program has
// run. A meter pays into the one above, too.
struct Budget {
  double allowance, share;
  static const Budget of_function, of_process;
};
class BudgetMeter {
 public:
  explicit BudgetMeter(const Budget& budget, BudgetMeter* above = nullptr)
      : budget_(&budget), above_(above) {}
  void spend(int64_t ns) {
    for (BudgetMeter* a = this; a; a = a->above_) a->spent_ += static_cast<double>(ns);
  }
  // May it go on, so long after the program began?
  bool has_left(int64_t elapsed) const {
    return spent_ < budget_->allowance + budget_->share * static_cast<double>(elapsed) &&
           (!above_ || above_->has_left(elapsed));
  }
  double spent() const { return spent_; }

 private:
  const Budget* budget_;
  BudgetMeter* above_;
  double spent_ = 0;
};

struct TierPolicy {
  const char* run;  // what a run is, in sentences
  // Plain runs before the first captured one; all are timed.
  uint32_t warm;
  // Captured runs without a graph, after which the place rests; in a row, or before the first
  // graph.
  uint32_t fruitless;
  bool in_a_row;
  // It rests where more than this share of at least so many captured runs were captured anew.
  uint32_t anew_runs;
  double anew_share;
  // A comparison compares both ways, once a graph has run. It begins after so many captured runs,
  // the last `settled` of which captured nothing anew, and only where a captured run takes less
  // than `longest`; after `late_comparison` runs, of which plain ones are a small share by then,
  // less than `late_longest`.
  uint32_t first_comparison, settled;
  int64_t longest;
  uint32_t late_comparison;
  int64_t late_longest;
  // Runs of a comparison go both ways in turns of so many: the first of a turn is colder than those
  // to come. 0: the warm runs serve. Runs that take less than a few microseconds depend on that for
  // longer; once there were some captured ones, their turns are long.
  uint32_t turn;
  // So many samples decide, by the shortest; two do where the ratio is `clear`. Reports tell the
  // shortest, or `medians`.
  // Where captured runs take more than `gain` of the plain time, the comparison is lost; the place
  // rests after `patience` lost comparisons. What won is tried again ever more rarely; until then,
  // some of its runs are `watched`, or none is timed.
  uint32_t samples;
  bool medians, clear;
  double gain;
  uint32_t patience;
  bool watched;
  // Runs until capture is tried again, four times as many each time. 0: never.
  uint32_t rest;

  static const TierPolicy decorated, callee, automatic, loop;
};

// Why a place runs plainly.
struct Verdict {
  enum Reason : uint8_t {
    kNone,
    kNoGraph,
    kAnew,
    kSlower,
    kTooMany,    // places
    kImpossible  // to capture its kind of code
  } reason = kNone;
  double plain_ns = 0, captured_ns = 0;  // of kSlower
};

class Tier {
 public:
  explicit Tier(const TierPolicy& policy) : policy_(&policy), rest_(policy.rest) {}

  // Does CPython run the place at once?
  bool resting() const { return left_ > 0; }
  // The same, and a resting place counts the run. False: capture is tried again.
  bool rests(bool tensor);
  // Of a resting place, for most of its runs: as rests(), unless this run may end the rest.
  template <class HasTensor>
  bool still_rests(const HasTensor& tensor) {
    if (left_ <= 1 || (!tensors_ && tensor())) return false;
    if (left_ != kForever) --left_;
    return true;
  }
  bool warming() const { return warm_runs_ < policy_->warm; }
  // How does the next run go, and does its time count? `tried`: may comparisons be held? Only where
  // a captured run takes less than `longest`, too, and than the policy says or `early`, or where
  // sizes are `ever_new`.
  enum class Way : uint8_t { kPlain, kCaptured };
  Way next(bool tried, int64_t longest = INT64_MAX, bool ever_new = false, int64_t early = 0);
  bool timed() const { return timed_; }
  // Asked before next(): whether it may say that.
  bool may_time() const {
    if (decided_) return captured_runs_ >= next_comparison_;
    return comparing_ || captured_runs_ < kTimedAtFirst || captured_runs_ % kTimedOneIn == 0;
  }

  void ran_plainly(int64_t ns);
  // A plain run that nobody timed took at least so long.
  void was_seen_to_run(int64_t ns);
  static constexpr int64_t kUntimed = -1;
  struct Ran {
    bool graph = false;     // one ran, in it or below it
    bool anew = false;      // something was captured
    bool tensor = false;    // among the arguments
    bool hopeless = false;  // breaks came again and again without a graph
    bool ever_new = false;  // sizes, each of which got a program
  };
  void ran_captured(int64_t ns, Ran ran);
  // Behind rests(): it is not tried again yet, but at the end of another rest.
  void rest_on();
  // Nothing in the place is for a graph; `tensors`: nor where Tensors are among the arguments.
  void found_nothing(bool tensors = false) { rest({Verdict::kNoGraph}, tensors); }
  bool lost_a_comparison() const { return resting() && verdict_.reason == Verdict::kSlower; }
  // After that: what it lost by is changed.
  void go_on();
  void give_back(Verdict::Reason reason) { rest({reason}, true); }

  uint64_t captured_runs() const { return captured_runs_; }
  std::string verdict() const;  // empty: captured
  const Samples& plain() const { return plain_; }
  const Samples& captured() const { return captured_; }
  // What a run takes, as it is told.
  double typical_plain() const { return typical(plain_); }
  double typical_captured() const { return typical(captured_); }
  // Nanoseconds beyond a usual captured run that runs took in which something was captured.
  double trying() const { return anew_ns_ - timed_anew_ * typical_captured(); }
  // Nanoseconds that a captured run saves, as far as a comparison has told; 0 before that.
  double gain() const { return gain_; }

 private:
  void rest(Verdict verdict, bool tensors);
  bool comparison_is_due(int64_t longest, bool ever_new, int64_t early) const;
  uint32_t turn_of_comparison() const;
  void compare(double gain);
  double typical(const Samples& s) const { return policy_->medians ? s.typical() : s.least(); }

  static constexpr uint32_t kForever = UINT32_MAX;
  // Captured runs that are timed outside of comparisons: the first ones, and then one in so many.
  static constexpr uint64_t kTimedAtFirst = 64, kTimedOneIn = 16;
  const TierPolicy* policy_;
  uint32_t left_ = 0, rest_;      // runs until it is tried again; the next time
  bool tensors_ = false;          // it rests also where arguments are Tensors
  Verdict verdict_, rested_for_;  // the last one's, once it is tried again
  bool tried_ = false, timed_ = false, comparing_ = false, decided_ = false, won_ = false;
  uint32_t warm_runs_ = 0, without_graph_ = 0, anew_ = 0, settled_ = 0, lost_ = 0;
  double anew_ns_ = 0, timed_anew_ = 0, gain_ = 0;
  uint32_t turn_ = 0;  // of this comparison
  uint64_t captured_runs_ = 0, asked_ = 0, next_comparison_ = 0;
  Samples plain_, captured_;
};

}  // namespace pijit
