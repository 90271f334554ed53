// Backward liveness: of each slot, from where it is read to where it is written. Long code has
// many slots and many blocks, so 64 slots go through the blocks at once, only those instructions
// count that use one of them, and what is kept of a slot is where it is not as usual.
#include <algorithm>
#include <array>
#include <bit>
#include <climits>

#include "python/code.h"
#include "python/comprehensions.h"

namespace pijit {
namespace {

using Ranges = std::vector<std::pair<int, int>>;
using Word = uint64_t;  // a bit for each of 64 slots
constexpr size_t kBits = 64;

// Instructions that run one after the other.
struct Block {
  int begin, end;
  bool reads_all;
  bool usual;  // alive is what is usual: all where it leads to what reads all, else nothing
  bool always_usual;
  absl::InlinedVector<int, 2> next;
  Word gen = 0, kill = 0, in = 0;  // read before it is written, written, alive at its begin
};

// A handler may read anything, and so may what jumps who knows where.
bool reads_all(const CodeInfo& code, int pc) {
  const Instr& in = code.instrs[static_cast<size_t>(pc)];
  return written_handler_of(code, pc) || (in.op == Op::UNSUPPORTED && in.b == kUnknownEffect);
}

bool uses_slot(const Instr& in) {
  const SlotUse use = slot_use(in);
  return use != SlotUse::NONE && use != SlotUse::FREE;
}

void find_usual(const CodeInfo& code, std::vector<Block>* blocks) {
  auto some = [&](const Block& b, auto is) {
    return std::any_of(b.next.begin(), b.next.end(),
                       [&](int to) { return is((*blocks)[static_cast<size_t>(to)]); });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = blocks->rbegin(); b != blocks->rend(); ++b)
      if (!b->usual && some(*b, [](auto& to) { return to.usual; })) b->usual = changed = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = blocks->rbegin(); b != blocks->rend(); ++b) {
      if (b->always_usual || some(*b, [](auto& to) { return !to.always_usual; }) ||
          std::any_of(code.instrs.begin() + b->begin, code.instrs.begin() + b->end, uses_slot))
        continue;
      b->always_usual = changed = true;
      b->in = b->usual ? ~Word{0} : 0;
    }
  }
}

std::vector<Block> blocks_of(const CodeInfo& code) {
  const int n = static_cast<int>(code.instrs.size());
  std::vector<bool> all(code.instrs.size()), leads(code.instrs.size() + 1);
  for (int i = 0; i < n; ++i) {
    all[i] = reads_all(code, i);
    if (i == 0 || all[i] != all[i - 1]) leads[i] = true;
    if (flow(code.instrs[i]) == Flow::NEXT) continue;
    leads[i + 1] = true;
    for (int to : successors(code, i))
      if (to >= 0 && to < n) leads[to] = true;
  }
  std::vector<Block> blocks;
  std::vector<int> block_at(code.instrs.size());
  for (int i = 0; i < n; ++i) {
    if (leads[i]) {
      blocks.push_back({i, i, all[i], all[i], all[i], {}});
      if (all[i]) blocks.back().in = ~Word{0};
    }
    block_at[i] = static_cast<int>(blocks.size()) - 1;
    blocks.back().end = i + 1;
  }
  for (auto& b : blocks)
    for (int to : successors(code, b.end - 1))
      if (to >= 0 && to < n) b.next.push_back(block_at[to]);
  find_usual(code, &blocks);
  return blocks;
}

struct Use {
  int pc;
  int bit;
  bool writes;
};

// Of 64 slots at a time, whose uses are in order.
class Analysis {
 public:
  explicit Analysis(std::vector<Block> blocks) : blocks_(std::move(blocks)) {
    for (auto& b : blocks_)
      if (!b.always_usual) changing_.push_back(&b);
  }

  const std::array<Ranges, kBits>& run(const std::vector<Use>& uses) {
    find_uses(uses);
    flow_back();
    for (auto& r : ranges_) r.clear();
    find_ranges(uses);
    for (auto& r : ranges_) std::reverse(r.begin(), r.end());
    return ranges_;
  }

 private:
  void find_uses(const std::vector<Use>& uses) {
    auto use = uses.begin();
    for (Block* b : changing_) {
      b->gen = b->kill = b->in = 0;
      for (; use != uses.end() && use->pc < b->end; ++use) {
        if (use->pc < b->begin) continue;
        const Word bit = Word{1} << use->bit;
        if (use->writes)
          b->kill |= bit;
        else
          b->gen |= bit & ~b->kill;
      }
    }
  }

  Word behind(const Block& b) const {
    Word out = 0;
    for (int to : b.next) out |= blocks_[static_cast<size_t>(to)].in;
    return out;
  }

