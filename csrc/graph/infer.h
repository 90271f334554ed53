// The type of an op's result, and the device it lies on.
#pragma once
#include "graph/op.h"

namespace pijit {

// Rules do not know devices: operands lie on one, and the result comes to lie there. A single
// element of the CPU's goes with any device, as constants do; alone it goes to `home`.
Type infer_on_device(const OpDef& def, const Attrs& attrs, std::span<const Type* const> in,
                     DeviceId home);

}  // namespace pijit
