// Loops over arrays of sizes that only a run knows: the inner loop's code is made for which
// operands change along it, as they come, and kept.
#include "region/array_loop.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "cpu/loops/kernel.h"
#include "cpu/parallel.h"

namespace pijit {
namespace {

constexpr int kMostAxes = region::ArrayLoop::kMostAxes;

class CpuArrayLoop : public region::ArrayLoop {
 public:
  explicit CpuArrayLoop(region::ArrayLoopSpec s)
      : operands_(s.in.size() + 1),
        foreign_(s.foreign),
        data_(s.data),
        folds_(s.folds),
        sums_(s.sums) {
    inner_.form = sums_ ? LoopSpec::kCol : LoopSpec::kMap;
    inner_.body = std::move(s.body);
    inner_.in_types = s.in;
    LoopOutput out;
    out.dt = s.out;
    out.node = s.node;
    if (sums_) out.combine = Combiner::kSum;
    inner_.out.push_back(out);
    for (DType t : s.in) sizes_.push_back(static_cast<int64_t>(size_of(t)));
    sizes_.push_back(static_cast<int64_t>(size_of(s.out)));
  }

  void run(int rank, const int64_t* dims, char* const* operands, const int64_t* strides) override {
    Axes a;
    collect(rank, dims, strides, &a);
    constexpr int64_t kForeignCost = 64;  // of a function's element
    std::shared_ptr<const InnerLoop> own;
    const InnerLoop* const loop = foreign_ ? nullptr : loop_for(a, &own);
    const int64_t each =
        foreign_ ? kForeignCost : static_cast<int64_t>(inner_.body.size() + operands_);
    const int64_t cost = a.elements() * each;
    if (cost < LoopKernel::kParallelCost || max_threads() == 1 || a.strides[0][operands_ - 1] == 0)
      return walk(loop, a, operands);
    // the outermost axis, or the only one by whole cache lines
    const int64_t block = a.rank == 1 ? 1024 : 1;
    const int64_t n = a.dims[0], blocks = (n + block - 1) / block;
    parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
      Axes part = a;
      part.dims[0] = std::min(n, end * block) - begin * block;
      std::array<char*, kMostOperands> at;
      for (size_t k = 0; k < operands_; ++k) at[k] = operands[k] + begin * block * a.strides[0][k];
      walk(loop, part, at.data());
    });
  }

 private:
  // The innermost axis is the last one.
  struct Axes {
    int rank = 0;
    std::array<int64_t, kMostAxes> dims;
    std::array<std::array<int64_t, kMostOperands>, kMostAxes> strides;
    int64_t elements() const {
      int64_t n = 1;
      for (int d = 0; d < rank; ++d) n *= dims[static_cast<size_t>(d)];
      return n;
    }
  };
  struct Made {
    std::vector<int64_t> strides;  // of the inner axis, in elements: 0 or 1
    bool few, by_columns;          // see InnerSpec
    std::shared_ptr<const InnerLoop> loop;
  };

  // Axes of several places, in the order in which the output lies; those that are one for all
  // operands become one.
  void collect(int rank, const int64_t* dims, const int64_t* strides, Axes* a) const {
    std::array<int, kMostAxes> order;
    int n = 0;
    const int64_t* out = strides + static_cast<ptrdiff_t>(operands_ - 1) * rank;
    for (int d = 0; d < rank; ++d) {
      if (dims[d] == 1) continue;
      int at = n++;
      for (; !folds_ && at > 0 &&
             std::abs(out[order[static_cast<size_t>(at - 1)]]) < std::abs(out[d]);
           --at)
        order[static_cast<size_t>(at)] = order[static_cast<size_t>(at - 1)];
      order[static_cast<size_t>(at)] = d;
    }
    for (int i = 0; i < n; ++i) {
      const int d = order[static_cast<size_t>(i)];
      auto& now = a->strides[static_cast<size_t>(a->rank)];
      for (size_t k = 0; k < operands_; ++k) now[k] = strides[static_cast<ptrdiff_t>(k) * rank + d];
      const auto before = static_cast<size_t>(a->rank - 1);
      bool joins = a->rank > 0;
      for (size_t k = 0; joins && k < operands_; ++k)
        joins = a->strides[before][k] == now[k] * dims[d];
      if (joins) {
        a->dims[before] *= dims[d];
        a->strides[before] = now;
      } else {
        a->dims[static_cast<size_t>(a->rank++)] = dims[d];
      }
    }
    if (a->rank > 0) return;
    a->rank = 1;
    a->dims[0] = 1;
    for (size_t k = 0; k < operands_; ++k) a->strides[0][k] = k + 1 == operands_ ? sizes_[k] : 0;
  }

