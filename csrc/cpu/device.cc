// The CPU as a device.
#include "runtime/device.h"

#include <chrono>
#include <cstring>

#include "base/config.h"
#include "cpu/cpu.h"
#include "cpu/parallel.h"
#include "cpu/loops/tiles.h"
#include "runtime/array.h"

namespace pijit {
namespace {

// Kernels have finished when they return.
class Past : public Event {
 public:
  bool done() const override { return true; }
  void wait() override {}
  double milliseconds_since(const Event& earlier) const override {
    const std::chrono::duration<double, std::milli> d = at_ - static_cast<const Past&>(earlier).at_;
    return d.count();
  }

 private:
  const std::chrono::steady_clock::time_point at_ = std::chrono::steady_clock::now();
};

class Cpu : public Device {
 public:
  Cpu() : Device(DeviceId{}) { register_cpu_kernels(kernels); }

  void* allocate(size_t bytes) override { return pijit::allocate(bytes); }
  void release(void* p, size_t bytes) override { pijit::release(p, bytes); }
  size_t allocated_bytes() const override { return pijit::allocated_bytes(); }
  bool is_host() const override { return true; }
  void from_host(void* to, const void* from, size_t n) override { copy(to, from, n); }
  void to_host(void* to, const void* from, size_t n) override { copy(to, from, n); }
  void copy(void* to, const void* from, size_t n) override {
    if (n) std::memcpy(to, from, n);
  }
  std::unique_ptr<Event> record(bool) override { return std::make_unique<Past>(); }
  void synchronize() override {}

  DeviceFacts facts() const override {
    DeviceFacts f;
    f.threads = max_threads();
    f.cache_bytes = cache_bytes();
    f.tile_bytes = config().tile_bytes;
    f.channel_block = channel_block();
    f.wide_types_halve_lanes = wide_types_halve_lanes();
    // Chains of sines: with 400 the first call of 100 takes a tenth or two longer, with 200 every
    // call of 1,000 a twentieth.
    f.loop_instructions = 320;
    return f;
  }
  std::unique_ptr<Kernel> make_loop(LoopSpec s) override {
    return std::make_unique<LoopKernel>(std::move(s));
  }
  std::unique_ptr<Kernel> make_tiles(TileSpec s) override {
    return std::make_unique<Tiles>(std::move(s));
  }
};

[[maybe_unused]] const bool device_registered = register_device(new Cpu);

}  // namespace
}  // namespace pijit
