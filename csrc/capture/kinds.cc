#include "capture/kinds.h"

namespace pijit {
namespace {

// Filled while the module is loaded.
std::vector<KindOfType>& kinds() {
  static std::vector<KindOfType> all;
  return all;
}

}  // namespace

RegisteredKind::RegisteredKind(const KindOfType& kind) { kinds().push_back(kind); }

const KindOfType* kind_of(PyTypeObject* t) {
  const auto& all = kinds();
  const auto it = std::ranges::find_if(all, [t](const KindOfType& kind) { return kind.is_of(t); });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace pijit
