#include "region/array_loop.h"

#include "base/error.h"

namespace pijit::region {

static ArrayLoops registered = nullptr;

bool register_array_loops(ArrayLoops make) {
  registered = make;
  return true;
}

std::unique_ptr<ArrayLoop> make_array_loop(ArrayLoopSpec spec) {
  PIJIT_CHECK(registered, "no device makes loops over arrays");
  return registered(std::move(spec));
}

}  // namespace pijit::region
