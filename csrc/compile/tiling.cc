#include "compile/tiling.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/config.h"

namespace pijit {
namespace {

// Rows must fit in a core's cache, with room for the tile before; below, the kernels' own order is
// as good.
constexpr int64_t kMaxRowBytes = 256 << 10;
constexpr int64_t kMinRows = 4;

// The operand's row r lies in the r-th of equal parts of the value.
bool own_rows(const LoopSpec& s, const LoopOperand& o, int64_t numel) {
  return o.strides[0] * s.dims[0] == numel;
}

}  // namespace

std::vector<TileGroup> plan_tiles(const std::vector<Program::Step>& steps,
                                  const std::function<int64_t(int)>& numel) {
  std::vector<TileGroup> groups;
  if (!config().fuse) return groups;
  TileGroup g{0, 0, 0, 0};
  std::set<int> made;  // by the group's steps
  bool flows = false;  // from one of its steps to another
  auto close = [&] {
    // what fits in one tile anyway runs kernel by kernel
    if (g.end - g.begin >= 2 && flows && g.rows * g.row_bytes > config().tile_bytes)
      groups.push_back(g);
    made.clear();
    flows = false;
  };
  for (size_t k = 0; k < steps.size(); ++k) {
    const Program::Step& st = steps[k];
    if (!st.loop || !st.loop->has_rows() || st.loop->spec().dims[0] == 0) {
      close();
      g = {k + 1, k + 1, 0, 0};
      continue;
    }
    const LoopSpec& s = st.loop->spec();
    bool joins = g.end == k && k > g.begin, reads = false;
    for (size_t i = 0; i < s.in.size(); ++i)
      if (made.count(st.in[i])) {
        reads = true;
        joins = joins && own_rows(s, s.in[i], numel(st.in[i]));
      }
    for (size_t i = 0; i < s.out.size(); ++i)
      joins = joins && own_rows(s, s.out[i], numel(st.out[i]));
    auto bytes = [&](int64_t rows) {
      int64_t n = 0;
      for (auto& o : s.in)
        n += o.strides[0] * (s.dims[0] / rows) * static_cast<int64_t>(size_of(o.dt));
      for (auto& o : s.out)
        n += o.strides[0] * (s.dims[0] / rows) * static_cast<int64_t>(size_of(o.dt));
      return n;
    };
    const int64_t rows = std::gcd(g.rows, s.dims[0]);
    if (joins && rows >= kMinRows) {
      const int64_t row_bytes = g.row_bytes * (g.rows / rows) + bytes(rows);
      if (row_bytes <= kMaxRowBytes) {
        g.rows = rows;
        g.row_bytes = row_bytes;
        g.end = k + 1;
        flows |= reads;
        for (int o : st.out) made.insert(o);
        continue;
      }
    }
    close();
    g = {k, k + 1, s.dims[0], bytes(s.dims[0])};
    for (int o : st.out) made.insert(o);
  }
  close();
  return groups;
}

}  // namespace pijit
