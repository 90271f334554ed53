#include "runtime/program.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/log.h"
#include "base/gil.h"
#include "runtime/packed.h"
#include "runtime/queue.h"

namespace pijit {

bool RegionKernel::flag(const ArrayRef& a) {
  bool b;
  device(a->type.device).to_host(&b, a->data(), sizeof b);
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
        if (gil.turn) gil.turn();
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
        if (gil.turn) gil.turn();
      }
      for (; !turns.empty(); turns.pop_back()) {
        std::vector<ArrayRef>& values = turns.back();
        values.insert(values.end(), cts.begin(), cts.end());
        cts = apply(*programs[2], values);
        if (gil.turn) gil.turn();
      }
      state = cts;
      break;
    }
  }
  for (size_t k = 0; k < out_types.size(); ++k)
    if (out[k]) device_.copy(out[k], array_on(state[k], device_.id)->data(), out_types[k].bytes());
}

std::string RegionKernel::describe_inside() const {
  std::string s;
  for (auto& p : programs) s += p->describe();
  return s;
}

namespace {

// An error of a step, which says where in the code that is.
std::string with_places(const OpError& e, const Program::Step& s) {
  std::string places;
  if (s.metadata)
    for (auto& p : s.metadata->places) places += (places.empty() ? " (" : ", ") + p;
  return e.what() + places + (places.empty() ? "" : ")");
}

// On another device. Where each launch is waited for, the step that fails is the one that is said
// to.
void launch_there(Device& d, const Program::Step& s, void* const* operands) {
  try {
    s.kernel->launch(operands, operands + s.in.size());
  } catch (const OpError& e) {
    if (!s.metadata || e.kind != OpError::kRuntime) throw;
    const std::string text = with_places(e, s);
    if (auto* queue = queue_of(d.id); queue && text != e.what()) queue->failed(text);
    throw OpError(e.kind, text);
  }
}

}  // namespace

void Program::settle() {
  for (auto& st : steps) {
    const int packs = device.is_host() ? st.kernel->packs() : -1;
    const Slot* packed = packs >= 0 && st.in[packs] >= 0 ? &slots[st.in[packs]] : nullptr;
    launches_.push_back(
        {st.kernel.get(), static_cast<uint32_t>(st.in.size()), static_cast<uint32_t>(st.out.size()),
         packed && packed->kind == Slot::kInput ? static_cast<int>(packed->index) : -1, false});
  }
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
  find_packed_alone();
  const auto given = [&](int s) {
    return s >= 0 && slots[s].kind == Slot::kOutput && output_buffers[slots[s].index].donor >= 0;
  };
  tail_ = steps.size();
  while (tail_ > 0 && std::any_of(steps[tail_ - 1].out.begin(), steps[tail_ - 1].out.end(), given))
    --tail_;
  in_tail_.assign(output_buffers.size(), true);
  for (size_t k = 0; k < tail_; ++k)
    for (int s : steps[k].out)
      if (given(s)) in_tail_[slots[s].index] = false;
  if (device.is_host()) return;
  if (!literals.empty()) {
    Type t{DType::U64, Shape{static_cast<int64_t>(literals.size())}, device.id};
    literal_memory_ = new_array(t);
    device.from_host(literal_memory_->data(), literals.data(), t.bytes());
  }
  for (size_t i = 0; i < input_types.size(); ++i)
    if (input_types[i].shape.rank() == 0) moved_.push_back(i);
  // Collectives compare what all members do each time, which is nothing that a device repeats.
  if (!collects) launcher_ = device.make_launcher(steps.size());
}

