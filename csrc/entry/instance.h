// What new sizes cost.
#pragma once
#include <cstdint>

namespace pijit {

// Nanoseconds that this thread has spent on programs for further sizes since the last question.
int64_t take_time_for_sizes();

}  // namespace pijit
