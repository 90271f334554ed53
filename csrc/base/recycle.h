// Vectors that hot paths need at each call: their memory is kept for the next one of the thread.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace pijit {

template <class T>
class Recycling {
 public:
  // An empty vector, which may have room already.
  static std::vector<T> take() {
    auto& kept = own();
    if (kept.empty()) return {};
    std::vector<T> v = std::move(kept.back());
    kept.pop_back();
    return v;
  }
  // What is in it dies first: that may run code which takes vectors, too.
  static void give(std::vector<T>&& v) {
    std::vector<T> given = std::move(v);
    given.clear();
    auto& kept = own();
    if (given.capacity() > 0 && given.capacity() <= kLargest && kept.size() < kMost)
      kept.push_back(std::move(given));
  }

 private:
  static constexpr std::size_t kMost = 16, kLargest = 4096;
  static std::vector<std::vector<T>>& own() {
    thread_local std::vector<std::vector<T>> kept = [] {
      std::vector<std::vector<T>> empty;
      empty.reserve(kMost);
      return empty;
    }();
    return kept;
  }
};

// The same for a scope.
template <class T>
class Recycled {
 public:
  Recycled() : v(Recycling<T>::take()) {}
  ~Recycled() { Recycling<T>::give(std::move(v)); }
  Recycled(const Recycled&) = delete;
  std::vector<T>* operator->() { return &v; }
  std::vector<T>& operator*() { return v; }

 private:
  std::vector<T> v;
};

}  // namespace pijit