// Values of the prologue are also read by runs of other threads.
void Program::find_packed_alone() {
  packed_alone_.assign(slots.size(), false);
  for (size_t k = 0; k < steps.size(); ++k) {
    Launch& l = launches_[k];
    if (l.packs < 0 || static_cast<size_t>(l.packs) >= num_inputs()) continue;
    const int s = steps[k].in[static_cast<size_t>(steps[k].kernel->packs())];
    const auto is_it = [&](const Slot& o) {
      return o.kind == Slot::kInput && o.index == slots[s].index;
    };
    l.alone = uses_begin_[s + 1] - uses_begin_[s] == 1 &&
              std::count_if(slots.begin(), slots.end(), is_it) == 1 &&
              std::none_of(output_buffers.begin(), output_buffers.end(),
                           [&](auto& b) { return b.donor == l.packs; });
    packed_alone_[static_cast<size_t>(s)] = l.alone;
  }
}

Program::FrameUse::FrameUse(const Program& p) : p_(p), frame_(p.spare_.exchange(nullptr)) {
  if (frame_) return;
  frame_ = new Frame;
  frame_->slots.resize(p.slots.size());
  frame_->operands.resize(p.num_operands_);
  auto* const literal = p.literal_memory_ ? static_cast<uint64_t*>(p.literal_memory_->data())
                                          : const_cast<uint64_t*>(p.literals.data());
  for (size_t s = 0; s < p.slots.size(); ++s)
    if (p.slots[s].kind == Slot::kLiteral) put(s, literal + p.slots[s].index);
}
Program::FrameUse::~FrameUse() { delete p_.spare_.exchange(frame_); }

// One run: its memory, the steps launched so far, the outputs. Inlined into both ways to run, as
// short programs take no longer than the calls would.
class Program::Run {
 public:
  // `held_back`: memory is given for the tail alone.
  [[gnu::always_inline]] Run(const Program& p, std::span<Array* const> inputs, const Give* give,
                             bool held_back)
      : p_(p),
        inputs_(inputs),
        give_(give),
        buf_(p.output_buffers.size()),
        arena_(p.device, p.arena_bytes),
        frame_(p),
        on_host_(p.device.is_host()),
        timed_(logs_anything() && log_enabled("exec")),
        recorded_(recording()),
        watched_(timed_ || recorded_) {
    for (size_t b = 0; b < buf_.size(); ++b)
      if (!is_given(b) || (held_back && !p.in_tail_[b]))
        buf_[b] = new_array(p.output_buffers[b].type);
    if (frame_->arena != arena_.p) {
      frame_->arena = arena_.p;
      for (const uint32_t s : p.in_arena_) frame_.put(s, arena_.p + p.slots[s].index);
    }
    for (const uint32_t s : p.elsewhere_) {
      const Slot& k = p.slots[s];
      const Array& a = k.kind == Slot::kInput ? *inputs[k.index]
                       : buf_[k.index]        ? *buf_[k.index]
                                              : *inputs[p.output_buffers[k.index].donor];
      frame_.put(s, p.packed_alone_[s] ? a.address() : a.data());
    }
    for (size_t i : p.moved_) {
      if (inputs[i]->type.device == p.device.id) continue;
      moved_.push_back(array_on(ArrayRef::share(inputs[i]), p.device.id));
      for (size_t s = 0; s < p.slots.size(); ++s)
        if (p.slots[s].kind == Slot::kInput && p.slots[s].index == i)
          frame_.put(s, moved_.back()->data());
    }
    operand_ = frame_->operands.data();
    if (watched_) begin_ = clock_ns();
  }

  // What was given has been written, or may have been where a step failed.
  ~Run() {
    if (!give_) return;
    for (auto& b : p_.output_buffers)
      if (b.donor >= 0 && give_[b.donor]) drop_forms(*inputs_[b.donor]->storage);
  }

