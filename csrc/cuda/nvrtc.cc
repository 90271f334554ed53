#include "cuda/nvrtc.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/error.h"

namespace pijit::cuda {

namespace {
std::vector<std::string>& package_folders() {
  static auto* folders = new std::vector<std::string>;
  return *folders;
}
}  // namespace

void search_packages(const std::vector<std::string>& folders) { package_folders() = folders; }

void* open_library(const std::vector<std::string>& names) {
  // What is loaded already, by another library of this process, serves us too: two versions of one
  // library in a process disturb each other.
  for (auto& name : names)
    if (void* p = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) return p;
  std::vector<std::string> folders;
  if (const char* home = std::getenv("CUDA_HOME")) {
    folders.push_back(std::string(home) + "/lib64/");
    folders.push_back(std::string(home) + "/lib/");
  }
  std::vector<std::string> sites = package_folders();
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&open_library), &here) && here.dli_fname) {
    // site-packages/pijit/lib….so, beside site-packages/nvidia
    sites.push_back(std::filesystem::path(here.dli_fname).parent_path().parent_path().string());
  }
  for (auto& site : sites)
    for (const char* part : {"cu13", "cublas", "cudnn", "cufft", "nccl", "cuda_nvrtc"})
      folders.push_back(str_cat(site, "/nvidia/", part, "/lib/"));
  for (const char* usual : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"})
    folders.push_back(usual);
  for (auto& folder : folders)
    for (auto& name : names)
      if (void* p = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return p;
  return nullptr;
}

const char* find_functions(void* library, std::initializer_list<Wanted> functions) {
  for (auto& f : functions) {
    void* found = dlsym(library, f.name);
    if (!found) return f.name;
    std::memcpy(f.pointer, &found, sizeof found);
  }
  return nullptr;
}

struct Nvrtc::Functions {
  using Program = void*;
  int (*version)(int*, int*);
  int (*create)(Program*, const char* source, const char* name, int, const char* const*,
                const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*destroy)(Program*);
};

const Nvrtc* Nvrtc::get(std::string* why) {
  static std::mutex mu;
  static Nvrtc* made = nullptr;
  std::lock_guard lock(mu);
  if (made) return made;
  void* lib = open_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  if (!lib) {
    *why = "libnvrtc is not found; pip install nvidia-cuda-nvrtc, or set CUDA_HOME";
    return nullptr;
  }
  auto f = std::make_shared<Functions>();
  const char* missing = find_functions(lib, {{"nvrtcVersion", &f->version},
                                             {"nvrtcCreateProgram", &f->create},
                                             {"nvrtcCompileProgram", &f->compile},
                                             {"nvrtcGetCUBINSize", &f->cubin_size},
                                             {"nvrtcGetCUBIN", &f->cubin},
                                             {"nvrtcGetProgramLogSize", &f->log_size},
                                             {"nvrtcGetProgramLog", &f->log},
                                             {"nvrtcDestroyProgram", &f->destroy}});
  if (missing) {
    *why = std::string("libnvrtc has no ") + missing;
    return nullptr;
  }
  int major = 0, minor = 0;
  f->version(&major, &minor);
  made = new Nvrtc;
  made->f_ = std::move(f);
  made->version_ = str_cat(major, ".", minor);
  return made;
}

std::vector<char> Nvrtc::compile(const std::string& source, int capability) const {
  Functions::Program p = nullptr;
  PIJIT_CHECK(f_->create(&p, source.c_str(), "pijit.cu", 0, nullptr, nullptr) == 0,
              "nvrtcCreateProgram failed");
  struct Guard {
    const Functions& f;
    Functions::Program* p;
    ~Guard() { f.destroy(p); }
  } guard{*f_, &p};
  // Numbers are IEEE's: no contraction, no flush to zero, divisions and roots rounded.
  const std::string arch = str_cat("--gpu-architecture=sm_", capability);
  const char* options[] = {arch.c_str(),  "--std=c++17",     "--fmad=false",
                           "--ftz=false", "--prec-div=true", "--prec-sqrt=true"};
  const int status = f_->compile(p, std::size(options), options);
  if (status != 0) {
    size_t n = 0;
    f_->log_size(p, &n);
    std::string log(n, ' ');
    f_->log(p, log.data());
    throw InternalError(str_cat("NVRTC refuses a kernel for sm_", capability, " (error ", status,
                                "):\n", log, "\n", source));
  }
  size_t n = 0;
  PIJIT_CHECK(f_->cubin_size(p, &n) == 0 && n > 0, "NVRTC gave no machine code");
  std::vector<char> cubin(n);
  PIJIT_CHECK(f_->cubin(p, cubin.data()) == 0, "nvrtcGetCUBIN failed");
  return cubin;
}

}  // namespace pijit::cuda
