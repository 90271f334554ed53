// A program whose operands come back to the same addresses is one launch.
#pragma once
#include <memory>

#include "runtime/device.h"

namespace pijit::cuda {

class Gpu;

// For a program of so many steps; null where starting them one by one is as good.
std::unique_ptr<Launcher> make_launch_graphs(Gpu& gpu, size_t steps);

}  // namespace pijit::cuda
