#include "cuda/cubin_cache.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "cuda/emit.h"
#include "cuda/nvrtc.h"

namespace pijit::cuda {
namespace fs = std::filesystem;
namespace {

std::vector<char> contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// FNV-1a with 64 bits; two of them name a file.
uint64_t hash(const std::string& s, uint64_t h) {
  for (unsigned char c : s) h = (h ^ c) * 1099511628211ull;
  return h;
}

// A folder of our own that others cannot look into.
class Scratch {
 public:
  Scratch() {
    std::string t = (fs::temp_directory_path() / "pijit_cuda_XXXXXX").string();
    OP_CHECK(mkdtemp(t.data()), kRuntime, "[GPU] no temporary folder can be made at ", t);
    path_ = t;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace

std::string Images::cache_folder() {
  std::string base;
  if (const char* x = std::getenv("XDG_CACHE_HOME"); x && *x)
    base = x;
  else if (const char* home = std::getenv("HOME"); home && *home)
    base = std::string(home) + "/.cache";
  else
    return "";
  std::error_code failed;
  fs::create_directories(base + "/pijit", failed);
  const std::string folder = base + "/pijit/cuda";
  mkdir(folder.c_str(), 0700);
  struct stat s;
  const bool ours = stat(folder.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == getuid() &&
                    (s.st_mode & 077) == 0;
  return ours ? folder : "";  // what others may write is not loaded
}

Images::Images(int capability, const Config& config)
    : capability_(capability), command_(config.cuda_compiler) {
  if (!command_.empty()) {
    compiler_ = command_;
    return;
  }
  std::string why;
  const Nvrtc* nvrtc = Nvrtc::get(&why);
  OP_CHECK(nvrtc, kRuntime, "[GPU] kernels cannot be compiled: ", why);
  compiler_ = "NVRTC " + nvrtc->version();
}

std::vector<char> Images::compile(const std::string& text) const {
  if (command_.empty()) {
    std::string why;
    return Nvrtc::get(&why)->compile(text, capability_);
  }
  const Scratch scratch;
  const std::string in = scratch.file("kernel.cu"), out = scratch.file("kernel.image");
  std::ofstream(in) << text;
  const std::string line = str_cat(command_, " ", in, " ", out, " ", capability_);
  const int status = std::system(line.c_str());
  std::vector<char> image = contents(out);
  PIJIT_CHECK(status == 0 && !image.empty(), "PIJIT_CUDA_COMPILER failed (status ", status,
              "): ", line);
  return image;
}

// A file holds its key, a line and the image: names may collide, keys do not.
std::vector<char> Images::get(const std::string& source) const {
  const std::string text = prelude() + source;
  const std::string key = str_cat(compiler_, " sm_", capability_, "\n", text);
  const std::string folder = cache_folder();
  if (folder.empty()) return compile(text);
  std::ostringstream name;
  name << folder << "/" << std::hex << hash(key, 14695981039346656037ull)
       << hash(key, 1099511628211ull) << ".image";
  const std::string head = str_cat(key.size(), "\n", key);
  if (auto file = contents(name.str());
      file.size() > head.size() && std::equal(head.begin(), head.end(), file.begin()))
    return {file.begin() + static_cast<std::ptrdiff_t>(head.size()), file.end()};
  std::vector<char> image = compile(text);
  // SourceKernel under another name first: readers see all of it or nothing.
  std::string fresh = name.str() + ".XXXXXX";
  if (const int fd = mkstemp(fresh.data()); fd >= 0) {
    close(fd);
    std::ofstream out(fresh, std::ios::binary);
    out << head;
    out.write(image.data(), static_cast<std::streamsize>(image.size()));
    out.close();
    std::error_code ignored;
    if (out)
      fs::rename(fresh, name.str(), ignored);
    else
      fs::remove(fresh, ignored);
  }
  return image;
}

}  // namespace pijit::cuda
