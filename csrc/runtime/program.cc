#include "runtime/program.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/log.h"
#include "runtime/queue.h"

namespace pijit {

void (*loop_interrupt)() = nullptr;

bool RegionKernel::flag(const ArrayRef& a) {
  bool b;
  device(a->type.device).to_host(&b, a->data, sizeof b);
  return b;
}

void RegionKernel::launch(const void* const* in, void* const* out) {
  std::vector<ArrayRef> state;
  for (size_t k = 0; k < in_types.size(); ++k) {
    Type t = in_types[k];
    t.device = device_.id;  // a program's operands lie there, whatever they were
    state.push_back(new_external_array(
        t, const_cast<void*>(in[k]), [](void*) {}, nullptr));
  }
  auto apply = [](const Program& p, const std::vector<ArrayRef>& values) {
    std::vector<Array*> raw;
    for (auto& a : values) raw.push_back(a.get());
    std::vector<ArrayRef> r(p.outputs.size());
    p.run(raw, nullptr, r.data());
    return r;
  };
  auto goes_on = [&] { return flag(apply(*programs[0], state)[0]); };
  switch (kind) {
    case kCond: {
      const bool then = flag(state[0]);  // the predicate comes first
      state.erase(state.begin());
      state = apply(*programs[then ? 0 : 1], state);
      break;
    }
    case kLoop:
      while (goes_on()) {
        state = apply(*programs[1], state);
        if (loop_interrupt) loop_interrupt();
      }
      break;
    case kLoopGradient: {
      const auto own = static_cast<std::ptrdiff_t>(state.size() - out_types.size());
      std::vector<ArrayRef> cts(state.begin() + own, state.end());
      state.resize(static_cast<size_t>(own));
      std::vector<std::vector<ArrayRef>> turns;
      while (goes_on()) {
        turns.push_back(state);
        state = apply(*programs[1], state);
        if (loop_interrupt) loop_interrupt();
      }
      for (; !turns.empty(); turns.pop_back()) {
        std::vector<ArrayRef>& values = turns.back();
        values.insert(values.end(), cts.begin(), cts.end());
        cts = apply(*programs[2], values);
        if (loop_interrupt) loop_interrupt();
      }
      state = cts;
      break;
    }
  }
  for (size_t k = 0; k < out_types.size(); ++k)
    if (out[k]) device_.copy(out[k], array_on(state[k], device_.id)->data, out_types[k].bytes());
}

std::string RegionKernel::describe_inside() const {
  std::string s;
  for (auto& p : programs) s += p->describe();
  return s;
}

namespace {

inline void launch(const Program::Step& st, void* const* ptr) {
  const void* in_small[16];
  std::vector<const void*> in_big;
  const void** in = in_small;
  if (st.in.size() > 16) {
    in_big.resize(st.in.size());
    in = in_big.data();
  }
  for (size_t k = 0; k < st.in.size(); ++k) in[k] = st.in[k] < 0 ? nullptr : ptr[st.in[k]];
  void* out_small[64];
  std::vector<void*> out_big;
  void** o = out_small;
  if (st.out.size() > 64) {
    out_big.resize(st.out.size());
    o = out_big.data();
  }
  for (size_t k = 0; k < st.out.size(); ++k) o[k] = st.out[k] < 0 ? nullptr : ptr[st.out[k]];
  st.kernel->launch(in, o);
}

// On another device. Where each launch is waited for, the step that fails is the one that is said
// to.
void launch_there(Device& d, const Program::Step& s, void* const* slots) {
  try {
    launch(s, slots);
  } catch (const OpError& e) {
    if (!s.subject || e.kind != OpError::kRuntime) throw;
    std::string places;
    for (auto& p : s.subject->places) places += (places.empty() ? " (" : ", ") + p;
    const std::string text = e.what() + places + (places.empty() ? "" : ")");
    if (auto* queue = queue_of(d.id); queue && !places.empty()) queue->failed(text);
    throw OpError(e.kind, text);
  }
}

// The launches of a program whose operands come back to the same addresses, as those of training
// steps do: recorded when they are seen again, and one launch from then on. They go along with its
// first kernel.
class Recordings : public Kernel {
 public:
  static constexpr size_t kFewest = 4;  // steps that are worth it

  Recordings(DeviceQueue& q, std::unique_ptr<Kernel> first) : queue_(q), first_(std::move(first)) {}
  static Recordings* of(const Program& p) {
    const bool none = p.device.is_host() || p.steps.size() < kFewest;
    return none ? nullptr : dynamic_cast<Recordings*>(p.steps[0].kernel.get());
  }
  void launch(const void* const* in, void* const* out) override { first_->launch(in, out); }
  std::string describe() const override { return first_->describe(); }
  std::string describe_inside() const override { return first_->describe_inside(); }

  void run(std::span<void* const> slots, const std::function<void()>& launch) {
    std::unique_lock lock(mu_);
    if (!useful_) return lock.unlock(), launch();
    const auto it = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& one) {
      return std::equal(one.slots.begin(), one.slots.end(), slots.begin());
    });
    if (it != seen_.end() && it->launches) {
      ++hits_;
      std::rotate(seen_.begin(), it, it + 1);  // the latest first
      return seen_.front().launches->run();
    }
    Seen one{{slots.begin(), slots.end()}, nullptr};
    if (it != seen_.end()) {
      seen_.erase(it);
      one.launches = queue_.record(launch);
      // Where addresses keep changing, recording takes longer than it saves.
      useful_ = one.launches && (++made_ < 16 || hits_ > 4 * made_);
    }
    if (seen_.size() == kMost) seen_.pop_back();
    seen_.insert(seen_.begin(), std::move(one));
    if (seen_.front().launches) return seen_.front().launches->run();
    lock.unlock();
    launch();
  }

