#include "dispatch/tier.h"

#include "base/error.h"

namespace pijit {

namespace {

constexpr uint32_t kNever = UINT32_MAX;
constexpr uint32_t kLongestRest = 1u << 20;
constexpr int64_t kAnyLength = INT64_MAX;
// Programs for ever new sizes must gain: without them nothing is lost.
constexpr double kGainOfSizes = 0.95;
constexpr double kClearGain = 0.6, kClearLoss = 2;
constexpr uint32_t kLongTurn = 16, kLongTurnsFrom = 32;  // captured runs
constexpr double kShortRun = 5'000;
constexpr double kLongRun = 20'000'000, kFarFaster = 0.25;
constexpr uint64_t kSoonAgain = 8;  // captured runs after a lost comparison
constexpr uint64_t kAfterChange = 64;
// What won is tried again when it has run so many times as often, and some more: by little, as the
// first runs of both ways may be colder than those to come; clearly.
constexpr uint64_t kAfterGain = 4, kMoreAfterGain = 16;
constexpr uint64_t kAfterClearGain = 16, kMoreAfterClearGain = 100;

// For people: three digits, and the unit that they need no power of ten with.
std::string duration(double ns) {
  static constexpr std::pair<const char*, double> kUnits[] = {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}};
  constexpr double kMost = 999.5;
  char text[32];
  for (auto [unit, size] : kUnits)
    if (ns / size < kMost) {
      std::snprintf(text, sizeof text, "%.3g %s", ns / size, unit);
      return text;
    }
  std::snprintf(text, sizeof text, "%.3g s", ns / 1e9);
  return text;
}

}  // namespace

const Budget Budget::of_function{.allowance = 5e6, .share = 0.01};
const Budget Budget::of_process{.allowance = 50e6, .share = 0.03};
// clang-format off
const TierPolicy TierPolicy::decorated{
    .run = "call", .warm = 0, .fruitless = 8, .in_a_row = true, .anew_runs = kNever, .anew_share = 1,
    .first_comparison = 6, .settled = 0, .longest = 100'000, .late_comparison = 200, .late_longest = 10'000'000,
    .turn = 2, .samples = 3, .medians = false, .clear = false, .gain = 1.03, .patience = 1,
    .watched = false, .rest = 64};
const TierPolicy TierPolicy::callee{
    .run = "call", .warm = 0, .fruitless = 4, .in_a_row = false, .anew_runs = kNever, .anew_share = 1,
    .first_comparison = 6, .settled = 2, .longest = 100'000, .late_comparison = kNever, .late_longest = 0,
    .turn = 2, .samples = 3, .medians = false, .clear = false, .gain = 1.03, .patience = 2,
    .watched = false, .rest = 0};
const TierPolicy TierPolicy::automatic{
    .run = "call", .warm = 2, .fruitless = 3, .in_a_row = false, .anew_runs = 32, .anew_share = 0.5,
    .first_comparison = 0, .settled = 2, .longest = kAnyLength, .late_comparison = kNever, .late_longest = 0,
    .turn = 2, .samples = 4, .medians = true, .clear = true, .gain = 0.97, .patience = 2,
    .watched = true, .rest = 0};
const TierPolicy TierPolicy::loop{
    .run = "iteration", .warm = 6, .fruitless = kNever, .in_a_row = false, .anew_runs = 64, .anew_share = 1. / 3,
    .first_comparison = 0, .settled = 0, .longest = kAnyLength, .late_comparison = kNever, .late_longest = 0,
    .turn = 0, .samples = 12, .medians = false, .clear = false, .gain = 0.97, .patience = 1,
    .watched = true, .rest = 0};
// clang-format on

double Samples::median() const {
  double sorted[kKept];
  const size_t n = std::min<size_t>(n_, kKept);
  if (n == 0) return 0;
  std::copy(last_, last_ + n, sorted);
  std::nth_element(sorted, sorted + n / 2, sorted + n);
  return sorted[n / 2];
}
double Samples::least() const {
  return n_ ? *std::min_element(last_, last_ + std::min<size_t>(n_, kKept)) : 0;
}

bool Tier::rests(bool tensor) {
  if (left_ == 0 || left_ == kForever) return left_ > 0;
  const bool others = tensor && !tensors_;  // it rests with other arguments
  if (others) left_ = 1;
  if (--left_ > 0) return true;
  if (verdict_.reason == Verdict::kSlower) {
    decided_ = comparing_ = false;
    next_comparison_ = captured_runs_;
  }
  if (verdict_.reason == Verdict::kNoGraph)  // one more such run is enough
    without_graph_ = others || policy_->fruitless == 0 ? 0 : policy_->fruitless - 1;
  rested_for_ = std::exchange(verdict_, {});
  return false;
}

void Tier::rest_on() {
  verdict_ = rested_for_;
  left_ = policy_->rest;
}

void Tier::go_on() {
  verdict_ = {};
  left_ = 0;
  rest_ = policy_->rest;
  decided_ = comparing_ = false;
  next_comparison_ = captured_runs_ + kAfterChange;
}

