#include "compile/tiling.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/config.h"

namespace pijit {
namespace {

// Rows must fit in a core's cache, with room for the tile before; below, the kernels' own order is
// as good.
constexpr int64_t kMaxRowBytes = 256 << 10;
constexpr int64_t kMinRows = 4;
// Of more loops, each does so little of a tile that beginning it takes longer.
constexpr size_t kMostLoops = 128;
// Elements side by side that make up for the start of an inner loop.
constexpr int64_t kMinRun = 1024;

int reduced_dim(const LoopSpec& s) {
  const int rank = static_cast<int>(s.dims.size());
  return s.form == LoopSpec::kMap ? -1 : s.form == LoopSpec::kRow ? rank - 1 : rank - 2;
}
class TilingPlanner {
 public:
  TilingPlanner(const std::vector<PlannedLoop>& loops, const DeviceFacts& facts,
                GoesOutside goes_outside)
      : full_(loops), loops_(loops), facts_(facts), goes_outside_(goes_outside) {
    for (auto& l : loops_)
      if (l.runs_in_tiles()) l.spec.collapse();
    std::map<int, int64_t> rows;  // of what loops make
    for (auto& l : full_) {
      bool shifts = false;
      for (size_t i = 0; i < l.spec.in.size(); ++i) {
        const auto made = rows.find(l.in[i]);
        shifts |= made != rows.end() && !l.spec.dims.empty() && made->second != l.spec.dims[0];
      }
      reads_other_rows_.push_back(shifts);
      for (int s : l.out)
        if (!l.spec.dims.empty()) rows[s] = l.spec.dims[0];
    }
  }
  std::vector<TileGroup> run() {
    std::vector<TileGroup> groups;
    size_t from = 0;
    for (size_t k = 0; k < loops_.size(); ++k) {
      auto g = along_an_inner_axis(k);
      if (!g) g = overlapped(k);
      if (!g) continue;
      by_rows(from, k, &groups);
      k = from = g->end;
      --k;
      groups.push_back(std::move(*g));
    }
    by_rows(from, loops_.size(), &groups);
    return groups;
  }

 private:
  // Rows: slices along the first dim.
  void by_rows(size_t from, size_t to, std::vector<TileGroup>* groups) const {
    struct {
      size_t begin, end;
      int64_t rows, row_bytes;
    } g{from, from, 0, 0};
    std::map<int, int64_t> made;     // by the group's steps: bytes
    std::map<int, int64_t> touched;  // by them: bytes of each value's rows together
    int64_t touches = 0;             // by each of them
    bool flows = false;              // from one of its steps to another
    auto close = [&] {
      int64_t bytes = 0;  // what several loops touch is in the cache once
      for (auto [slot, n] : touched) bytes += n;
      // What fits in a few tiles, and so in the cache as a whole, runs kernel by kernel; so do
      // loops that share little, as the map of a batch norm and what is computed by channel.
      if (g.end - g.begin >= 2 && flows && 4 * (touches - bytes) >= bytes &&
          g.rows * g.row_bytes > 4 * facts_.tile_bytes) {
        TileGroup t{g.begin, g.end, g.rows, 1, {}};
        // Twice the bytes: beginning a kernel takes about 100 ns, as long as a row of some KiB.
        t.tile = std::clamp<int64_t>(2 * facts_.tile_bytes * g.rows / std::max<int64_t>(1, bytes),
                                     1, std::max<int64_t>(1, g.rows / 4));
        if (t.tile > 4) t.tile -= t.tile % 4;  // rows are reduced a few at a time
        for (size_t k = g.begin; k < g.end; ++k)
          t.cuts.push_back({0, 1, loops_[k].spec.dims[0] / g.rows});
        groups->push_back(std::move(t));
      }
      made.clear();
      touched.clear();
      touches = 0;
      flows = false;
    };
    for (size_t k = from; k < to; ++k) {
      const LoopSpec& s = loops_[k].spec;
      if (!loops_[k].runs_in_tiles() || s.dims[0] == 0 || reduced_dim(s) == 0) {
        close();
        g = {k + 1, k + 1, 0, 0};
        continue;
      }
      const int64_t rows = std::gcd(g.rows, s.dims[0]);
      bool joins = g.end == k && k > g.begin && k - g.begin < kMostLoops && rows >= kMinRows,
           reads = false;
      auto own_rows = [&](const LoopOperand& o, int64_t all) {
        return o.strides[0] * s.dims[0] * static_cast<int64_t>(size_of(o.dt)) == all;
      };
      for (size_t i = 0; i < s.in.size(); ++i)
        if (auto it = made.find(loops_[k].in[i]); it != made.end()) {
          reads = true;
          joins = joins && own_rows(s.in[i], it->second);
        }
      for (auto& o : s.out) joins = joins && own_rows(o, s.footprint(o));
      auto bytes = [&](int64_t of) {
        std::map<int, int64_t> by_slot;  // once where a loop reads several views of a value
        loops_[k].each_operand([&](int slot, const LoopOperand& o) {
          by_slot[slot] = std::max(
              by_slot[slot], o.strides[0] * (s.dims[0] / of) * static_cast<int64_t>(size_of(o.dt)));
        });
        int64_t n = 0;
        for (auto [slot, b] : by_slot) n += b;
        return n;
      };
      const int64_t row_bytes = joins ? g.row_bytes * (g.rows / rows) + bytes(rows) : 0;
      if (joins && row_bytes <= kMaxRowBytes) {
        g = {g.begin, k + 1, rows, row_bytes};
        flows |= reads;
      } else {
        close();
        g = {k, k + 1, s.dims[0], bytes(s.dims[0])};
      }
      for (size_t i = 0; i < s.out.size(); ++i) made[loops_[k].out[i]] = s.footprint(s.out[i]);
      std::map<int, int64_t> by_slot;
      loops_[k].each_operand([&](int slot, const LoopOperand& o) {
        const int64_t n = o.strides[0] * s.dims[0] * static_cast<int64_t>(size_of(o.dt));
        by_slot[slot] = std::max(by_slot[slot], n);
      });
      for (auto [slot, n] : by_slot) {
        touched[slot] = std::max(touched[slot], n);
        touches += n;
      }
    }
    close();
  }

