// oneDNN's parallel regions run in our threads.
#pragma once

namespace pijit::onednn {

// Called once, before oneDNN computes anything.
void use_own_threads();

}  // namespace pijit::onednn
