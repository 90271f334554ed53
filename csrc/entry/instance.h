// What new sizes cost.
#pragma once
#include <cstdint>
#include <vector>

namespace pijit {

struct Entry;
struct Values;
// What varies in an entry, for these inputs, and whether there is a program for it.
std::vector<int64_t> sizes_of(const Entry& e, const Values& values);
bool has_instance(const Entry& e, const std::vector<int64_t>& sizes);

// Nanoseconds that this thread has spent on programs for further sizes since the last question.
int64_t take_time_for_sizes();

}  // namespace pijit