  // A group in the making: slices along an axis that is not the first, as the channels of a batch
  // norm's [N,C,H,W].
  struct Growth {
    TileGroup g;
    std::map<int, int64_t> stride;  // of the slices of each value that is not read whole
    std::map<int, int64_t> bytes;   // of each value
    std::set<int> made;
    int64_t touched = 0;   // bytes, once for each loop
    bool gathers = false;  // sums along an axis before the slices': rows would not do
  };
  std::optional<TileGroup> along_an_inner_axis(size_t begin) const {
    const LoopSpec& s = full_[begin].spec;
    const int rank = static_cast<int>(s.dims.size());
    for (int d = 1; d < rank; ++d) {
      if (d == reduced_dim(s) || s.dims[d] < facts_.threads || s.dims[d] == 1) continue;
      // The slices of the largest input tell the others'.
      int64_t most = 0, stride = 0;
      int slot = -1;
      for (size_t k = 0; k < s.in.size(); ++k) {
        const int64_t n = s.footprint(s.in[k]);
        if (s.in[k].strides[d] && n > most)
          most = n, stride = s.in[k].strides[d], slot = full_[begin].in[k];
      }
      if (most < facts_.tile_bytes) continue;
      Growth a{{begin, begin, s.dims[d], 0, {}}, {{slot, stride}}, {}, {}};
      while (a.g.end < loops_.size() && join(a.g.end, &a)) ++a.g.end;
      if (choose_tile(&a)) return a.g;
    }
    return std::nullopt;
  }
  bool join(size_t k, Growth* a) const {
    const PlannedLoop& l = loops_[k];
    if (!l.is_loop()) return false;
    for (size_t i = 0; i < l.in.size(); ++i) {
      auto it = a->stride.find(l.in[i]);
      if (it == a->stride.end()) continue;
      for (int d = 0; d < static_cast<int>(l.spec.dims.size()); ++d)
        if (auto cut = cut_at(l.spec, d, l.spec.in[i].strides[d], it->second, a->g.slices))
          if (take(l, *cut, a)) return true;
    }
    return false;
  }
  static std::optional<Cut> cut_at(const LoopSpec& s, int d, int64_t own, int64_t wanted,
                                   int64_t slices) {
    if (own == 0 || wanted % own != 0 || d == reduced_dim(s)) return std::nullopt;
    const int64_t after = wanted / own;
    if (s.dims[d] == 0 || s.dims[d] % (after * slices) != 0) return std::nullopt;
    const Cut c{d, s.dims[d] / (after * slices), after};
    // The inner dim of columns is one dim.
    if (s.form == LoopSpec::kCol && d == reduced_dim(s) + 1 && c.before != 1) return std::nullopt;
    return c;
  }
  // Adds the loop, divided so, if all its operands can be.
  static bool take(const PlannedLoop& l, const Cut& cut, Growth* a) {
    auto stride = a->stride;
    for (size_t k = 0; k < l.in.size(); ++k) {
      const int64_t own = cut.stride(l.spec.in[k]);
      if (own == 0 && !a->made.count(l.in[k])) continue;
      if (own == 0 || stride.try_emplace(l.in[k], own).first->second != own) return false;
    }
    for (size_t k = 0; k < l.out.size(); ++k) {
      const int64_t own = cut.stride(l.spec.out[k]);
      if (own == 0) return false;
      stride[l.out[k]] = own;
    }
    a->stride = std::move(stride);
    a->made.insert(l.out.begin(), l.out.end());
    l.each_operand([&](int slot, const LoopOperand& o) {
      const int64_t n = l.spec.footprint(o);
      a->touched += n;
      a->bytes[slot] = std::max(a->bytes[slot], n);
    });
    a->gathers |= cut.dim > reduced_dim(l.spec) && l.spec.form == LoopSpec::kCol;
    a->g.cuts.push_back(cut);
    return true;
  }
  bool choose_tile(Growth* a) const {
    TileGroup& g = a->g;
    int64_t distinct = 0, run = 1;
    for (auto [slot, n] : a->bytes) distinct += n;
    for (auto [slot, s] : a->stride) run = std::max(run, s);
    if (!a->gathers || 4 * (a->touched - distinct) < distinct) return false;
    // What the caches hold is as fast kernel by kernel.
    const int64_t bytes = distinct / g.slices, threads = facts_.threads;
    if (distinct <= facts_.cache_bytes ||
        bytes > std::max<int64_t>(facts_.cache_bytes / (2 * threads), 1 << 20))
      return false;
    // At least as many tiles as threads, and about as many for each of them.
    g.tile = std::max(
        {int64_t{1}, facts_.cache_bytes / (4 * threads * bytes), (kMinRun + run - 1) / run});
    int64_t tiles = std::max(threads, (g.slices + g.tile - 1) / g.tile);
    tiles = std::min(g.slices, (tiles + threads - 1) / threads * threads);
    g.tile = (g.slices + tiles - 1) / tiles;
    tiles = (g.slices + g.tile - 1) / g.tile;
    const int64_t turns = (tiles + threads - 1) / threads;
    return tiles > 1 && 4 * turns * threads <= 5 * tiles;
  }

