// Which values a cache keeps within a number of bytes: the oldest goes first, but for one that was
// asked for since it came to the front last. Its owner has the lock, and the tables to look up by.
#pragma once
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace pijit {

// T has `size_t bytes`, its share, and `bool used`, which a look-up sets. What leaves may still be
// running elsewhere: whoever uses a value shares it.
template <class T>
class SecondChance {
 public:
  // Adds a value and gives what had to go for it.
  std::vector<std::shared_ptr<T>> add(std::shared_ptr<T> x, size_t most) {
    std::vector<std::shared_ptr<T>> gone;
    while (!queue_.empty() && bytes_ + x->bytes > most) {
      std::shared_ptr<T> oldest = std::move(queue_.front());
      queue_.pop_front();
      if (std::exchange(oldest->used, false)) {
        queue_.push_back(std::move(oldest));
        continue;
      }
      bytes_ -= oldest->bytes;
      gone.push_back(std::move(oldest));
    }
    bytes_ += x->bytes;
    queue_.push_back(std::move(x));
    return gone;
  }
  size_t bytes() const { return bytes_; }
  size_t size() const { return queue_.size(); }

 private:
  std::deque<std::shared_ptr<T>> queue_;
  size_t bytes_ = 0;
};

}  // namespace pijit
