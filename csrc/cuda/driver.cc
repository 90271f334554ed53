#include "cuda/driver.h"

#include <dlfcn.h>

#include <mutex>

#include "base/error.h"

namespace pijit::cuda {

const Driver* Driver::get(std::string* why) {
  static std::mutex mu;
  static Driver* made = nullptr;
  std::lock_guard lock(mu);
  if (made) return made;
  void* lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!lib) {
    *why = "no NVIDIA driver is found";
    return nullptr;
  }
  Driver d;
#define X(member, name, parameters)                                   \
  d.member = reinterpret_cast<int(*) parameters>(dlsym(lib, name));   \
  if (!d.member) {                                                    \
    *why = str_cat("the NVIDIA driver is too old: it has no ", name); \
    return nullptr;                                                   \
  }
  PIJIT_CUDA_FUNCTIONS(X)
#undef X
  int count = 0;
  if (const int e = d.init(0); e != kSuccess) {
    *why = "the NVIDIA driver does not start: " + d.error(e);
    return nullptr;
  }
  if (d.device_count(&count) != kSuccess || count == 0) {
    *why = "the NVIDIA driver finds no GPU";
    return nullptr;
  }
  made = new Driver(d);
  return made;
}

std::string Driver::error(int code) const {
  const char* name = nullptr;
  if (error_name(code, &name) != kSuccess || !name) return str_cat("error ", code);
  return name;
}

}  // namespace pijit::cuda
