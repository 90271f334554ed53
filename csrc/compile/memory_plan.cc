#include "compile/memory_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <queue>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "base/error.h"

namespace pijit {
namespace {

// What nobody uses. First fit asks for the lowest gap that is large enough: gaps are kept by the
// magnitude of their sizes, so that only those of about the right size are looked at one by one.
class Gaps {
 public:
  Gaps() { add(0, SIZE_MAX); }
  size_t take(size_t size) {
    const size_t about = magnitude(size);
    size_t lowest = SIZE_MAX;
    for (size_t begin : begins_[about])
      if (ends_.at(begin) - begin >= size) {
        lowest = begin;
        break;
      }
    for (size_t m = about + 1; m < begins_.size(); ++m)
      if (!begins_[m].empty()) lowest = std::min(lowest, *begins_[m].begin());
    const size_t end = ends_.at(lowest);
    remove(ends_.find(lowest));
    if (lowest + size < end) add(lowest + size, end);
    return lowest;
  }
  void give(size_t begin, size_t end) {
    const auto after = ends_.lower_bound(begin);
    if (after != ends_.begin())
      if (const auto before = std::prev(after); before->second == begin) {
        begin = before->first;
        remove(before);
      }
    if (after != ends_.end() && after->first == end) {
      end = after->second;
      remove(after);
    }
    add(begin, end);
  }

 private:
  using Ends = std::map<size_t, size_t>;
  static size_t magnitude(size_t size) { return static_cast<size_t>(std::bit_width(size)) - 1; }
  void add(size_t begin, size_t end) {
    ends_[begin] = end;
    begins_[magnitude(end - begin)].insert(begin);
  }
  void remove(Ends::iterator gap) {
    begins_[magnitude(gap->second - gap->first)].erase(gap->first);
    ends_.erase(gap);
  }
  Ends ends_;                                // by begin
  std::array<std::set<size_t>, 64> begins_;  // by magnitude
};

}  // namespace

MemoryPlan plan_memory(std::span<const PlannedValue> values) {
  MemoryPlan plan;
  Gaps gaps;
  std::vector<size_t> sizes;
  absl::flat_hash_map<size_t, int> owners;  // of a place, by its offset
  using Death = std::pair<int, size_t>;     // when, who
  std::priority_queue<Death, std::vector<Death>, std::greater<>> alive;
  for (size_t i = 0; i < values.size(); ++i) {
    const PlannedValue& v = values[i];
    PIJIT_CHECK(i == 0 || v.first >= values[i - 1].first, "a value before one that begins later");
    constexpr size_t kUnit = MemoryPlan::kAlignment;
    const size_t size = std::max(kUnit, (v.bytes + kUnit - 1) / kUnit * kUnit);
    while (!alive.empty() && alive.top().first < v.first) {
      const size_t j = alive.top().second, at = plan.offsets[j];
      alive.pop();
      if (--owners[at] == 0) gaps.give(at, at + sizes[j]);
    }
    const auto own = std::find_if(v.over.begin(), v.over.end(), [&](size_t r) {
      return values[r].last >= v.first && owners[plan.offsets[r]] == 1;
    });
    const size_t at = own != v.over.end() ? plan.offsets[*own] : gaps.take(size);
    ++owners[at];
    alive.push({v.last, i});
    sizes.push_back(size);
    plan.offsets.push_back(at);
    plan.bytes = std::max(plan.bytes, at + size);
  }
  return plan;
}

}  // namespace pijit