  void flow_back() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto at = changing_.rbegin(); at != changing_.rend(); ++at) {
        Block& b = **at;
        const Word in = b.gen | (behind(b) & ~b.kill);
        changed |= in != b.in;
        b.in = in;
      }
    }
  }

  // Where slots are not as usual; from the last instruction to the first.
  void find_ranges(const std::vector<Use>& uses) {
    auto use = uses.rbegin();
    for (auto at = changing_.rbegin(); at != changing_.rend(); ++at) {
      const Block& b = **at;
      const Word usual = b.usual ? ~Word{0} : 0;
      Word alive = behind(b);
      become(alive ^ usual, b.end);
      for (; use != uses.rend() && use->pc >= b.begin; ++use) {
        if (use->pc >= b.end) continue;
        const Word bit = Word{1} << use->bit;
        alive = use->writes ? alive & ~bit : alive | bit;
        become(alive ^ usual, use->pc + 1);
      }
      const auto before = std::next(at);
      if (before == changing_.rend() || (*before)->end != b.begin) become(0, b.begin);
    }
  }

  // These slots are unusual before `at`, where others were from there on.
  void become(Word unusual, int at) {
    for (Word changed = unusual ^ unusual_; changed; changed &= changed - 1) {
      const auto slot = static_cast<size_t>(std::countr_zero(changed));
      if (unusual >> slot & 1) {
        end_[slot] = at;
        continue;
      }
      if (at == end_[slot]) continue;
      Ranges& r = ranges_[slot];
      if (!r.empty() && r.back().first == end_[slot])
        r.back().first = at;
      else
        r.emplace_back(at, end_[slot]);
    }
    unusual_ = unusual;
  }

  std::vector<Block> blocks_;
  std::vector<Block*> changing_;
  std::array<Ranges, kBits> ranges_;  // from the last to the first
  std::array<int, kBits> end_{};      // of the range that is not closed yet
  Word unusual_ = 0;
};

}  // namespace

bool Liveness::Row::operator[](size_t slot) const {
  const auto pc = static_cast<size_t>(pc_);
  const bool usual = pc < of_.usual_.size() && of_.usual_[pc];
  const auto begin = of_.ranges_.begin() + static_cast<std::ptrdiff_t>(of_.first_[slot]);
  const auto end = of_.ranges_.begin() + static_cast<std::ptrdiff_t>(of_.first_[slot + 1]);
  const auto next = std::upper_bound(begin, end, std::pair(pc_, INT_MAX));
  return usual != (next != begin && pc_ < std::prev(next)->second);
}

void Liveness::analyse(const CodeInfo& code) {
  const int n = static_cast<int>(code.instrs.size());
  const auto slots = static_cast<size_t>(code.num_slots);
  first_ = {0};
  auto add = [this](const Ranges& of_slot) {
    ranges_.insert(ranges_.end(), of_slot.begin(), of_slot.end());
    first_.push_back(ranges_.size());
  };
  if (code.reflective) {
    usual_.assign(code.instrs.size() + 1, true);
    first_.resize(slots + 1);
    return;
  }
  // super() without arguments reads the first slot from the frame.
  const bool self_used =
      code.num_locals > 0 && std::any_of(code.instrs.begin(), code.instrs.end(), [](auto& i) {
        return i.op == Op::LOAD_GLOBAL && PyUnicode_CompareWithASCIIString(i.obj, "super") == 0;
      });
  auto everywhere = [&] {
    Ranges r;
    for (int i = 0; i < n; ++i) {
      if (usual_[static_cast<size_t>(i)]) continue;
      if (r.empty() || r.back().second < i) r.emplace_back(i, i);
      r.back().second = i + 1;
    }
    return r;
  };
  std::vector<std::vector<Use>> uses((slots + kBits - 1) / kBits);
  for (int i = 0; i < n; ++i) {
    const Instr& in = code.instrs[static_cast<size_t>(i)];
    if (!uses_slot(in)) continue;
    const auto slot = static_cast<size_t>(in.a);
    uses[slot / kBits].push_back(
        {i, static_cast<int>(slot % kBits), slot_use(in) == SlotUse::WRITE});
  }
  std::vector<Block> blocks = blocks_of(code);
  for (auto& b : blocks) usual_.resize(static_cast<size_t>(b.end), b.usual);
  Analysis analysis(std::move(blocks));
  for (size_t k = 0; k < uses.size(); ++k) {
    const size_t count = std::min(kBits, slots - k * kBits);
    const auto& ranges = analysis.run(uses[k]);
    for (size_t bit = 0; bit < count; ++bit)
      add(self_used && k + bit == 0 ? everywhere() : ranges[bit]);
  }
}

}  // namespace pijit
