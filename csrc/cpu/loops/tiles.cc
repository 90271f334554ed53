#include "cpu/loops/tiles.h"

#include <algorithm>
#include <map>

#include "base/config.h"
#include "base/log.h"
#include "cpu/parallel.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

// Compilation of one function takes longer than of its parts, and they cannot be shared.
constexpr size_t kMaxChainNodes = 800;

template <class F>
void each_operand(const TileSpec::Member& m, F f) {
  for (size_t k = 0; k < m.in.size(); ++k) f(m.in[k], m.loop.in[k]);
  for (size_t k = 0; k < m.out.size(); ++k)
    f(m.out[k], static_cast<const LoopOperand&>(m.loop.out[k]));
}

// Slices of other dims have strides that are smaller than the first dim's.
bool cut_along_first_dim(const TileSpec::Member& m, int64_t tile) {
  bool all = m.loop.dims[0] % tile == 0;
  each_operand(m, [&](const TileSpec::Operand& o, const LoopOperand& l) {
    const auto size = static_cast<int64_t>(size_of(l.dt));
    all &= o.bytes == l.strides[0] * (m.loop.dims[0] / tile) * size;
  });
  return all;
}

}  // namespace

Tiles::Tiles(TileSpec s) : slices_(s.slices), tile_(s.tile) {
  text_ = str_cat(" of ", slices_, ":");
  for (auto& m : s.members) {
    text_ += " " + (m.op ? m.op->describe() : m.loop.describe()) + ";";
    cost_ += LoopKernel::cost_of(m.loop) * slices_ / tile_;
  }
  text_.pop_back();
  if (!make_chain(s))
    for (auto& m : s.members) {
      Member made{nullptr, nullptr, std::move(m.op), std::move(m.rest_op), m.in, m.out};
      if (!made.op) {
        made.kernel = std::make_unique<LoopKernel>(std::move(m.loop));
        if (slices_ % tile_) made.rest = std::make_unique<LoopKernel>(std::move(m.rest));
      }
      members_.push_back(std::move(made));
    }
  scratch_.assign(s.scratch.begin(), s.scratch.end());
}

// That the loops touch, of each value once.
int64_t Tiles::slice_bytes(const TileSpec& s) const {
  std::map<std::pair<int, int>, int64_t> of;
  for (auto& m : s.members)
    for (auto* list : {&m.in, &m.out})
      for (auto& o : *list) of[{o.kind, o.index}] = std::max(of[{o.kind, o.index}], o.bytes);
  int64_t n = 0;
  for (auto& [value, bytes] : of) n += bytes;
  return n;
}

// Chains hold in the nearest cache what their slices touch, and fetch the next ones' inputs.
bool Tiles::make_chain(const TileSpec& s) {
  size_t nodes = 0;
  for (auto& m : s.members) nodes += m.loop.body.size();
  if (nodes > kMaxChainNodes) return false;
  for (auto& m : s.members)
    if (m.op || !cut_along_first_dim(m, s.tile)) return false;
  const int64_t near = config().tile_bytes / 2, bytes = std::max<int64_t>(1, slice_bytes(s));
  int64_t tile = std::min(s.tile, std::max<int64_t>(4, near / bytes));
  if (tile > 4) tile -= tile % 4;  // rows are reduced a few at a time

  std::vector<LoopSpec> loops;
  std::vector<InnerSpec> inner;
  size_t longest = 0;  // the last of those with the most elements
  auto elements = [](const LoopSpec& l) {
    return l.dims.size() > 1 ? l.dims[0] * l.dims[1] : l.dims[0];
  };
  for (auto& m : s.members) {
    LoopSpec l = m.loop;
    l.dims[0] = l.dims[0] / s.tile * tile;
    l.collapse();
    if (l.dims.size() > 2 || l.form == LoopSpec::kCol) return false;
    if (l.form == LoopSpec::kRow && l.dims.back() > kChunk) return false;
    inner.push_back(inner_spec(&l));
    if (loops.empty() || elements(l) >= elements(loops[longest])) longest = loops.size();
    loops.push_back(std::move(l));
  }
  // Inputs whose next slices are fetched by the longest loop, as it goes along these.
  std::vector<std::pair<Operand, int64_t>> ahead;  // with the offset
  if (tile * bytes <= 2 * near)
    for (auto& m : s.members)
      each_operand(m, [&](const Operand& o, const LoopOperand& l) {
        const auto size = static_cast<int64_t>(size_of(l.dt));
        const bool whole = l.strides.back() == 1 && l.offset == 0 &&
                           o.bytes * tile == elements(loops[longest]) * size;
        const bool known = std::any_of(ahead.begin(), ahead.end(),
                                       [&](auto& a) { return a.first.index == o.index; });
        if (o.kind != Operand::kIn || !whole || known) return;
        ahead.push_back({o, tile * o.bytes});
        inner[longest].ahead.push_back(l.dt);
      });

  auto chain = std::make_unique<Chain>();
  const int64_t rest = slices_ % tile;
  for (size_t i = 0; i < loops.size(); ++i) {
    const LoopSpec& l = loops[i];
    const TileSpec::Member& m = s.members[i];
    const bool passes = l.dims.size() > 1;
    // Where slices run one by one, there is no smaller rest.
    const int64_t less = tile > 1 ? l.dims[0] / tile * rest : 0;
    if (!passes) inner[i].whole &= less % InnerSpec::kWhole == 0;
    chain->shape.insert(chain->shape.end(), {l.dims.back(), passes ? l.dims[0] : 1});
    chain->rest.insert(chain->rest.end(), {passes ? l.dims.back() : less, passes ? less : 1});
    auto add = [&](const Operand& of, int64_t offset, int64_t step, bool stored, bool streams) {
      chain->pointers.push_back({of, offset, stored, streams});
      for (auto* to : {&chain->shape, &chain->rest}) to->push_back(step);
    };
    auto step = [&](const LoopOperand& o) {
      return passes ? o.strides[0] * static_cast<int64_t>(size_of(o.dt)) : 0;
    };
    auto offset = [](const LoopOperand& o) {
      return o.offset * static_cast<int64_t>(size_of(o.dt));
    };
    for (size_t k = 0; k < l.in.size(); ++k)
      add(m.in[k], offset(l.in[k]), step(l.in[k]), false, false);
    for (size_t k = 0; k < l.out.size(); ++k)
      add(m.out[k], offset(l.out[k]), step(l.out[k]), true, l.out[k].stream);
    if (i == longest)
      for (size_t k = 0; k < ahead.size(); ++k)
        add(ahead[k].first, ahead[k].second,
            l.dims.back() * static_cast<int64_t>(size_of(inner[i].ahead[k])), false, false);
  }
  const bool streams = std::any_of(chain->pointers.begin(), chain->pointers.end(),
                                   [](auto& p) { return p.streams; });
  if (streams) chain->streaming = make_inner_chain(inner);
  for (auto& l : inner)
    for (auto& o : l.out) o.stream = false;
  chain->loops = make_inner_chain(inner);
  if (!chain->loops) return false;
  tile_ = tile;
  chain_ = std::move(chain);
  return true;
}

