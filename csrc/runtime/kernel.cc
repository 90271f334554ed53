#include "runtime/kernel.h"

#include <algorithm>

#include "base/log.h"
#include "runtime/hidden_bytes.h"

namespace pijit {

thread_local size_t HiddenBytes::count_ = 0;

void KernelRegistry::add(const std::string& op, const KernelFamily& family) {
  const auto it = std::find_if(family.kernels.begin(), family.kernels.end(),
                               [&](auto& k) { return k.first == op; });
  PIJIT_CHECK(it != family.kernels.end(), "no kernel of the family ", family.name, " is for ", op);
  list_[op].push_back({family.name, it->second, family.reference});
}

// Under the reference backend the reference alone, where an op has one: those of NumPy's own loops
// have none.
bool KernelRegistry::is_asked(const Candidate& c, const std::vector<Candidate>& all) {
  return c.reference || config().backend != "reference" ||
         std::none_of(all.begin(), all.end(), [](const Candidate& o) { return o.reference; });
}

std::unique_ptr<OpKernel> KernelRegistry::make(const KernelRequest& r) const {
  auto it = list_.find(r.op.name);
  if (it != list_.end()) {
    for (auto& c : it->second) {
      if (!is_asked(c, it->second)) continue;
      std::string why;
      if (auto k = c.make(r, &why)) {
        PIJIT_LOG("dispatch", r.op.name, " -> ", c.name, " ", r.out.str());
        return k;
      }
      PIJIT_LOG("dispatch", r.op.name, ": ", c.name, " refuses: ", why);
    }
  }
  throw OpError(OpError::kType, str_cat("[", r.op.name, "] no kernel for ",
                                        r.in.empty() ? r.out.str() : r.in[0].str()));
}

std::string KernelRegistry::choice(const KernelRequest& r) const {
  auto it = list_.find(r.op.name);
  std::string why;
  if (it != list_.end())
    for (auto& c : it->second)
      if (is_asked(c, it->second) && c.make(r, &why)) return c.name;
  return "";
}

bool KernelRegistry::serves(const KernelRequest& r) const {
  auto it = list_.find(r.op.name);
  if (it == list_.end() || config().backend == "reference") return false;
  std::string why;
  for (auto& c : it->second)
    if (!c.reference && c.make(r, &why)) return true;
  return false;
}

bool KernelRegistry::has_own(const std::string& op) const {
  const auto it = list_.find(op);
  return it != list_.end() && config().backend != "reference" &&
         std::any_of(it->second.begin(), it->second.end(),
                     [](const Candidate& c) { return !c.reference; });
}

}  // namespace pijit