  // The next steps, up to `end`.
  [[gnu::always_inline]] void launch_to(size_t end) {
    for (; next_ < end; ++next_) {
      const Launch& l = p_.launches_[next_];
      if (next_ + 1 < p_.launches_.size()) __builtin_prefetch(p_.launches_[next_ + 1].kernel);
      if (l.packs >= 0)
        l.kernel->launch_packed(operand_, operand_ + l.in, memory_of(l));
      else
        l.kernel->launch(operand_, operand_ + l.in);
      operand_ += l.in + l.out;
      if (watched_) [[unlikely]]
        end_step();
    }
  }
  // What collectives are in isn't run plainly again, which would show the line of an error.
  [[noreturn]] void failed(const OpError& e) const {
    if (!p_.collects || next_ >= p_.steps.size()) throw;
    throw OpError(e.kind, with_places(e, p_.steps[next_]));
  }
  // All of them, on another device.
  void launch_there() {
    auto launch_all = [&] {
      next_ = 0;
      operand_ = frame_->operands.data();
      for (; next_ < p_.steps.size(); ++next_) {
        const Step& st = p_.steps[next_];
        pijit::launch_there(p_.device, st, operand_);
        operand_ += st.in.size() + st.out.size();
        if (watched_) end_step();
      }
    };
    if (p_.launcher_ && !watched_)
      p_.launcher_->run({frame_->operands.data(), p_.num_operands_}, launch_all);
    else
      launch_all();
  }

  // With the lock, and before others run: of inputs that the caller holds beside their Tensors.
  void give_packed_back() {
    for (const Launch& l : p_.launches_) {
      if (!l.alone) continue;
      const Array& a = *inputs_[l.packs];
      if (a.refs.load(std::memory_order_acquire) == 2 && !a.storage->free_external &&
          a.storage->refs.load(std::memory_order_acquire) == 1 && is_once(a))
        give_back_what_forms_have(*a.storage);
    }
  }
  bool on_host() const { return on_host_; }
  bool gives() const {
    return std::any_of(buf_.begin(), buf_.end(), [](auto& b) { return !b; });
  }
  // What the tail was to be given and now is not.
  void replace_taken_back() {
    for (size_t b = 0; b < buf_.size(); ++b) {
      if (buf_[b] || is_given(b)) continue;
      buf_[b] = new_array(p_.output_buffers[b].type);
      for (const uint32_t s : p_.elsewhere_)
        if (p_.slots[s].kind == Slot::kOutput && p_.slots[s].index == b)
          frame_.put(s, buf_[b]->data());
    }
  }

  [[gnu::always_inline]] void collect(ArrayRef* out) const {
    for (size_t k = 0; k < p_.outputs.size(); ++k) {
      const Output& o = p_.outputs[k];
      const Slot& s = p_.slots[o.slot];
      switch (s.kind) {
        case Slot::kInput: out[k] = ArrayRef::share(inputs_[s.index]); break;
        case Slot::kLiteral:
          out[k] = array_on(scalar_array(o.type.dtype, p_.literals[s.index]), o.type.device);
          break;
        case Slot::kOutput: {
          const int donor = p_.output_buffers[s.index].donor;
          if (buf_[s.index])
            out[k] = buf_[s.index];
          else if (o.donor == donor && give_[donor] == kGiveForGood)
            continue;
          else
            out[k] = ArrayRef::share(inputs_[donor]);
          break;
        }
        case Slot::kArena:
        case Slot::kTile: throw InternalError("an output in the arena");
      }
      if (!(out[k]->type.device == o.type.device)) out[k] = array_on(out[k], o.type.device);
      if (!(out[k]->type == o.type)) out[k] = alias_array(out[k], o.type);
    }
  }

 private:
  OperandMemory memory_of(const Launch& l) const {
    const Array& a = *inputs_[l.packs];
    return {*a.storage, l.alone && !a.storage->away.load(std::memory_order_relaxed) &&
                            sole_owner(a) && is_once(a)};
  }
  // Not the value of two inputs, of which another step reads one.
  bool is_once(const Array& a) const { return std::count(inputs_.begin(), inputs_.end(), &a) == 1; }
  bool is_given(size_t b) const {
    const int donor = p_.output_buffers[b].donor;
    return donor >= 0 && give_ && give_[donor] &&
           (on_host_ || inputs_[donor]->type.device == p_.device.id);
  }
  void end_step() {
    const Step& st = p_.steps[next_];
    if (timed_) {
      const int64_t end = clock_ns();
      PIJIT_LOG("exec", static_cast<double>(end - begin_) / 1e3, " us ", st.text);
      if (!recorded_) begin_ = end;
    }
    if (recorded_) begin_ = record_event(TraceEvent::kKernel, begin_, st.metadata);
  }

