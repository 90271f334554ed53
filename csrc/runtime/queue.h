// What a device has that runs behind the host: a queue of launches, which can be recorded to run
// again as one, and which other libraries' queues can wait for.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/devices.h"

namespace pijit {

// Launches that were recorded; they run again on the same addresses.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
  virtual void run() = 0;
};

class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  // What `launch` would start, which does not run now. Null where the host waits for a result
  // meanwhile, or nothing is to be recorded.
  virtual std::unique_ptr<LaunchGraph> record(const std::function<void()>& launch) = 0;
  // The queue as other libraries know it (a cudaStream_t).
  virtual void* handle() const = 0;
  // What is put on another queue from now on waits for what was started on this one.
  virtual void hold(void* other) = 0;
  // A launch failed, as `text` says; where nothing can be launched any more, later ones say so,
  // too.
  virtual void failed(const std::string& text) = 0;
};

void register_queue(DeviceId d, DeviceQueue* q);
DeviceQueue* queue_of(DeviceId d);  // null: the device has none

}  // namespace pijit