  // Vectors are of elements side by side: others are brought together, some at a time.
  // Made once for each kind of operands; `own` keeps what is of one run, as there are many kinds.
  const InnerLoop* loop_for(const Axes& a, std::shared_ptr<const InnerLoop>* own) {
    constexpr size_t kMost = 64;
    const auto& inner = a.strides[static_cast<size_t>(a.rank - 1)];
    const auto step = [&](size_t k) -> int64_t { return inner[k] != 0 || k + 1 == operands_; };
    const bool few = folds_ && a.dims[static_cast<size_t>(a.rank - 1)] < 64 &&
                     (a.dims[static_cast<size_t>(a.rank - 1)] - 1) % 16 < 8;
    const bool by_columns = sums_by_columns(a);
    const auto fits = [&](const Made& m) {
      bool so = m.few == few && m.by_columns == by_columns;
      for (size_t k = 0; so && k < operands_; ++k) so = m.strides[k] == step(k);
      return so;
    };
    if (const Made* const m = last_.load(std::memory_order_acquire); m && fits(*m))
      return m->loop.get();
    std::lock_guard lock(mu_);
    for (const auto& m : made_)
      if (fits(*m)) {
        last_.store(m.get(), std::memory_order_release);
        return m->loop.get();
      }
    auto made = std::make_unique<Made>(Made{{}, few, by_columns, nullptr});
    for (size_t k = 0; k < operands_; ++k) made->strides.push_back(step(k));
    InnerSpec s = inner_;
    s.in_strides.assign(made->strides.begin(), made->strides.end() - 1);
    s.out_strides = {made->strides.back()};
    s.few = few;
    s.by_columns = by_columns;
    made->loop = make_inner_loop(s);
    if (made_.size() == kMost) return (*own = std::move(made->loop)).get();
    made_.push_back(std::move(made));
    last_.store(made_.back().get(), std::memory_order_release);
    return made_.back()->loop.get();
  }

  // Sums stay in registers where rows are few or short.
  bool sums_by_columns(const Axes& a) const {
    if (!sums_ || a.rank < 2) return false;
    const auto last = static_cast<size_t>(a.rank - 1);
    if (a.strides[last - 1][operands_ - 1] != 0 || (a.dims[last - 1] > 16 && a.dims[last] > 32))
      return false;
    for (size_t k = 0; k < operands_; ++k)
      if (is_apart(a, k)) return false;
    return true;
  }

  bool is_apart(const Axes& a, size_t k) const {
    const int64_t step = a.strides[static_cast<size_t>(a.rank - 1)][k];
    return step != sizes_[k] && (step != 0 || k + 1 == operands_);
  }

