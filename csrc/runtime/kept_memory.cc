#include "runtime/kept_memory.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <mutex>
#include <new>

namespace pijit::processes {
namespace {

struct Free {
  char* p;
  size_t bytes;
  uint64_t number;  // of the release
};
struct Pool {
  std::mutex mu;
  std::deque<Free> free;  // the oldest first
  size_t bytes = 0;
  uint64_t number = 0;
  void drop() {
    ::operator delete(free.front().p);
    bytes -= free.front().bytes;
    free.pop_front();
  }
};
Pool& kept() {
  static auto* p = new Pool;  // threads may outlive static destruction
  return *p;
}

}  // namespace

Memory::Memory(size_t bytes) : bytes_(bytes) {
  Pool& pool = kept();
  std::lock_guard lock(pool.mu);
  const auto it = std::find_if(pool.free.rbegin(), pool.free.rend(),
                               [&](const Free& f) { return f.bytes == bytes; });
  if (it == pool.free.rend()) {
    p_ = static_cast<char*>(::operator new(bytes));
  } else {
    p_ = it->p;
    pool.bytes -= bytes;
    pool.free.erase(std::next(it).base());
  }
}
Memory::~Memory() {
  if (!p_) return;
  Pool& pool = kept();
  std::lock_guard lock(pool.mu);
  pool.free.push_back({p_, bytes_, ++pool.number});
  pool.bytes += bytes_;
  constexpr size_t kMost = size_t{1} << 30;
  constexpr uint64_t kUnused = 256;
  while (!pool.free.empty() &&  // what is larger than kMost is not kept itself
         (pool.bytes > kMost || pool.free.front().number + kUnused < pool.number))
    pool.drop();
}
void Memory::free_all() {
  Pool& pool = kept();
  std::lock_guard lock(pool.mu);
  while (!pool.free.empty()) pool.drop();
}

}  // namespace pijit::processes
