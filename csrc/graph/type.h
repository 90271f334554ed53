// Shape and Type. In a declared signature a dim of -1 stands for one that varies.
#pragma once
#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/devices.h"
#include "base/error.h"
#include "graph/dim.h"
#include "graph/dtype.h"

namespace pijit {

constexpr int kMaxRank = 8;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> d) {
    for (auto x : d) push_back(x);
  }
  explicit Shape(std::span<const Dim> d) {
    for (auto x : d) push_back(x);
  }
  explicit Shape(std::span<const int64_t> d) {
    for (auto x : d) push_back(x);
  }
  int rank() const { return rank_; }
  Dim operator[](int i) const { return d_[i]; }
  Dim& operator[](int i) { return d_[i]; }
  void push_back(Dim d) {
    OP_CHECK(rank_ < kMaxRank, kValue, "tensors have at most ", kMaxRank, " dimensions");
    d_[rank_++] = d;
  }
  void insert(int at, Dim d) {
    push_back(d);
    for (int i = rank_ - 1; i > at; --i) d_[i] = d_[i - 1];
    d_[at] = d;
  }
  void erase(int at) {
    for (int i = at; i + 1 < rank_; ++i) d_[i] = d_[i + 1];
    --rank_;
  }
  const Dim* begin() const { return d_.data(); }
  const Dim* end() const { return d_.data() + rank_; }
  bool operator==(const Shape& o) const {
    if (rank_ != o.rank_) return false;
    bool same = true;
    for (int i = 0; i < rank_; ++i) {
      if (d_[i].same_as(o.d_[i])) continue;
      if (!d_[i].symbolic() && !o.d_[i].symbolic()) return false;
      same = false;
    }
    for (int i = 0; !same && i < rank_; ++i)  // asked only where numbers do not decide
      if (d_[i] != o.d_[i]) return false;
    return true;
  }
  Dim numel() const {
    Dim n = 1;
    for (auto x : *this) n *= x;
    return n;
  }
  bool symbolic() const {
    for (auto x : *this)
      if (x.symbolic()) return true;
    return false;
  }
  Dims dims() const { return {begin(), end()}; }
  std::vector<int64_t> numbers() const { return {begin(), end()}; }  // of a shape without symbols
  bool same_as(const Shape& o) const {  // the same numbers and expressions
    return std::equal(begin(), end(), o.begin(), o.end(),
                      [](Dim a, Dim b) { return a.same_as(b); });
  }
  std::string str() const;  // "[2,3,s0]"
  // Row-major strides in elements.
  std::array<int64_t, kMaxRank> strides() const {
    std::array<int64_t, kMaxRank> s{};
    int64_t n = 1;
    for (int i = rank_ - 1; i >= 0; --i) {
      s[i] = n;
      n *= d_[i];
    }
    return s;
  }

 private:
  std::array<Dim, kMaxRank> d_{};
  int rank_ = 0;
};

struct Type {
  DType dtype = DType::F32;
  Shape shape;
  DeviceId device = {};  // rules of ops do not see it: Builder::op gives it to results
  bool operator==(const Type& o) const {
    return dtype == o.dtype && device == o.device && shape == o.shape;
  }
  bool same_as(const Type& o) const {
    return dtype == o.dtype && device == o.device && shape.same_as(o.shape);
  }
  size_t bytes() const;     // throws std::bad_alloc where no memory could hold it
  std::string str() const;  // "f32[2,3]", or "f32[2,3]@GPU" elsewhere than on the CPU
};

// NumPy broadcasting; throws OpError naming `op`.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);
// Axis in [-rank, rank) made non-negative; throws OpError naming `op`.
int normalize_axis(std::string_view op, int64_t axis, int rank);
// Normalised, sorted, unique axes; empty means all.
std::vector<int64_t> normalize_axes(std::string_view op, std::span<const Dim> axes, int rank);

}  // namespace pijit
