#include "cpu/tiles.h"

#include <algorithm>

#include "base/log.h"
#include "cpu/parallel.h"
#include "runtime/array.h"

namespace pijit {

Tiles::Tiles(TileSpec s) : slices_(s.slices), tile_(s.tile) {
  for (auto& m : s.members) {
    Member made{std::make_unique<LoopKernel>(std::move(m.loop)), nullptr, m.in, m.out};
    if (slices_ % tile_) made.rest = std::make_unique<LoopKernel>(std::move(m.rest));
    cost_ += made.kernel->cost() * slices_ / tile_;
    members_.push_back(std::move(made));
  }
  for (auto bytes : s.scratch) {
    offset_.push_back(scratch_);
    scratch_ += (bytes + 63) / 64 * 64;
  }
}

void Tiles::launch(const void* const* in, void* const* out) {
  const int64_t tiles = (slices_ + tile_ - 1) / tile_;
  parallel_for(tiles, cost_ < LoopKernel::kParallelCost ? tiles : 1,
               [&](int64_t b, int64_t e) { run_tiles(in, out, b, e); });
}

void Tiles::run_tiles(const void* const* in, void* const* out, int64_t begin, int64_t end) const {
  const Block scratch(scratch_);
  for (int64_t t = begin; t < end; ++t) {
    const int64_t first = t * tile_;
    auto address = [&](const TileSpec::Operand& o) -> void* {
      if (o.kind == TileSpec::Operand::kScratch) return scratch.p + offset_[o.index];
      char* p = static_cast<char*>(o.kind == TileSpec::Operand::kIn ? const_cast<void*>(in[o.index])
                                                                    : out[o.index]);
      return p + first * o.bytes;
    };
    for (auto& m : members_) {
      const void* i[64];
      void* o[64];
      for (size_t k = 0; k < m.in.size(); ++k) i[k] = address(m.in[k]);
      for (size_t k = 0; k < m.out.size(); ++k) o[k] = address(m.out[k]);
      (slices_ - first < tile_ ? m.rest : m.kernel)->run_alone(i, o);
    }
  }
}

std::string Tiles::describe() const {
  std::string s = str_cat("tiles of ", tile_, " of ", slices_, ":");
  for (auto& m : members_) s += " " + m.kernel->describe() + ";";
  s.pop_back();
  return s;
}

}  // namespace pijit
