// The GPU as a device. Work goes to one stream, in order; the host waits where it reads.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "cuda/driver.h"
#include "cuda/emit.h"
#include "cuda/images.h"
#include "runtime/plugin.h"

namespace pijit::cuda {

class Gpu : public Device {
 public:
  // Throws OpError where the GPU or the compiler of its kernels does not start.
  Gpu(const PluginHost& host, const Driver& driver);

  void* allocate(size_t bytes) override;
  void release(void* p, size_t bytes) override;
  size_t allocated_bytes() const override { return used_; }
  void from_host(void* to, const void* from, size_t bytes) override;
  void to_host(void* to, const void* from, size_t bytes) override;
  void copy(void* to, const void* from, size_t bytes) override;
  std::unique_ptr<Event> record() override;
  void synchronize() override;
  DeviceFacts facts() const override;
  std::unique_ptr<Kernel> make_loop(LoopSpec s) override;

  const Driver& driver() const { return driver_; }
  Stream stream() const { return stream_; }
  Device& host() const { return *host_.cpu; }
  // Makes the GPU the calling thread's.
  void enter();
  // Throws OpError naming what was done, and whether the process can go on.
  void check(int code, const std::string& what) const;
  // The kernel of a source, compiled and loaded where it is new.
  Function function(const std::string& source, const std::string& name);
  void launch(Function f, const Launch& l, const Arguments& a, const std::string& what);
  // Where each kernel is waited for: waits, and reports what it was.
  void after(const std::string& what);
  int capability() const { return capability_; }

 private:
  const PluginHost host_;
  const Driver& driver_;
  int number_ = 0, capability_ = 0;
  void* context_ = nullptr;
  void* pool_ = nullptr;
  Stream stream_ = nullptr;
  std::atomic<size_t> used_{0};
  std::unique_ptr<Images> images_;
  std::mutex mu_;
  absl::flat_hash_map<std::string, Module> modules_;
};

void register_cublas(Gpu& gpu);    // cublas.cc
void register_products(Gpu& gpu);  // products.cc

}  // namespace pijit::cuda
