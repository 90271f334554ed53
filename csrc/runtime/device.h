// A device: memory, copies and events; candidates for ops in order; kernels of loops; facts that
// the compiler decides by. A device is a folder of its own (cpu/, or a plug-in) whose file
// device.cc registers it; nothing outside of the folder names it.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/devices.h"
#include "runtime/kernel.h"
#include "runtime/loop_spec.h"

namespace pijit {

// What the compiler asks of a device. Options may change them from one compile to the next.
struct DeviceFacts {
  int64_t threads = 1;        // that loops are divided over
  int64_t cache_bytes = 0;    // results of more are stored around the cache
  int64_t tile_bytes = 0;     // that loops in tiles touch per tile; 0: loops run one by one
  int64_t channel_block = 0;  // channels per block in which convolutions compute; 0: none
  // Whether loops that hold 8-byte types compute their 4-byte ones on half as many lanes as they
  // could by themselves.
  bool wide_types_halve_lanes = false;
  // Instructions of a loop from which on its code is better divided: equal parts of a program are
  // compiled once then, and between them values pass through the nearest cache. 0: never.
  size_t loop_instructions = 0;
};

// A point in a device's work.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool done() const = 0;
  virtual void wait() = 0;
  // From another one of this device to this one; both were recorded with `timed`, and are done.
  virtual double milliseconds_since(const Event& earlier) const = 0;
};

// Starts the kernels of one program, where a device has a better way than one after the other.
class Launcher {
 public:
  virtual ~Launcher() = default;
  // Starts what `launch` starts, or the same on the same addresses again; `operands` are all that
  // it uses. Threads may call it at once.
  virtual void run(std::span<void* const> operands, const std::function<void()>& launch) = 0;
};

class DeviceCollectives;  // runtime/collective.h

class Device {
 public:
  explicit Device(DeviceId id) : id(id) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  const std::string& name() const { return name_of(id); }
  const DeviceId id;
  KernelRegistry kernels;

  // Memory, 64-byte aligned. Freed memory may be in use by work that was started before: a device
  // that runs behind the host hands it out again in order.
  virtual void* allocate(size_t bytes) = 0;  // throws std::bad_alloc, or OpError with more to say
  virtual void release(void* p, size_t bytes) = 0;
  virtual size_t allocated_bytes() const = 0;
  // Whether the host reads and writes this memory as its own, as soon as a kernel returns.
  virtual bool is_host() const { return false; }
  // Copies; those to the host return when the data is there.
  virtual void from_host(void* to, const void* from, size_t bytes) = 0;
  virtual void to_host(void* to, const void* from, size_t bytes) = 0;
  virtual void copy(void* to, const void* from, size_t bytes) = 0;

  // After what was started so far. timed: it may be asked for times.
  virtual std::unique_ptr<Event> record(bool timed) = 0;
  virtual void synchronize() = 0;

  virtual DeviceFacts facts() const = 0;
  virtual std::unique_ptr<Kernel> make_loop(LoopSpec s) = 0;
  // Asked only where facts().tile_bytes is not 0.
  virtual std::unique_ptr<Kernel> make_tiles(TileSpec s);
  // For a program of so many steps; null: one by one.
  virtual std::unique_ptr<Launcher> make_launcher(size_t steps) { return nullptr; }
  // What moves values between the devices of several processes; null, and why, where nothing does.
  virtual DeviceCollectives* collectives(std::string* why) { return nullptr; }
};

// Devices register when their code is loaded. `d` lives as long as the process.
bool register_device(Device* d);
Device& device(DeviceId d);
// The device by the name that users give ("GPU"), its plug-in loaded if need be. Throws OpError:
// kValue where no device has such a name, kRuntime, naming the devices there are, where it is not
// here. `who` begins the message.
DeviceId find_device(std::string_view who, std::string_view name);

// Ops that a device has no kernel for run on the host, with copies there and back.
void serve_by_host(Device& d);

// Memory of a device for a while; null for 0 bytes.
struct DeviceBlock {
  Device& device;
  size_t bytes;
  char* p;
  DeviceBlock(Device& d, size_t n)
      : device(d), bytes(n), p(n ? static_cast<char*>(d.allocate(n)) : nullptr) {}
  ~DeviceBlock() {
    if (p) device.release(p, bytes);
  }
  DeviceBlock(const DeviceBlock&) = delete;
};

}  // namespace pijit
