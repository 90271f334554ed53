#include "runtime/program.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "absl/container/inlined_vector.h"
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

// On another device. Where each launch is waited for, the step that fails is the one that is said
// to.
void launch_there(Device& d, const Program::Step& s, void* const* operands) {
  try {
    s.kernel->launch(operands, operands + s.in.size());
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

  void run(std::span<void* const> operands, const std::function<void()>& launch) {
    std::unique_lock lock(mu_);
    if (!useful_) return lock.unlock(), launch();
    const auto it = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& one) {
      return std::equal(one.operands.begin(), one.operands.end(), operands.begin());
    });
    if (it != seen_.end() && it->launches) {
      ++hits_;
      std::rotate(seen_.begin(), it, it + 1);  // the latest first
      return seen_.front().launches->run();
    }
    Seen one{{operands.begin(), operands.end()}, nullptr};
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
    std::vector<void*> operands;
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
  for (auto& st : steps)
    launches_.push_back({st.kernel.get(), static_cast<uint32_t>(st.in.size()),
                         static_cast<uint32_t>(st.out.size())});
  uses_begin_.assign(slots.size() + 1, 0);
  const auto for_operands = [&](auto f) {
    uint32_t at = 0;
    for (auto& st : steps)
      for (auto* list : {&st.in, &st.out})
        for (int s : *list) f(s, at++);
    return at;
  };
  num_operands_ = for_operands([&](int s, uint32_t) {
    if (s >= 0) ++uses_begin_[static_cast<size_t>(s) + 1];
  });
  for (size_t s = 0; s < slots.size(); ++s) uses_begin_[s + 1] += uses_begin_[s];
  uses_.resize(uses_begin_.back());
  std::vector<uint32_t> next = uses_begin_;
  for_operands([&](int s, uint32_t at) {
    if (s >= 0) uses_[next[static_cast<size_t>(s)]++] = at;
  });
  for (uint32_t s = 0; s < slots.size(); ++s) {
    const auto kind = slots[s].kind;
    if (kind == Slot::kArena) in_arena_.push_back(s);
    if (kind == Slot::kInput || kind == Slot::kOutput) elsewhere_.push_back(s);
  }
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

Program::FrameUse::FrameUse(const Program& p) : p_(p), frame_(p.spare_.exchange(nullptr)) {
  if (frame_) return;
  frame_ = new Frame;
  frame_->slots.resize(p.slots.size());
  frame_->operands.resize(p.num_operands_);
  auto* const literal = p.literal_memory_ ? static_cast<uint64_t*>(p.literal_memory_->data)
                                          : const_cast<uint64_t*>(p.literals.data());
  for (size_t s = 0; s < p.slots.size(); ++s)
    if (p.slots[s].kind == Slot::kLiteral) put(s, literal + p.slots[s].index);
}
Program::FrameUse::~FrameUse() { delete p_.spare_.exchange(frame_); }

void Program::run(std::span<Array* const> inputs, const Give* give, ArrayRef* out) const {
  absl::InlinedVector<ArrayRef, 16> buf(output_buffers.size());  // null: an input's memory
  auto taken = [&](const OutputBuffer& b) {
    return b.donor >= 0 && give && give[b.donor] && inputs[b.donor]->type.device == device.id;
  };
  for (size_t b = 0; b < buf.size(); ++b)
    if (!taken(output_buffers[b])) buf[b] = new_array(output_buffers[b].type);
  const DeviceBlock arena(device, arena_bytes);
  FrameUse frame(*this);
  if (frame->arena != arena.p) {
    frame->arena = arena.p;
    for (const uint32_t s : in_arena_) frame.put(s, arena.p + slots[s].index);
  }
  for (const uint32_t s : elsewhere_) {
    const Slot& k = slots[s];
    if (k.kind == Slot::kInput)
      frame.put(s, inputs[k.index]->data);
    else
      frame.put(s,
                (buf[k.index] ? buf[k.index].get() : inputs[output_buffers[k.index].donor])->data);
  }
  std::vector<ArrayRef> moved;
  for (size_t i : moved_) {
    if (inputs[i]->type.device == device.id) continue;
    moved.push_back(array_on(ArrayRef::share(inputs[i]), device.id));
    for (size_t s = 0; s < slots.size(); ++s)
      if (slots[s].kind == Slot::kInput && slots[s].index == i) frame.put(s, moved.back()->data);
  }
  const bool timed = !config().log.empty() && log_enabled("exec");
  const bool recorded = recording();
  int64_t begin = timed || recorded ? clock_ns() : 0;
  auto end_step = [&](const Step& st) {
    if (timed) {
      const int64_t end = clock_ns();
      PIJIT_LOG("exec", static_cast<double>(end - begin) / 1e3, " us ", st.text);
      if (!recorded) begin = end;
    }
    if (recorded) begin = record_event(TraceEvent::kKernel, begin, st.subject);
  };
  void* const* const operands = frame->operands.data();
  if (device.is_host()) {
    void* const* operand = operands;
    for (size_t k = 0; k < launches_.size(); ++k) {
      const Launch& l = launches_[k];
      if (k + 1 < launches_.size()) __builtin_prefetch(launches_[k + 1].kernel);
      l.kernel->launch(operand, operand + l.in);
      operand += l.in + l.out;
      end_step(steps[k]);
    }
  } else {
    auto launch_all = [&] {
      void* const* operand = operands;
      for (const Step& st : steps) {
        launch_there(device, st, operand);
        operand += st.in.size() + st.out.size();
        end_step(st);
      }
    };
    Recordings* const recordings = timed || recorded ? nullptr : Recordings::of(*this);
    if (recordings)
      recordings->run({operands, num_operands_}, launch_all);
    else
      launch_all();
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Output& o = outputs[k];
    const Slot& s = slots[o.slot];
    switch (s.kind) {
      case Slot::kInput: out[k] = ArrayRef::share(inputs[s.index]); break;
      case Slot::kLiteral: out[k] = scalar_array(o.type.dtype, literals[s.index]); break;
      case Slot::kOutput: {
        const int donor = output_buffers[s.index].donor;
        if (buf[s.index])
          out[k] = buf[s.index];
        else if (o.donor == donor && give[donor] == kGiveForGood)
          continue;
        else
          out[k] = ArrayRef::share(inputs[donor]);
        break;
      }
      case Slot::kArena:
      case Slot::kTile: throw InternalError("an output in the arena");
    }
    if (!(out[k]->type.device == o.type.device)) out[k] = array_on(out[k], o.type.device);
    if (!(out[k]->type == o.type)) out[k] = alias_array(out[k], o.type);
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
