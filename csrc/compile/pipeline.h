// From a captured graph to the one that kernels are made for: one list of passes, one driver.
#pragma once
#include "compile/fusion.h"
#include "compile/passes/prologue.h"
#include "runtime/device.h"

namespace pijit {

struct Prepared {
  std::unique_ptr<Graph> graph;
  FusionPlan plan;
  PrologueGraph prologue;
};
// fast_math: last digits may differ (compile/passes/fast_math.h). Each pass is verified where
// PIJIT_VERIFY is set, written where PIJIT_DUMP names a directory, and timed in the log channel
// `passes`.
Prepared prepare(const Graph& g, bool fast_math, const Device& device);

// One pass of the list, for tests. Null: it changes nothing.
std::unique_ptr<Graph> run_pass(std::string_view name, const Graph& g, const Device& device);

KernelRequest request_of(const Graph& g, const Node& n, bool fast);

}  // namespace pijit
