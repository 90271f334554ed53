#include "compile/memory_plan.h"

#include <algorithm>

namespace pijit {
namespace {

struct Place {
  size_t begin, end;
  bool overlaps(const Place& o) const { return begin < o.end && o.begin < end; }
};

}  // namespace

MemoryPlan plan_memory(std::span<const PlannedValue> values) {
  MemoryPlan plan;
  std::vector<Place> place;
  for (size_t i = 0; i < values.size(); ++i) {
    const PlannedValue& v = values[i];
    constexpr size_t kUnit = MemoryPlan::kAlignment;
    const size_t size = std::max(kUnit, (v.bytes + kUnit - 1) / kUnit * kUnit);
    std::vector<size_t> busy;  // values alive together with this one
    for (size_t j = 0; j < i; ++j)
      if (values[j].last >= v.first && values[j].first <= v.last) busy.push_back(j);

    const auto own = std::find_if(v.over.begin(), v.over.end(), [&](size_t r) {
      return std::none_of(busy.begin(), busy.end(),
                          [&](size_t j) { return j != r && place[j].overlaps(place[r]); });
    });
    size_t at = 0;
    if (own != v.over.end()) {
      at = place[*own].begin;
    } else {
      std::sort(busy.begin(), busy.end(),
                [&](size_t a, size_t b) { return place[a].begin < place[b].begin; });
      for (size_t j : busy) {
        if (at + size <= place[j].begin) break;
        at = std::max(at, place[j].end);
      }
    }
    place.push_back({at, at + size});
    plan.offsets.push_back(at);
    plan.bytes = std::max(plan.bytes, at + size);
  }
  return plan;
}

}  // namespace pijit
