#include "cuda/gpu.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "cuda/launch_graph.h"
#include "cuda/nvrtc.h"
#include "runtime/array.h"

namespace pijit::cuda {
namespace {

Address address(const void* p) { return reinterpret_cast<Address>(p); }
size_t rounded(size_t bytes) { return std::max<size_t>(64, (bytes + 63) / 64 * 64); }

class StreamEvent : public Event {
 public:
  StreamEvent(Gpu& gpu, Stream stream, bool timed) : gpu_(gpu) {
    gpu_.enter();
    gpu_.check(gpu_.driver().event_create(&event_, timed ? 0 : kNoTiming), "making an event");
    gpu_.check(gpu_.driver().event_record(event_, stream), "recording an event");
  }
  ~StreamEvent() override { gpu_.driver().event_destroy(event_); }
  bool done() const override {
    gpu_.enter();
    const int code = gpu_.driver().event_query(event_);
    if (code == kNotReady) return false;
    gpu_.check(code, "asking for an event");
    return true;
  }
  void wait() override {
    gpu_.enter();
    gpu_.check(gpu_.driver().event_synchronize(event_), "waiting for an event");
  }
  double milliseconds_since(const Event& earlier) const override {
    gpu_.enter();
    float ms = 0;
    const auto& other = static_cast<const StreamEvent&>(earlier);
    gpu_.check(gpu_.driver().event_elapsed(&ms, other.event_, event_), "asking for a time");
    return ms;
  }
  EventHandle handle() const { return event_; }

 private:
  Gpu& gpu_;
  EventHandle event_ = nullptr;
};

class LoopOnGpu : public Kernel {
 public:
  LoopOnGpu(Gpu& gpu, LoopSpec s, bool vectors = true)
      : gpu_(gpu),
        loop_(std::move(s), vectors),
        arguments_(loop_.arguments()),
        launches_(loop_.launches("k")) {
    if (!launches_.empty()) gpu_.prepare(loop_.key());
  }
  void launch(const void* const* in, void* const* out) override {
    if (launches_.empty()) return;
    if (loop_.takes_vectors() && !aligned(in, out)) {  // another library's memory
      std::call_once(
          made_, [this] { one_by_one_ = std::make_unique<LoopOnGpu>(gpu_, loop_.spec(), false); });
      return one_by_one_->launch(in, out);
    }
    std::call_once(loaded_, [this] {
      std::vector<Function> all;
      for (auto& l : launches_) all.push_back(gpu_.function(loop_.key(), l.kernel));
      functions_ = std::move(all);
    });
    Arguments a = arguments_;
    const LoopSpec& s = loop_.spec();
    size_t k = 0;
    for (size_t i = 0; i < s.in.size(); ++i) a.set_address(k++, in[i]);
    for (size_t i = 0; i < s.out.size(); ++i) a.set_address(k++, out[i]);
    std::vector<std::unique_ptr<DeviceBlock>> partial;  // given back in the order of the stream
    for (size_t bytes : loop_.partial_bytes()) {
      partial.push_back(std::make_unique<DeviceBlock>(gpu_, bytes));
      a.set_address(k++, partial.back()->p);
    }
    for (size_t i = 0; i < launches_.size(); ++i)
      gpu_.launch(functions_[i], launches_[i], a, s.describe());
  }
  std::string describe() const override { return loop_.spec().describe(); }

