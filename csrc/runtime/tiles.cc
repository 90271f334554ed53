#include "runtime/tiles.h"

#include <algorithm>

#include "runtime/array.h"
#include "runtime/kernel.h"

namespace pijit {

Tiles::Tiles(std::vector<Member> members, int64_t rows, int64_t tile, std::vector<size_t> row_bytes)
    : members_(std::move(members)), rows_(rows), tile_(tile), row_bytes_(std::move(row_bytes)) {
  for (auto& m : members_) cost_ += m.kernel->cost();
  for (auto b : row_bytes_) {
    offset_.push_back(scratch_);
    scratch_ += (b * static_cast<size_t>(tile_) + 63) / 64 * 64;
  }
}

void Tiles::run(const void* const* in, void* const* out) const {
  const int64_t tiles = (rows_ + tile_ - 1) / tile_;
  parallel_for(tiles, cost_ < LoopKernel::kParallelCost ? tiles : 1, [&](int64_t b, int64_t e) {
    run_rows(in, out, b * tile_, std::min(rows_, e * tile_));
  });
}

void Tiles::run_rows(const void* const* in, void* const* out, int64_t begin, int64_t end) const {
  const Block scratch(scratch_);
  for (int64_t at = begin; at < end; at += tile_) {
    const int64_t stop = std::min(end, at + tile_);
    // Kernels address rows from the first of all: the scratch value's row `at` is its first one.
    auto address = [&](const Operand& o) -> void* {
      if (o.kind == Operand::kIn) return const_cast<void*>(in[o.index]);
      if (o.kind == Operand::kOut) return out[o.index];
      return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(scratch.p) + offset_[o.index] -
                                     static_cast<size_t>(at) * row_bytes_[o.index]);
    };
    for (auto& m : members_) {
      const void* i[64];
      void* o[64];
      for (size_t k = 0; k < m.in.size(); ++k) i[k] = address(m.in[k]);
      for (size_t k = 0; k < m.out.size(); ++k) o[k] = address(m.out[k]);
      m.kernel->run_rows(i, o, at, stop, rows_);
    }
  }
}

std::string Tiles::describe() const {
  std::string s = str_cat("tiles of ", tile_, " of ", rows_, " rows:");
  for (auto& m : members_) s += " " + m.kernel->describe() + ";";
  s.pop_back();
  return s;
}

}  // namespace pijit
