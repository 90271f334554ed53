#include "region/parallel_loop.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <random>

#include "base/config.h"

namespace pijit::region {

namespace {

LoopThreads threads{nullptr, nullptr};

constexpr unsigned kMostRefused = 4, kAgain = 64;
constexpr int64_t kAllTurns = std::numeric_limits<int64_t>::max();
constexpr double kBlockCost = 1e6;  // ns of turns that are done before others are asked for

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
bool is_always() { return config().parallel_loops == "always"; }

// A number that grows evenly with the turns, or is between two such; and between what it is in all
// turns.
struct Span {
  int64_t low = 0, low_step = 0, high = 0, high_step = 0;
  int64_t least = 0, most = 0;
  bool is_fixed() const { return low == high && low_step == 0 && high_step == 0; }
};
struct TooLarge : std::exception {};
int64_t sum(int64_t a, int64_t b) {
  if (__builtin_add_overflow(a, b, &a)) throw TooLarge();
  return a;
}
int64_t product(int64_t a, int64_t b) {
  if (__builtin_mul_overflow(a, b, &a)) throw TooLarge();
  return a;
}

// Which places turns read and write.
class Places {
 public:
  Places(const ParallelLoop& l, int64_t turns) : l_(l), last_(turns - 1) {
    for (const auto& n : l.nodes) spans_.push_back(span(n));
    for (const auto& a : l.accesses) accesses_.push_back(a);
    // what tests that turns do not decide keep all turns from
    for (const auto& t : l.tests)
      if (t.access >= 0 && at(t.less).is_fixed() && at(t.more).is_fixed() && !holds(t, 0))
        never_.push_back(t.access);
    for (size_t k = accesses_.size(); k-- > 0;)
      if (is_never(static_cast<int>(k)))
        accesses_.erase(accesses_.begin() + static_cast<ptrdiff_t>(k));
  }
  const std::vector<ParallelLoop::Access>& accesses() const { return accesses_; }

  // Would no turn be kept from a store?
  bool are_all_stored() const {
    return std::all_of(l_.tests.begin(), l_.tests.end(), [&](const auto& t) {
      return is_never(t.access) || (holds(t, 0) && holds(t, last_));
    });
  }
  // Does each turn find in memory what it would if they came one after the other?
  bool is_apart() const {
    for (const auto& s : accesses_)
      for (const auto& a : accesses_)
        if (s.stores && !is_apart(s, a)) return false;
    return true;
  }
  struct Bytes {
    int64_t begin, end;
  };
  // That a store may write in a turn.
  Bytes window(const ParallelLoop::Access& a, int64_t turn) const {
    const Span& s = at(a.node);
    return {sum(s.low, product(s.low_step, turn)),
            sum(sum(s.high, product(s.high_step, turn)), a.bytes)};
  }

 private:
  const Span& at(int node) const { return spans_[static_cast<size_t>(node)]; }
  bool holds(const ParallelLoop::Test& t, int64_t turn) const {
    const int64_t less = sum(at(t.less).high, product(at(t.less).high_step, turn));
    const int64_t more = sum(at(t.more).low, product(at(t.more).low_step, turn));
    return t.equal ? less <= more : less < more;
  }
  bool is_never(int access) const {
    return std::find(never_.begin(), never_.end(), access) != never_.end();
  }
  Span span(const ParallelLoop::Node& n) const {
    using Node = ParallelLoop::Node;
    auto of = [&](int k) -> const Span& { return at(k); };
    const int64_t word = n.kind == Node::kWord || n.kind == Node::kTurn
                             ? l_.words[static_cast<size_t>(n.imm)]
                             : n.imm;
    switch (n.kind) {
      case Node::kConst:
      case Node::kWord: return {word, 0, word, 0, word, word};
      case Node::kTurn: return {word, 1, word, 1, word, sum(word, last_)};
      case Node::kAdd: return add(of(n.a), of(n.b));
      case Node::kSub: return add(of(n.a), times(of(n.b), -1));
      case Node::kMul:
        if (of(n.a).is_fixed()) return times(of(n.b), of(n.a).low);
        if (of(n.b).is_fixed()) return times(of(n.a), of(n.b).low);
        return product_of(of(n.a), of(n.b));
      case Node::kBetween: return between(of(n.a), of(n.b));
      case Node::kMin:
      case Node::kMax: {
        const bool first = is_less(of(n.a), of(n.b)) == (n.kind == Node::kMin);
        Span r = first ? of(n.a) : of(n.b);
        r.least = std::max(of(n.a).least, of(n.b).least);
        r.most = std::min(of(n.a).most, of(n.b).most);
        return r;
      }
      case Node::kEither: {
        const int64_t least = std::min(of(n.a).least, of(n.b).least);
        const int64_t most = std::max(of(n.a).most, of(n.b).most);
        return {least, 0, most, 0, least, most};
      }
      case Node::kWithin: {
        Span r = of(n.a);
        r.least = std::max(r.least, of(n.b).least);
        r.most = std::min(r.most, of(n.b).most);
        return r;
      }
    }
    throw TooLarge();
  }
  // In the first turn and in the last.
  bool is_less(const Span& a, const Span& b) const {
    return a.high <= b.high &&
           sum(a.high, product(a.high_step, last_)) <= sum(b.high, product(b.high_step, last_));
  }
  static Span product_of(const Span& a, const Span& b) {
    const auto all = {product(a.least, b.least), product(a.least, b.most), product(a.most, b.least),
                      product(a.most, b.most)};
    return {std::min(all), 0, std::max(all), 0, std::min(all), std::max(all)};
  }
  static Span between(const Span& a, const Span& b) {
    return {a.low, a.low_step, b.high, b.high_step, a.least, b.most};
  }
  static Span add(const Span& a, const Span& b) {
    return {sum(a.low, b.low),     sum(a.low_step, b.low_step),
            sum(a.high, b.high),   sum(a.high_step, b.high_step),
            sum(a.least, b.least), sum(a.most, b.most)};
  }
  static Span times(const Span& a, int64_t by) {
    const Span r{product(a.low, by),       product(a.low_step, by), product(a.high, by),
                 product(a.high_step, by), product(a.least, by),    product(a.most, by)};
    return by >= 0 ? r : Span{r.high, r.high_step, r.low, r.low_step, r.most, r.least};
  }