 private:
  Gpu& gpu_;
  const Loop loop_;
  const Arguments arguments_;
  const std::vector<Launch> launches_;
  bool aligned(const void* const* in, void* const* out) const {
    Address all = 0;
    for (size_t i = 0; i < loop_.spec().in.size(); ++i) all |= address(in[i]);
    for (size_t i = 0; i < loop_.spec().out.size(); ++i) all |= address(out[i]);
    return all % 16 == 0;
  }
  std::once_flag loaded_, made_;
  std::vector<Function> functions_;
  std::unique_ptr<LoopOnGpu> one_by_one_;
};

// A loop that the generator does not cover.
class LoopByHost : public Kernel {
 public:
  LoopByHost(Gpu& gpu, LoopSpec s)
      : gpu_(gpu), spec_(s), kernel_(gpu.host().make_loop(std::move(s))) {}
  void launch(const void* const* in, void* const* out) override {
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<const void*> i;
    std::vector<void*> o;
    auto here = [&](const LoopOperand& operand, const void* p) {
      blocks.push_back(std::make_unique<Block>(bytes(operand)));
      gpu_.to_host(blocks.back()->p, p, bytes(operand));
      return blocks.back()->p;
    };
    for (size_t k = 0; k < spec_.in.size(); ++k) i.push_back(here(spec_.in[k], in[k]));
    for (size_t k = 0; k < spec_.out.size(); ++k) o.push_back(here(spec_.out[k], out[k]));
    kernel_->launch(i.data(), o.data());
    for (size_t k = 0; k < spec_.out.size(); ++k) gpu_.from_host(out[k], o[k], bytes(spec_.out[k]));
    gpu_.synchronize();  // before the blocks go
  }
  std::string describe() const override { return spec_.describe() + " by the host"; }

 private:
  size_t bytes(const LoopOperand& o) const {  // up to the last element that the loop touches
    int64_t last = o.offset;
    for (size_t d = 0; d < spec_.dims.size(); ++d) {
      if (spec_.dims[d] == 0 && o.strides[d] != 0) return 0;
      last += o.strides[d] * std::max<int64_t>(0, spec_.dims[d] - 1);
    }
    return static_cast<size_t>(last + 1) * size_of(o.dt);
  }
  Gpu& gpu_;
  const LoopSpec spec_;
  const std::unique_ptr<Kernel> kernel_;
};

// Of several GPUs, each process of a machine takes one of its own, as launchers number them.
int own_number(const Driver& driver) {
  int count = 0;
  if (driver.device_count(&count) != kSuccess || count < 2) return 0;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* rank = std::getenv(name)) return std::max(0, std::atoi(rank)) % count;
  return 0;
}

}  // namespace

Gpu::Gpu(const PluginHost& host, const Driver& driver)
    : Device(host.id), host_(host), driver_(driver) {
  int device = 0, major = 0, minor = 0;
  check(driver_.device_get(&device, own_number(driver_)), "opening the GPU");
  check(driver_.attribute(&major, kCapabilityMajor, device), "asking the GPU what it is");
  check(driver_.attribute(&minor, kCapabilityMinor, device), "asking the GPU what it is");
  capability_ = 10 * major + minor;
  OP_CHECK(capability_ >= 75, kRuntime, "[GPU] a GPU of compute capability 7.5 is needed, got ",
           major, ".", minor);
  check(driver_.retain_context(&context_, device), "opening the GPU");
  enter();
  check(driver_.stream_create(&stream_, kNonBlocking), "making a stream");
  check(driver_.default_pool(&pool_, device), "asking for the memory pool");
  uint64_t all = std::numeric_limits<uint64_t>::max();  // freed memory stays in the pool
  check(driver_.pool_set(pool_, kPoolReleaseThreshold, &all), "setting up the memory pool");
  void* record = nullptr;
  check(driver_.host_alloc(&record, sizeof(BadIndex), kMapped), "allocating memory of the host");
  bad_index_ = new (record) BadIndex{};
  pthread_atfork(nullptr, nullptr, [] { forked_ = true; });
  search_packages(host.folders);
  images_ = std::make_unique<Images>(capability_, *host.config);
  register_cublas(*this);
  register_cudnn(*this);
  register_attention(*this);
  register_flash(*this);
  register_cufft(*this);
  register_gemm(*this);
  register_copy(*this);
  register_indexed(*this);
  register_sorts(*this);
  register_pool(*this);
  register_resize(*this);
  // The compiler's first source takes longer than others: it begins with one that nobody waits for.
  prepare("extern \"C\" __global__ void pj_nothing() {}\n");
}

