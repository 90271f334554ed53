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

// Makes the first program of what capture gives. False: there is no graph for these sizes. Throws
// OpError where the graph cannot be compiled.
bool compile_entry(Entry& e);

// Nanoseconds that this thread has spent on programs for further sizes since the last question.
int64_t take_time_for_sizes();

}  // namespace pijit