  // All places of all turns, each turn's moved back by `step` for each turn.
  Bytes reach(const ParallelLoop::Access& a, int64_t step) const {
    const Bytes first = window(a, 0), last = window(a, last_);
    const int64_t back = product(step, last_);
    return {std::min(first.begin, sum(last.begin, -back)),
            std::max(first.end, sum(last.end, -back))};
  }
  bool is_apart(const ParallelLoop::Access& s, const ParallelLoop::Access& a) const {
    const Span &p = at(s.node), &q = at(a.node);
    if (&s != &a && (sum(p.most, s.bytes) <= q.least || sum(q.most, a.bytes) <= p.least))
      return true;
    // both move on by more than they take
    for (const int64_t step : {p.low_step, p.high_step, q.low_step, q.high_step}) {
      const Bytes u = reach(s, step), v = reach(a, step);
      if (std::max(u.end, v.end) - std::min(u.begin, v.begin) <= std::abs(step)) return true;
    }
    return false;
  }

  const ParallelLoop& l_;
  const int64_t last_;
  std::vector<Span> spans_;
  std::vector<ParallelLoop::Access> accesses_;
  std::vector<int> never_;  // numbers of those that no turn comes to
};

// What stores may write over, so that turns can be undone.
class Backup {
 public:
  static constexpr int64_t kMost = int64_t{1} << 22;  // bytes

  void keep(const Places& places, int64_t first, int64_t past) {
    parts_.clear();
    kept_.clear();
    for (const auto& a : places.accesses()) {
      if (!a.stores) continue;
      for (int64_t t = first; t < past; ++t) keep(places.window(a, t));
    }
  }
  void restore() const {
    const char* from = kept_.data();
    for (const auto& p : parts_) {
      const auto n = static_cast<size_t>(p.end - p.begin);
      std::memcpy(reinterpret_cast<char*>(p.begin), from, n);
      from += n;
    }
  }
  // How many turns' places are that many bytes at most.
  static int64_t turns(const Places& places, int64_t first, int64_t turns) {
    int64_t each = 1;
    for (const auto& a : places.accesses())
      if (a.stores)
        for (int64_t t : {first, first + turns - 1}) {
          const auto w = places.window(a, t);
          each = std::max(each, sum(w.end, -w.begin));
        }
    return std::min(turns, kMost / each);
  }

 private:
  void keep(const Places::Bytes& p) {
    if (p.end <= p.begin) return;
    if (!parts_.empty() && parts_.back().end == p.begin)
      parts_.back().end = p.end;
    else
      parts_.push_back(p);
    kept_.insert(kept_.end(), reinterpret_cast<const char*>(p.begin),
                 reinterpret_cast<const char*>(p.end));
  }
  std::vector<Places::Bytes> parts_;
  std::vector<char> kept_;
};

// What a part's parameters begin with that its turns do not read: where they end with it, no turn
// set them. No program knows it. As a float64 it is a normal number.
int64_t nobodys() {
  static const int64_t bits = [] {
    std::random_device r;
    const uint64_t random = (uint64_t{r()} << 32) | r();
    return static_cast<int64_t>((random >> 12) | (uint64_t{1023} << 52));
  }();
  return bits;
}

class Sharing {
 public:
  explicit Sharing(ParallelLoop& l)
      : l_(l), size_(std::max(l.function.words(), l.words.size())), params_(l.params.size()) {}

