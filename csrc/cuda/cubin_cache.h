// Machine code for the GPU, compiled once: kept in memory, and on disk for the processes to come.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"

namespace pijit::cuda {

class Images {
 public:
  // Throws OpError (kRuntime) where nothing compiles: no NVRTC and no command of the user's own.
  Images(int capability, const Config& config);
  // What the driver loads. `source` is without the prelude. Threads may call it at once.
  std::vector<char> get(const std::string& source) const;

  // Where images are kept: private, in the user's cache folder; empty: nowhere.
  static std::string cache_folder();

 private:
  std::vector<char> compile(const std::string& text) const;
  const int capability_;
  const std::string command_;
  std::string compiler_;  // and its version
};

}  // namespace pijit::cuda
