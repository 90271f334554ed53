// A look at what the program does, now and then: where no op of ours tells that something works, a
// sample finds what takes the time.
#pragma once
#include <chrono>

namespace pijit {

// Calls `look` in the main thread between two of CPython's instructions, about once in `interval`
// while that thread runs Python code.
void sample_every(std::chrono::milliseconds interval, void (*look)());
// From when this returns on, `look` is called no more.
void stop_sampling();
// Around a fork: CPython warns of threads that a child does not have.
void pause_sampling();
void resume_sampling();

}  // namespace pijit
