// Who wants to know of eager ops.
#pragma once

namespace pijit {

// Called before each eager op where it is set: what looks for code worth capturing learns so that
// there is some. Set under the GIL.
inline void (*eager_watcher)() = nullptr;

}  // namespace pijit