Tier::Way Tier::next(bool tried, int64_t longest, bool ever_new, int64_t early) {
  timed_ = warming();
  if (timed_) return Way::kPlain;
  decided_ = decided_ && captured_runs_ < next_comparison_;
  tried_ = tried && !decided_;
  if (!tried_) return Way::kCaptured;
  timed_ = may_time();
  if (timed_ && !comparing_ && comparison_is_due(longest, ever_new, early)) {
    comparing_ = true;
    asked_ = 0;
    turn_ = turn_of_comparison();
    without_graph_ = 0;  // its plain runs may be those that have a graph
    plain_.clear();
    captured_.clear();
  }
  return comparing_ && asked_++ / turn_ % 2 == 0 ? Way::kPlain : Way::kCaptured;
}

bool Tier::comparison_is_due(int64_t longest, bool ever_new, int64_t early) const {
  const bool late = ever_new || captured_runs_ >= policy_->late_comparison;
  const int64_t most = std::max(late ? policy_->late_longest : policy_->longest, early);
  // plain runs would take longer than what they could tell is worth
  const bool clear = plain_.size() > 0 && plain_.least() >= kLongRun && captured_.size() > 0 &&
                     captured_.least() < kFarFaster * plain_.least();
  return policy_->turn > 0 && won_ && !clear && captured_runs_ >= policy_->first_comparison &&
         captured_runs_ >= next_comparison_ && settled_ >= policy_->settled &&
         captured_.least() < static_cast<double>(std::min(longest, most));
}

uint32_t Tier::turn_of_comparison() const {
  const double captured = captured_.least();
  const bool is_long = captured_runs_ >= kLongTurnsFrom && captured < kShortRun &&
                       captured >= kClearGain * plain_.least();  // in the last comparison
  return is_long ? kLongTurn : policy_->turn;
}

void Tier::ran_plainly(int64_t ns) {
  // a long one tells enough
  if (warming()) warm_runs_ += static_cast<double>(ns) >= kLongRun ? policy_->warm : 1;
  plain_.add(ns);
}

void Tier::was_seen_to_run(int64_t ns) {
  if (warming() && static_cast<double>(ns) >= kLongRun) ran_plainly(ns);
}

void Tier::ran_captured(int64_t ns, Ran ran) {
  ++captured_runs_;
  if (ran.graph) {
    won_ = true;
    without_graph_ = 0;
    tensors_ = false;
  } else if (ran.hopeless || (policy_->in_a_row ? !ran.anew && !comparing_ : !won_)) {
    if (ran.hopeless) return rest({Verdict::kNoGraph}, ran.tensor);
    tensors_ |= ran.tensor;
    if (++without_graph_ >= policy_->fruitless) return rest({Verdict::kNoGraph}, tensors_);
  }
  if (ran.anew) {
    settled_ = 0;
    ++anew_;
    if (ns != kUntimed) {
      anew_ns_ += static_cast<double>(ns);
      ++timed_anew_;
    }
    if (captured_runs_ >= policy_->anew_runs &&
        anew_ > policy_->anew_share * static_cast<double>(captured_runs_))
      return rest({Verdict::kAnew}, true);
    return;
  }
  // a run right behind a capture may have compiled something yet
  if (++settled_ < policy_->settled || ns == kUntimed) return;
  captured_.add(ns);
  if (tried_ && (comparing_ || policy_->turn == 0))
    compare(ran.ever_new ? std::min(policy_->gain, kGainOfSizes) : policy_->gain);
}

void Tier::compare(double gain) {
  const uint64_t plain = plain_.size(), captured = captured_.size();
  const double ratio = captured_.least() / plain_.least();
  const bool turns = policy_->turn > 0, long_turns = turns && turn_ > policy_->turn;
  const uint64_t samples = long_turns ? turn_ : policy_->samples;
  if (captured < samples || (turns && plain < samples)) {
    if (long_turns || !policy_->clear || plain < 2 || captured < 2) return;
    if (ratio >= kClearGain && ratio <= kClearLoss) return;
  }
  comparing_ = false;
  gain_ = plain_.least() - captured_.least();
  if (ratio > gain) {
    if (++lost_ >= policy_->patience) {
      lost_ = 0;
      return rest({Verdict::kSlower, plain_.least(), captured_.least()}, true);
    }
    next_comparison_ = captured_runs_ + kSoonAgain;
    return;
  }
  lost_ = 0;
  rest_ = policy_->rest;
  next_comparison_ = ratio < kClearGain ? captured_runs_ * kAfterClearGain + kMoreAfterClearGain
                                        : captured_runs_ * kAfterGain + kMoreAfterGain;
  decided_ = !policy_->watched;
}

void Tier::rest(Verdict verdict, bool tensors) {
  verdict_ = verdict;
  tensors_ = tensors;
  left_ = policy_->rest ? rest_ : kForever;
  rest_ = std::min(rest_ * 4, kLongestRest);
}

std::string Tier::verdict() const {
  if (!resting()) return "";
  switch (verdict_.reason) {
    case Verdict::kNone: break;
    case Verdict::kNoGraph: return "no graph ran in it";
    case Verdict::kAnew: return str_cat("it was captured anew at nearly every ", policy_->run);
    case Verdict::kSlower:
      return str_cat("one ", policy_->run, " took ", duration(verdict_.captured_ns),
                     " captured and ", duration(verdict_.plain_ns), " plain");
    case Verdict::kTooMany: return "too many functions were captured before";
    case Verdict::kImpossible: return "its kind of code can't be captured";
  }
  return "";
}

}  // namespace pijit