 private:
  static constexpr size_t kMost = 8;
  struct Seen {
    std::vector<void*> slots;
    std::unique_ptr<LaunchGraph> launches;  // null: once
  };
  DeviceQueue& queue_;
  const std::unique_ptr<Kernel> first_;
  std::mutex mu_;
  std::vector<Seen> seen_;
  bool useful_ = true;
  int64_t made_ = 0, hits_ = 0;
};

}  // namespace

void Program::settle() {
  if (device.is_host()) return;
  if (!literals.empty()) {
    Type t{DType::U64, Shape{static_cast<int64_t>(literals.size())}, device.id};
    literal_memory_ = new_array(t);
    device.from_host(literal_memory_->data, literals.data(), t.bytes());
  }
  for (size_t i = 0; i < input_types.size(); ++i)
    if (input_types[i].shape.rank() == 0) moved_.push_back(i);
  if (auto* queue = queue_of(device.id); queue && steps.size() >= Recordings::kFewest)
    steps[0].kernel = std::make_unique<Recordings>(*queue, std::move(steps[0].kernel));
}

void Program::run(std::span<Array* const> inputs, const bool* donate, ArrayRef* out) const {
  constexpr size_t kSmall = 48;
  void* small_ptr[kSmall];
  ArrayRef small_buf[kSmall / 2];
  std::unique_ptr<void*[]> big_ptr;
  std::unique_ptr<ArrayRef[]> big_buf;
  void** ptr = small_ptr;
  ArrayRef* buf = small_buf;
  if (slots.size() > kSmall) ptr = (big_ptr = std::make_unique<void*[]>(slots.size())).get();
  if (output_buffers.size() > kSmall / 2)
    buf = (big_buf = std::make_unique<ArrayRef[]>(output_buffers.size())).get();

  for (size_t b = 0; b < output_buffers.size(); ++b) {
    const auto& o = output_buffers[b];
    if (o.donor >= 0 && donate && donate[o.donor] && inputs[o.donor]->type.device == device.id)
      buf[b] = ArrayRef::share(inputs[o.donor]);
    else
      buf[b] = new_array(o.type);
  }
  const DeviceBlock arena(device, arena_bytes);
  auto* const literal = literal_memory_ ? static_cast<uint64_t*>(literal_memory_->data)
                                        : const_cast<uint64_t*>(literals.data());
  for (size_t s = 0; s < slots.size(); ++s) {
    const Slot& k = slots[s];
    switch (k.kind) {
      case Slot::kInput: ptr[s] = inputs[k.index]->data; break;
      case Slot::kLiteral: ptr[s] = literal + k.index; break;
      case Slot::kArena: ptr[s] = arena.p + k.index; break;
      case Slot::kOutput: ptr[s] = buf[k.index]->data; break;
      case Slot::kTile: ptr[s] = nullptr; break;
    }
  }
  std::vector<ArrayRef> moved;
  for (size_t i : moved_) {
    if (inputs[i]->type.device == device.id) continue;
    moved.push_back(array_on(ArrayRef::share(inputs[i]), device.id));
    for (size_t s = 0; s < slots.size(); ++s)
      if (slots[s].kind == Slot::kInput && slots[s].index == i) ptr[s] = moved.back()->data;
  }
  const bool timed = !config().log.empty() && log_enabled("exec");
  const bool recorded = recording();
  const bool host = device.is_host();
  int64_t begin = timed || recorded ? clock_ns() : 0;
  Recordings* const recordings = timed || recorded ? nullptr : Recordings::of(*this);
  if (recordings) {
    recordings->run({ptr, slots.size()}, [&] {
      for (const Step& st : steps) launch_there(device, st, ptr);
    });
  } else {
    for (const Step& st : steps) {
      if (host)
        launch(st, ptr);
      else
        launch_there(device, st, ptr);
      if (timed) {
        const int64_t end = clock_ns();
        PIJIT_LOG("exec", static_cast<double>(end - begin) / 1e3, " us ", st.text);
        if (!recorded) begin = end;
      }
      if (recorded) begin = record_event(TraceEvent::kKernel, begin, st.subject);
    }
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Slot& s = slots[outputs[k].slot];
    switch (s.kind) {
      case Slot::kInput: out[k] = ArrayRef::share(inputs[s.index]); break;
      case Slot::kLiteral: out[k] = scalar_array(outputs[k].type.dtype, literals[s.index]); break;
      case Slot::kOutput: out[k] = buf[s.index]; break;
      case Slot::kArena:
      case Slot::kTile: throw InternalError("an output in the arena");
    }
    if (!(out[k]->type.device == outputs[k].type.device))
      out[k] = array_on(out[k], outputs[k].type.device);
    if (!(out[k]->type == outputs[k].type)) out[k] = alias_array(out[k], outputs[k].type);
  }
}

std::string Program::describe() const {
  std::string s = str_cat("program: ", steps.size(), " steps, arena ", arena_bytes, " bytes\n");
  for (auto& st : steps) {
    s += "  " + st.text + " (";
    for (size_t i = 0; i < st.in.size(); ++i) s += str_cat(i ? ", " : "", "$", st.in[i]);
    s += ") -> ";
    for (size_t i = 0; i < st.out.size(); ++i) s += str_cat(i ? ", " : "", "$", st.out[i]);
    s += "\n" + st.kernel->describe_inside();
  }
  return s;
}

}  // namespace pijit
