#include "cpu/loops/kernel.h"

#include <algorithm>
#include <cstring>

#include "cpu/parallel.h"
#include "runtime/pooled.h"

namespace pijit {
namespace {

void fill(char* p, int64_t n, int64_t size, uint64_t bits) {
  switch (size) {
    case 1: std::memset(p, static_cast<int>(bits), static_cast<size_t>(n)); return;
    case 2: std::fill_n(reinterpret_cast<uint16_t*>(p), n, static_cast<uint16_t>(bits)); return;
    case 4: std::fill_n(reinterpret_cast<uint32_t*>(p), n, static_cast<uint32_t>(bits)); return;
    default: std::fill_n(reinterpret_cast<uint64_t*>(p), n, bits);
  }
}

}  // namespace

std::string InnerSpec::key() const {
  std::string k;
  auto put = [&](const void* p, size_t n) { k.append(static_cast<const char*>(p), n); };
  auto num = [&](int64_t v) { put(&v, sizeof v); };
  num(form | few << 8 | by_columns << 9 | many << 10 | whole << 11);
  num(static_cast<int64_t>(body.size()));
  for (auto& n : body) {
    num(static_cast<int64_t>(n.op) | static_cast<int64_t>(n.dt) << 8);
    num(static_cast<int64_t>(n.a) | static_cast<int64_t>(n.b) << 20 |
        static_cast<int64_t>(n.c) << 40);
    num(static_cast<int64_t>(n.imm));
  }
  for (auto t : in_types) num(static_cast<int64_t>(t));
  for (auto s : in_strides) num(s);
  for (auto t : ahead) num(static_cast<int64_t>(t) | int64_t{1} << 32);
  num(static_cast<int64_t>(slices.size()));
  for (auto& s : slices) num(s.of), num(s.shift);
  for (size_t i = 0; i < out.size(); ++i) {
    num(static_cast<int64_t>(out[i].dt) | static_cast<int64_t>(out[i].combine) << 8 |
        static_cast<int64_t>(out[i].node) << 16 | static_cast<int64_t>(out[i].stream) << 62);
    num(out_strides[i]);
  }
  return k;
}

namespace {

// Slices of one array that begin a few elements apart, as a stencil's along its rows.
std::vector<InnerSpec::Slice> slices_of(const std::vector<LoopOperand>& in) {
  std::vector<size_t> order;
  for (size_t k = 0; k < in.size(); ++k)
    if (in[k].memory >= 0 && in[k].strides.back() == 1 && size_of(in[k].dt) >= 4)
      order.push_back(k);
  const auto row = [&](size_t k) { return std::tie(in[k].memory, in[k].dt, in[k].strides); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(row(a), in[a].offset) < std::pair(row(b), in[b].offset);
  });
  std::vector<InnerSpec::Slice> slices(in.size());
  bool any = false;
  for (size_t i = 0, first = 0; i < order.size(); ++i) {
    const size_t k = order[i], of = order[first];
    const int64_t shift = in[k].offset - in[of].offset;
    if (row(k) != row(of) || shift > InnerSpec::kMaxShift) {
      first = i;
      continue;
    }
    if (shift == 0) continue;
    slices[of] = {static_cast<int>(of), 0};
    slices[k] = {static_cast<int>(of), static_cast<int>(shift)};
    any = true;
  }
  return any ? slices : std::vector<InnerSpec::Slice>{};
}

}  // namespace

