// A driver whose GPU is the host: memory is the host's, and an image is a shared library of kernels
// that went through the host's compiler (host_compiler.py). Work on the streams runs late, at the
// next synchronization, as on a GPU that is busy: what reads without waiting reads too early. Of
// several streams the later ones run first, as far as they wait for no event: what lacks one comes
// too early. PIJIT_FAKE_STREAMS=late: they run last.
// Between synchronizations nobody may touch the memory: a host that reads it as its own crashes.
// With PIJIT_FAKE_IDLE it takes all work and does none, so that the host's side can be timed.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Address = unsigned long long;
auto& mu = *new std::recursive_mutex;       // of all below
auto& running = *new std::recursive_mutex;  // held while work runs
using Work = std::vector<std::function<void()>>;
struct FakeStream;
struct FakeEvent {  // so many items of a stream
  FakeStream* of = nullptr;
  size_t at = 0;
  bool done() const;
};
struct Item {
  std::function<void()> run;
  FakeEvent after;  // without `run`: waits for it
  std::function<bool()>
      moves;  // for `run`: waits for other processes until it says that it is done
};
struct FakeStream {
  std::deque<Item> queue;
  size_t begun = 0, done = 0;  // items that came, that have run
};
bool FakeEvent::done() const { return !of || at <= of->done; }
std::vector<FakeStream*> streams;
thread_local Work* captured = nullptr;  // what goes to the stream that captures, instead
int lost = 0;                           // the error of a kernel, which stays
std::map<Address, size_t> blocks;
std::map<const char*, size_t> locked;  // memory of the host that the GPU reads by itself
size_t held = 0;                       // bytes
constexpr size_t kTotal = size_t{1} << 28;
int graphs = 0, kernels = 0, opened = -1;
std::mutex names_mu;
std::map<void*, std::string> names;  // of kernels
std::map<std::string, int> started;  // by name
enum {
  kIllegal = 900,  // while a stream captures
  kSuccess = 0,
  kInvalid = 1,
  kOutOfMemory = 2,
  kNotFound = 500,
  kNotReady = 600
};

