#include "runtime/collective.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/gil.h"
#include "base/log.h"

namespace pijit {

std::optional<Reduction> reduction_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"sum", "max", "min", "prod"};
  for (size_t k = 0; k < std::size(kNames); ++k)
    if (kNames[k] == name) return static_cast<Reduction>(k);
  return std::nullopt;
}

namespace processes {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
double seconds_since(Clock::time_point t) { return Seconds(Clock::now() - t).count(); }

constexpr const char* kKindNames[] = {"barrier",        "all-reduce", "all-gather",
                                      "reduce-scatter", "broadcast",  "reduce",
                                      "gather",         "scatter",    "all-to-all"};
constexpr const char* kReductionNames[] = {"sum", "max", "min", "prod"};

// What members compare before data moves.
struct Intent {
  uint8_t kind = 0, reduction = 0, dtype = 0;
  uint8_t by_device = 0;  // it could go by the device's library: not compared
  int32_t root = 0;
  int64_t count = 0;
  uint64_t number = 0;  // of the group's collectives
  bool fits(const Intent& o) const {
    return kind == o.kind && reduction == o.reduction && dtype == o.dtype && root == o.root &&
           count == o.count && number == o.number;
  }
  std::string str() const {
    std::string s = kKindNames[kind];
    const bool reduces = kind == Collective::kAllReduce || kind == Collective::kReduceScatter ||
                         kind == Collective::kReduce;
    if (kind == Collective::kBarrier) return s;
    if (reduces) s += str_cat(" (", kReductionNames[reduction], ")");
    if (kind != Collective::kAllToAll) s += str_cat(" of ", count);
    s += str_cat(" ", public_name_of(static_cast<DType>(dtype)));
    const bool rooted = kind == Collective::kBroadcast || kind == Collective::kReduce ||
                        kind == Collective::kGather || kind == Collective::kScatter;
    return rooted ? str_cat(s, " with root ", root) : s;
  }
};

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

uint64_t id_of(std::string_view name, const std::vector<int>& ranks) {
  uint64_t h = 0xcbf29ce484222325ull;  // FNV-1a: the same in all processes
  auto mix = [&](uint8_t byte) { h = (h ^ byte) * 0x100000001b3ull; };
  for (const char c : name) mix(static_cast<uint8_t>(c));
  for (const int r : ranks)
    for (int k = 0; k < 4; ++k) mix(static_cast<uint8_t>(r >> (8 * k)));
  return h;
}

// Questions between processes, beside the data.
enum Tag : int { kQuestion = 1, kAnswer = 2, kGathering = 3, kFirstOfUsers = 16 };
struct Question {
  uint64_t group;
};
struct Answer {
  uint64_t group = 0, entered = 0;
  uint8_t ended = 0;
  uint8_t gave_up = 0;  // on a collective of this group
  char doing[54] = {};  // the last collective
};
struct MessageHead {
  int64_t count;
  uint8_t dtype;
  uint8_t unused[7];
};

// Memory of collectives, kept for the next ones: fresh pages would cost more than the copies. What
// the next kUnused collectives do not take is freed.
class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t bytes) : bytes_(bytes) {
    Pool& pool = kept();
    std::lock_guard lock(pool.mu);
    const auto it = std::find_if(pool.free.rbegin(), pool.free.rend(),
                                 [&](const Free& f) { return f.bytes == bytes; });
    if (it == pool.free.rend()) {
      p_ = static_cast<char*>(::operator new(bytes));
    } else {
      p_ = it->p;
      pool.bytes -= bytes;
      pool.free.erase(std::next(it).base());
    }
  }
  ~Memory() {
    if (!p_) return;
    Pool& pool = kept();
    std::lock_guard lock(pool.mu);
    pool.free.push_back({p_, bytes_, ++pool.number});
    pool.bytes += bytes_;
    constexpr size_t kMost = size_t{1} << 30;
    constexpr uint64_t kUnused = 256;
    while (!pool.free.empty() &&  // what is larger than kMost is not kept itself
           (pool.bytes > kMost || pool.free.front().number + kUnused < pool.number))
      pool.drop();
  }
  static void free_all() {
    Pool& pool = kept();
    std::lock_guard lock(pool.mu);
    while (!pool.free.empty()) pool.drop();
  }
  Memory(Memory&& o) noexcept
      : p_(std::exchange(o.p_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  Memory& operator=(Memory&& o) noexcept {
    std::swap(p_, o.p_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  char* data() const { return p_; }
  size_t size() const { return bytes_; }

 private:
  struct Free {
    char* p;
    size_t bytes;
    uint64_t number;  // of the release
  };
  struct Pool {
    std::mutex mu;
    std::deque<Free> free;  // the oldest first
    size_t bytes = 0;
    uint64_t number = 0;
    void drop() {
      ::operator delete(free.front().p);
      bytes -= free.front().bytes;
      free.pop_front();
    }
  };
  static Pool& kept() {
    static auto* p = new Pool;  // threads may outlive static destruction
    return *p;
  }
  char* p_ = nullptr;
  size_t bytes_ = 0;
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

  struct Sending {
    Transport::Request request;
    std::vector<char> bytes;
  };
  std::deque<Sending> sending;           // under `calls`
  Transport::Group everybody = nullptr;  // for questions and the goodbye
  std::thread thread;
};
Engine& engine() {
  static auto* e = new Engine;  // threads may outlive static destruction
  return *e;
}

thread_local uint64_t begun_here = 0;

[[noreturn]] void fail(std::string_view op, const std::string& why) {
  throw OpError(OpError::kRuntime, str_cat("[", op, "] ", why));
}
// With `calls`. A thread may be left that waits while another one ends communication.
Transport& transport_for(std::string_view op, const Transport::Group& g) {
  Engine& e = engine();
  if (!e.transport || !g) fail(op, "communication has ended");
  return *e.transport;
}
// Whoever holds it may wait for the GIL, which this thread may hold.
std::unique_lock<std::mutex> its_turn() {
  std::unique_lock lock(engine().order, std::defer_lock);
  while (!lock.try_lock()) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (gil.turn) gil.turn();
  }
  return lock;
}
std::string rank_text(const Group& g, int member) {
  return str_cat("rank ", g.ranks[static_cast<size_t>(member)]);
}
// With its machine, where there are several.
std::string full_rank_text(const Group& g, int member) {
  const Engine& e = engine();
  const std::string text = str_cat(rank_text(g, member), " of ", e.size);
  const auto world = static_cast<size_t>(g.ranks[static_cast<size_t>(member)]);
  const bool several = std::any_of(e.hosts.begin(), e.hosts.end(),
                                   [&](const std::string& h) { return h != e.hosts[0]; });
  return several ? str_cat(text, " (on ", e.hosts[world], ")") : text;
}
// With `mu`.
void set_broken(const Group& g, std::string why) {
  Engine& e = engine();
  if (!e.broken.empty()) return;
  e.broken = std::move(why);
  e.broken_group = g.id;
}

// With `calls`.
void send_small(int to, int tag, const void* bytes, size_t n) {
  Engine& e = engine();
  const char* from = static_cast<const char*>(bytes);
  Engine::Sending s{nullptr, {from, from + n}};
  s.request = e.transport->start_send(e.everybody, to, tag, s.bytes.data(), n);
  e.sending.push_back(std::move(s));
}

// Answers what others ask, hears what they answer, lets go of what is sent. With `calls`.
void serve() {
  Engine& e = engine();
  while (const auto m = e.transport->probe(e.everybody, -1, kQuestion)) {
    Question q{};
    e.transport->receive(e.everybody, m->from, kQuestion, &q, sizeof q);
    Answer a;
    a.group = q.group;
    {
      std::lock_guard lock(e.mu);
      const auto it = e.entered.find(q.group);
      a.entered = it == e.entered.end() ? 0 : it->second;
      a.ended = e.ending;
      a.gave_up = !e.broken.empty() && e.broken_group == q.group;
      std::strncpy(a.doing, e.doing.c_str(), sizeof a.doing - 1);
    }
    send_small(m->from, kAnswer, &a, sizeof a);
  }
  while (const auto m = e.transport->probe(e.everybody, -1, kAnswer)) {
    Answer a;
    e.transport->receive(e.everybody, m->from, kAnswer, &a, sizeof a);
    std::lock_guard lock(e.mu);
    e.answers[m->from] = {a, Clock::now()};
  }
  for (size_t k = e.sending.size(); k > 0; --k) {
    auto s = std::move(e.sending.front());
    e.sending.pop_front();
    if (!e.transport->done(s.request)) e.sending.push_back(std::move(s));
  }
}

// Of something that others have to do.
class Waiting {
 public:
  // members: those that are waited for. number: of the collective; 0: a message.
  Waiting(std::string_view op, const Group& g, std::vector<int> members, uint64_t number,
          bool of_python)
      : op_(op), g_(g), members_(std::move(members)), number_(number), of_python_(of_python) {}

  // Until ready() says so, which is asked with `calls`.
  void until(const std::function<bool()>& ready) {
    Engine& e = engine();
    for (int turn = 0;; ++turn) {
      {
        std::lock_guard lock(e.calls);
        transport_for(op_, g_.handle);
        if (ready()) return;
        if (turn % 16 == 15) serve();
      }
      // Awake for some microseconds; then asleep, as whoever wakes comes before those that compute.
      if (turn < 64) {
        for (int k = 0; k < 32; ++k) __builtin_ia32_pause();
        continue;
      }
      const int pause = turn < 200 ? 10 : turn < 1000 ? 50 : 200;
      std::this_thread::sleep_for(std::chrono::microseconds(pause));
      if (of_python_ && gil.turn) gil.turn();
      look();
    }
  }

 private:
  void look() {
    Engine& e = engine();
    const double waited = seconds_since(begin_), every = std::min(1.0, e.timeout / 4);
    if (seconds_since(asked_) > every) {
      asked_ = Clock::now();
      std::lock_guard lock(e.calls);
      transport_for(op_, g_.handle);
      const Question q{g_.id};
      for (const int m : members_) send_small(g_.ranks[m], kQuestion, &q, sizeof q);
    }
    std::string why;
    {
      std::lock_guard lock(e.mu);
      for (const int m : members_) {
        const auto it = e.answers.find(g_.ranks[m]);
        if (it == e.answers.end() || it->second.second < begin_) continue;
        const Answer& a = it->second.first;
        if (a.ended && (!number_ || a.group != g_.id || a.entered < number_))
          why = str_cat(full_rank_text(g_, m), " has ended, so that it will not take part",
                        last_of(a));
        else if (a.gave_up && number_ && a.group == g_.id && a.entered <= number_)
          why = str_cat(full_rank_text(g_, m), " has given up waiting for the others", last_of(a));
      }
    }
    if (!why.empty()) give_up(why);
    if (waited > e.timeout) give_up(overdue());
  }
  static std::string last_of(const Answer& a) {
    return a.doing[0] ? str_cat("; its last operation was ", a.doing) : std::string();
  }
  std::string overdue() {
    Engine& e = engine();
    std::lock_guard lock(e.mu);
    std::string text = str_cat("no result within ", e.timeout, " s in group '", g_.name, "': ");
    std::string missing;
    for (const int m : members_) {
      const auto it = e.answers.find(g_.ranks[m]);
      const bool heard = it != e.answers.end() && it->second.second >= begin_;
      std::string about;
      if (!heard)
        about = "does not answer";
      else if (!number_)
        about = str_cat("has not sent it", last_of(it->second.first));
      else if (it->second.first.group == g_.id && it->second.first.entered < number_)
        about = str_cat("has not come to it", last_of(it->second.first));
      if (!about.empty())
        missing += str_cat(missing.empty() ? "" : "; ", full_rank_text(g_, m), " ", about);
    }
    return text + (missing.empty() ? "all ranks have come to it, but it does not end" : missing) +
           ". PIJIT_COMM_TIMEOUT sets the time.";
  }
  [[noreturn]] void give_up(const std::string& why) {
    Engine& e = engine();
    {
      std::lock_guard lock(e.mu);
      set_broken(g_, why);
    }
    fail(op_, why);
  }

  const std::string op_;
  const Group& g_;
  const std::vector<int> members_;
  const uint64_t number_;
  const bool of_python_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point asked_ = begin_;
};

std::vector<int> others(const Group& g) {
  std::vector<int> m;
  for (int k = 0; k < g.size(); ++k)
    if (k != g.own) m.push_back(k);
  return m;
}

GroupRef group_of(std::string_view op, const std::string& name) {
  Engine& e = engine();
  std::lock_guard lock(e.mu);
  if (!e.broken.empty()) fail(op, str_cat("communication has failed before: ", e.broken));
  OP_CHECK(e.transport, kRuntime, "[", op,
           "] communication of several processes is not initialized: call "
           "mindspore.communication.init()");
  const auto it = e.groups.find(name);
  OP_CHECK(it != e.groups.end(), kValue, "[", op, "] the group '", name,
           "' does not exist: call create_group first");
  OP_CHECK(it->second->own >= 0, kValue, "[", op, "] rank ", e.rank, " is not in group '", name,
           "'");
  return it->second;
}

// Memory of an exchange outlives a wait that an exception ends.
struct Exchange {
  std::vector<char> own, all;
};
std::shared_ptr<Exchange> exchange(std::string_view op, const Group& g, const void* bytes, size_t n,
                                   uint64_t number, bool of_python) {
  Engine& e = engine();
  auto x = std::make_shared<Exchange>();
  x->own.assign(static_cast<const char*>(bytes), static_cast<const char*>(bytes) + n);
  x->all.resize(n * g.ranks.size());
  Transport::Request request;
  {
    std::lock_guard lock(e.calls);
    request = transport_for(op, g.handle).start_exchange(g.handle, x->own.data(), x->all.data(), n);
  }
  try {
    Waiting(op, g, others(g), number, of_python).until([&] { return e.transport->done(request); });
  } catch (...) {
    static auto* left = new std::deque<std::shared_ptr<Exchange>>;
    std::lock_guard lock(e.mu);
    left->push_back(x);
    set_broken(g, str_cat("a wait of '", op, "' for other ranks was interrupted"));
    throw;
  }
  return x;
}

// Whether all could go by their devices' libraries.
bool check_agreement(std::string_view op, const Group& g, const Intent& own, const Exchange& x) {
  const auto at = [&](int m) {
    Intent i;
    std::memcpy(&i, x.all.data() + sizeof i * static_cast<size_t>(m), sizeof i);
    return i;
  };
  bool same = true;
  bool by_device = true;
  for (int m = 0; m < g.size(); ++m) same &= at(m).fits(own), by_device &= at(m).by_device != 0;
  if (same) return by_device;
  std::string text;
  for (int m = 0; m < g.size() && m < 16; ++m)
    text +=
        str_cat(m ? "; " : "", rank_text(g, m), ": ", at(m).str(), " (number ", at(m).number, ")");
  fail(op, str_cat("all ranks of group '", g.name,
                   "' must do the same with tensors of one size and dtype, but got ", text));
}

void check_counts(std::string_view op, const Group& g, const Collective& c, bool of_python,
                  uint64_t number) {
  const auto x =
      exchange(op, g, c.to_send.data(), c.to_send.size() * sizeof(int64_t), number, of_python);
  const auto sends = [&](int from, int to) {
    int64_t n;
    std::memcpy(&n, x->all.data() + sizeof n * static_cast<size_t>(from * g.size() + to), sizeof n);
    return n;
  };
  // All members see all counts but their receive counts: they tell what fits by a second exchange.
  int64_t wrong = -1;
  for (int m = 0; m < g.size(); ++m)
    if (sends(m, g.own) != c.to_receive[static_cast<size_t>(m)]) wrong = m;
  const auto verdict = exchange(op, g, &wrong, sizeof wrong, number, of_python);
  for (int m = 0; m < g.size(); ++m) {
    int64_t from;
    std::memcpy(&from, verdict->all.data() + sizeof from * static_cast<size_t>(m), sizeof from);
    if (from >= 0)
      fail(op, str_cat(rank_text(g, static_cast<int>(from)), " sends ",
                       sends(static_cast<int>(from), m), " elements to ", rank_text(g, m),
                       ", which expects another number of them"));
  }
}

// All members have come and do the same: what runs now, when it is its turn. Whether it goes by the
// devices' libraries.
bool agree(std::string_view op, Group& g, const Collective& c, bool by_device, bool of_python) {
  Engine& e = engine();
  Intent own;
  own.kind = c.kind;
  own.reduction = static_cast<uint8_t>(c.reduction);
  own.dtype = static_cast<uint8_t>(c.dtype);
  own.by_device = by_device;
  own.root = c.root;
  own.count = c.count;
  own.number = ++g.entered;
  {
    std::lock_guard lock(e.mu);
    e.entered[g.id] = g.entered;
    e.doing = str_cat(op, " ", own.number, " of ", g.name);
  }
  by_device =
      check_agreement(op, g, own, *exchange(op, g, &own, sizeof own, own.number, of_python));
  if (c.kind == Collective::kAllToAll) check_counts(op, g, c, of_python, own.number);
  return by_device;
}

// By the transport, in memory of the host.
void move(std::string_view op, const Group& g, const Collective& c, bool of_python) {
  Engine& e = engine();
  if (c.kind == Collective::kBarrier) return;
  // Libraries count in ints: longer ones in pieces, where elements are independent.
  constexpr int64_t kMost = int64_t{1} << 30;
  const auto size = static_cast<int64_t>(size_of(c.dtype));
  const bool in_pieces = c.kind == Collective::kAllReduce || c.kind == Collective::kBroadcast ||
                         c.kind == Collective::kReduce;
  for (int64_t at = 0; at == 0 || at < c.count; at += in_pieces ? kMost : c.count) {
    Collective piece = c;
    if (in_pieces) {
      piece.count = std::min(kMost, c.count - at);
      piece.in = static_cast<const char*>(c.in) + at * size;
      piece.out = static_cast<char*>(c.out) + at * size;
    }
    Transport::Request request;
    {
      std::lock_guard lock(e.calls);
      request = transport_for(op, g.handle).start(g.handle, piece);
    }
    try {
      Waiting(op, g, others(g), g.entered, of_python).until([&] {
        return e.transport->done(request);
      });
    } catch (...) {
      // The library may go on with the memory for ever (which is why it is the engine's).
      std::lock_guard lock(e.mu);
      set_broken(g, str_cat("a wait of '", op, "' was interrupted"));
      throw;
    }
    if (c.count == 0) break;
  }
}

// The library that could do it where it lies; null: by the host.
DeviceCollectives* library_for(const Collective& c, Device& d) {
  Engine& e = engine();
  if (d.is_host() || !e.use_devices || c.kind == Collective::kBarrier) return nullptr;
  std::string why;
  DeviceCollectives* library = d.collectives(&why);
  if (!library) {
    PIJIT_LOG("exec", "communication: by the host: ", why);
    return nullptr;
  }
  std::lock_guard lock(e.mu);
  e.on_device = library;
  return library->has(c) ? library : nullptr;
}

// Ends what goes on on the device, whose values nobody can rely on then.
void abort_on_device() {
  Engine& e = engine();
  std::string why;
  {
    std::lock_guard lock(e.mu);
    why = e.broken;
    e.running.clear();
    e.changed.notify_all();
  }
  e.on_device->abort(why);
}

// Until the library is through with a call.
void wait_until_ready(std::string_view op, const Group& g, DeviceCollectives& library,
                      bool of_python) {
  std::string why = "a wait for the device's library was interrupted";
  try {
    Waiting(op, g, others(g), g.entered, of_python).until([&] {
      try {
        return library.ready(g.of_device);
      } catch (const OpError& x) {
        why = x.what();
        throw;
      }
    });
  } catch (...) {
    {
      std::lock_guard lock(engine().mu);
      set_broken(g, std::move(why));
    }
    abort_on_device();
    throw;
  }
}

// Where it lies, behind `after`: it is on its way then.
std::shared_ptr<Event> move_on_device(std::string_view op, const GroupRef& g, const Collective& c,
                                      DeviceCollectives& library, const Event& after,
                                      bool of_python) {
  Engine& e = engine();
  if (!g->of_device) {
    // The member of rank 0 tells the others by the transport where to meet.
    std::vector<char> id(library.id_bytes());
    if (g->own == 0) id = library.make_id();
    const auto ids = exchange(op, *g, id.data(), id.size(), g->entered, of_python);
    g->of_device = library.make_group({ids->all.data(), id.size()}, g->size(), g->own);
    {
      std::lock_guard lock(e.mu);
      e.of_device.push_back(g);
    }
    wait_until_ready(op, *g, library, of_python);
  }
  library.start(g->of_device, c, after);
  wait_until_ready(op, *g, library, of_python);
  std::shared_ptr<Event> done = library.started();
  std::lock_guard lock(e.mu);
  e.running.push_back({std::string(op), g, done, Clock::now()});
  return done;
}

// Asks all members how they are: those that do not answer within 2 seconds, in words.
std::string missing_of(const Group& g) {
  Engine& e = engine();
  const auto begin = Clock::now();
  const auto heard = [&](int m) {
    std::lock_guard lock(e.mu);
    const auto it = e.answers.find(g.ranks[static_cast<size_t>(m)]);
    return it != e.answers.end() && it->second.second >= begin;
  };
  const std::vector<int> all = others(g);
  {
    std::lock_guard lock(e.calls);
    const Question q{g.id};
    for (const int m : all) send_small(g.ranks[static_cast<size_t>(m)], kQuestion, &q, sizeof q);
  }
  while (seconds_since(begin) < 2 && !std::all_of(all.begin(), all.end(), heard)) {
    {
      std::lock_guard lock(e.calls);
      serve();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::string text;
  for (const int m : all)
    if (!heard(m))
      text += str_cat(text.empty() ? "" : "; ", full_rank_text(g, m), " does not answer");
  return text;
}

// What devices are at: forgets what is done. What fails, or does not end, ends all of it, so that
// nobody waits for ever.
void watch() {
  Engine& e = engine();
  Running first;
  bool broken;
  {
    std::lock_guard lock(e.mu);
    if (e.running.empty()) return;
    first = e.running.front();
    broken = !e.broken.empty();
  }
  if (broken) return abort_on_device();
  std::string why;
  try {
    if (first.done->done()) {
      std::lock_guard lock(e.mu);
      while (!e.running.empty() && e.running.front().done->done()) e.running.pop_front();
      e.changed.notify_all();
      return;
    }
    e.on_device->ready(first.group->of_device);
  } catch (const OpError& x) {
    why = x.what();
  }
  const Group& g = *first.group;
  const bool failed = !why.empty();
  if (!failed && seconds_since(first.begin) < e.timeout) return;
  const std::string missing = missing_of(g);
  if (failed)
    why += missing.empty() ? "" : ": " + missing;
  else
    why =
        str_cat("no result of ", first.op, " within ", e.timeout, " s in group '", g.name,
                "': ", missing.empty() ? "all ranks have come to it, but it does not end" : missing,
                ". PIJIT_COMM_TIMEOUT sets the time.");
  {
    std::lock_guard lock(e.mu);
    set_broken(g, std::move(why));
  }
  abort_on_device();
}

// Bytes that a member reads and writes.
struct Parts {
  size_t in = 0, out = 0;
};
Parts parts_of(const Collective& c, const Group& g) {
  const size_t one = static_cast<size_t>(c.count) * size_of(c.dtype), all = one * g.ranks.size();
  const bool root = c.root == g.own;
  switch (c.kind) {
    case Collective::kBarrier: return {};
    case Collective::kAllReduce: return {one, one};
    case Collective::kAllGather: return {one, all};
    case Collective::kReduceScatter: return {all, one};
    case Collective::kBroadcast:
    case Collective::kReduce: return {one, one};
    case Collective::kGather: return {one, root ? all : 0};
    case Collective::kScatter: return {root ? all : 0, one};
    case Collective::kAllToAll: break;
  }
  Parts p;
  for (const int64_t n : c.to_send) p.in += static_cast<size_t>(n) * size_of(c.dtype);
  for (const int64_t n : c.to_receive) p.out += static_cast<size_t>(n) * size_of(c.dtype);
  return p;
}

// What the library may still read or write after a wait that an exception ended.
void keep_for_ever(std::shared_ptr<void> memory) {
  static auto* kept = new std::deque<std::shared_ptr<void>>;
  Engine& e = engine();
  std::lock_guard lock(e.mu);
  if (!e.broken.empty()) kept->push_back(std::move(memory));
}

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

// Until devices have done what they are at, or it was ended.
void wait_for_devices() {
  Engine& e = engine();
  std::unique_lock lock(e.mu);
  wait_here(lock, [&] { return (e.queue.empty() && !e.busy) || !e.broken.empty(); });
  const std::deque<Running> all = e.running;
  lock.unlock();
  try {
    for (auto& r : all) r.done->wait();
  } catch (const OpError& x) {
    PIJIT_LOG("exec", "communication: ", x.what());
  }
}

// By memory of the host, wherever it lies.
void move_by_host(std::string_view op, const Group& g, Collective c, Device& d, bool of_python) {
  const Parts parts = parts_of(c, g);
  // The library's memory is the engine's, as an exception may end the wait for it.
  auto own = std::make_shared<std::pair<Memory, Memory>>(Memory(parts.in), Memory(parts.out));
  void* const out = c.out;
  if (parts.in && c.in) d.to_host(own->first.data(), c.in, parts.in);
  c.in = own->first.data();
  c.out = own->second.data();
  if (c.kind == Collective::kAllReduce) c.out = own->first.data();
  try {
    move(op, g, c, of_python);
  } catch (...) {
    keep_for_ever(std::move(own));
    throw;
  }
  if (!parts.out || !out) return;
  d.from_host(out, c.out, parts.out);
  d.synchronize();  // before the memory is used again
}

Started::~Started() {
  if (!reduced) return;
  try {
    engine().on_device->hold(*reduced);
  } catch (const OpError& x) {
    PIJIT_LOG("exec", "communication: ", x.what());
  }
}

// Of the thread beside.
void run_started(Started& s) {
  std::lock_guard turn(engine().order);
  DeviceCollectives* library = library_for(s.c, *s.device);
  if (agree(s.op, *s.group, s.c, library != nullptr, false))
    s.reduced = move_on_device(s.op, s.group, s.c, *library, *s.filled, false);
  else if (s.device->is_host())
    move(s.op, *s.group, s.c, false);
  else
    move_by_host(s.op, *s.group, s.c, *s.device, false);
}

void progress() {
  Engine& e = engine();
  std::unique_lock lock(e.mu);
  while (true) {
    if (e.queue.empty()) {
      if (e.ending) return;
      e.changed.wait_for(lock, std::chrono::milliseconds(20));
      if (!e.queue.empty() || e.ending) continue;
      lock.unlock();
      if (std::unique_lock calls(e.calls, std::try_to_lock); calls) {
        try {
          serve();
        } catch (const OpError& x) {
          PIJIT_LOG("exec", "communication: ", x.what());
        }
      }
      watch();
      lock.lock();
      continue;
    }
    const auto s = e.queue.front();
    e.queue.pop_front();
    e.busy = true;
    const std::string broken = e.broken;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (!broken.empty()) fail(s->op, str_cat("communication has failed before: ", broken));
      run_started(*s);
    } catch (...) {
      error = std::current_exception();
      keep_for_ever(s);
    }
    lock.lock();
    // A program that gets the error of the first of several waits for none of the others.
    if (error && e.broken.empty()) s->buffer = Memory(), s->there.reset();
    s->done = true, s->error = error;
    e.busy = false;
    e.changed.notify_all();
  }
}

void check_partner(std::string_view op, const Group& g, int member, int tag) {
  OP_CHECK(member >= 0 && member < g.size(), kValue, "[", op, "] there is no rank ", member,
           " in group '", g.name, "' of ", g.size());
  OP_CHECK(member != g.own, kValue, "[", op, "] rank ", member, " is this process itself");
  constexpr int kMostTags = 30000;
  OP_CHECK(tag >= 0 && tag <= kMostTags, kValue, "[", op, "] the tag must be from 0 to ", kMostTags,
           ", got ", tag);
}

// With all others, as communication begins: the world is a group.
void meet() {
  Engine& e = engine();
  e.rank = e.transport->rank();
  e.size = e.transport->size();
  e.local_rank = e.transport->local_rank();
  e.local_size = e.transport->local_size();
  std::vector<int> all(static_cast<size_t>(e.size));
  for (int k = 0; k < e.size; ++k) all[static_cast<size_t>(k)] = k;
  e.everybody = e.transport->make_group(all, 0);
  auto world = std::make_shared<Group>();
  world->name = "world";
  world->ranks = all;
  world->own = e.rank;
  world->id = id_of(world->name, all);
  world->handle = e.transport->make_group(all, 1);
  {
    std::lock_guard lock(e.mu);
    e.ending = false;
    e.broken.clear();
    e.groups["world"] = std::move(world);
  }
  char own[64] = {};
  gethostname(own, sizeof own - 1);
  const auto names = exchange("init", *group_of("init", "world"), own, sizeof own, 0, false);
  e.hosts.clear();
  for (size_t k = 0; k < all.size(); ++k) e.hosts.emplace_back(names->all.data() + k * sizeof own);
}

// Forgets the others and all groups; the library waits for another start, or its end. With `calls`
// where others may call it.
void leave() {
  Engine& e = engine();
  std::unique_lock of_groups(e.mu);
  if (e.broken.empty())
    for (const GroupRef& g : e.of_device) e.on_device->drop_group(g->of_device);
  e.of_device.clear();
  e.running.clear();
  for (auto& [name, g] : e.groups)
    if (g->handle) e.transport->drop_group(std::exchange(g->handle, nullptr));
  if (e.everybody) e.transport->drop_group(std::exchange(e.everybody, nullptr));
  e.groups.clear();
  e.entered.clear();
  e.answers.clear();
  auto unread_results = std::exchange(e.tickets, {});
  e.hosts.clear();
  Memory::free_all();
  e.ended = std::move(e.transport);
  e.rank = e.local_rank = 0;
  e.size = e.local_size = 1;
  of_groups.unlock();
  unread_results.clear();
}

}  // namespace

void start(const std::string& library) {
  Engine& e = engine();
  OP_CHECK(!e.transport, kRuntime, "[init] communication is initialized already");
  void* lib = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);  // MPI's own plug-ins look there
  OP_CHECK(lib, kRuntime, "[init] the MPI plug-in cannot be loaded: ", dlerror());
  const auto version = reinterpret_cast<TransportVersion>(dlsym(lib, kTransportVersionName));
  const auto make = reinterpret_cast<TransportMake>(dlsym(lib, kTransportMakeName));
  OP_CHECK(version && make && std::string_view(version()) == kTransportVersion, kRuntime, "[init] ",
           library, " belongs to another build of pijit");
  e.transport = e.ended ? std::move(e.ended) : std::unique_ptr<Transport>(make());
  try {
    meet();
  } catch (...) {
    leave();  // so that another start() begins anew
    throw;
  }
  e.thread = std::thread(progress);
}

bool started() { return engine().transport != nullptr; }

void use_devices(bool use) { engine().use_devices = use; }

void set_timeout(double seconds) {
  OP_CHECK(seconds > 0, kValue, "[set_timeout] the time must be positive, got ", seconds);
  engine().timeout = seconds;
}

int rank() { return engine().rank; }
int size() { return engine().size; }
int local_rank() { return engine().local_rank; }
int local_size() { return engine().local_size; }

void abort(int code) {
  Engine& e = engine();
  if (e.transport) e.transport->abort(code);
}

void stop() {
  Engine& e = engine();
  if (!e.transport) return;
  wait_for_devices();
  {
    std::unique_lock lock(e.mu);
    wait_here(lock, [&] {
      return (e.queue.empty() && !e.busy && e.running.empty()) || !e.broken.empty();
    });
    e.ending = true;
    e.doing = "the end of its program";
    e.changed.notify_all();
  }
  e.thread.join();
  Transport::Request goodbye;
  char own = 0;
  std::vector<char> all(static_cast<size_t>(e.size));
  {
    std::lock_guard lock(e.calls);
    goodbye = e.transport->start_exchange(e.everybody, &own, all.data(), 1);
  }
  while (true) {  // as long as the others take
    {
      std::lock_guard lock(e.calls);
      serve();
      if (e.transport->done(goodbye)) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (gil.turn) gil.turn();
  }
  std::lock_guard lock(e.calls);
  // All have said goodbye: what is not received soon, nobody receives.
  const auto begin = Clock::now();
  while (!e.sending.empty() && seconds_since(begin) < 0.2) serve();
  static auto* unread = new std::deque<Engine::Sending>;
  std::move(e.sending.begin(), e.sending.end(), std::back_inserter(*unread));
  e.sending.clear();
  leave();
}

void end() {
  Engine& e = engine();
  std::lock_guard lock(e.calls);
  if (e.ended) e.ended->end();
  e.ended.reset();
}

uint64_t begun() { return begun_here; }

void make_group(const std::string& name, const std::vector<int>& ranks) {
  Engine& e = engine();
  auto g = std::make_shared<Group>();
  g->name = name;
  g->ranks = ranks;
  g->id = id_of(name, ranks);
  const auto own = std::find(ranks.begin(), ranks.end(), e.rank);
  if (own != ranks.end()) g->own = static_cast<int>(own - ranks.begin());
  if (g->own >= 0 && g->size() > 1) {
    // The member of least rank hears from all others before the library, which would wait for ever,
    // makes the group; then it tells them whether all list the ranks in one order.
    std::vector<int> sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    Group everybody;
    everybody.name = name;
    everybody.id = g->id;
    everybody.ranks = sorted;
    everybody.own =
        static_cast<int>(std::find(sorted.begin(), sorted.end(), e.rank) - sorted.begin());
    everybody.handle = e.everybody;
    const int tag = kGathering + static_cast<int>(id_of(name, sorted) % 4099) * 2 + kFirstOfUsers;
    struct Order {
      uint64_t id;
      int64_t other;  // a rank whose order differs, -1: there is none
    } order{g->id, -1};
    const auto hear = [&](int member) {
      Order heard{};
      Waiting("create_group", everybody, {member}, 1, true).until([&] {
        const auto m = e.transport->probe(e.everybody, sorted[static_cast<size_t>(member)], tag);
        if (!m) return false;
        e.transport->receive(e.everybody, m->from, tag, &heard, sizeof heard);
        return true;
      });
      return heard;
    };
    const auto tell = [&](int member) {
      std::lock_guard lock(e.calls);
      send_small(sorted[static_cast<size_t>(member)], tag, &order, sizeof order);
    };
    if (everybody.own == 0) {
      for (int m = 1; m < g->size(); ++m)
        if (hear(m).id != g->id && order.other < 0) order.other = sorted[static_cast<size_t>(m)];
      for (int m = 1; m < g->size(); ++m) tell(m);
    } else {
      tell(0);
      order = hear(0);
    }
    std::string listed;
    for (const int r : ranks) listed += str_cat(listed.empty() ? "" : ", ", r);
    OP_CHECK(order.other < 0, kValue, "[create_group] all ranks must list the ranks of group '",
             name, "' in one order, but rank ", order.other, " has another one than rank ",
             sorted[0], "; rank ", e.rank, " lists [", listed, "]");
  }
  if (g->own >= 0) {
    const auto order = its_turn();
    std::lock_guard lock(e.calls);
    g->handle = e.transport->make_group(ranks, 1 + static_cast<int>(g->id % 16381));
  }
  std::lock_guard lock(e.mu);
  e.groups[name] = std::move(g);
}

void drop_group(const std::string& name) {
  Engine& e = engine();
  std::lock_guard lock(e.mu);
  const auto it = e.groups.find(name);
  if (it == e.groups.end()) return;
  e.entered.erase(it->second->id);
  e.groups.erase(it);  // the library's group stays: to free it all members would have to come
}

void run(std::string_view op, const std::string& group, Collective c, Device& d) {
  Engine& e = engine();
  const GroupRef g = group_of(op, group);
  const auto n = static_cast<size_t>(g->size());
  OP_CHECK(c.members == g->size(), kValue, "[", op, "] was made for a group of ", c.members,
           " ranks, but '", group, "' has ", g->size());
  OP_CHECK(c.root >= 0 && c.root < g->size(), kValue, "[", op, "] there is no rank ", c.root,
           " in group '", group, "' of ", g->size());
  OP_CHECK(c.kind != Collective::kAllToAll || (c.to_send.size() == n && c.to_receive.size() == n),
           kValue, "[", op, "] needs a number of elements for each of the ", n, " ranks");
  {
    std::unique_lock lock(e.mu);
    wait_here(lock, [&] { return e.queue.empty() && !e.busy; });
  }
  DeviceCollectives* library = library_for(c, d);
  const auto turn = its_turn();
  ++begun_here;
  if (!agree(op, *g, c, library != nullptr, true)) return move_by_host(op, *g, c, d, true);
  const std::unique_ptr<Event> after = d.record(false);
  library->hold(*move_on_device(op, g, c, *library, *after, true));
}

int64_t start_all_reduce(std::string_view op, const std::string& group, Reduction r, DType dtype,
                         std::span<const std::pair<const void*, int64_t>> parts, Device& d) {
  Engine& e = engine();
  auto s = std::make_shared<Started>();
  s->op = op;
  s->group = group_of(op, group);
  s->device = &d;
  size_t bytes = 0;
  for (auto& [data, count] : parts) bytes += static_cast<size_t>(count) * size_of(dtype);
  char* to;
  if (d.is_host()) {
    s->buffer = Memory(bytes);
    to = s->buffer.data();
  } else {
    s->there.emplace(d, bytes);
    to = s->there->p;
  }
  s->c.in = s->c.out = to;
  for (auto& [data, count] : parts) {
    const size_t n = static_cast<size_t>(count) * size_of(dtype);
    if (n) d.copy(to, data, n);
    to += n;
  }
  if (!d.is_host()) s->filled = d.record(false);
  s->c.kind = Collective::kAllReduce;
  s->c.reduction = r;
  s->c.dtype = dtype;
  s->c.members = s->group->size();
  s->c.count = static_cast<int64_t>(bytes / size_of(dtype));
  std::lock_guard lock(e.mu);
  ++begun_here;
  const int64_t ticket = e.next_ticket++;
  e.tickets[ticket] = s;
  e.queue.push_back(std::move(s));
  e.changed.notify_all();
  return ticket;
}

void wait(std::string_view op, int64_t ticket, void* out, int64_t count) {
  Engine& e = engine();
  std::shared_ptr<Started> s;
  {
    std::unique_lock lock(e.mu);
    const auto it = e.tickets.find(ticket);
    OP_CHECK(it != e.tickets.end(), kValue, "[", op, "] nothing was started with ticket ", ticket);
    s = it->second;
    wait_here(lock, [&] { return s->done; });
    e.tickets.erase(ticket);
  }
  if (s->error) std::rethrow_exception(s->error);
  OP_CHECK(s->c.count == count, kValue, "[", op, "] ", s->c.count, " elements were started, ",
           count, " are waited for");
  if (s->reduced) e.on_device->hold(*s->reduced);
  if (count) s->device->copy(out, s->c.out, static_cast<size_t>(count) * size_of(s->c.dtype));
}

void send(std::string_view op, const std::string& group, int to, int tag, DType dtype,
          const void* data, int64_t count) {
  Engine& e = engine();
  const GroupRef g = group_of(op, group);
  check_partner(op, *g, to, tag);
  const size_t n = static_cast<size_t>(count) * size_of(dtype);
  std::vector<char> bytes(sizeof(MessageHead) + n);
  const MessageHead head{count, static_cast<uint8_t>(dtype), {}};
  std::memcpy(bytes.data(), &head, sizeof head);
  if (n) std::memcpy(bytes.data() + sizeof head, data, n);
  std::lock_guard lock(e.calls);
  ++begun_here;
  Engine::Sending s{nullptr, std::move(bytes)};
  s.request = transport_for(op, g->handle)
                  .start_send(g->handle, to, kFirstOfUsers + tag, s.bytes.data(), s.bytes.size());
  e.sending.push_back(std::move(s));
}

void receive(std::string_view op, const std::string& group, int from, int tag, DType dtype,
             void* data, int64_t count) {
  Engine& e = engine();
  const GroupRef g = group_of(op, group);
  check_partner(op, *g, from, tag);
  std::vector<char> bytes;
  ++begun_here;
  Waiting(op, *g, {from}, 0, true).until([&] {
    const auto m = e.transport->probe(g->handle, from, kFirstOfUsers + tag);
    if (!m) return false;
    bytes.resize(m->bytes);
    e.transport->receive(g->handle, from, kFirstOfUsers + tag, bytes.data(), bytes.size());
    return true;
  });
  MessageHead head{};
  OP_CHECK(bytes.size() >= sizeof head, kRuntime, "[", op, "] a message of another program came");
  std::memcpy(&head, bytes.data(), sizeof head);
  OP_CHECK(head.count == count && head.dtype == static_cast<uint8_t>(dtype), kValue, "[", op, "] ",
           rank_text(*g, from), " sent ", head.count, " elements of ",
           public_name_of(static_cast<DType>(head.dtype)), ", but ", count, " of ",
           public_name_of(dtype), " were expected");
  if (count) std::memcpy(data, bytes.data() + sizeof head, bytes.size() - sizeof head);
}

}  // namespace processes
}  // namespace pijit