InnerSpec inner_spec(LoopSpec* s) {
  const int rank = static_cast<int>(s->dims.size());
  const int64_t inner = s->dims.back();
  InnerSpec is;
  is.form = s->form;
  is.body = s->body;
  for (auto& o : s->in) is.in_types.push_back(o.dt), is.in_strides.push_back(o.strides.back());
  for (auto& o : s->out) {
    // Vectors must begin where lines do in each row.
    const auto size = static_cast<int64_t>(size_of(o.dt));
    auto whole_lines = [=](int64_t n) { return n * size % kLaneBytes == 0; };
    o.stream &= o.combine == Combiner::kNone && size >= 4 && o.strides.back() == 1;
    if (rank > 1) o.stream &= whole_lines(inner);
    for (int d = 0; d < rank - 1; ++d) o.stream &= whole_lines(o.strides[d]);
    is.out.push_back(o), is.out_strides.push_back(o.strides.back());
    is.out.back().strides.clear();
  }
  is.slices = slices_of(s->in);
  is.few = s->form != LoopSpec::kRow && inner < 64 && (inner - 1) % 16 < 8;
  if (s->form == LoopSpec::kRow)
    is.many = inner > kChunk ? inner >= 4 * kChunk : rank > 1 && s->dims[rank - 2] >= 4;
  is.whole = inner % InnerSpec::kWhole == 0;
  return is;
}

LoopKernel::LoopKernel(LoopSpec s) : spec_(std::move(s)) {
  spec_.collapse();
  const int rank = static_cast<int>(spec_.dims.size());
  outer_dims_ = rank - (spec_.form == LoopSpec::kCol ? 2 : 1);
  for (int i = 0; i < outer_dims_; ++i) outer_ *= spec_.dims[i];
  inner_ = spec_.dims[rank - 1];
  if (spec_.form == LoopSpec::kCol) reduce_ = spec_.dims[rank - 2];
  make_apart();
  InnerSpec is = inner_spec(&spec_);
  const bool streams =
      std::any_of(is.out.begin(), is.out.end(), [](const LoopOutput& o) { return o.stream; });
  if (streams) streaming_ = make_inner_loop(is);
  for (auto& o : is.out) o.stream = false;
  is.by_columns = sums_by_columns();
  for (auto& o : spec_.out)
    identity_.push_back(o.combine == Combiner::kNone ? 0 : combiner_identity(o.combine, o.dt));
  loop_ = make_inner_loop(is);
}

// Threads that divide columns between them would each store its part of every row, and fetch ahead
// what belongs to the other. Where the reduced values are stored anyway, they divide the rows, and
// then the columns of what is in the cache.
void LoopKernel::make_apart() {
  if (spec_.form != LoopSpec::kCol || cost() < kParallelCost || outer_ >= max_threads()) return;
  LoopSpec rows = spec_, columns = spec_;
  rows.form = LoopSpec::kMap;
  rows.out.clear();
  columns.in.clear();
  columns.out.clear();
  SBuilder body;
  Apart first, second;
  const size_t ni = spec_.in.size();
  for (size_t k = 0; k < ni; ++k) first.in.push_back(k);
  for (size_t k = 0; k < spec_.out.size(); ++k) {
    const LoopOutput& o = spec_.out[k];
    if (o.stream) return;  // it is in no cache
    if (o.combine == Combiner::kNone) {
      rows.out.push_back(o);
      first.out.push_back(ni + k);
      continue;
    }
    const auto stored = std::find_if(spec_.out.begin(), spec_.out.end(), [&](auto& other) {
      return other.combine == Combiner::kNone && other.node == o.node && other.dt == o.dt;
    });
    if (stored == spec_.out.end()) return;
    LoopOutput column = o;
    column.node = body.input(static_cast<int>(columns.in.size()), o.dt).id;
    columns.in.push_back(*stored);
    columns.out.push_back(column);
    second.in.push_back(ni + static_cast<size_t>(stored - spec_.out.begin()));
    second.out.push_back(ni + k);
  }
  columns.body = body.nodes;
  first.kernel = std::make_unique<LoopKernel>(std::move(rows));
  second.kernel = std::make_unique<LoopKernel>(std::move(columns));
  apart_.push_back(std::move(first));
  apart_.push_back(std::move(second));
}