  // Loops that read what others of them make at other rows than their own.
  std::optional<TileGroup> overlapped(size_t begin) const {
    constexpr size_t kMost = 24;  // each end is tried
    size_t end = begin;
    auto fits = [&](const PlannedLoop& l) {
      return l.is_loop() && l.spec.form == LoopSpec::kMap && !l.spec.dims.empty() &&
             l.spec.dims[0] >= kMinRows;
    };
    size_t first = 0;  // end of the shortest group that gains
    for (; end < full_.size() && end - begin < kMost && fits(full_[end]); ++end)
      if (first == 0 && end > begin && reads_other_rows_[end]) first = end + 1;
    for (; first > 0 && end >= first; --end)
      if (auto g = overlapped_group(begin, end)) return g;
    return std::nullopt;
  }
  std::optional<TileGroup> overlapped_group(size_t begin, size_t end) const {
    TileGroup g{begin, end, full_[end - 1].spec.dims[0], 1, {}, {}};
    std::map<int, size_t> maker;  // of a slot
    for (size_t k = begin; k < end; ++k)
      for (int s : full_[k].out) maker[s] = k;
    std::map<size_t, std::pair<int64_t, int64_t>> need;  // rows before and behind those of a tile
    std::vector<int64_t> halo(end - begin);
    bool any = false;
    for (size_t k = end; k-- > begin;) {
      const LoopSpec& s = full_[k].spec;
      const bool leaves = std::any_of(full_[k].out.begin(), full_[k].out.end(),
                                      [&](int slot) { return goes_outside_(slot, end); });
      const auto asked = need.find(k);
      if (asked == need.end() && !leaves) return std::nullopt;
      const int64_t rows = asked == need.end() ? 0 : asked->second.second;
      // Others' tiles write what leaves, and all rows are computed: some may raise flags.
      if ((leaves && rows != 0) || (asked != need.end() && asked->second.first != 0) ||
          s.dims[0] != g.slices + rows)
        return std::nullopt;
      for (auto& o : s.out)
        if (o.strides[0] <= 0 || o.offset != 0 || span_of(s, o) > o.strides[0]) return std::nullopt;
      halo[k - begin] = rows;
      any |= rows != 0;
      for (size_t i = 0; i < s.in.size(); ++i) {
        const auto m = maker.find(full_[k].in[i]);
        if (m == maker.end()) continue;
        const LoopOperand& o = s.in[i];
        const int64_t row = row_of(full_[m->second], full_[k].in[i]);
        if (m->second >= k || o.strides[0] != row || o.offset < 0 ||
            o.offset % row + span_of(s, o) > row)
          return std::nullopt;
        const int64_t at = o.offset / row;
        auto [it, fresh] = need.try_emplace(m->second, at, at + rows);
        it->second.first = std::min(it->second.first, at);
        it->second.second = std::max(it->second.second, at + rows);
      }
    }
    if (!any) return std::nullopt;
    g.halo = std::move(halo);
    return choose_overlapped_tile(&g) ? std::optional(std::move(g)) : std::nullopt;
  }
  // Elements from the first to behind the last one of a row; more than any row where they do not go
  // upwards.
  static int64_t span_of(const LoopSpec& s, const LoopOperand& o) {
    int64_t n = 1;
    for (size_t d = 1; d < s.dims.size(); ++d) {
      if (o.strides[d] < 0) return INT64_MAX / 2;
      n += (s.dims[d] - 1) * o.strides[d];
    }
    return n;
  }
  static int64_t row_of(const PlannedLoop& l, int slot) {
    for (size_t k = 0; k < l.out.size(); ++k)
      if (l.out[k] == slot) return l.spec.out[k].strides[0];
    return 0;
  }
  // Tiles that stay in a core's own cache, and compute few rows again.
  bool choose_overlapped_tile(TileGroup* g) const {
    constexpr int64_t kTileBytes = 6, kMost = 32, kLeast = 4;  // of facts_.tile_bytes; rows
    std::map<int, int64_t> by_slot;                            // bytes of a row
    int64_t most = 0, row_bytes = 0;
    for (size_t k = g->begin; k < g->end; ++k) {
      most = std::max(most, g->halo[k - g->begin]);
      full_[k].each_operand([&](int slot, const LoopOperand& o) {
        const int64_t n = std::abs(o.strides[0]) * static_cast<int64_t>(size_of(o.dt));
        by_slot[slot] = std::max(by_slot[slot], n);
      });
    }
    for (auto [slot, n] : by_slot) row_bytes += n;
    if (row_bytes == 0 || g->slices * row_bytes <= kMost * facts_.tile_bytes) return false;
    const int64_t threads = facts_.threads;
    g->tile = std::max(kTileBytes * facts_.tile_bytes / row_bytes, kLeast * most);
    if (g->tile * row_bytes > kMost * facts_.tile_bytes) return false;
    // as many for each thread
    const int64_t turns = (g->slices + threads * g->tile - 1) / (threads * g->tile);
    const int64_t even = (g->slices + threads * turns - 1) / (threads * turns);
    if (even >= kLeast * most) g->tile = even;
    return true;
  }

