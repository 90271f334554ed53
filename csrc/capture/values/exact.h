// Methods that are followed where they are called with the arguments of their row alone.
#pragma once
#include "capture/value.h"

namespace pijit {

// As run_method, but what is called with another number of arguments, or by keywords, is none of
// these.
template <class T, size_t N>
std::optional<V> run_exact(const Method<T> (&table)[N], T& self, Context& c,
                           const std::string& name, const std::vector<V>& args,
                           const Kwargs& kwargs) {
  for (auto& m : table)
    if (m.name == name && kwargs.empty() && args.size() >= m.least && args.size() <= m.most)
      return m.run(c, self, args);
  return std::nullopt;
}

}  // namespace pijit
