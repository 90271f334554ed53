#include "dispatch/permission.h"

#include "capture/capture.h"

namespace pijit {

namespace permission {

constinit thread_local bool paused = false;
bool graph_mode_on = false;
bool forbidden = false;  // init_jit() sets it, where frames are not known

}  // namespace permission

bool graph_mode() {
  return permission::graph_mode_on && !permission::paused && !permission::forbidden;
}

}  // namespace pijit