thread_local Stream Gpu::recording_ = nullptr;
bool Gpu::forked_ = false;

void Gpu::enter() {
  static thread_local void* entered = nullptr;
  OP_CHECK(!forked_, kRuntime,
           "[GPU] a process that is forked cannot use the GPU of its parent; start processes by "
           "multiprocessing's 'spawn' or 'forkserver', or fork before the GPU is used");
  if (entered == context_) return;
  check(driver_.set_context(context_), "entering the GPU's context");
  entered = context_;
}

void Gpu::check(int code, const std::string& what) const {
  if (code == kSuccess) return;
  std::string text = str_cat("[GPU] ", what, " failed: ", driver_.error(code));
  // Errors of a kernel stay with the context: nothing can be done with the GPU any more.
  if (code >= 700 && code < 720) {
    std::lock_guard lock(lost_mu_);
    if (lost_.empty())
      lost_ = text + "; this process cannot use the GPU any more" +
              (host_.config->cuda_sync
                   ? ""
                   : ". Run it again with PIJIT_CUDA_SYNC=1 to see which op failed");
    text = lost_;
  }
  throw OpError(OpError::kRuntime, text);
}
void Gpu::failed(const std::string& text) {
  std::lock_guard lock(lost_mu_);
  if (text.starts_with(lost_) && !lost_.empty()) lost_ = text;
}

// Sizes of one class: at most an eighth more than is asked for.
size_t Blocks::class_of(size_t bytes) {
  if (bytes <= 1024) return rounded(bytes);
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}
void* Blocks::take(size_t size) {
  std::lock_guard lock(mu_);
  const auto it = free_.find(size);
  if (it == free_.end() || it->second.empty()) return nullptr;
  void* p = it->second.back();
  it->second.pop_back();
  bytes_ -= size;
  return p;
}
bool Blocks::keep(void* p, size_t size, size_t most) {
  std::lock_guard lock(mu_);
  if (bytes_ + size > most) return false;
  free_[size].push_back(p);
  bytes_ += size;
  return true;
}
std::vector<void*> Blocks::all() {
  std::lock_guard lock(mu_);
  std::vector<void*> r;
  for (auto& [size, blocks] : free_) r.insert(r.end(), blocks.begin(), blocks.end());
  free_.clear();
  bytes_ = 0;
  return r;
}

void* Gpu::allocate(size_t bytes) {
  enter();
  const size_t n = rounded(bytes), size = Blocks::class_of(n);
  void* kept = (recording_ ? recorded_ : kept_).take(size);
  if (!kept) {
    Address p = 0;
    // Memory of what is recorded is not a part of it: the graph would map it at each launch.
    int code = driver_.alloc(&p, size, stream_);
    if (code == kOutOfMemory && !recording_) {  // what the pools hold may be in pieces
      give_back();
      code = driver_.alloc(&p, size, stream_);
    }
    if (code == kOutOfMemory) {
      size_t free = 0, total = 0;
      driver_.memory_info(&free, &total);
      throw OpError(
          OpError::kRuntime,
          str_cat("[GPU] out of memory: ", n, " bytes are wanted; of ", total, " bytes ", free,
                  " are free, and values of this process hold ", used_.load(), held()));
    }
    check(code, "allocating memory");
    kept = reinterpret_cast<void*>(p);
  }
  used_ += n;
  count(n, 1);
  return kept;
}

void Gpu::give_back() {
  enter();
  for (void* block : kept_.all()) driver_.free(address(block), stream_);
  synchronize();
  driver_.pool_trim(pool_, 0);
}
size_t Gpu::reserved_bytes() const {
  uint64_t bytes = 0;
  check(driver_.pool_get(pool_, kPoolReserved, &bytes), "asking for the memory pool");
  return bytes;
}

