// NVRTC, found at run time: CUDA C to machine code. No GPU is needed for it.
#pragma once
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace pijit::cuda {

class Nvrtc {
 public:
  // Null, and why, where the library is not found.
  static const Nvrtc* get(std::string* why);
  // A cubin for a compute capability, such as 90. Throws InternalError with the compiler's log.
  std::vector<char> compile(const std::string& source, int capability) const;
  const std::string& version() const { return version_; }  // "13.0"

 private:
  Nvrtc() = default;
  struct Functions;
  std::shared_ptr<Functions> f_;
  std::string version_;
};

// Where open_library looks for NVIDIA's wheels, too: folders that packages lie in.
void search_packages(const std::vector<std::string>& folders);
// Opens the first library of these names: one that is loaded already, in CUDA_HOME, in NVIDIA's
// wheels in a folder of packages or beside pijit, as the dynamic linker finds it, and in CUDA's
// usual place. Null where there is none.
void* open_library(const std::vector<std::string>& names);

struct Wanted {
  const char* name;
  void* pointer;  // to the pointer to a function that is to be set
};
// Finds functions in a library: null, or the name of one that it has not.
const char* find_functions(void* library, std::initializer_list<Wanted> functions);

}  // namespace pijit::cuda
