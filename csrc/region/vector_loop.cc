#include "region/vector_loop.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <type_traits>

#include "runtime/fp_status.h"

namespace pijit::region {

namespace {

// Turns at a time: where nothing is stored there is room for more.
constexpr int64_t kBlock = 512, kWithoutStores = 2048;
constexpr unsigned kTold = kFpInvalid | kFpDivide | kFpOverflow;

int64_t size(DType t) { return static_cast<int64_t>(size_of(t)); }

struct Reach {
  int64_t begin, end;
};
Reach reach(int64_t at, int64_t step, int64_t turns, int64_t bytes) {
  const int64_t far = at + step * (turns - 1);
  return {std::min(at, far), std::max(at, far) + bytes};
}

// Do turns find in memory what they would if they came one after the other?
bool is_apart(const VectorLoop& r, const int64_t* w, int64_t turns) {
  auto meet = [&](size_t a, DType of_a, size_t b, DType of_b) {
    const Reach x = reach(w[a], w[a + 1], turns, size(of_a));
    const Reach y = reach(w[b], w[b + 1], turns, size(of_b));
    return x.begin < y.end && y.begin < x.end;
  };
  for (size_t k = 0; k < r.stores.size(); ++k) {
    const auto& s = r.stores[k];
    auto same = [&](size_t word, DType t) {
      return w[word] == w[s.word] && w[word + 1] == w[s.word + 1] && size(t) == size(s.type);
    };
    if (std::abs(w[s.word + 1]) < size(s.type)) return false;
    for (size_t j = 0; j < k; ++j)
      if (meet(s.word, s.type, r.stores[j].word, r.stores[j].type) &&
          !same(r.stores[j].word, r.stores[j].type))
        return false;
    for (const auto& in : r.inputs)
      if (in.kind == VectorLoop::kElements && meet(s.word, s.type, in.word, in.type) &&
          (in.stores > k || !same(in.word, in.type)))
        return false;
  }
  return true;
}

template <class T>
void spread(const char* from, char* to, int64_t step, int64_t n) {
  for (int64_t k = 0; k < n; ++k) std::memcpy(to + k * step, from + k * sizeof(T), sizeof(T));
}
void commit(const char* from, char* to, int64_t step, int64_t n, int64_t bytes) {
  if (step == bytes)
    std::memcpy(to, from, static_cast<size_t>(n * bytes));
  else if (bytes == 8)
    spread<int64_t>(from, to, step, n);
  else if (bytes == 4)
    spread<int32_t>(from, to, step, n);
  else if (bytes == 2)
    spread<int16_t>(from, to, step, n);
  else
    spread<char>(from, to, step, n);
}

// False: a turn would leave.
template <class T>
bool add_up(T* sum, const T* x, int64_t n) {
  T s = *sum;
  for (int64_t k = 0; k < n; ++k) {
    if constexpr (std::is_same_v<T, int64_t>) {
      if (__builtin_add_overflow(s, x[k], &s)) return false;
    } else {
      s += x[k];
    }
  }
  *sum = s;
  return true;
}
// In lanes.
void add_in_any_order(double* sum, const double* x, int64_t n) {
  typedef double Vector __attribute__((vector_size(32)));
  constexpr int64_t kLanes = 4, kSums = 4;
  Vector sums[kSums] = {};
  int64_t k = 0;
  for (; k + kSums * kLanes <= n; k += kSums * kLanes)
    for (int64_t s = 0; s < kSums; ++s)
      sums[s] += *reinterpret_cast<const Vector*>(x + k + s * kLanes);
  for (; k < n; ++k) *sum += x[k];
  const Vector all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  *sum += (all[0] + all[1]) + (all[2] + all[3]);
}
bool add_up(DType t, int64_t* sum, const char* x, int64_t n) {
  if (t == DType::I64) return add_up(sum, reinterpret_cast<const int64_t*>(x), n);
  return add_up(reinterpret_cast<double*>(sum), reinterpret_cast<const double*>(x), n);
}

const int64_t* places() {
  static const auto all = [] {
    std::array<int64_t, kWithoutStores> a{};
    for (size_t k = 0; k < a.size(); ++k) a[k] = static_cast<int64_t>(k);
    return a;
  }();
  return all.data();
}

class Runner {
 public:
  Runner(VectorLoop& r, int64_t* words) : r_(r), words_(words) {}

