// Devices by number, as types carry them: 0 is the CPU. What a device can do is in
// runtime/device.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pijit {

struct DeviceId {
  uint8_t number = 0;
  constexpr bool operator==(const DeviceId&) const = default;
  constexpr bool is_cpu() const { return number == 0; }
};

// Names of the devices there are, by number: "CPU" first.
const std::vector<std::string>& device_names();
DeviceId add_device_name(std::string name);
const std::string& name_of(DeviceId d);
std::optional<DeviceId> device_from_name(std::string_view name);
std::string device_list();  // "CPU, GPU", for messages

// Where new values go that no operand places: random numbers, Tensors of Python data.
DeviceId default_device();
void set_default_device(DeviceId d);

}  // namespace pijit
