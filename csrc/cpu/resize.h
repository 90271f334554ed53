#pragma once
#include "runtime/kernel.h"

namespace pijit {
void register_resize_kernels(KernelRegistry& r);
}