constexpr size_t kRegion = 2 * kTotal;
char* region() {
  static char* p = static_cast<char*>(
      mmap(nullptr, kRegion, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  return p;
}
int open_count = 0;
struct Open {  // while it lives, memory can be read and written
  Open() {
    std::lock_guard lock(mu);
    if (open_count++ == 0) mprotect(region(), kRegion, PROT_READ | PROT_WRITE);
  }
  ~Open() {
    std::lock_guard lock(mu);
    if (--open_count == 0) mprotect(region(), kRegion, PROT_NONE);
  }
};
// First fit between the blocks there are; 0: nowhere.
Address place(size_t n) {
  auto at = reinterpret_cast<Address>(region());
  for (auto& [p, size] : blocks) {
    if (p - at >= n) break;
    at = p + (size + 255) / 256 * 256;
  }
  return at + n <= reinterpret_cast<Address>(region()) + kRegion ? at : 0;
}

bool can_run(const Item& next) { return next.run || next.moves || next.after.done(); }
// The next item of a stream; false: there is none that can run, or go on.
bool step(FakeStream& s, bool* waits) {
  std::function<void()> run;
  std::function<bool()> moves;
  {
    std::lock_guard lock(mu);
    if (s.queue.empty()) return false;
    Item& next = s.queue.front();
    if (!can_run(next)) return false;
    run = std::move(next.run);
    moves = next.moves;
    if (!moves) s.queue.pop_front();
  }
  if (run) run();
  if (moves && !moves()) return *waits = true, false;
  std::lock_guard lock(mu);
  if (moves) s.queue.pop_front();
  if (run || moves) ++s.done;
  return true;
}
int drain() {
  static const char* order = getenv("PIJIT_FAKE_STREAMS");
  const bool late = order && !strcmp(order, "late");
  std::lock_guard turn(running);
  const Open open;
  while (true) {
    for (bool any = true, waits = false; any || waits;) {
      if (!any) usleep(50);
      any = waits = false;
      std::vector<FakeStream*> all;
      {
        std::lock_guard lock(mu);
        all = streams;
      }
      if (!late) std::reverse(all.begin(), all.end());
      for (FakeStream* s : all)
        while (step(*s, &waits)) any = true;
    }
    std::lock_guard lock(mu);
    bool stuck = false, more = false;  // another thread has put more there
    for (FakeStream* s : streams)
      if (!s->queue.empty()) (can_run(s->queue.front()) ? more : stuck) = true;
    if (more) continue;
    if (stuck) abort();  // streams that wait for each other
    return lost;
  }
}
const bool idle = getenv("PIJIT_FAKE_IDLE");
template <class F>
int later(void* stream, F f) {
  if (idle) return kSuccess;
  if (captured) return captured->push_back(f), kSuccess;
  std::lock_guard lock(mu);
  auto* s = static_cast<FakeStream*>(stream);
  s->queue.push_back({f, {}, {}});
  ++s->begun;
  return kSuccess;
}
// Whether [p, p + n) lies in a block that has not been freed.
bool valid(Address p, size_t n) {
  std::lock_guard lock(mu);
  auto it = blocks.upper_bound(p);
  if (it == blocks.begin()) return false;
  --it;
  return p + n <= it->first + it->second;
}

using Run = void (*)(const void* arguments, unsigned blocks, unsigned threads);

}  // namespace

extern "C" {
#define EXPORT __attribute__((visibility("default"))) int
// For libraries that put work on a stream, or the first one. What waits there for other processes
// (until `f` says that it is done, while the other streams go on) runs by itself, soon, as they may
// wait for it before anybody here waits for the GPU.
__attribute__((visibility("default"))) void pijit_fake_later_on(void* stream, int (*f)(void*),
                                                                void* p) {
  static const bool started = [] {
    std::thread([] {
      while (true) {
        usleep(5000);
        drain();
      }
    }).detach();
    atexit([] {  // it finds the lock taken when all else goes
      for (int k = 0; k < 100 && !running.try_lock(); ++k) usleep(2000);
    });
    return true;
  }();
  (void)started;
  if (idle) return;
  std::lock_guard lock(mu);
  auto* s = static_cast<FakeStream*>(stream);
  s->queue.push_back({{}, {}, [=] { return f(p) != 0; }});
  ++s->begun;
}
__attribute__((visibility("default"))) void pijit_fake_later(void (*f)(void*), void* p) {
  later(streams.front(), [=] { f(p); });
}
EXPORT cuInit(unsigned) { return kSuccess; }
EXPORT cuGetErrorName(int code, const char** name) {
  static std::map<int, std::string> names;
  *name = (names[code] = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
                                              : "CUDA_ERROR_" + std::to_string(code))
              .c_str();
  return kSuccess;
}
EXPORT cuDeviceGetCount(int* n) {
  const char* gpus = getenv("PIJIT_FAKE_GPUS");
  return *n = gpus ? atoi(gpus) : 1, kSuccess;
}
EXPORT cuDeviceGet(int* d, int number) { return *d = opened = number, kSuccess; }
EXPORT cuDeviceGetName(char* name, int n, int) { return snprintf(name, n, "the host"), kSuccess; }
EXPORT cuDeviceGetAttribute(int* v, int which, int) {
  *v = which == 75 ? 9 : which == 76 ? 0 : 16;
  return kSuccess;
}
EXPORT cuDevicePrimaryCtxRetain(void** c, int) { return *c = &streams, kSuccess; }
EXPORT cuCtxSetCurrent(void*) { return kSuccess; }
EXPORT cuMemGetInfo_v2(size_t* free, size_t* total) {
  return *free = kTotal - held, *total = kTotal, kSuccess;
}
EXPORT cuStreamCreate(void** s, unsigned) {
  std::lock_guard lock(mu);
  return streams.push_back(new FakeStream), *s = streams.back(), kSuccess;
}
EXPORT cuStreamDestroy_v2(void* s) {  // events may name it for ever
  std::lock_guard lock(mu);
  streams.erase(std::find(streams.begin(), streams.end(), s));
  return kSuccess;
}
EXPORT cuStreamSynchronize(void*) { return captured ? kIllegal : drain(); }
EXPORT cuStreamWaitEvent(void* stream, void* e, unsigned) {
  std::lock_guard lock(mu);
  if (std::find(streams.begin(), streams.end(), stream) != streams.end())
    return static_cast<FakeStream*>(stream)->queue.push_back(
               {nullptr, *static_cast<FakeEvent*>(e)}),
           kSuccess;
  fprintf(stderr, "fake driver: stream %p waits\n", stream);
  return kSuccess;
}
EXPORT cuStreamBeginCapture_v2(void*, int mode) {
  if (captured || mode != 2) return kIllegal;
  return captured = new Work, kSuccess;
}
EXPORT cuStreamEndCapture(void*, void** graph) {
  if (!captured) return kIllegal;
  return *graph = std::exchange(captured, nullptr), kSuccess;
}
EXPORT cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return *exec = new Work(*static_cast<Work*>(graph)), kSuccess;
}
EXPORT cuGraphDestroy(void* graph) { return delete static_cast<Work*>(graph), kSuccess; }
EXPORT cuGraphExecDestroy(void* exec) { return delete static_cast<Work*>(exec), kSuccess; }
EXPORT cuGraphLaunch(void* exec, void* stream) {
  ++graphs;
  const Work work = *static_cast<Work*>(exec);
  return later(stream, [=] {
    for (auto& f : work) f();
  });
}
EXPORT cuMemHostAlloc(void** p, size_t n, unsigned) {
  std::lock_guard lock(mu);
  if (n > 4096 && getenv("PIJIT_FAKE_NO_LOCKED")) return kOutOfMemory;
  *p = malloc(n);
  locked[static_cast<char*>(*p)] = n;
  return kSuccess;
}
// For tests: graphs and kernels that were launched.
EXPORT pijit_fake_opened() { return opened; }
EXPORT pijit_fake_graphs() { return graphs; }
EXPORT pijit_fake_kernels() { return kernels; }
// How often kernels of this name were started, or recorded.
EXPORT pijit_fake_started(const char* name) {
  std::lock_guard lock(names_mu);
  return started[name];
}
EXPORT cuEventCreate(void** e, unsigned) { return *e = new FakeEvent, kSuccess; }
EXPORT cuEventRecord(void* e, void* stream) {
  std::lock_guard lock(mu);
  auto* s = static_cast<FakeStream*>(stream);
  *static_cast<FakeEvent*>(e) = {s, s->begun};
  return kSuccess;
}
EXPORT cuEventQuery(void* e) {
  std::lock_guard lock(mu);
  return static_cast<FakeEvent*>(e)->done() ? kSuccess : kNotReady;
}
EXPORT cuEventSynchronize(void*) { return drain(); }
EXPORT cuEventElapsedTime(float* ms, void* a, void* b) {  // one per command
  *ms = static_cast<float>(static_cast<FakeEvent*>(b)->at) -
        static_cast<float>(static_cast<FakeEvent*>(a)->at);
  return kSuccess;
}
EXPORT cuEventDestroy_v2(void* e) { return delete static_cast<FakeEvent*>(e), kSuccess; }
EXPORT cuDeviceGetDefaultMemPool(void** p, int) { return *p = &blocks, kSuccess; }
EXPORT cuMemPoolSetAttribute(void*, int, void*) { return kSuccess; }
EXPORT cuMemPoolGetAttribute(void*, int, void* bytes) {
  std::lock_guard lock(mu);
  return *static_cast<uint64_t*>(bytes) = held, kSuccess;
}
EXPORT cuMemPoolTrimTo(void*, size_t) { return kSuccess; }
EXPORT cuMemAllocAsync(Address* p, size_t n, void*) {
  std::lock_guard lock(mu);
  if (idle) {
    static size_t next = 0;
    if (next + n > kRegion) next = 0;
    *p = reinterpret_cast<Address>(region()) + next;
    next += (n + 255) / 256 * 256;
    return kSuccess;
  }
  if (held + n > kTotal || !(*p = place(n))) return kOutOfMemory;
  const Open open;
  memset(reinterpret_cast<void*>(*p), 0xa5, n);
  blocks[*p] = n;
  held += n;
  return kSuccess;
}
EXPORT cuMemFreeAsync(Address p, void* stream) {
  if (captured) return kSuccess;  // it is the graph's, and used again
  return later(stream, [=] {
    std::lock_guard lock(mu);
    auto it = blocks.find(p);
    if (it == blocks.end()) abort();  // freed twice
    held -= it->second;
    memset(reinterpret_cast<void*>(p), 0x5a, it->second);
    blocks.erase(it);
  });
}
EXPORT cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t n, void* stream) {
  const auto* bytes = static_cast<const char*>(from);
  {
    std::lock_guard lock(mu);
    auto it = locked.upper_bound(bytes);
    if (it != locked.begin() && bytes + n <= (--it)->first + it->second)
      return later(stream, [=] {
        if (!valid(to, n)) abort();
        memcpy(reinterpret_cast<void*>(to), bytes, n);
      });
  }
  if (idle) return kSuccess;
  std::string staged(bytes, n);  // pageable memory is staged at once
  return later(stream, [=] {
    if (!valid(to, n)) abort();
    memcpy(reinterpret_cast<void*>(to), staged.data(), n);
  });
}
EXPORT cuMemcpyDtoHAsync_v2(void* to, Address from, size_t n, void* stream) {
  return later(stream, [=] {
    if (!valid(from, n)) abort();
    memcpy(to, reinterpret_cast<void*>(from), n);
  });
}
EXPORT cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, void* stream) {
  return later(stream, [=] {
    if (!valid(from, n) || !valid(to, n)) abort();
    memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), n);
  });
}
EXPORT cuModuleLoadData(void** module, const void* image) {
  // The image is an ELF file; its section headers end it.
  const auto* b = static_cast<const unsigned char*>(image);
  unsigned long long sections;
  unsigned short size, count;
  memcpy(&sections, b + 40, 8);
  memcpy(&size, b + 58, 2);
  memcpy(&count, b + 60, 2);
  char name[] = "/tmp/pijit_fake_XXXXXX";
  const int fd = mkstemp(name);
  if (fd < 0) return kInvalid;
  const size_t n = sections + size_t{size} * count;
  const bool written = write(fd, image, n) == static_cast<ssize_t>(n);
  close(fd);
  *module = written ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!*module) fprintf(stderr, "fake driver: %s\n", dlerror());
  unlink(name);
  return *module ? kSuccess : kInvalid;
}
EXPORT cuModuleGetFunction(void** f, void* module, const char* name) {
  *f = dlsym(module, (std::string("run_") + name).c_str());
  std::lock_guard lock(names_mu);
  names[*f] = name;
  return *f ? kSuccess : kNotFound;
}
EXPORT cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned, void* stream, void** params, void** extra) {
  if (gy != 1 || gz != 1 || by != 1 || bz != 1 || params || !extra || extra[0] != (void*)1 ||
      extra[2] != (void*)2 || extra[4])
    return kInvalid;
  if (idle) return kSuccess;
  const std::string arguments(static_cast<const char*>(extra[1]), *static_cast<size_t*>(extra[3]));
  ++kernels;
  {
    std::lock_guard lock(names_mu);
    ++started[names[f]];
  }
  // For tests: a kernel that fails, as one that leaves its memory.
  if (const char* fails = getenv("PIJIT_FAKE_FAILS"); fails && kernels == atoi(fails))
    return later(stream, [=] { lost = 700; });
  return later(stream, [=] {
    if (!lost) reinterpret_cast<Run>(f)(arguments.data(), gx, bx);
  });
}
}
