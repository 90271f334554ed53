// Devices in shared libraries beside the extension module, or in a wheel of their own:
// libpijit_cuda.so. A plug-in holds code
// of base/, graph/ and runtime/ of its own, so that it must be of the same build of pijit; it
// shares no global state but what it is given.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "runtime/device.h"

namespace pijit {

struct PluginHost {
  DeviceId id;  // of the device to make
  Device* cpu;
  const Config* config;
  std::vector<std::string> folders;  // that packages lie in, NVIDIA's among them
};
// Says which folders those are, whenever a plug-in is loaded.
void set_package_folders(std::vector<std::string> (*folders)());
// What a plug-in exports: the build it belongs to, and the device, or null and why there is none.
using PluginVersion = const char* (*)();
using PluginMake = Device* (*)(const PluginHost* host, std::string* why);
// The queue of the device that was made, if it has one.
class DeviceQueue;
using PluginQueue = DeviceQueue* (*)();
constexpr const char* kPluginQueueName = "pijit_device_queue";
constexpr const char* kPluginVersionName = "pijit_plugin_version";
constexpr const char* kPluginMakeName = "pijit_make_device";
const char* plugin_version();

// Loads the device's plug-in if there is one and it finds its hardware, and registers the device.
bool load_plugin(std::string_view device_name, std::string* why);

}  // namespace pijit
