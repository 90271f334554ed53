// NCCL on the host, as its documentation has it: communicators of processes, which meet by a file
// in shared memory that the unique id names; collectives on streams of the fake driver. A
// communicator that does not block takes its time: it is in progress after each call, and puts work
// on the stream late. PIJIT_FAKE_NCCL: "refuses", no communicator; of the second collective,
// "hangs": it does not end; "dies": rank 1 is killed in it; "fails": rank 0's reports an error.
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "fake.h"

namespace {
enum {
  kSuccess = 0,
  kSystem = 2,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemote = 6,
  kInProgress = 7
};
constexpr size_t kSlot = 64 << 10;
constexpr int kMostRanks = 8;

struct Box {  // from one rank to another
  std::atomic<uint32_t> full;
  char bytes[kSlot];
};
struct Meeting {
  std::atomic<int> arrived, aborted;
  Box boxes[kMostRanks][kMostRanks];
};
struct Comm {
  Meeting* meeting = nullptr;
  std::string name;
  int ranks = 0, rank = 0;
  bool blocking = true, finalized = false;
  std::atomic<bool> aborted{false};
  std::vector<std::function<void()>> late;  // what goes to the stream when it is asked again
  int asked = 0, operations = 0, failed = 0;
  std::string last_error;
};
struct UniqueId {
  char bytes[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};
int calls;

// Bytes between ranks, all at once, in pieces.
struct Part {
  int peer;
  char* p;
  size_t n;
};
struct Transfer {
  std::vector<Part> send, receive;
  // Moves what can be moved now. Whether all has been.
  bool advance(Comm& c) {
    bool left = false;
    const auto step = [&](Part& part, bool out) {
      left = true;
      Box& box = out ? c.meeting->boxes[c.rank][part.peer] : c.meeting->boxes[part.peer][c.rank];
      const size_t n = part.n < kSlot ? part.n : kSlot;
      if (out != (box.full.load(std::memory_order_acquire) == 0)) return;
      memcpy(out ? box.bytes : part.p, out ? part.p : box.bytes, n);
      box.full.store(out, std::memory_order_release);
      part.p += n, part.n -= n;
    };
    // Parts of one pair are in order.
    bool busy[2][kMostRanks] = {};
    for (Part& p : send)
      if (p.n && !busy[0][p.peer]) step(p, true), busy[0][p.peer] = true;
    for (Part& p : receive)
      if (p.n && !busy[1][p.peer]) step(p, false), busy[1][p.peer] = true;
    return !left;
  }
};

float half(uint16_t u, bool brain) {
  if (!brain) {
    _Float16 h;
    memcpy(&h, &u, 2);
    return h;
  }
  const uint32_t bits = uint32_t{u} << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
uint16_t half(float f, bool brain) {
  uint16_t u;
  if (!brain) {
    const _Float16 h = f;
    memcpy(&u, &h, 2);
    return u;
  }
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
template <class T>
T combined(T a, T b, int op) {
  switch (op) {
    case 0: return a + b;
    case 1: return a * b;
    case 2: return a > b ? a : b;
    default: return a < b ? a : b;
  }
}
template <class T>
void reduce_as(char* to, const char* from, size_t n, int op) {
  auto* y = reinterpret_cast<T*>(to);
  auto* x = reinterpret_cast<const T*>(from);
  for (size_t k = 0; k < n; ++k) y[k] = combined<T>(y[k], x[k], op);
}
void reduce(char* to, const char* from, size_t n, int type, int op) {
  switch (type) {
    case 0: return reduce_as<int8_t>(to, from, n, op);
    case 1: return reduce_as<uint8_t>(to, from, n, op);
    case 2: return reduce_as<int32_t>(to, from, n, op);
    case 3: return reduce_as<uint32_t>(to, from, n, op);
    case 4: return reduce_as<int64_t>(to, from, n, op);
    case 5: return reduce_as<uint64_t>(to, from, n, op);
    case 7: return reduce_as<float>(to, from, n, op);
    case 8: return reduce_as<double>(to, from, n, op);
  }
  auto* y = reinterpret_cast<uint16_t*>(to);
  auto* x = reinterpret_cast<const uint16_t*>(from);
  for (size_t k = 0; k < n; ++k)
    y[k] = half(combined(half(y[k], type == 9), half(x[k], type == 9), op), type == 9);
}
constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
// Of the parts of all ranks.
void reduce_all(std::vector<char>& all, int ranks, void* out, size_t n, int type, int op) {
  const size_t bytes = n * kSizes[type];
  for (int k = 1; k < ranks; ++k) reduce(all.data(), all.data() + k * bytes, n, type, op);
  memcpy(out, all.data(), bytes);
}

using LaterOn = void (*)(void*, int (*)(void*), void*);
void later_on(void* stream, std::function<bool()> f) {
  static const auto queue =
      reinterpret_cast<LaterOn>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "pijit_fake_later_on"));
  queue(
      stream,
      [](void* p) -> int {
        if (!(*static_cast<std::function<bool()>*>(p))()) return false;
        delete static_cast<std::function<bool()>*>(p);
        return true;
      },
      new std::function<bool()>(f));
}

int refuse(Comm* c, int code, const char* why) {
  if (c) c->last_error = why;
  return code;
}
// Puts an operation on its stream; `finish` behind it.
int operate(
    Comm* c, void* stream, Transfer transfer, std::function<void()> finish = [] {}) {
  if (!c || !stream) return kInvalidArgument;
  if (c->finalized || c->aborted) return refuse(c, kInvalidUsage, "the communicator has ended");
  if (!c->late.empty() || c->meeting->arrived < c->ranks)
    return refuse(c, kInvalidUsage, "the communicator is in progress");
  ++calls;
  const bool second = ++c->operations == 2;
  auto run = [=]() mutable {
    if (second && mode("PIJIT_FAKE_NCCL", "dies") && c->rank == 1) raise(SIGKILL);
    if (second && mode("PIJIT_FAKE_NCCL", "fails") && c->rank == 0) c->failed = kRemote;
    if (c->aborted) return true;
    if (second && (mode("PIJIT_FAKE_NCCL", "hangs") || mode("PIJIT_FAKE_NCCL", "fails")))
      return false;
    if (!transfer.advance(*c)) return false;
    finish();
    return true;
  };
  if (c->blocking) return later_on(stream, run), kSuccess;
  c->asked = 0;
  c->late.push_back([=] { later_on(stream, run); });
  return kInProgress;
}

struct Message {
  Comm* comm;
  bool out;
  Part part;
  void* stream;
};
thread_local int depth = 0;
thread_local std::vector<Message> messages;
int run_messages() {
  if (messages.empty()) return kSuccess;
  Comm* c = messages[0].comm;
  std::vector<Part> send, receive;
  for (auto& m : messages) (m.out ? send : receive).push_back(m.part);
  void* stream = messages[0].stream;
  messages.clear();
  return operate(c, stream, {send, receive});
}
}  // namespace

extern "C" {
#define VISIBLE __attribute__((visibility("default")))
// For tests: how many operations were started.
EXPORT pijit_fake_nccl() { return calls; }
EXPORT ncclGetVersion(int* v) { return *v = 22703, kSuccess; }
VISIBLE const char* ncclGetErrorString(int code) {
  return code == kRemote ? "remote process exited or there was a network error" : "an error";
}
VISIBLE const char* ncclGetLastError(Comm* c) { return c ? c->last_error.c_str() : ""; }
EXPORT ncclGetUniqueId(UniqueId* id) {
  static int made;
  memset(id, 0, sizeof *id);
  snprintf(id->bytes, sizeof id->bytes, "/pijit_fake_nccl_%d_%d", getpid(), made++);
  return kSuccess;
}
EXPORT ncclCommInitRankConfig(Comm** comm, int ranks, UniqueId id, int rank, Config* config) {
  *comm = nullptr;
  if (mode("PIJIT_FAKE_NCCL", "refuses")) return kSystem;
  if (config->magic != 0xcafebeef || config->version < 21400 || config->size < 24)
    return kInvalidArgument;
  if (ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) return kInvalidArgument;
  const int fd = shm_open(id.bytes, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Meeting))) return kSystem;
  void* p = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (p == MAP_FAILED) return kSystem;
  auto* c = new Comm;
  c->meeting = static_cast<Meeting*>(p);
  c->name = id.bytes, c->ranks = ranks, c->rank = rank;
  c->blocking = config->blocking != 0;
  if (++c->meeting->arrived == ranks) shm_unlink(id.bytes);
  *comm = c;
  while (c->blocking && c->meeting->arrived < ranks) usleep(100);
  return c->blocking ? kSuccess : kInProgress;
}
EXPORT ncclCommGetAsyncError(Comm* c, int* state) {
  if (!c) return kInvalidArgument;
  *state = c->failed;
  if (c->failed) return kSuccess;
  if (c->meeting->arrived < c->ranks || (!c->late.empty() && ++c->asked < 3)) {
    *state = kInProgress;
    return kSuccess;
  }
  for (auto& f : c->late) f();
  c->late.clear();
  return kSuccess;
}
EXPORT ncclCommFinalize(Comm* c) {
  return c->finalized = true, c->blocking ? kSuccess : kInProgress;
}
EXPORT ncclCommDestroy(Comm* c) { return c->finalized ? kSuccess : kInvalidUsage; }
EXPORT ncclCommAbort(Comm* c) { return c->aborted = true, kSuccess; }
EXPORT ncclGroupStart() { return ++depth, kSuccess; }
EXPORT ncclGroupEnd() {
  if (depth < 1) return kInvalidUsage;
  return --depth ? kSuccess : run_messages();
}
EXPORT ncclSend(const void* p, size_t n, int type, int peer, Comm* c, void* stream) {
  messages.push_back(
      {c, true, {peer, static_cast<char*>(const_cast<void*>(p)), n * kSizes[type]}, stream});
  return depth ? kSuccess : run_messages();
}
EXPORT ncclRecv(void* p, size_t n, int type, int peer, Comm* c, void* stream) {
  messages.push_back({c, false, {peer, static_cast<char*>(p), n * kSizes[type]}, stream});
  return depth ? kSuccess : run_messages();
}
EXPORT ncclAllGather(const void* in, void* out, size_t n, int type, Comm* c, void* stream) {
  const size_t bytes = n * kSizes[type];
  Transfer t;
  for (int k = 0; k < c->ranks; ++k) {
    t.send.push_back({k, static_cast<char*>(const_cast<void*>(in)), bytes});
    t.receive.push_back({k, static_cast<char*>(out) + k * bytes, bytes});
  }
  return operate(c, stream, t);
}
EXPORT ncclReduceScatter(const void* in, void* out, size_t n, int type, int op, Comm* c,
                         void* stream) {
  const size_t bytes = n * kSizes[type];
  auto all = std::make_shared<std::vector<char>>(bytes * c->ranks);
  Transfer t;
  for (int k = 0; k < c->ranks; ++k) {
    t.send.push_back({k, static_cast<char*>(const_cast<void*>(in)) + k * bytes, bytes});
    t.receive.push_back({k, all->data() + k * bytes, bytes});
  }
  return operate(c, stream, t, [=] { reduce_all(*all, c->ranks, out, n, type, op); });
}
EXPORT ncclAllReduce(const void* in, void* out, size_t n, int type, int op, Comm* c, void* stream) {
  const size_t bytes = n * kSizes[type];
  auto all = std::make_shared<std::vector<char>>(bytes * c->ranks);
  Transfer t;
  for (int k = 0; k < c->ranks; ++k) {
    t.send.push_back({k, static_cast<char*>(const_cast<void*>(in)), bytes});
    t.receive.push_back({k, all->data() + k * bytes, bytes});
  }
  return operate(c, stream, t, [=] { reduce_all(*all, c->ranks, out, n, type, op); });
}
EXPORT ncclReduce(const void* in, void* out, size_t n, int type, int op, int root, Comm* c,
                  void* stream) {
  const size_t bytes = n * kSizes[type];
  const bool here = c->rank == root;
  auto all = std::make_shared<std::vector<char>>(here ? bytes * c->ranks : 0);
  Transfer t;
  t.send.push_back({root, static_cast<char*>(const_cast<void*>(in)), bytes});
  for (int k = 0; k < c->ranks && here; ++k)
    t.receive.push_back({k, all->data() + k * bytes, bytes});
  return operate(c, stream, t, [=] {
    if (here) reduce_all(*all, c->ranks, out, n, type, op);
  });
}
EXPORT ncclBroadcast(const void* in, void* out, size_t n, int type, int root, Comm* c,
                     void* stream) {
  const size_t bytes = n * kSizes[type];
  Transfer t;
  for (int k = 0; k < c->ranks && c->rank == root; ++k)
    t.send.push_back({k, static_cast<char*>(const_cast<void*>(in)), bytes});
  t.receive.push_back({root, static_cast<char*>(out), bytes});
  return operate(c, stream, t);
}
}