  template <class T>
  static void move(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n) {
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * from_step, sizeof(T));
  }
  static void move(int64_t size, char* to, int64_t to_step, const char* from, int64_t from_step,
                   int64_t n) {
    switch (size) {
      case 8: return move<int64_t>(to, to_step, from, from_step, n);
      case 4: return move<int32_t>(to, to_step, from, from_step, n);
      case 2: return move<int16_t>(to, to_step, from, from_step, n);
      default: return move<char>(to, to_step, from, from_step, n);
    }
  }

  // One row, of which some operands do not lie side by side.
  void run_row(const InnerLoop& loop, const Axes& a, char* const* operands) const {
    constexpr int64_t kSome = 256, kWidest = 8;
    alignas(64) std::array<std::array<char, kSome * kWidest>, kMostOperands> together;
    const auto& steps = a.strides[static_cast<size_t>(a.rank - 1)];
    const int64_t n = a.dims[static_cast<size_t>(a.rank - 1)];
    const size_t out = operands_ - 1;
    std::array<char*, kMostOperands> at;
    for (int64_t i = 0; i < n; i += kSome) {
      const int64_t some = std::min(kSome, n - i);
      for (size_t k = 0; k < operands_; ++k) {
        at[k] = operands[k] + i * steps[k];
        if (!is_apart(a, k)) continue;
        char* const to = together[k].data();
        if (k != out) move(sizes_[k], to, sizes_[k], at[k], steps[k], some);
        at[k] = to;
      }
      loop.run(at.data(), some);
      if (is_apart(a, out))
        move(sizes_[out], operands[out] + i * steps[out], steps[out], at[out], sizes_[out], some);
    }
  }

  // Another library's function takes operands as they lie.
  void run_foreign(const Axes& a, char* const* operands) const {
    const auto last = static_cast<size_t>(a.rank - 1);
    std::array<char*, kMostOperands> at;
    std::copy(operands, operands + operands_, at.begin());
    const ptrdiff_t n = a.dims[last];
    std::array<ptrdiff_t, kMostOperands> steps;
    std::copy_n(a.strides[last].begin(), operands_, steps.begin());
    foreign_(at.data(), &n, steps.data(), data_);
  }

  void walk(const InnerLoop* loop, const Axes& a, char* const* operands) const {
    const auto last = static_cast<size_t>(a.rank - 1);
    bool apart = foreign_ != nullptr;
    for (size_t k = 0; !foreign_ && k < operands_; ++k) apart |= is_apart(a, k);
    auto run_one = [&](char* const* row) {
      foreign_ ? run_foreign(a, row) : run_row(*loop, a, row);
    };
    if (a.rank == 1) return apart ? run_one(operands) : loop->run(operands, a.dims[0]);
    const size_t rows = last - 1;
    std::array<int64_t, kMostAxes> index{};
    std::array<char*, kMostOperands> at;
    std::copy(operands, operands + operands_, at.begin());
    for (;;) {
      if (apart) {
        std::array<char*, kMostOperands> row = at;
        for (int64_t i = 0; i < a.dims[rows]; ++i) {
          run_one(row.data());
          for (size_t k = 0; k < operands_; ++k) row[k] += a.strides[rows][k];
        }
      } else {
        loop->run(at.data(), a.dims[last], a.dims[rows], a.strides[rows].data());
      }
      size_t d = rows;
      while (d-- > 0) {
        for (size_t k = 0; k < operands_; ++k) at[k] += a.strides[d][k];
        if (++index[d] < a.dims[d]) break;
        for (size_t k = 0; k < operands_; ++k) at[k] -= a.dims[d] * a.strides[d][k];
        index[d] = 0;
      }
      if (d > rows) return;
    }
  }

  const size_t operands_;
  const ForeignLoop::Function foreign_;
  void* const data_;
  const bool folds_, sums_;
  std::vector<int64_t> sizes_;  // bytes of an element
  InnerSpec inner_;
  std::mutex mu_;                                  // loops of regions may run on several threads
  std::vector<std::unique_ptr<const Made>> made_;  // none goes before the loop does
  std::atomic<const Made*> last_{nullptr};
};

std::unique_ptr<region::ArrayLoop> make_array_loop_here(region::ArrayLoopSpec s) {
  return std::make_unique<CpuArrayLoop>(std::move(s));
}

[[maybe_unused]] const bool array_loops_registered =
    region::register_array_loops(make_array_loop_here);

}  // namespace
}  // namespace pijit