// Sums of columns stay in registers where rows are few, so short that one would wait for the last
// one's store, or read from one row and one column of numbers alone, as all pairs of points are.
// What is read once per row must stay in the cache until the next columns' turn.
bool LoopKernel::sums_by_columns() const {
  if (spec_.form != LoopSpec::kCol || reduce_ < 2) return false;
  int64_t bytes = 0;
  bool crossed = true;
  auto add = [&](const LoopOperand& o, bool along_rows) {
    const int64_t stride = std::abs(o.strides[outer_dims_]);
    bytes += reduce_ * stride * static_cast<int64_t>(size_of(o.dt));
    crossed &= stride == 0 || !along_rows;
  };
  for (auto& o : spec_.in) add(o, o.strides.back() != 0);
  for (auto& o : spec_.out) add(o, true);
  return bytes <= 1 << 17 && (crossed || reduce_ <= 16 || inner_ <= 32);
}

int64_t LoopKernel::cost_of(const LoopSpec& s) {
  auto n = static_cast<int64_t>(s.body.size() + s.in.size() + s.out.size());
  for (auto d : s.dims) n *= d;
  return n;
}

void LoopKernel::run(const void* const* in, void* const* out) const {
  const int64_t total = outer_ * reduce_ * inner_;
  const bool reducing = spec_.form != LoopSpec::kMap;
  if (total == 0 && !reducing) return;
  const int threads = cost() < kParallelCost ? 1 : max_threads();
  if (threads == 1) return run_alone(in, out);
  if (!apart_.empty()) {
    const void* inputs[64];
    void* outputs[64];
    const size_t ni = spec_.in.size();
    for (auto& part : apart_) {
      for (size_t k = 0; k < part.in.size(); ++k)
        inputs[k] = part.in[k] < ni ? in[part.in[k]] : out[part.in[k] - ni];
      for (size_t k = 0; k < part.out.size(); ++k) outputs[k] = out[part.out[k] - ni];
      part.kernel->run(inputs, outputs);
    }
    return;
  }
  if (spec_.form == LoopSpec::kMap && outer_dims_ == 0) {
    const int64_t blocks = (inner_ + 1023) / 1024;  // whole cache lines per thread
    parallel_for(blocks, 1, [&](int64_t b, int64_t e) {
      run_range(in, out, b * 1024, std::min(inner_, e * 1024));
    });
  } else if (outer_ >= threads) {
    parallel_for(outer_, 1, [&](int64_t b, int64_t e) { run_range(in, out, b, e); });
  } else if (spec_.form == LoopSpec::kCol && inner_ >= 64 * threads) {
    const int64_t blocks = (inner_ + 15) / 16;  // columns by whole cache lines
    parallel_for(blocks, 1, [&](int64_t b, int64_t e) {
      run_part(in, out, 0, outer_, b * 16, std::min(inner_, e * 16));
    });
  } else if (reducing) {
    run_part(in, out, 0, outer_, 0, inner_, true);
  } else {
    run_alone(in, out);
  }
}

bool LoopKernel::is_aligned(char* const* base) const {
  const size_t ni = spec_.in.size();
  for (size_t k = 0; k < spec_.out.size(); ++k) {
    if (!spec_.out[k].stream) continue;
    if (reinterpret_cast<uintptr_t>(base[ni + k]) % kLaneBytes != 0) return false;
    // What is written in place is in the cache already.
    for (size_t j = 0; j < ni; ++j)
      if (base[j] == base[ni + k]) return false;
  }
  return true;
}

