// Memory between pages without access (option guard): what writes or reads beyond its buffer ends
// there.
#pragma once
#include <cstddef>

namespace pijit {

// Is all memory of the host of that kind? Decided when it is asked for first.
bool guarded();
// A block of its own that begins behind such a page ("front") or ends before one ("back"), to the
// byte: `back` aligns it no better than its size is. Fresh memory holds no useful number.
void* guarded_allocate(size_t bytes);
// What is left of the block's pages must be as it was: else says so and ends the process.
void guarded_release(void* p, size_t bytes);

}  // namespace pijit
