#include "base/devices.h"

#include <atomic>

namespace pijit {
namespace {

std::vector<std::string>& names() {
  static auto* v = new std::vector<std::string>{"CPU"};
  return *v;
}
std::atomic<uint8_t> chosen{0};

}  // namespace

const std::vector<std::string>& device_names() { return names(); }

DeviceId add_device_name(std::string name) {
  if (const auto known = device_from_name(name)) return *known;
  names().push_back(std::move(name));
  return {static_cast<uint8_t>(names().size() - 1)};
}

const std::string& name_of(DeviceId d) { return names().at(d.number); }

std::optional<DeviceId> device_from_name(std::string_view name) {
  for (size_t i = 0; i < names().size(); ++i)
    if (names()[i] == name) return DeviceId{static_cast<uint8_t>(i)};
  return std::nullopt;
}

std::string device_list() {
  std::string s;
  for (auto& n : names()) s += (s.empty() ? "" : ", ") + n;
  return s;
}

DeviceId default_device() { return {chosen.load(std::memory_order_relaxed)}; }
void set_default_device(DeviceId d) { chosen.store(d.number, std::memory_order_relaxed); }

}  // namespace pijit
