// Processes that compute together: groups of them, collective operations, messages between two.
// What moves the bytes is a library of its own behind `Transport` (mpi/mpi.cc), opened when
// communication is initialized. Here is what does not depend on it:
// - order: collectives of one process run one after the other, in the order in which they were
//   started, as all members must have the same order. Those that were started and not waited for
//   run in a thread of their own, beside the kernels of the caller.
// - agreement: before data moves, members compare what they are about to do, so that operations
//   that do not fit are an error on all of them instead of a crash or a wait for ever.
// - failures: whoever waits asks the others how far they are. A member that has ended is named at
//   once, one that does not come is named when the time is over.
// - devices: what lies on a device goes by a library of its own there (`DeviceCollectives`), behind
//   the device's work and without waiting for it, where all members have it; else by the host.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "runtime/device.h"

namespace pijit {

enum class Reduction : uint8_t { kSum, kMax, kMin, kProd };
std::optional<Reduction> reduction_of(std::string_view name);  // "sum", "max", "min", "prod"

struct Collective {
  enum Kind : uint8_t {
    kBarrier,
    kAllReduce,
    kAllGather,
    kReduceScatter,
    kBroadcast,
    kReduce,
    kGather,
    kScatter,
    kAllToAll
  } kind = kBarrier;
  Reduction reduction = Reduction::kSum;
  DType dtype = DType::U8;
  int members = 1;    // of the group that it is made for
  int root = 0;       // its rank in the group
  int64_t count = 0;  // elements of one member's part; of kAllToAll none
  const void* in = nullptr;
  void* out = nullptr;                       // of all-reduce: may be the same as `in`
  std::vector<int64_t> to_send, to_receive;  // of kAllToAll: elements by member
};

// A library that moves bytes. One thread at a time calls it. Failures are OpErrors.
class Transport {
 public:
  using Group = void*;
  using Request = void*;
  struct Message {
    int from;  // rank in the group
    size_t bytes;
  };
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  // on its machine
  virtual int local_size() const = 0;
  // Called by all of its members at once; `tag` tells apart groups that are made at one time.
  virtual Group make_group(std::span<const int> ranks, int tag) = 0;
  virtual void drop_group(Group g) = 0;
  // When all members have come. Memory is kept until `done`; counts are below 2**31.
  virtual Request start(Group g, const Collective& c) = 0;
  // Each member's bytes at all members. Memory is kept until `done`.
  virtual Request start_exchange(Group g, const void* own, void* all, size_t bytes) = 0;
  virtual Request start_send(Group g, int to, int tag, const void* bytes, size_t n) = 0;
  virtual bool done(Request r) = 0;  // then the request is gone
  // A message that has come, from one member or (-1) any.
  virtual std::optional<Message> probe(Group g, int from, int tag) = 0;
  virtual void receive(Group g, int from, int tag, void* bytes, size_t n) = 0;
  virtual void end() = 0;
  virtual void abort(int code) = 0;  // ends all processes
};
// A library that moves what lies on a device (cuda/nccl.cc), by way of the device's own work: calls
// start it, on a queue beside the device's, and return. Threads may call it at once, one for each
// group. Failures are OpErrors.
class DeviceCollectives {
 public:
  using Group = void*;
  virtual ~DeviceCollectives() = default;
  // By the library itself; else the host's way is taken.
  virtual bool has(const Collective& c) const = 0;
  // What the member of rank 0 makes, all others have to know.
  virtual std::vector<char> make_id() = 0;
  virtual size_t id_bytes() const = 0;
  // Begins to make a group, which `ready` says to be there. apart: its work is on a queue of its
  // own, as nothing orders it among that of other groups.
  virtual Group make_group(std::span<const char> id, int members, int own, bool apart) = 0;
  // False while the library is at what it was called for. Throws where the group has failed.
  virtual bool ready(Group g) = 0;
  // Behind `after`; when it is `ready`, `started` gives the event that says that it is done.
  virtual void start(Group g, const Collective& c, const Event& after) = 0;
  virtual void start_send(Group g, int to, const void* data, size_t bytes, const Event& after) = 0;
  virtual void start_receive(Group g, int from, void* data, size_t bytes, const Event& after) = 0;
  virtual std::shared_ptr<Event> started(Group g) = 0;
  // The device's own work from now on waits for it.
  virtual void hold(const Event& done) = 0;
  // Ends all that goes on. Whoever waits for the device gets the error `why` from now on.
  virtual void abort(const std::string& why) = 0;
  virtual void drop_group(Group g) = 0;  // by all members at once
};

// What the library exports.
using TransportVersion = const char* (*)();
using TransportMake = Transport* (*)();
constexpr const char* kTransportVersionName = "pijit_transport_version";
constexpr const char* kTransportMakeName = "pijit_make_transport";
constexpr const char* kTransportVersion = "pijit transport 1";

namespace processes {

// Opens the library and starts. Throws OpError (kRuntime) where that can't be.
void start(const std::string& library);
// Whether devices' own libraries move what lies there.
void use_devices(bool use);
bool started();
// Says goodbye and waits until all processes have: whoever waits for this one is told.
void stop();
void end();  // of the library, behind stop(): until then, start() starts again
void abort(int code);
void set_timeout(double seconds);  // of waiting for others; OpError unless positive

int rank();
int size();
int local_rank();
int local_size();

// A group of ranks ("world": all there are), made by all its members at once. Others know it
// without being members.
void make_group(const std::string& name, const std::vector<int>& ranks);
void drop_group(const std::string& name);

// `op` is what errors call it; memory is the device's. Blocks until the result is there, or is a
// part of the device's work; other threads have the GIL if the caller let go of it.
void run(std::string_view op, const std::string& group, Collective c, Device& d);
// Starts an all-reduce of a copy of the parts, in their order; its ticket.
int64_t start_all_reduce(std::string_view op, const std::string& group, Reduction r, DType dtype,
                         std::span<const std::pair<const void*, int64_t>> parts, Device& d);
// Waits for one, whose result goes to `out` on the same device. The ticket is void then.
void wait(std::string_view op, int64_t ticket, void* out, int64_t count);
// How many of these this thread has begun: code that has begun one must not run a second time.
uint64_t begun();
// To and from a member. Sending copies and does not wait.
void send(std::string_view op, const std::string& group, int to, int tag, DType dtype,
          const void* data, int64_t count, Device& d);
void receive(std::string_view op, const std::string& group, int from, int tag, DType dtype,
             void* data, int64_t count, Device& d);

}  // namespace processes
}  // namespace pijit