void LoopKernel::run_part(const void* const* in, void* const* out, int64_t begin, int64_t end,
                          int64_t first, int64_t last, bool shared) const {
  if (begin >= end) return;
  const int64_t inner = last - first;
  const size_t ni = spec_.in.size(), no = spec_.out.size(), n_ops = ni + no;
  char* base[64];
  char* ptrs[64];
  int64_t size[64];
  PIJIT_CHECK(n_ops <= 64, "a loop kernel with more than 64 operands");
  auto strides = [&](size_t k) -> const std::vector<int64_t>& {
    return k < ni ? spec_.in[k].strides : spec_.out[k - ni].strides;
  };
  for (size_t k = 0; k < n_ops; ++k) {
    base[k] =
        k < ni ? static_cast<char*>(const_cast<void*>(in[k])) : static_cast<char*>(out[k - ni]);
    size[k] = static_cast<int64_t>(size_of(k < ni ? spec_.in[k].dt : spec_.out[k - ni].dt));
    const int64_t offset = k < ni ? spec_.in[k].offset : spec_.out[k - ni].offset;
    base[k] += (offset + first * strides(k).back()) * size[k];
  }
  const bool streams = streaming_ && is_aligned(base);
  const InnerLoop* const loop = streams ? streaming_.get() : loop_.get();
  // Stores around the caches are seen by other threads after a fence only.
  struct Fence {
    bool needed;
    ~Fence() {
      if (needed) __builtin_ia32_sfence();
    }
  } fence{streams};
  if (spec_.form == LoopSpec::kMap && outer_dims_ == 0) {
    for (size_t k = 0; k < n_ops; ++k) ptrs[k] = base[k] + begin * strides(k)[0] * size[k];
    return loop->run(ptrs, end - begin);
  }
  int64_t index[kMaxRank * 2] = {};
  int64_t rest = begin;
  for (int d = outer_dims_ - 1; d >= 0; --d) {
    index[d] = rest % spec_.dims[d];
    rest /= spec_.dims[d];
  }
  char* cur[64];     // at the outer index
  int64_t step[64];  // bytes along the innermost outer dim
  auto locate = [&] {
    for (size_t k = 0; k < n_ops; ++k) {
      int64_t off = 0;
      const auto& s = strides(k);
      for (int d = 0; d < outer_dims_; ++d) off += index[d] * s[d];
      cur[k] = base[k] + off * size[k];
    }
  };
  for (size_t k = 0; k < n_ops; ++k)
    step[k] = outer_dims_ ? strides(k)[outer_dims_ - 1] * size[k] : 0;
  locate();
  // Maps, and rows of one chunk, whose fold goes straight to the output.
  const bool direct =
      spec_.form == LoopSpec::kMap || (spec_.form == LoopSpec::kRow && inner_ <= kChunk);
  int64_t step_reduced[64];  // along the dim that columns reduce
  if (spec_.form == LoopSpec::kCol)
    for (size_t k = 0; k < n_ops; ++k) step_reduced[k] = strides(k)[outer_dims_] * size[k];
  int64_t passes = 1;
  for (int64_t o = begin; o < end; o += passes) {
    if (direct) {
      if (outer_dims_)
        passes = std::min(end - o, spec_.dims[outer_dims_ - 1] - index[outer_dims_ - 1]);
      loop->run(cur, inner, passes, step);
    }
    if (!direct && spec_.form == LoopSpec::kRow) reduce_row(*loop, cur, shared);
    if (!direct && spec_.form == LoopSpec::kCol)
      reduce_columns(*loop, cur, inner, step_reduced, shared);
    if (outer_dims_ == 0) break;
    if ((index[outer_dims_ - 1] += passes) < spec_.dims[outer_dims_ - 1]) {
      for (size_t k = 0; k < n_ops; ++k) cur[k] += step[k];
      continue;
    }
    index[outer_dims_ - 1] = 0;
    for (int d = outer_dims_ - 2; d >= 0; --d) {
      if (++index[d] < spec_.dims[d]) break;
      index[d] = 0;
    }
    locate();
  }
}