void Gpu::release(void* p, size_t bytes) {
  const size_t n = rounded(bytes), size = Blocks::class_of(n);
  used_ -= n;
  count(n, -1);
  if (forked_) return;  // the block is the parent's
  if (recording_) {  // a graph writes there whenever it runs: only for other graphs, in their turn
    recorded_.keep(p, size, std::numeric_limits<size_t>::max());
    return;
  }
  if (size <= kLargestKept && kept_.keep(p, size, kMostKept)) return;
  // Called from destructors: a context that is lost has no memory to give back.
  if (driver_.set_context(context_) == kSuccess) driver_.free(address(p), stream_);
}

// " (3 blocks of 256 MiB to 512 MiB, …)", the largest ones.
std::string Gpu::held() const {
  auto shown = [](int log) {
    static const char* kUnits[] = {" bytes", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    return str_cat(1 << log % 10, kUnits[log / 10]);
  };
  std::string s;
  int sizes = 0;
  for (int log = 62; log >= 0 && sizes < 4; --log) {
    const int64_t n = held_[log];
    if (n <= 0) continue;
    s += str_cat(sizes++ ? ", " : " (", n, n == 1 ? " block" : " blocks", " of ", shown(log),
                 " to ", shown(log + 1));
  }
  return s.empty() ? s : s + ")";
}

void Gpu::from_host(void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  enter();
  if (bytes > Staging::kLeast && !recording_ && staging_.to_device(to, from, bytes)) return;
  check(driver_.to_device(address(to), from, bytes, stream()), "copying to the GPU");
}
void Gpu::to_host(void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  enter();
  OP_CHECK(!recording_, kRuntime, "[GPU] what waits cannot be recorded");
  if (bytes <= Staging::kLeast || !staging_.to_host(to, from, bytes))
    check(driver_.to_host(to, address(from), bytes, stream()), "copying from the GPU");
  synchronize();
}
void Gpu::copy(void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  enter();
  check(driver_.copy(address(to), address(from), bytes, stream()), "copying on the GPU");
}
std::unique_ptr<Event> Gpu::record(bool timed) {
  enter();
  return std::make_unique<StreamEvent>(*this, stream(), timed);
}
std::shared_ptr<Event> Gpu::record_on(Stream s) {
  return std::make_shared<StreamEvent>(*this, s, false);
}
void Gpu::wait_for(Stream s, const Event& e) {
  check(driver_.stream_wait(s, static_cast<const StreamEvent&>(e).handle(), 0),
        "making a stream wait");
}
void Gpu::synchronize() {
  OP_CHECK(!recording_, kRuntime, "[GPU] what waits cannot be recorded");
  enter();
  check(driver_.stream_synchronize(stream_), "a kernel, or waiting for it,");
  check_results();
}

int64_t Gpu::error_name(const std::string& op) {
  std::lock_guard lock(mu_);
  const auto number =
      std::find(error_names_.begin(), error_names_.end(), op) - error_names_.begin();
  if (number == std::ssize(error_names_)) error_names_.push_back(op);
  return number;
}
void Gpu::cut_off(const std::string& why) {
  std::lock_guard lock(lost_mu_);
  cut_off_ = why;
}
void Gpu::check_results() {
  {
    std::lock_guard lock(lost_mu_);
    OP_CHECK(cut_off_.empty(), kRuntime,
             "[GPU] values may not be what they should, as a collective was ended: ", cut_off_);
  }
  if (!__atomic_load_n(&bad_index_->set, __ATOMIC_ACQUIRE)) return;
  std::lock_guard lock(mu_);
  const BadIndex bad = *bad_index_;
  *bad_index_ = {};
  if (!bad.set) return;  // another thread was first
  throw OpError(OpError::kIndex, str_cat("[", error_names_.at(bad.op), "] index ", bad.index,
                                         " is out of range for a dimension of ", bad.size));
}

std::unique_ptr<Launcher> Gpu::make_launcher(size_t steps) {
  return make_launch_graphs(*this, steps);
}

GraphHandle Gpu::capture(const std::function<void()>& launch) {
  if (host_.config->cuda_sync || recording_) return nullptr;
  enter();
  Stream own = nullptr;
  check(driver_.stream_create(&own, kNonBlocking), "making a stream");
  GraphHandle graph = nullptr;
  bool all = driver_.begin_capture(own, kRelaxed) == kSuccess;
  if (all) {
    recording_ = own;
    try {
      launch();
    } catch (const std::exception&) {
      all = false;  // launched one by one, it says itself what is wrong
    }
    recording_ = nullptr;
    all = driver_.end_capture(own, &graph) == kSuccess && all;
  }
  driver_.stream_destroy(own);
  if (all) return graph;
  if (graph) driver_.graph_destroy(graph);
  return nullptr;
}

void Gpu::hold(void* other) { wait_for(other, StreamEvent(*this, stream(), false)); }

DeviceFacts Gpu::facts() const {
  DeviceFacts f;
  f.cache_bytes = std::numeric_limits<int64_t>::max();  // no stores around the cache
  return f;
}

std::unique_ptr<Kernel> Gpu::make_loop(LoopSpec s) {
  if (!Loop::refusal(s).empty()) return std::make_unique<LoopByHost>(*this, std::move(s));
  return std::make_unique<LoopOnGpu>(*this, std::move(s));
}

Gpu::Image Gpu::image_of(const std::string& source) {
  Image& made = images_made_[source];
  if (!made.valid())
    made = std::async(std::launch::async, [this, source] {
             struct Turn {  // as many compile at once as there are cores
               std::counting_semaphore<>& of;
               explicit Turn(std::counting_semaphore<>& s) : of(s) { of.acquire(); }
               ~Turn() { of.release(); }
             } const turn(compilers_);
             return images_->get(source);
           }).share();
  return made;
}
void Gpu::prepare(const std::string& source) {
  std::lock_guard lock(mu_);
  if (!modules_.contains(source)) image_of(source);
}
void Gpu::finish() {
  if (forked_) return;  // the threads are the parent's
  std::lock_guard lock(mu_);
  for (auto& [source, image] : images_made_) image.wait();
}
Function Gpu::function(const std::string& source, const std::string& name) {
  enter();
  std::unique_lock lock(mu_);
  if (!modules_.contains(source)) {
    const Image image = image_of(source);
    lock.unlock();
    image.wait();
    lock.lock();
    images_made_.erase(source);
    Module& m = modules_[source];
    if (!m) {
      try {
        check(driver_.load(&m, image.get().data()), "loading a kernel");
      } catch (...) {
        modules_.erase(source);
        throw;
      }
    }
  }
  Function f = nullptr;
  check(driver_.function(&f, modules_[source], name.c_str()), "finding kernel " + name);
  return f;
}

void Gpu::launch(Function f, const Launch& l, const Arguments& a, const std::string& what) {
  enter();
  size_t size = a.bytes.size();
  // CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END
  void* extra[] = {reinterpret_cast<void*>(1), const_cast<char*>(a.bytes.data()),
                   reinterpret_cast<void*>(2), &size, nullptr};
  check(driver_.launch(f, l.blocks, 1, 1, l.threads, 1, 1, 0, stream(), nullptr, extra),
        "starting " + what);
  after(what);
}

void Gpu::after(const std::string& what) {
  if (!host_.config->cuda_sync) return;
  check(driver_.stream_synchronize(stream_), what);
  check_results();
}

}  // namespace pijit::cuda

static pijit::cuda::Gpu* gpu = nullptr;

extern "C" {
__attribute__((visibility("default"))) pijit::DeviceQueue* pijit_device_queue() { return gpu; }
__attribute__((visibility("default"))) const char* pijit_plugin_version() {
  return pijit::plugin_version();
}
__attribute__((visibility("default"))) pijit::Device* pijit_make_device(
    const pijit::PluginHost* host, std::string* why) {
  using namespace pijit::cuda;
  try {
    const Driver* driver = Driver::get(why);
    if (!driver) return nullptr;
    gpu = new Gpu(*host, *driver);
    return gpu;
  } catch (const std::exception& e) {
    *why = e.what();
    return nullptr;
  }
}
}