  // How many turns were done.
  int64_t run(int64_t turns) {
    const Places places(l_, turns);
    if (!places.are_all_stored() || !places.is_apart()) return 0;
    int64_t done = 0, some = l_.cost > 0 ? turns_of(kBlockCost, l_.cost) : turns;
    double took = 0;
    while (done < turns && !l_.is_awaited()) {
      const int64_t n = Backup::turns(places, done, std::min({some, turns - done, kMostOfBlock}));
      if (n == 0) break;
      const int64_t began = now();
      if (!kept_block(places, done, n)) break;
      const auto block_took = static_cast<double>(std::max<int64_t>(1, now() - began));
      done += n;
      took += block_took;
      // turns may take other times than those that were measured
      some = std::min(4 * n, turns_of(kBlockCost, block_took / static_cast<double>(n)));
      if (!is_always() && loses(n, block_took)) break;
    }
    if (done > 0 && took > 0)
      l_.cost = std::min(l_.cost, threads.count() * took / static_cast<double>(done));
    l_.shared += static_cast<size_t>(done);
    return done;
  }

 private:
  static constexpr int64_t kMostOfBlock = int64_t{1} << 32;

  // False: memory is as it was, as a turn would leave or there is no memory or thread.
  bool kept_block(const Places& places, int64_t first, int64_t turns) {
    bool kept = false;
    try {
      backup_.keep(places, first, first + turns);
      kept = true;
      if (block(turns)) return true;
    } catch (const std::exception&) {
    }
    if (kept) backup_.restore();
    return false;
  }
  static int64_t turns_of(double ns, double each) {
    return std::max<int64_t>(1, static_cast<int64_t>(ns / each));
  }
  // Other work may take the cores.
  bool loses(int64_t turns, double took) {
    constexpr double kGain = 0.9, kSome = 3 * kBlockCost;
    l_.alone_ns += static_cast<double>(turns) * l_.cost;
    l_.took += took;
    if (l_.alone_ns < kSome) return false;
    const bool so = l_.took >= kGain * l_.alone_ns;
    if (so) l_.refused = kMostRefused;
    l_.alone_ns = l_.took = 0;
    return so;
  }
  // False: a turn would leave; what was stored is to be undone.
  bool block(int64_t turns) {
    constexpr int64_t kEach = 4;  // parts of a thread: turns may take other times than others
    const int64_t parts = std::min<int64_t>(turns, kEach * std::max(1, threads.count()));
    ends_.assign(static_cast<size_t>(parts) * params_, 0);
    std::atomic<int64_t> next{0};
    std::atomic<bool> left{false};
    threads.share(std::max(1, threads.count()), 1, [&](int64_t, int64_t) {
      try {
        std::vector<int64_t> own(l_.function.own_words_used), buffer(size_);
        for (int64_t k = next++; k < parts && !left; k = next++)
          if (!part(turns * k / parts, turns * (k + 1) / parts, own.data(), buffer.data(),
                    &ends_[static_cast<size_t>(k) * params_]))
            left = true;
      } catch (const std::exception&) {  // no memory
        left = true;
      }
    });
    return !left && next >= parts && take(turns, parts);
  }
  bool part(int64_t first, int64_t past, int64_t* own, int64_t* buffer, int64_t* ends) const {
    std::copy(l_.words.begin(), l_.words.end(), buffer);
    buffer[ParallelLoop::kTurns] = past - first;
    buffer[ParallelLoop::kOwnWords] = reinterpret_cast<int64_t>(own);
    for (size_t k = 0; k < params_; ++k) {
      int64_t& word = buffer[ParallelLoop::kParams + k];
      if (l_.params[k] == ParallelLoop::kCounter) word += first;
      if (l_.params[k] == ParallelLoop::kSum) word = 0;
      if (l_.params[k] == ParallelLoop::kRealSum) word = std::bit_cast<int64_t>(-0.0);
      if (l_.params[k] == ParallelLoop::kLast) word = nobodys();
    }
    if (l_.code->run(buffer) != 0) return false;
    std::copy_n(buffer, params_, ends);
    return true;
  }
  // What the parameters are after all parts; false: that can't be told.
  bool take(int64_t turns, int64_t parts) {
    std::vector<int64_t> after(params_);
    for (size_t k = 0; k < params_; ++k) {
      const int64_t start = l_.words[ParallelLoop::kParams + k];
      auto end = [&](int64_t part) { return ends_[static_cast<size_t>(part) * params_ + k]; };
      after[k] = start;
      switch (l_.params[k]) {
        case ParallelLoop::kCounter: after[k] += turns; break;
        case ParallelLoop::kSum:
          for (int64_t p = 0; p < parts; ++p)
            if (__builtin_add_overflow(after[k], end(p), &after[k])) return false;
          break;
        case ParallelLoop::kRealSum:
          if (!add_reals(k, parts, &after[k])) return false;
          break;
        case ParallelLoop::kLast:
          for (int64_t p = parts; p-- > 0;)
            if (end(p) != nobodys()) {
              after[k] = end(p);
              break;
            }
          break;
        case ParallelLoop::kLastTruth:
          after[k] = end(parts - 1);
          // Is it what it was since nothing changed it, or since it got the same once more?
          for (int64_t p = 0; p < parts && after[k] == start; ++p)
            if (end(p) != start) return false;
          break;
      }
    }
    std::copy(after.begin(), after.end(), l_.words.begin() + ParallelLoop::kParams);
    return true;
  }

