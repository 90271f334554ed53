#include "base/nearest.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace pijit {

namespace {

// Letters to insert, leave out, replace or swap with the next.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t k = 1; k <= b.size(); ++k) {
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (a[i - 1] != b[k - 1])});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        row[k] = std::min(row[k], before[k - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr size_t kLongest = 64;
  if (name.size() > kLongest) return "";
  std::string_view best;
  size_t least = 0;
  for (auto k : known) {
    if (k.empty() || k.size() > kLongest) continue;
    const size_t d = distance(name, k);
    // a third of the letters may differ, one of a short name
    if (3 * d > std::max<size_t>(3, std::max(name.size(), k.size()))) continue;
    if (best.empty() || d < least) best = k, least = d;
  }
  return best.empty() ? "" : str_cat(" Did you mean '", best, "'?");
}

std::string unexpected_keyword(std::string_view function, std::string_view name,
                               const std::vector<std::string_view>& known) {
  const std::string nearest = did_you_mean(name, known);
  return str_cat(function, "() got an unexpected keyword argument '", name, "'",
                 nearest.empty() ? "" : ".", nearest);
}

}  // namespace pijit
