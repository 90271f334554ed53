// The type of an op's result, and the device it lies on.
#pragma once
#include "graph/op.h"

namespace pijit {

// Rules do not know devices: operands lie on one, and the result comes to lie there. A single
// element of the CPU's goes with any device, as constants do; alone it goes to `home`.
Type infer_on_device(const OpDef& def, const Attrs& attrs, std::span<const Type* const> in,
                     DeviceId home);

// On another device than the CPU, single elements of the CPU's go with all others. This is such an
// element as a value of device d, where the types of values must agree, as in the arms of a branch;
// other values stay as they are.
Val placed(Val v, DeviceId d);
inline DeviceId device_of_both(const Type& a, const Type& b) {
  return a.device.is_cpu() ? b.device : a.device;
}

}  // namespace pijit