  // What is not finite only together is looked at turn by turn.
  bool add_reals(size_t k, int64_t parts, int64_t* sum) const {
    auto all = std::bit_cast<double>(*sum);
    for (int64_t p = 0; p < parts; ++p)
      all += std::bit_cast<double>(ends_[static_cast<size_t>(p) * params_ + k]);
    *sum = std::bit_cast<int64_t>(all);
    return std::isfinite(all);
  }

  ParallelLoop& l_;
  const size_t size_, params_;
  Backup backup_;
  std::vector<int64_t> ends_;  // of each part
};

}  // namespace

bool register_loop_threads(LoopThreads t) {
  threads = t;
  return true;
}

// A loop that is known to be short is seldom asked, and then some of its turns are measured.
constexpr int64_t kNotAsked = 63;
static int64_t alone(ParallelLoop& l, int64_t turns) {
  constexpr int64_t kMeasured = 4, kParts = 8;
  l.given = 0;
  if (++l.alone % kMeasured != 0 || turns < kParts) {
    l.words[ParallelLoop::kNotAsked] = kNotAsked;
    return kAllTurns;
  }
  l.began = now();
  return l.given = turns / kParts;
}

int64_t turns_to_measure(int64_t which, int64_t turns, int64_t again) {
  constexpr double kTold = 2e4, kWorth = 6e4, kCompiling = 5e5, kLongest = 2e7;  // ns
  constexpr int64_t kLeast = 4;
  constexpr unsigned kMeasures = 3;
  auto& l = *reinterpret_cast<ParallelLoop*>(which);
  if (!threads.count) return kAllTurns;
  if (is_always()) return again || turns < kLeast ? kAllTurns : 0;
  if (threads.count() < 2) {  // perhaps since others take the cores now
    if (l.cost * static_cast<double>(turns) < kWorth) l.words[ParallelLoop::kNotAsked] = kNotAsked;
    return kAllTurns;
  }
  if (l.refused >= kMostRefused) {
    ++l.refused;
    if (l.refused % kAgain != 0) return kAllTurns;
  }
  if (again && l.given > 0) {
    const auto took = static_cast<double>(now() - l.began);
    if (took >= kTold || l.cost > 0) {
      const double each = took / static_cast<double>(l.given);
      l.cost = l.measured++ == 0 ? each : std::min(l.cost, each);
      l.given = 0;
    } else {
      l.given *= 4;
    }
  }
  if (l.measured < kMeasures) {
    l.given = l.cost > 0 ? static_cast<int64_t>(kTold / l.cost) + 1 : std::max<int64_t>(l.given, 1);
    if (l.given >= turns) return alone(l, 0);
    l.began = now();
    return l.given;
  }
  const double all = l.cost * static_cast<double>(turns);
  if (turns < kLeast || all < kWorth || l.cost > kLongest) return alone(l, turns);
  if (l.code) return 0;
  l.spent += all / 2;
  return l.spent < kCompiling ? kAllTurns : 0;
}

int64_t run_shared(int64_t which, int64_t turns, int64_t) {
  auto& l = *reinterpret_cast<ParallelLoop*>(which);
  int64_t done = 0;
  try {
    if (!l.code) l.code = compiled(l.function);
    done = Sharing(l).run(turns);
  } catch (const std::exception&) {  // places are too far apart, or there is no memory
  }
  if (done > 0 && l.refused < kMostRefused)
    l.refused = 0;
  else if (done == 0 && !l.is_awaited())
    ++l.refused;
  return done;
}

}  // namespace pijit::region
