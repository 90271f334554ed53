#include "runtime/foreign.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/error.h"

namespace pijit {
namespace {
struct Loops {
  std::mutex mu;
  std::vector<ForeignLoop> all;
};
Loops& loops() {
  static Loops* l = new Loops;
  return *l;
}
}  // namespace

int64_t number_of(const ForeignLoop& loop) {
  Loops& l = loops();
  const std::lock_guard lock(l.mu);
  const auto it = std::find_if(l.all.begin(), l.all.end(), [&](auto& x) {
    return x.function == loop.function && x.data == loop.data && x.name == loop.name;
  });
  if (it != l.all.end()) return it - l.all.begin();
  l.all.push_back(loop);
  return static_cast<int64_t>(l.all.size()) - 1;
}

ForeignLoop foreign_loop(int64_t number) {
  Loops& l = loops();
  const std::lock_guard lock(l.mu);
  PIJIT_CHECK(number >= 0 && number < static_cast<int64_t>(l.all.size()), "no foreign loop ",
              number);
  return l.all[static_cast<size_t>(number)];
}

}  // namespace pijit
