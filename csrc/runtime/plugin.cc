#include "runtime/plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "runtime/queue.h"

namespace pijit {
namespace {
std::vector<std::string> (*package_folders)() = nullptr;
}

void set_package_folders(std::vector<std::string> (*folders)()) { package_folders = folders; }

// Of a build: sizes of what crosses the border change with the code.
const char* plugin_version() {
  static const std::string v =
      str_cat("pijit devices 2, ", sizeof(Device), " ", sizeof(LoopSpec), " ", sizeof(Type), " ",
              sizeof(OpDef), " ", sizeof(Config), " ", kNumDTypes);
  return v.c_str();
}

bool load_plugin(std::string_view device_name, std::string* why) {
  if (device_name != "GPU") return false;
  static std::mutex mu;
  std::lock_guard lock(mu);
  Dl_info here;
  if (!dladdr(reinterpret_cast<void*>(&load_plugin), &here) || !here.dli_fname) return false;
  const auto own = std::filesystem::path(here.dli_fname).parent_path();
  std::filesystem::path file;
  for (auto& folder : config().plugins.empty()
                          ? std::vector{own, own.parent_path() / "pijit_cuda13"}  // a wheel's
                          : std::vector<std::filesystem::path>{config().plugins}) {
    file = folder / "libpijit_cuda.so";
    if (std::filesystem::exists(file)) break;
  }
  if (!std::filesystem::exists(file)) return false;
  void* lib = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!lib) {
    *why = dlerror();
    return false;
  }
  const auto version = reinterpret_cast<PluginVersion>(dlsym(lib, kPluginVersionName));
  const auto make = reinterpret_cast<PluginMake>(dlsym(lib, kPluginMakeName));
  if (!version || !make || std::string(version()) != plugin_version()) {
    *why = file.string() + " belongs to another build of pijit";
    return false;
  }
  // The name is given away only when the device is there.
  const PluginHost host{DeviceId{static_cast<uint8_t>(device_names().size())}, &device(DeviceId{}),
                        &config(),
                        package_folders ? package_folders() : std::vector<std::string>{}};
  Device* d = make(&host, why);
  if (!d) {
    PIJIT_LOG("dispatch", "device ", device_name, ": ", *why);
    return false;
  }
  add_device_name(std::string(device_name));
  register_device(d);
  if (const auto queue = reinterpret_cast<PluginQueue>(dlsym(lib, kPluginQueueName)))
    register_queue(d->id, queue());
  serve_by_host(*d);
  return true;
}

}  // namespace pijit
