// What processes know of each other while they compute together (runtime/collective.h), shared by
// the files that make it up: groups and the library's state (process_groups.cc), questions between
// processes and waits for others (processes.cc), collectives (collective.cc), what goes by a
// device's library (device_collectives.cc), messages between two (messages.cc). Nothing else
// includes this.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/gil.h"
#include "runtime/collective.h"
#include "runtime/kept_memory.h"

namespace pijit::processes {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
inline double seconds_since(Clock::time_point t) { return Seconds(Clock::now() - t).count(); }

struct Group {
  std::string name;
  std::vector<int> ranks;  // in the world, by rank in the group
  int own = -1;            // the rank of this process; -1: it is no member
  Transport::Group handle = nullptr;
  DeviceCollectives::Group of_device = nullptr;  // made when it is needed
  uint64_t id = 0;                               // the same at all members
  uint64_t entered = 0;                          // collectives that this process has come to
  int size() const { return static_cast<int>(ranks.size()); }
};
using GroupRef = std::shared_ptr<Group>;
uint64_t id_of(std::string_view name, const std::vector<int>& ranks);  // the same in all processes

// Questions between processes, beside the data.
enum Tag : int {
  kQuestion = 1,
  kAnswer = 2,
  kGathering = 3,
  kAsking = 4,
  kFirstOfUsers = 16,         // of their groups
  kFirstOfMessages = 1 << 14  // what lay on a device
};
struct Question {
  uint64_t group;
};
struct Answer {
  uint64_t group = 0, entered = 0;
  uint8_t ended = 0;
  uint8_t gave_up = 0;  // on a collective of this group
  char doing[54] = {};  // the last collective
};

// An all-reduce that was started.
struct Started {
  std::string op;
  GroupRef group;
  Collective c;
  Device* device = nullptr;
  Memory buffer;                           // on the host
  std::optional<DeviceBlock> there;        // on another device
  std::shared_ptr<Event> filled, reduced;  // there; `reduced` is null where the host did it
  bool done = false;                       // or, on another device, on its way
  std::exception_ptr error;
  // Whoever gets the memory next comes behind what still writes it.
  ~Started();
};

// A message that lies on this process's device until its receiver asks for it.
struct Outgoing {
  std::string op;
  int to = 0, tag = 0;  // a rank in the world
  size_t bytes = 0;
  Device* device = nullptr;
  std::shared_ptr<DeviceBlock> there;
  std::shared_ptr<Event> filled, sent;
};

// What a receiver asks of the sender of such a message.
struct Asking {
  enum How : uint8_t { kByDevice, kByHost, kDrop };
  uint64_t number = 0;  // of the sender's messages
  uint8_t how = kByDevice;
  char id[128] = {};  // where to meet, for the first one of a line
};
struct Asked {
  int from;
  Asking what;
};

// What a device is at, which the thread beside watches.
struct Running {
  std::string op;
  GroupRef group;
  std::shared_ptr<Event> done;
  Clock::time_point begin;
};

struct Engine {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Transport> ended;  // after stop(), until another start() or the end
  std::mutex calls;                  // of the transport
  std::mutex order;                  // held by the collective that runs
  int rank = 0, size = 1, local_rank = 0, local_size = 1;
  double timeout = 600;

  std::mutex mu;  // of all below
  std::condition_variable changed;
  std::map<std::string, GroupRef, std::less<>> groups;
  std::map<uint64_t, uint64_t> entered;  // by group id
  std::string doing;
  std::deque<std::shared_ptr<Started>> queue;
  bool busy = false, ending = false;
  std::map<int64_t, std::shared_ptr<Started>> tickets;
  int64_t next_ticket = 1;
  std::string broken;              // why nothing more can be done
  uint64_t broken_group = 0;       // where that came to light
  std::vector<std::string> hosts;  // by rank
  std::map<int, std::pair<Answer, Clock::time_point>> answers;
  bool use_devices = false;
  DeviceCollectives* on_device = nullptr;  // of the one device that has such a library
  std::deque<Running> running;
  std::vector<GroupRef> of_device;  // groups that it has made
  std::map<uint64_t, Outgoing> outgoing;
  std::deque<Outgoing> leaving;  // which were asked for
  uint64_t messages = 0;         // numbers those on devices