  const std::vector<PlannedLoop>& full_;
  std::vector<PlannedLoop> loops_;  // collapsed
  const DeviceFacts& facts_;
  const GoesOutside goes_outside_;
  std::vector<bool> reads_other_rows_;  // than its own, of what another loop makes
};

}  // namespace

std::vector<TileGroup> plan_tiles(const std::vector<PlannedLoop>& loops, const DeviceFacts& facts,
                                  GoesOutside goes_outside) {
  if (!config().fuse || facts.tile_bytes == 0) return {};
  return TilingPlanner(loops, facts, goes_outside).run();
}

LoopSpec rows_of(const LoopSpec& s, int64_t rows) {
  LoopSpec r = s;
  r.dims[0] = rows;
  r.collapse();
  return r;
}

LoopSpec slices_of(const LoopSpec& s, const Cut& cut, int64_t slices, int64_t count,
                   const std::vector<bool>& scratch) {
  LoopSpec r = s;
  auto divide = [&](LoopOperand& o, bool in_scratch) {
    auto& st = o.strides;
    if (in_scratch) {
      for (int d = 0; d < cut.dim; ++d) st[d] = st[d] / slices * count;
      const int64_t slice = cut.stride(o), before = o.offset / (slice * slices);
      o.offset -= before * slice * (slices - count);
    }
    if (cut.before > 1)
      st.insert(st.begin() + cut.dim, cut.stride(o) * (in_scratch ? count : slices));
  };
  for (size_t k = 0; k < r.in.size(); ++k) divide(r.in[k], scratch[k]);
  for (size_t k = 0; k < r.out.size(); ++k) divide(r.out[k], scratch[r.in.size() + k]);
  r.dims[cut.dim] = cut.after * count;
  if (cut.before > 1) r.dims.insert(r.dims.begin() + cut.dim, cut.before);
  return r;
}

}  // namespace pijit
