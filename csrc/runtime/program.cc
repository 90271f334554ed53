#include "runtime/program.h"

#include <cstring>

#include "base/log.h"

namespace pijit {

void (*loop_interrupt)() = nullptr;

void RegionStep::run(const void* const* in, void* const* out) const {
  const size_t first = kind == kCond ? 1 : 0;  // a cond's predicate comes first
  std::vector<ArrayRef> state;
  for (size_t k = first; k < in_types.size(); ++k)
    state.push_back(new_external_array(
        in_types[k], const_cast<void*>(in[k]), [](void*) {}, nullptr));
  auto apply = [](const Program& p, const std::vector<ArrayRef>& values) {
    std::vector<Array*> raw;
    for (auto& a : values) raw.push_back(a.get());
    std::vector<ArrayRef> r(p.outputs.size());
    p.run(raw, nullptr, r.data());
    return r;
  };
  auto goes_on = [&] { return *static_cast<const bool*>(apply(*programs[0], state)[0]->data); };
  switch (kind) {
    case kCond: state = apply(*programs[*static_cast<const bool*>(in[0]) ? 0 : 1], state); break;
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
    if (out[k] && out_types[k].bytes()) std::memcpy(out[k], state[k]->data, out_types[k].bytes());
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
    if (o.donor >= 0 && donate && donate[o.donor])
      buf[b] = ArrayRef::share(inputs[o.donor]);
    else
      buf[b] = new_array(o.type);
  }
  const Block arena(arena_bytes);
  for (size_t s = 0; s < slots.size(); ++s) {
    const Slot& k = slots[s];
    switch (k.kind) {
      case Slot::kInput: ptr[s] = inputs[k.index]->data; break;
      case Slot::kLiteral: ptr[s] = const_cast<uint64_t*>(&literals[k.index]); break;
      case Slot::kArena: ptr[s] = arena.p + k.index; break;
      case Slot::kOutput: ptr[s] = buf[k.index]->data; break;
      case Slot::kTile: ptr[s] = nullptr; break;
    }
  }
  const bool timed = !config().log.empty() && log_enabled("exec");
  const bool recorded = recording();
  int64_t begin = timed || recorded ? clock_ns() : 0;
  for (const Step& st : steps) {
    const void* in_small[16];
    std::vector<const void*> in_big;
    const void** in = in_small;
    if (st.in.size() > 16) {
      in_big.resize(st.in.size());
      in = in_big.data();
    }
    for (size_t k = 0; k < st.in.size(); ++k) in[k] = st.in[k] < 0 ? nullptr : ptr[st.in[k]];
    if (st.op) {
      st.op->run(in, ptr[st.out[0]]);
    } else if (st.loop) {
      void* o[64];
      for (size_t k = 0; k < st.out.size(); ++k) o[k] = ptr[st.out[k]];
      st.loop->run(in, o);
    } else {
      std::vector<void*> o;
      for (int s : st.out) o.push_back(s < 0 ? nullptr : ptr[s]);
      if (st.tiles)
        st.tiles->run(in, o.data());
      else
        st.region->run(in, o.data());
    }
    if (timed) {
      const int64_t end = clock_ns();
      PIJIT_LOG("exec", static_cast<double>(end - begin) / 1e3, " us ", st.text);
      if (!recorded) begin = end;
    }
    if (recorded) begin = record_event(TraceEvent::kKernel, begin, st.subject);
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
    s += "\n";
    if (st.region)
      for (auto& p : st.region->programs) s += p->describe();
  }
  return s;
}

}  // namespace pijit
