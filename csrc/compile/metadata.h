// What the steps of a program are, for people: their ops, where these stand in the user's code, the
// bytes that a run moves and the operations it takes.
#pragma once
#include "graph/graph.h"
#include "runtime/loop_spec.h"
#include "runtime/record.h"

namespace pijit {

// Of nodes that one kernel computes. `loop`: as which loop, or null; its operands in `slots`,
// inputs first.
Metadata metadata_of(const Graph& g, std::span<const uint32_t> nodes,
                     const LoopSpec* loop = nullptr, std::span<const int> slots = {});
// Of kernels that run as one, which read and write `bytes` together.
Metadata joined(std::span<const MetadataRef> parts, int64_t bytes);
// What profilers and debuggers call the code: the ops, and where the first of them stands.
std::string name_of_code(const Metadata& m);

}  // namespace pijit