  const Program& p_;
  const std::span<Array* const> inputs_;
  const Give* const give_;
  Pooled<ArrayRef, 16> buf_;  // null: an input's memory
  const DeviceBlock arena_;
  FrameUse frame_;
  const bool on_host_, timed_, recorded_, watched_;
  int64_t begin_ = 0;            // of the step, where it is timed
  std::vector<ArrayRef> moved_;  // inputs that were copied from the host
  void* const* operand_;
  size_t next_ = 0;
};

// Memory that came from outside may be written by those who gave it.
static bool any_lent(std::span<Array* const> inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](Array* a) { return a->storage->free_external; });
}

Program::AllInputs::AllInputs(std::span<Array* const> given, Prologue::Kept v)
    : values(std::move(v)), all(given.begin(), given.end()) {
  for (auto& a : values->arrays) all.push_back(a.get());
}
void Program::run(std::span<Array* const> inputs, const Give* give, ArrayRef* out) const {
  if (!prologue) return run_all(inputs, give, out);
  Prologue::Kept kept = prologue->kept(inputs);
  const AllInputs with(inputs, kept ? std::move(kept) : prologue->computed(inputs));
  run_all(with.all, give, out);
}
bool Program::run_unlocked(std::span<Array* const> inputs, const Give* give, ArrayRef* out,
                           absl::FunctionRef<bool()> back) const {
  if (!prologue) return run_all_unlocked(inputs, give, out, back);
  Prologue::Kept kept = prologue->kept(inputs);
  if (!kept) {
    std::optional<Unlocked> others;
    if (!any_lent(inputs)) others.emplace();
    kept = prologue->computed(inputs);
  }
  const AllInputs with(inputs, std::move(kept));
  return run_all_unlocked(with.all, give, out, back);
}

void Program::run_all(std::span<Array* const> inputs, const Give* give, ArrayRef* out) const {
  Run run(*this, inputs, give, false);
  if (run.on_host()) {
    // Now and then, so that short programs do not pay.
    const uint32_t runs = runs_.load(std::memory_order_relaxed);
    runs_.store(runs + 1, std::memory_order_relaxed);
    const bool measured = runs % 64 == 0;
    const int64_t begin = measured ? clock_ns() : 0;
    try {
      run.launch_to(tail_);
      if (measured) nanoseconds_.store(clock_ns() - begin, std::memory_order_relaxed);
      run.launch_to(steps.size());
    } catch (const OpError& e) {
      run.failed(e);
    }
  } else {
    run.launch_there();
  }
  run.collect(out);
}

bool Program::run_all_unlocked(std::span<Array* const> inputs, const Give* give, ArrayRef* out,
                               absl::FunctionRef<bool()> back) const {
  Run run(*this, inputs, give, true);
  run.give_packed_back();
  const int64_t begin = clock_ns();
  {
    std::optional<Unlocked> others;
    if (!any_lent(inputs)) others.emplace();
    try {
      run.launch_to(run.gives() ? tail_ : steps.size());
    } catch (const OpError& e) {
      run.failed(e);
    }
    nanoseconds_.store(clock_ns() - begin, std::memory_order_relaxed);
  }
  if (!back()) return false;
  run.replace_taken_back();
  run.launch_to(steps.size());
  run.collect(out);
  return true;
}

void Program::run_among_others(std::span<Array* const> inputs, ArrayRef* out) const {
  if (takes_long() && others_wait())
    run_unlocked(inputs, nullptr, out, [] { return true; });
  else
    run(inputs, nullptr, out);
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
  if (prologue) s += "prologue of parameters:\n" + prologue->program().describe();
  return s;
}

}  // namespace pijit
