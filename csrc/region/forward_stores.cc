// An element that the turn before stored is handed on in a register: memory would give it some
// cycles later, and each turn waits for the one before.
#include <algorithm>

#include "region/counted_loop.h"

namespace pijit::region {

namespace {

class Forwarding : ChainLoop {
 public:
  using ChainLoop::ChainLoop;

  // Throws Refused where there is none, or more than one store.
  void run() {
    const auto is_store = [&](int v) { return writes(v); };
    const auto last = std::find_if(chain_.begin(), chain_.end(), is_store);
    need(last != chain_.end() && !masks_.count(*last));
    const Op stores = at(*last).op, value = at(at(*last).args[2]).op;
    const bool rounded =
        stores == Op::kStoreF32 && (value == Op::kFRound32 || value == Op::kLoadF32);
    need(stores == Op::kStoreF64 || stores == Op::kStoreI64 || rounded);
    need(std::none_of(last + 1, chain_.end(), is_store));
    const Instr store = at(*last);
    const auto grows = growth(store.args[1]);
    need(grows && *grows != 0 && !is_inside(store.args[0]));
    const int64_t step = *grows * (int64_t{1} << log_scale_of(store.imm));
    const Op loads = rounded                     ? Op::kLoadF32
                     : store.op == Op::kStoreF64 ? Op::kLoadF64
                                                 : Op::kLoadI64;
    const auto load = std::find_if(chain_.begin(), last, [&](int v) {
      const Instr& in = at(v);
      return in.op == loads && in.args[0] == store.args[0] && in.args[1] == store.args[1] &&
             log_scale_of(in.imm) == log_scale_of(store.imm) &&
             offset_of(in.imm) == offset_of(store.imm) - step;
    });
    need(load != last);
    for (auto v = chain_.begin(); v != load; ++v)
      if (at(*v).op == Op::kCheck && is_inside(at(*v).args[0])) limit(at(*v).args[0]);
    hand_on(*load, store.args[2]);
  }

 private:
  // As a parameter. The first turn's is read before the loop, if it comes so far.
  void hand_on(int load, int stored) {
    const Instr read = at(load);
    Edge without = into();
    without.args.push_back(number(0, read.type));
    place(1, std::move(without), [&] {
      Edge with = into();
      with.args.push_back(emit(read.op, address(read), number(0), kNoValue, read.type));
      return with;
    });
    const int handed = f_.add_param(l_.head, read.type);
    back().args.push_back(stored);
    auto replace = [&](int& v) { v = v == load ? handed : v; };
    for (Block& b : f_.blocks) {
      std::erase(b.instrs, load);
      each_operand(b, replace);
    }
    for (Instr& in : f_.instrs) each_operand(in, replace);
    for (Exit& e : f_.exits)
      for (int& v : e.values) replace(v);
  }
};

}  // namespace

bool forward_store(Function& f, const Flow& flow, const Loop& l) {
  try {
    Forwarding(f, flow, l).run();
    return true;
  } catch (const Refused&) {
    return false;
  }
}

}  // namespace pijit::region