  std::deque<Asked> asked;              // under `calls`
  std::atomic<bool> to_deliver{false};  // there may be something for deliver() to do
  // Two processes have a line for each direction, so that no message waits for one that goes the
  // other way: a group of two for the device's library, beside all others. By rank in the world.
  std::mutex delivering;  // of the lines to others
  std::map<int, GroupRef> to_others;
  std::mutex receiving;  // of those from others
  std::map<int, GroupRef> from_others;

  struct Sending {
    Transport::Request request;
    std::vector<char> bytes;
  };
  std::deque<Sending> sending;           // under `calls`
  Transport::Group everybody = nullptr;  // for questions and the goodbye
  std::thread thread;
};
Engine& engine();

// This thread begins an operation that must not run a second time.
void count_begun();

[[noreturn]] void fail(std::string_view op, const std::string& why);
// With `calls`. A thread may be left that waits while another one ends communication.
Transport& transport_for(std::string_view op, const Transport::Group& g);
// Whoever holds it may wait for the GIL, which this thread may hold.
std::unique_lock<std::mutex> its_turn(std::mutex& m);
std::string rank_text(const Group& g, int member);
std::string full_rank_text(const Group& g, int member);  // with its machine, if there are several
// With `mu`.
void set_broken(const Group& g, std::string why);

// With `calls`.
void send_small(int to, int tag, const void* bytes, size_t n);
// Answers what others ask, hears what they answer, lets go of what is sent. With `calls`.
void serve();

// Of something that others have to do.
class Waiting {
 public:
  // members: those that are waited for. number: of the collective; 0: a message.
  Waiting(std::string_view op, const Group& g, std::vector<int> members, uint64_t number,
          bool of_python)
      : op_(op), g_(g), members_(std::move(members)), number_(number), of_python_(of_python) {}

  // Until ready() says so, which is asked with `calls`.
  void until(const std::function<bool()>& ready);

 private:
  void look();
  std::string overdue();
  [[noreturn]] void give_up(const std::string& why);

  const std::string op_;
  const Group& g_;
  const std::vector<int> members_;
  const uint64_t number_;
  const bool of_python_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point asked_ = begin_;
};

// Until `ready`, asked with `mu`; signals are handled meanwhile.
template <class F>
void wait_here(std::unique_lock<std::mutex>& lock, F ready) {
  Engine& e = engine();
  while (!ready()) {
    e.changed.wait_for(lock, std::chrono::milliseconds(5));
    if (ready() || !gil.turn) continue;
    lock.unlock();
    gil.turn();
    lock.lock();
  }
}

std::vector<int> others(const Group& g);
GroupRef group_of(std::string_view op, const std::string& name);

// Memory of an exchange outlives a wait that an exception ends.
struct Exchange {
  std::vector<char> own, all;
};
std::shared_ptr<Exchange> exchange(std::string_view op, const Group& g, const void* bytes, size_t n,
                                   uint64_t number, bool of_python);

// The device's library; null: what lies there goes by the host. For a collective that it has.
DeviceCollectives* library_of(Device& d);
DeviceCollectives* library_for(const Collective& c, Device& d);
// Where it lies, behind `after`: it is on its way then.
std::shared_ptr<Event> move_on_device(std::string_view op, const GroupRef& g, const Collective& c,
                                      DeviceCollectives& library, const Event& after,
                                      bool of_python);
// Until the library is through with a call, for which `members` may be needed.
void wait_until_ready(std::string_view op, const Group& g, std::vector<int> members,
                      DeviceCollectives& library, bool of_python);
// What the library has just started is watched until it is done.
std::shared_ptr<Event> note_started(std::string_view op, const GroupRef& g,
                                    DeviceCollectives& library);
// Ends what goes on on the device, whose values nobody can rely on then.
void abort_on_device();
// What devices are at: forgets what is done. What fails, or does not end, ends all of it, so that
// nobody waits for ever.
void watch();
// Sends what receivers have asked for. Does not wait for them.
void deliver();

// Of the thread beside: runs what was started, answers others, watches devices.
void progress();
// Until devices have done what they are at, or it was ended.
void wait_for_devices();

}  // namespace pijit::processes