void LoopKernel::reduce_row(const InnerLoop& loop, char* const* ptrs, bool shared) const {
  const size_t ni = spec_.in.size(), no = spec_.out.size();
  const int64_t chunk = row_chunk(inner_), chunks = (inner_ + chunk - 1) / chunk;
  PoolVector<uint64_t> parts(static_cast<size_t>(chunks) * no);
  auto part = [&](int64_t c, size_t k) { return &parts[static_cast<size_t>(c) * no + k]; };
  auto run_chunks = [&](int64_t begin, int64_t end) {
    PoolVector<char*> at(ni + no);
    PoolVector<int64_t> step(ni + no);
    auto move_to = [&](int64_t c) {
      for (size_t k = 0; k < ni + no; ++k) {
        const bool reduced = k >= ni && spec_.out[k - ni].combine != Combiner::kNone;
        const LoopOperand& o =
            k < ni ? spec_.in[k] : static_cast<const LoopOperand&>(spec_.out[k - ni]);
        step[k] = reduced ? static_cast<int64_t>(no * sizeof(uint64_t))
                          : chunk * o.strides.back() * static_cast<int64_t>(size_of(o.dt));
        at[k] = reduced ? reinterpret_cast<char*>(part(c, k - ni)) : ptrs[k] + c * step[k];
      }
    };
    const int64_t whole = std::min(end, inner_ / chunk);
    if (begin < whole) {
      move_to(begin);
      loop.run(at.data(), chunk, whole - begin, step.data());
    }
    if (whole < end) {  // what is left of the last one
      move_to(end - 1);
      loop.run(at.data(), inner_ - (end - 1) * chunk);
    }
  };
  if (shared)
    parallel_for(chunks, 1, run_chunks);
  else
    run_chunks(0, chunks);
  for (size_t k = 0; k < no; ++k) {
    const LoopOutput& o = spec_.out[k];
    if (o.combine == Combiner::kNone) continue;
    uint64_t acc = identity_[k];
    for (int64_t c = 0; c < chunks; ++c) combine_scalar(o.combine, o.dt, &acc, part(c, k));
    std::memcpy(ptrs[ni + k], &acc, size_of(o.dt));
  }
}

void LoopKernel::reduce_columns(const InnerLoop& loop, char* const* ptrs, int64_t inner,
                                const int64_t* step_reduced, bool shared) const {
  const size_t ni = spec_.in.size(), no = spec_.out.size();
  const int64_t chunks = std::max<int64_t>((reduce_ + kRowChunk - 1) / kRowChunk, 1);
  // The first chunk's sums are made in place, those of the others beside.
  std::vector<PoolVector<char>> parts(no);
  for (size_t k = 0; k < no && chunks > 1; ++k)
    if (spec_.out[k].combine != Combiner::kNone)
      parts[k].resize(static_cast<size_t>((chunks - 1) * inner) * size_of(spec_.out[k].dt));
  auto part = [&](int64_t c, size_t k) {
    return c == 0
               ? ptrs[ni + k]
               : parts[k].data() + (c - 1) * inner * static_cast<int64_t>(size_of(spec_.out[k].dt));
  };
  auto run_chunks = [&](int64_t begin, int64_t end) {
    char* at[64];
    for (int64_t c = begin; c < end; ++c) {
      for (size_t k = 0; k < ni + no; ++k) {
        at[k] = ptrs[k] + c * kRowChunk * step_reduced[k];
        if (k < ni || spec_.out[k - ni].combine == Combiner::kNone) continue;
        const LoopOutput& o = spec_.out[k - ni];
        at[k] = part(c, k - ni);
        fill(at[k], inner, static_cast<int64_t>(size_of(o.dt)), identity_[k - ni]);
      }
      const int64_t rows = std::min(kRowChunk, reduce_ - c * kRowChunk);
      if (rows > 0) loop.run(at, inner, rows, step_reduced);
    }
  };
  if (shared)
    parallel_for(chunks, 1, run_chunks);
  else
    run_chunks(0, chunks);
  for (int64_t c = 1; c < chunks; ++c)
    for (size_t k = 0; k < no; ++k) {
      const LoopOutput& o = spec_.out[k];
      if (o.combine == Combiner::kNone) continue;
      const auto size = static_cast<int64_t>(size_of(o.dt));
      char *to = part(0, k), *from = part(c, k);
      for (int64_t i = 0; i < inner; ++i)
        combine_scalar(o.combine, o.dt, to + i * size, from + i * size);
    }
}

}  // namespace pijit
