// The GPU as a device. Work goes to one stream, in order; the host waits where it reads.
#pragma once
#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cuda/driver.h"
#include "cuda/emit.h"
#include "cuda/cubin_cache.h"
#include "cuda/staging.h"
#include "runtime/plugin.h"
#include "runtime/queue.h"

namespace pijit::cuda {

// Memory that was given back, by size: asking the driver takes longer than a small kernel. All work
// goes to one stream, so that a block may be handed out again at once.
class Blocks {
 public:
  static size_t class_of(size_t bytes);
  void* take(size_t size);  // null: there is none
  // False where more than `most` bytes would be kept.
  bool keep(void* p, size_t size, size_t most);
  std::vector<void*> all();  // and keeps none of them

 private:
  std::mutex mu_;
  absl::flat_hash_map<size_t, std::vector<void*>> free_;
  size_t bytes_ = 0;
};

class Gpu : public Device, public DeviceQueue {
 public:
  // Throws OpError where the GPU or the compiler of its kernels does not start.
  Gpu(const PluginHost& host, const Driver& driver);

  void* allocate(size_t bytes) override;
  void release(void* p, size_t bytes) override;
  size_t allocated_bytes() const override { return used_; }
  void from_host(void* to, const void* from, size_t bytes) override;
  void to_host(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  std::unique_ptr<Event> record(bool timed) override;
  void synchronize() override;
  DeviceFacts facts() const override;
  std::unique_ptr<Kernel> make_loop(LoopSpec s) override;
  std::unique_ptr<Launcher> make_launcher(size_t steps) override;
  DeviceCollectives* collectives(std::string* why) override;  // nccl.cc
  void* handle() const override { return stream_; }
  void hold(void* other) override;
  void failed(const std::string& text) override;
  size_t reserved_bytes() const override;
  void give_back() override;
  void finish() override;

  const Driver& driver() const { return driver_; }
  // Where work goes now: while a thread records, a stream of its own.
  Stream stream() const { return recording_ ? recording_ : stream_; }
  Device& host() const { return *host_.cpu; }
  // What `launch` would start, which does not run now. Null where the host waits for a result
  // meanwhile, or nothing is to be recorded.
  GraphHandle capture(const std::function<void()>& launch);
  // Makes the GPU the calling thread's.
  void enter();
  // Throws OpError naming what was done, and whether the process can go on.
  void check(int code, const std::string& what) const;
  // Compiles a source behind the host, as others, where it is new.
  void prepare(const std::string& source);
  // The kernel of a source, compiled and loaded where it is new.
  Function function(const std::string& source, const std::string& name);
  void launch(Function f, const Launch& l, const Arguments& a, const std::string& what);
  // An event of a stream beside the device's, and a stream's wait for one of this device.
  std::shared_ptr<Event> record_on(Stream s);
  void wait_for(Stream s, const Event& e);
  // What runs was ended from outside, so that its values are nobody's: waits throw `why`.
  void cut_off(const std::string& why);
  // Where each kernel is waited for: waits, and reports what it was.
  void after(const std::string& what);
  int capability() const { return capability_; }
  // Kernels note here, in memory that the host reads, an index that is out of range; it is reported
  // where the host waits next. `error_name` numbers the ops that do so.
  struct BadIndex {
    uint32_t set, op;
    int64_t index, size;
  };
  BadIndex* error_record() const { return bad_index_; }
  int64_t error_name(const std::string& op);

 private:
  const PluginHost host_;
  const Driver& driver_;
  int capability_ = 0;
  // Throws OpError where what has run has failed: an index out of range, work that was cut off.
  void check_results();
  std::string held() const;
  void count(size_t bytes, int by) {
    held_[63 - __builtin_clzll(bytes)].fetch_add(by, std::memory_order_relaxed);
  }

  void* context_ = nullptr;
  void* pool_ = nullptr;
  Stream stream_ = nullptr;
  static thread_local Stream recording_;
  static constexpr size_t kLargestKept = size_t{64} << 20, kMostKept = size_t{2} << 30;
  Blocks kept_;         // for values
  Blocks recorded_;     // that kernels of launch graphs pass results in, all graphs the same
  static bool forked_;  // this process is a child of the one that opened the GPU
  std::atomic<size_t> used_{0};
  std::atomic<int64_t> held_[64] = {};  // blocks, by the binary logarithm of their size
  BadIndex* bad_index_ = nullptr;
  std::vector<std::string> error_names_;
  mutable std::mutex lost_mu_;
  mutable std::string lost_;  // what is said once the context is lost
  std::string cut_off_;       // under lost_mu_
  std::unique_ptr<Images> images_;
  Staging staging_{*this};
  std::mutex mu_;
  using Image = std::shared_future<std::vector<char>>;
  Image image_of(const std::string& source);  // under mu_
  std::counting_semaphore<> compilers_{std::max(1u, std::thread::hardware_concurrency())};
  absl::flat_hash_map<std::string, Image> images_made_;
  absl::flat_hash_map<std::string, Module> modules_;
};

// In order of preference where two have an op.
void register_cublas(Gpu& gpu);     // cublas.cc
void register_cudnn(Gpu& gpu);      // cudnn.cc
void register_attention(Gpu& gpu);  // attention.cc
void register_flash(Gpu& gpu);      // flash.cc
void register_cufft(Gpu& gpu);      // cufft.cc
void register_gemm(Gpu& gpu);       // gemm.cc
void register_copy(Gpu& gpu);       // copy.cc
void register_indexed(Gpu& gpu);    // indexed.cc
void register_sorts(Gpu& gpu);      // sorts.cc
void register_pool(Gpu& gpu);       // pool.cc
void register_resize(Gpu& gpu);     // resize.cc

}  // namespace pijit::cuda
