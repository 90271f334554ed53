#include "cuda/gpu.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"
#include "runtime/array.h"

namespace pijit::cuda {
namespace {

Address address(const void* p) { return reinterpret_cast<Address>(p); }
size_t rounded(size_t bytes) { return std::max<size_t>(64, (bytes + 63) / 64 * 64); }

class StreamEvent : public Event {
 public:
  explicit StreamEvent(Gpu& gpu) : gpu_(gpu) {
    gpu_.enter();
    gpu_.check(gpu_.driver().event_create(&event_, kNoTiming), "making an event");
    gpu_.check(gpu_.driver().event_record(event_, gpu_.stream()), "recording an event");
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

 private:
  Gpu& gpu_;
  EventHandle event_ = nullptr;
};

class LoopOnGpu : public Kernel {
 public:
  LoopOnGpu(Gpu& gpu, LoopSpec s)
      : gpu_(gpu),
        loop_(std::move(s)),
        arguments_(loop_.arguments()),
        launches_(loop_.launches("k")) {
    for (auto& l : launches_) functions_.push_back(gpu_.function(loop_.key(), l.kernel));
  }
  void launch(const void* const* in, void* const* out) override {
    if (launches_.empty()) return;
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
  std::vector<Function> functions_;
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

}  // namespace

Gpu::Gpu(const PluginHost& host, const Driver& driver)
    : Device(host.id), host_(host), driver_(driver) {
  int device = 0, major = 0, minor = 0;
  check(driver_.device_get(&device, number_), "opening the GPU");
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
  images_ = std::make_unique<Images>(capability_, *host.config);
  register_cublas(*this);
  register_products(*this);
}

void Gpu::enter() {
  static thread_local void* entered = nullptr;
  if (entered == context_) return;
  check(driver_.set_context(context_), "entering the GPU's context");
  entered = context_;
}

void Gpu::check(int code, const std::string& what) const {
  if (code == kSuccess) return;
  // Errors of a kernel stay with the context: nothing can be done with the GPU any more.
  const bool lost = code >= 700 && code < 720;
  throw OpError(OpError::kRuntime,
                str_cat("[GPU] ", what, " failed: ", driver_.error(code),
                        lost ? "; this process cannot use the GPU any more. Run it again with "
                               "PIJIT_CUDA_SYNC=1 to see which op failed"
                             : ""));
}

void* Gpu::allocate(size_t bytes) {
  enter();
  Address p = 0;
  const size_t n = rounded(bytes);
  int code = driver_.alloc(&p, n, stream_);
  if (code == kOutOfMemory) {  // what the pool holds may be in pieces
    synchronize();
    driver_.pool_trim(pool_, 0);
    code = driver_.alloc(&p, n, stream_);
  }
  if (code == kOutOfMemory) {
    size_t free = 0, total = 0;
    driver_.memory_info(&free, &total);
    throw OpError(OpError::kRuntime,
                  str_cat("[GPU] out of memory: ", n, " bytes are wanted; of ", total, " bytes ",
                          free, " are free, and values of this process hold ", used_.load()));
  }
  check(code, "allocating memory");
  used_ += n;
  return reinterpret_cast<void*>(p);
}

void Gpu::release(void* p, size_t bytes) {
  used_ -= rounded(bytes);
  // Called from destructors: a context that is lost has no memory to give back.
  if (driver_.set_context(context_) == kSuccess) driver_.free(address(p), stream_);
}

void Gpu::from_host(void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  enter();
  check(driver_.to_device(address(to), from, bytes, stream_), "copying to the GPU");
}
void Gpu::to_host(void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  enter();
  check(driver_.to_host(to, address(from), bytes, stream_), "copying from the GPU");
  synchronize();
}
void Gpu::copy(void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  enter();
  check(driver_.copy(address(to), address(from), bytes, stream_), "copying on the GPU");
}
std::unique_ptr<Event> Gpu::record() { return std::make_unique<StreamEvent>(*this); }
void Gpu::synchronize() {
  enter();
  check(driver_.stream_synchronize(stream_), "a kernel, or waiting for it,");
}

DeviceFacts Gpu::facts() const {
  DeviceFacts f;
  f.cache_bytes = std::numeric_limits<int64_t>::max();  // no stores around the cache
  return f;
}

std::unique_ptr<Kernel> Gpu::make_loop(LoopSpec s) {
  if (!Loop::refusal(s).empty()) return std::make_unique<LoopByHost>(*this, std::move(s));
  return std::make_unique<LoopOnGpu>(*this, std::move(s));
}

Function Gpu::function(const std::string& source, const std::string& name) {
  enter();
  std::lock_guard lock(mu_);
  Module& m = modules_[source];
  if (!m) {
    const auto image = images_->get(source);
    check(driver_.load(&m, image.data()), "loading a kernel");
  }
  Function f = nullptr;
  check(driver_.function(&f, m, name.c_str()), "finding kernel " + name);
  return f;
}

void Gpu::launch(Function f, const Launch& l, const Arguments& a, const std::string& what) {
  enter();
  size_t size = a.bytes.size();
  // CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END
  void* extra[] = {reinterpret_cast<void*>(1), const_cast<char*>(a.bytes.data()),
                   reinterpret_cast<void*>(2), &size, nullptr};
  check(driver_.launch(f, l.blocks, 1, 1, l.threads, 1, 1, 0, stream_, nullptr, extra),
        "starting " + what);
  after(what);
}

void Gpu::after(const std::string& what) {
  if (host_.config->cuda_sync) check(driver_.stream_synchronize(stream_), what);
}

}  // namespace pijit::cuda

extern "C" {
__attribute__((visibility("default"))) const char* pijit_plugin_version() {
  return pijit::plugin_version();
}
__attribute__((visibility("default"))) pijit::Device* pijit_make_device(
    const pijit::PluginHost* host, std::string* why) {
  using namespace pijit::cuda;
  try {
    const Driver* driver = Driver::get(why);
    return driver ? new Gpu(*host, *driver) : nullptr;
  } catch (const std::exception& e) {
    *why = e.what();
    return nullptr;
  }
}
}