  // How many turns were done.
  int64_t run(int64_t turns) {
    constexpr unsigned kMostRefused = 8, kAgain = 64;
    const unsigned refused = r_.refused.load(std::memory_order_relaxed);
    if (refused >= kMostRefused) {
      r_.refused.store(refused + 1, std::memory_order_relaxed);
      if ((refused + 1) % kAgain != 0) return 0;
    }
    int64_t done = 0;
    if (is_apart(r_, words_, turns))
      while (turns - done >= r_.least() && !r_.is_awaited(words_)) {
        const int64_t n = std::min(r_.stores.empty() ? kWithoutStores : kBlock, turns - done);
        if (!block(done, n)) break;
        done += n;
      }
    if (done == 0 || refused > 0)
      r_.refused.store(done > 0 ? 0 : refused + 1, std::memory_order_relaxed);
    return done;
  }

 private:
  // False: nothing was done, as a turn would leave, or there is no memory for code.
  bool block(int64_t first, int64_t n) {
    try {
      return try_block(first, n);
    } catch (const std::exception&) {
      return false;
    }
  }
  bool try_block(int64_t first, int64_t n) {
    clear_own_fp_flags();
    for (size_t k = 0; k < r_.stores.size(); ++k)
      compute(*r_.stores[k].loop, first, 0, n, stored_[k].data(), size(r_.stores[k].type));
    std::array<int64_t, kMost> sums{}, lasts{};
    for (size_t k = 0; k < r_.sums.size(); ++k) {
      compute(*r_.sums[k].loop, first, 0, n, added_.data(), 8);
      sums[k] = words_[r_.sums[k].word];
      if (r_.any_order && r_.sums[k].type == DType::F64)
        add_in_any_order(reinterpret_cast<double*>(&sums[k]),
                         reinterpret_cast<const double*>(added_.data()), n);
      else if (!add_up(r_.sums[k].type, &sums[k], added_.data(), n))
        return false;
    }
    for (size_t k = 0; k < r_.lasts.size(); ++k)
      compute(*r_.lasts[k].loop, first, n - 1, 1, reinterpret_cast<char*>(&lasts[k]), 8);
    if (own_fp_flags() & kTold) return false;
    for (size_t k = 0; k < r_.stores.size(); ++k) {
      const auto& s = r_.stores[k];
      const int64_t step = words_[s.word + 1];
      commit(stored_[k].data(), reinterpret_cast<char*>(words_[s.word] + first * step), step, n,
             size(s.type));
    }
    for (size_t k = 0; k < r_.sums.size(); ++k) words_[r_.sums[k].word] = sums[k];
    for (size_t k = 0; k < r_.lasts.size(); ++k) words_[r_.lasts[k].word] = lasts[k];
    return true;
  }

  // n elements from `from` on, of the block that begins with the turn `first`.
  void compute(ArrayLoop& loop, int64_t first, int64_t from, int64_t n, char* to, int64_t bytes) {
    std::array<char*, ArrayLoop::kMostOperands> at;
    std::array<int64_t, ArrayLoop::kMostOperands> steps;
    size_t k = 0;
    for (const auto& in : r_.inputs) {
      const int64_t* word = &words_[in.word];
      steps[k] = 0;
      switch (in.kind) {
        case VectorLoop::kElements:
          at[k] = reinterpret_cast<char*>(word[0] + (first + from) * word[1]);
          steps[k] = word[1];
          break;
        case VectorLoop::kNumber:
          at[k] = const_cast<char*>(reinterpret_cast<const char*>(word));
          break;
        case VectorLoop::kPlaces:
          at[k] = const_cast<char*>(reinterpret_cast<const char*>(places() + from));
          steps[k] = sizeof(int64_t);
          break;
        case VectorLoop::kTurn:
          turn_ = first;
          at[k] = reinterpret_cast<char*>(&turn_);
          break;
      }
      ++k;
    }
    at[k] = to;
    steps[k] = bytes;
    loop.run(1, &n, at.data(), steps.data());
  }

  VectorLoop& r_;
  int64_t* const words_;
  int64_t turn_ = 0;
  static constexpr size_t kMost = VectorLoop::kMost;
  alignas(64) std::array<std::array<char, 8 * kBlock>, kMost> stored_;
  alignas(64) std::array<char, 8 * kWithoutStores> added_;
};

}  // namespace

int64_t run_vectors(int64_t which, int64_t turns, int64_t words) {
  return Runner(*reinterpret_cast<VectorLoop*>(which), reinterpret_cast<int64_t*>(words))
      .run(turns);
}

}  // namespace pijit::region
