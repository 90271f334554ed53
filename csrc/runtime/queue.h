// What a device has that runs behind the host: a queue of launches, which other libraries' queues
// can wait for.
#pragma once
#include <cstddef>
#include <string>

#include "base/devices.h"

namespace pijit {

class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  // The queue as other libraries know it (a cudaStream_t).
  virtual void* handle() const = 0;
  // What is put on another queue from now on waits for what was started on this one.
  virtual void hold(void* other) = 0;
  // A launch failed, as `text` says; where nothing can be launched any more, later ones say so,
  // too.
  virtual void failed(const std::string& text) = 0;
  // Bytes that are taken from the system, of values and of what is kept for later ones.
  virtual size_t reserved_bytes() const = 0;
  // Gives memory that is kept for later values back to the system.
  virtual void give_back() = 0;
  // Before the process ends, while libraries of the device are whole: threads come to their end.
  virtual void finish() {}
};

void register_queue(DeviceId d, DeviceQueue* q);
DeviceQueue* queue_of(DeviceId d);  // null: the device has none

}  // namespace pijit