void Tiles::launch(const void* const* in, void* const* out) {
  const int64_t tiles = (slices_ + tile_ - 1) / tile_;
  parallel_for(tiles, cost_ < LoopKernel::kParallelCost ? tiles : 1, [&](int64_t b, int64_t e) {
    (this->*(chain_ ? &Tiles::run_chain : &Tiles::run_tiles))(in, out, b, e);
  });
}

void Tiles::run_chain(const void* const* in, void* const* out, int64_t begin, int64_t end) const {
  const Pieces scratch(scratch_);
  const Chain& c = *chain_;
  const size_t count = c.pointers.size();
  std::vector<char*> at(count);
  std::vector<int64_t> move(count);
  bool streams = c.streaming != nullptr;
  for (size_t k = 0; k < count; ++k) {
    const Operand& o = c.pointers[k].of;
    char* base = o.kind == Operand::kScratch ? scratch[o.index]
                 : o.kind == Operand::kIn    ? static_cast<char*>(const_cast<void*>(in[o.index]))
                                             : static_cast<char*>(out[o.index]);
    move[k] = o.kind == Operand::kScratch ? 0 : tile_ * o.bytes;
    at[k] = base + c.pointers[k].offset + begin * move[k];
    streams &=
        !c.pointers[k].streams || (reinterpret_cast<intptr_t>(at[k]) | move[k]) % kLaneBytes == 0;
  }
  // What is written in place is in the cache already.
  for (size_t k = 0; k < count && streams; ++k)
    for (size_t j = 0; j < count; ++j)
      streams &= !c.pointers[k].streams || c.pointers[j].stored || at[j] != at[k];
  const InnerChain& loops = streams ? *c.streaming : *c.loops;
  for (int64_t t = begin; t < end; ++t) {
    loops.run(at.data(), (slices_ - t * tile_ < tile_ ? c.rest : c.shape).data());
    for (size_t k = 0; k < count; ++k) at[k] += move[k];
  }
  // Stores around the caches are seen by other threads after a fence only.
  if (streams) __builtin_ia32_sfence();
}

void Tiles::run_tiles(const void* const* in, void* const* out, int64_t begin, int64_t end) const {
  const Pieces scratch(scratch_);
  for (int64_t t = begin; t < end; ++t) {
    const int64_t first = t * tile_;
    auto address = [&](const Operand& o) -> void* {
      if (o.kind == Operand::kScratch) return scratch[o.index];
      char* p = static_cast<char*>(o.kind == Operand::kIn ? const_cast<void*>(in[o.index])
                                                          : out[o.index]);
      return p + first * o.bytes;
    };
    for (auto& m : members_) {
      const void* i[64];
      void* o[64];
      for (size_t k = 0; k < m.in.size(); ++k) i[k] = address(m.in[k]);
      for (size_t k = 0; k < m.out.size(); ++k) o[k] = address(m.out[k]);
      const bool rest = slices_ - first < tile_;
      if (m.op)
        (rest ? m.rest_op : m.op)->launch(i, o);
      else
        (rest ? m.rest : m.kernel)->run_alone(i, o);
    }
  }
}

std::string Tiles::describe() const { return str_cat("tiles of ", tile_, text_); }

}  // namespace pijit
