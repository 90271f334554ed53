#include "compile/compile.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "base/config.h"
#include "base/log.h"
#include "base/progress.h"
#include "compile/memory_plan.h"
#include "compile/pipeline.h"
#include "compile/recurrent.h"
#include "compile/metadata.h"
#include "compile/tiling.h"
#include "runtime/code_names.h"
#include "runtime/guard.h"

namespace pijit {
namespace {

// Where a graph's ops run. Single elements of the CPU's go with any device, and alone to `home`.
DeviceId device_of(const Graph& g, DeviceId home) {
  const Node* placed = nullptr;
  for (uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node(i);
    const Type& t = n.type;
    if (!n.regions.empty() || (t.device.is_cpu() && t.shape.rank() == 0)) continue;
    OP_CHECK(!placed || placed->type.device == t.device, kRuntime,
             "values of one graph lie on different devices, ", name_of(placed->type.device),
             " and ", name_of(t.device), "; move them to one with Tensor.to");
    placed = &n;
  }
  return placed ? placed->type.device : home;
}

class Compiler {
 public:
  Compiler(const Graph& g, FusionPlan plan, bool fast, Device& device)
      : g_(g),
        fast_(fast),
        device_(device),
        facts_(device.facts()),
        plan_(std::move(plan)),
        p_(std::make_shared<Program>(device)) {}

  std::shared_ptr<Program> run() {
    slot_of_.assign(g_.size(), -1);
    for (auto id : g_.inputs()) {
      slot_of_[id] = new_slot({Program::Slot::kInput, p_->input_types.size()});
      p_->input_types.push_back(g_.node(id).type);
    }
    find_uses();
    for (size_t u = 0; u < plan_.groups.size(); ++u) {
      LongWork::tick(static_cast<int64_t>(u), static_cast<int64_t>(plan_.groups.size()));
      build(plan_.groups[u], static_cast<int>(u));
    }
    make_loops();
    choose_outputs();
    place_values();
    p_->settle();
    return p_;
  }

 private:
  int new_slot(Program::Slot s) {
    p_->slots.push_back(s);
    return static_cast<int>(p_->slots.size()) - 1;
  }
  // Views stand for the value they alias.
  uint32_t root(uint32_t id) const {
    while (g_.node(id).kind == Node::kOp && g_.node(id).op->has(kView)) id = g_.node(id).in[0];
    return id;
  }
  int slot(uint32_t id) {
    id = root(id);
    if (slot_of_[id] >= 0) return slot_of_[id];
    const Node& n = g_.node(id);
    PIJIT_CHECK(n.kind == Node::kConst, "value %", id, " has no slot");
    p_->literals.push_back(n.bits);
    return slot_of_[id] = new_slot({Program::Slot::kLiteral, p_->literals.size() - 1});
  }
  // A value stored by the group now being built; memory is assigned later.
  int define(uint32_t id, int step) {
    slot_of_[id] = new_slot({Program::Slot::kArena, 0});
    value_of_slot_[slot_of_[id]] = id;
    born_[id] = step;
    return slot_of_[id];
  }

  void find_uses() {
    last_use_.assign(g_.size(), -1);
    escapes_.assign(g_.size(), false);
    for (size_t u = 0; u < plan_.groups.size(); ++u) {
      if (plan_.groups[u].kind == FusionGroup::kView) {
        escapes_[plan_.groups[u].nodes[0]] = true;
        if (g_.node(g_.node(plan_.groups[u].nodes[0]).in[0]).kind == Node::kOp)
          escapes_[g_.node(plan_.groups[u].nodes[0]).in[0]] = true;
        continue;
      }
      for (auto id : plan_.groups[u].nodes)
        for (auto s : g_.node(id).in) {
          if (s == kNoNode) continue;
          if (plan_.group_of[s] != static_cast<int>(u)) escapes_[s] = true;
          last_use_[root(s)] = std::max(last_use_[root(s)], static_cast<int>(u));
        }
    }
    for (auto& o : g_.outputs) escapes_[o.node] = true;
    for (uint32_t i = 0; i < g_.size(); ++i) {
      static const OpDef& result = OpTable::get().at("result");
      const Node& n = g_.node(i);
      if (plan_.group_of[i] >= 0 && (n.op == &result || is_output(n)))
        takers_[n.in[0]].push_back(i);
    }
  }

  void build(const FusionGroup& group, int position) {
    if (group.kind == FusionGroup::kView) return;
    Program::Step step;
    const Node& lead = g_.node(group.nodes[0]);
    if (lead.op->has(kRegion)) {
      if (lead.regions.empty()) return;  // a result: stored by its region op
      build_region(lead, position, &step);
    } else if (is_output(lead)) {
      return;  // stored by the op that it is of
    } else if (group.kind == FusionGroup::kLibrary) {
      const Node& n = g_.node(group.nodes[0]);
      for (auto s : n.in) step.in.push_back(s == kNoNode ? -1 : slot(s));
      if (changes_first(n))  // may be done where its first operand lies
        for (auto s : n.in) loop_inputs_[position].push_back({s, s == n.in[0]});
      const CodeName name([&] { return name_of_code(metadata_of(g_, group.nodes)); });
      step.kernel = make_recurrent(g_, n, fast_, device_);
      if (!step.kernel) step.kernel = device_.kernels.make(request_of(g_, n, fast_));
      step.out.push_back(define(n.id, position));
      define_further_outputs(n, position, &step);
      step.text = n.op->name + " " + n.type.str();
      step.may_fail = n.op->has(kMayFail);
      p_->collects |= n.op->is_collective();
      step.metadata = metadata(group.nodes, step.text);
      plan_rows(n, step);
    } else {
      build_loop(group, position, &step);
    }
    unit_step_[position] = static_cast<int>(p_->steps.size());
    p_->steps.push_back(std::move(step));
  }

  // What a kernel that takes rows touches, as of a loop over them.
  void plan_rows(const Node& n, const Program::Step& step) {
    const auto* op = dynamic_cast<const OpKernel*>(step.kernel.get());
    if (!op || !op->takes_rows()) return;
    const int64_t rows = n.type.shape[0], in_row = g_.node(n.in[0]).type.shape.numel() / rows,
                  out_row = n.type.shape.numel() / rows;
    PlannedLoop l;
    l.op = n.id;
    l.spec.form = LoopSpec::kRow;
    l.spec.dims = {rows, in_row};
    for (size_t k = 0; k < n.in.size(); ++k) {
      if (n.in[k] == kNoNode) continue;
      LoopOperand o;
      o.dt = g_.node(n.in[k]).type.dtype;
      o.strides = k == 0 ? std::vector<int64_t>{in_row, 1} : std::vector<int64_t>{0, 0};
      l.spec.in.push_back(std::move(o));
      l.in.push_back(step.in[k]);
    }
    LoopOutput o;
    o.dt = n.type.dtype;
    o.strides = {out_row, 0};
    l.spec.out.push_back(std::move(o));
    l.out = step.out;
    loops_.resize(p_->steps.size() + 1);
    loops_.back() = std::move(l);
  }
  // The kernel of so many of its rows.
  std::unique_ptr<OpKernel> kernel_of_rows(uint32_t id, int64_t rows) const {
    KernelRequest r = request_of(g_, g_.node(id), fast_);
    r.in[0].shape[0] = rows;
    r.out.shape[0] = rows;
    return device_.kernels.make(r);
  }

  // Does the kernel give its first operand on, but for a part that it writes?
  static bool changes_first(const Node& n) {
    static const OpDef& update = OpTable::get().at("slice_update");
    return n.op == &update && n.in[0] != n.in[1];
  }
  static bool is_output(const Node& n) {
    static const OpDef& output = OpTable::get().at("output");
    return n.op == &output;
  }
  void define_further_outputs(const Node& n, int position, Program::Step* step) {
    step->out.resize(n.op->outputs, -1);
    for (const uint32_t i : takers_[n.id]) {
      const Node& user = g_.node(i);
      int& out = step->out.at(static_cast<size_t>(int64_t{std::get<Dim>(user.attrs[0])}));
      PIJIT_CHECK(out < 0, "an output is taken twice");  // equal nodes are merged
      out = define(i, position);
    }
  }

  void build_region(const Node& n, int position, Program::Step* step) {
    auto kernel = std::make_unique<RegionKernel>(device_);
    RegionKernel& r = *kernel;
    step->kernel = std::move(kernel);
    r.kind = n.op->role == Role::kCond    ? RegionKernel::kCond
             : n.op->role == Role::kWhile ? RegionKernel::kLoop
                                          : RegionKernel::kLoopGradient;
    p_->loops |= r.kind != RegionKernel::kCond;
    for (auto& g : n.regions) {
      r.programs.push_back(compile(*g, fast_, device_.id));
      p_->loops |= r.programs.back()->loops;
    }
    for (auto s : n.in) {
      r.in_types.push_back(g_.node(s).type);
      step->in.push_back(slot(s));
    }
    for (auto& o : n.regions.back()->outputs)
      r.out_types.push_back(n.regions.back()->node(o.node).type);
    step->out.assign(r.out_types.size(), -1);
    for (const uint32_t i : takers_[n.id]) {
      const Node& user = g_.node(i);
      int& out = step->out[std::get<Dim>(user.attrs[0])];
      PIJIT_CHECK(out < 0, "a result is taken twice");  // equal nodes are merged
      out = define(i, position);
    }
    step->text = n.op->name;
    step->may_fail = true;  // it may be interrupted
    step->metadata = metadata(std::span(&n.id, 1), step->text);
  }

  void build_loop(const FusionGroup& group, int position, Program::Step* step) {
    LoopSpec spec;
    const Shape& domain = group.domain;
    const int rank = domain.rank();
    // Reduced runs act as one dim: [outer..., r] or [outer..., r, inner].
    std::vector<std::pair<int, int>> dims;  // domain axes [first, second) of each loop dim
    if (!group.reduces()) {
      for (int d = 0; d < rank; ++d) dims.push_back({d, d + 1});
    } else {
      for (int d = 0; d < group.lo; ++d) dims.push_back({d, d + 1});
      dims.push_back({group.lo, group.hi});
      if (group.hi < rank) dims.push_back({group.hi, rank});
      spec.form = group.hi < rank ? LoopSpec::kCol : LoopSpec::kRow;
    }
    for (auto [b, e] : dims) {
      int64_t n = 1;
      for (int d = b; d < e; ++d) n *= domain[d];
      spec.dims.push_back(n);
    }
    // own: of the operand's axes.
    auto strides = [&](const Shape& s, const std::array<int64_t, kMaxRank>& own) {
      const int lead = rank - s.rank();
      std::vector<int64_t> r;
      for (auto [b, e] : dims) {
        int64_t stride = 0;  // of the innermost axis that varies
        for (int d = e - 1; d >= b && stride == 0; --d)
          if (d >= lead && s[d - lead] != 1) stride = own[d - lead];
        r.push_back(stride);
      }
      return r;
    };
    SBuilder sb;
    std::map<uint32_t, SVal> val;
    auto operand = [&](uint32_t id) {
      auto it = val.find(id);
      if (it != val.end()) return it->second;
      const Node& n = g_.node(id);
      SVal v;
      if (n.kind == Node::kConst) {
        uint64_t bits = n.bits;
        if (is_half(n.type.dtype)) {
          const float f = n.type.dtype == DType::F16 ? half_to_float(static_cast<uint16_t>(bits))
                                                     : bf16_to_float(static_cast<uint16_t>(bits));
          bits = 0;
          __builtin_memcpy(&bits, &f, 4);
        }
        v = sb.bits(n.type.dtype, bits);
      } else {
        v = sb.input(static_cast<int>(spec.in.size()), n.type.dtype);
        spec.in.push_back(
            {n.type.dtype, strides(n.type.shape, n.type.shape.strides()), 0, slot(id)});
        step->in.push_back(slot(id));
        loop_inputs_[position].push_back({id, n.type.shape == domain});
      }
      return val[id] = v;
    };
    for (auto id : group.nodes) {
      const Node& n = g_.node(id);
      std::vector<SVal> in;
      const auto windows = windows_of(g_, n);
      for (auto& w : windows) {
        in.push_back(sb.input(static_cast<int>(spec.in.size()), n.type.dtype));
        spec.in.push_back(
            {n.type.dtype, strides(n.type.shape, w.strides), w.offset, slot(n.in[0])});
        step->in.push_back(slot(n.in[0]));
        loop_inputs_[position].push_back({n.in[0], false});
      }
      if (windows.empty())
        for (auto s : n.in) in.push_back(operand(s));
      for (size_t h = windows.size() / 2; h > 0; h /= 2)
        for (size_t i = 0; i < h; ++i) in[i] = combine(sb, n.op->combiner, in[i], in[i + h]);
      LoopOutput o;
      if (n.op->has(kReduction)) {
        o.combine = n.op->combiner;
        o.node = in[0].id;
        Shape keep;
        for (int d = 0; d < rank; ++d)
          keep.push_back(d >= group.lo && d < group.hi ? Dim(1) : domain[d]);
        o.strides = strides(keep, keep.strides());
      } else {
        val[id] = n.op->has(kWindows) ? in[0] : build_scalar(sb, *n.op, n.attrs, in, n.type.dtype);
        if (!escapes_[id]) continue;
        o.node = val[id].id;
        o.strides = strides(domain, domain.strides());
      }
      o.dt = n.type.dtype;
      spec.out.push_back(o);
      step->out.push_back(define(id, position));
    }
    spec.body = std::move(sb.nodes);
    std::vector<int> slots = step->in;
    slots.insert(slots.end(), step->out.begin(), step->out.end());
    step->metadata = std::make_shared<Metadata>(metadata_of(g_, group.nodes, &spec, slots));
    loops_.resize(p_->steps.size() + 1);
    loops_.back() = {std::move(spec), step->in, step->out};
  }
  static MetadataRef with_kernel(Metadata s, const std::string& kernel) {
    s.kernel = kernel;
    return std::make_shared<const Metadata>(std::move(s));
  }
  MetadataRef metadata(std::span<const uint32_t> nodes, const std::string& kernel) const {
    return with_kernel(metadata_of(g_, nodes), kernel);
  }
  int64_t bytes_of_slot(int s) const {
    const Program::Slot& slot = p_->slots[s];
    if (slot.kind == Program::Slot::kLiteral) return 0;
    const uint32_t id =
        slot.kind == Program::Slot::kInput ? g_.inputs()[slot.index] : value_of_slot_.at(s);
    return static_cast<int64_t>(g_.node(id).type.bytes());
  }
  void make_loop(PlannedLoop& l, Program::Step* step) {
    if (!l.is_loop()) return;
    choose_streams({&l, 1}, [](int) { return true; });
    const CodeName name([&] { return name_of_code(*step->metadata); });
    step->kernel = device_.make_loop(std::move(l.spec));
    step->text = step->kernel->describe();
    step->metadata = with_kernel(*step->metadata, step->text);
  }

  // What does not fit in the cache is not there when it is read: where loops that run together
  // touch more, results for others to read are stored around it.
  void choose_streams(std::span<PlannedLoop> loops,
                      const std::function<bool(int)>& for_others) const {
    std::map<int, int64_t> bytes;  // by slot
    for (auto& l : loops)
      l.each_operand([&](int slot, const LoopOperand& o) {
        bytes[slot] = std::max(bytes[slot], l.spec.footprint(o));
      });
    int64_t all = 0;
    for (auto [slot, n] : bytes) all += n;
    if (all <= facts_.cache_bytes) return;
    for (auto& l : loops)
      for (size_t k = 0; k < l.out.size(); ++k)
        l.spec.out[k].stream = l.spec.footprint(l.spec.out[k]) * 16 > all && for_others(l.out[k]);
  }
  // The kernel of a group of tiles, and what is said of it.
  void finish_tiles(const TileGroup& g, TileSpec tiles, Program::Step* step) const {
    tiles.slices = g.slices;
    tiles.tile = g.tile;
    std::vector<MetadataRef> parts;
    for (size_t k = g.begin; k < g.end; ++k) parts.push_back(p_->steps[k].metadata);
    int64_t bytes = 0;
    for (auto* list : {&step->in, &step->out})
      for (int s : *list) bytes += bytes_of_slot(s);
    Metadata of_all = joined(parts, bytes);
    const CodeName name([&] { return name_of_code(of_all); });
    step->kernel = device_.make_tiles(std::move(tiles));
    step->text = step->kernel->describe();
    step->metadata = with_kernel(std::move(of_all), step->text);
  }
  // Makes the kernels of loops, some of which run together in tiles.
  void make_loops() {
    loops_.resize(p_->steps.size());
    std::map<int, int> group_at;  // step -> group
    for (auto [u, s] : unit_step_) group_at[s] = u;
    std::set<int> leaves;  // slots read by outputs
    for (auto& o : g_.outputs) leaves.insert(slot(o.node));
    std::vector<size_t> last_reader(p_->slots.size());
    for (size_t k = 0; k < p_->steps.size(); ++k)
      for (int s : p_->steps[k].in)
        if (s >= 0) last_reader[static_cast<size_t>(s)] = k;
    const auto is_read_from = [&](int s, size_t end) {
      return leaves.count(s) || last_reader[static_cast<size_t>(s)] >= end;
    };
    const auto groups = plan_tiles(loops_, facts_, is_read_from);
    std::vector<Program::Step> steps;
    size_t at = 0;
    auto keep_until = [&](size_t end) {
      for (; at < end; ++at) {
        make_loop(loops_[at], &p_->steps[at]);
        unit_step_[group_at.at(static_cast<int>(at))] = static_cast<int>(steps.size());
        steps.push_back(std::move(p_->steps[at]));
      }
    };
    for (auto& g : groups) {
      keep_until(g.begin);
      const std::pair<int, int> extent{group_at.at(static_cast<int>(g.begin)),
                                       group_at.at(static_cast<int>(g.end) - 1)};
      std::set<int> made, read;
      for (size_t k = g.begin; k < g.end; ++k) {
        made.insert(loops_[k].out.begin(), loops_[k].out.end());
        read.insert(loops_[k].in.begin(), loops_[k].in.end());
      }
      const auto goes_outside = [&](int s) { return is_read_from(s, g.end); };
      choose_streams(std::span(loops_).subspan(g.begin, g.end - g.begin),
                     [&](int s) { return !read.count(s); });
      Program::Step step;
      std::map<int, TileSpec::Operand> operand;  // by slot
      TileSpec tiles;
      std::vector<size_t>& scratch = tiles.scratch;
      auto operand_of = [&](int s, int64_t slice_bytes, int64_t slices, int64_t count) {
        auto [it, fresh] = operand.try_emplace(s);
        if (fresh && !made.count(s)) {
          it->second = {TileSpec::Operand::kIn, static_cast<int>(step.in.size())};
          step.in.push_back(s);
        } else if (fresh && goes_outside(s)) {
          it->second = {TileSpec::Operand::kOut, static_cast<int>(step.out.size())};
          step.out.push_back(s);
        } else if (fresh) {
          it->second = {TileSpec::Operand::kScratch, static_cast<int>(scratch.size())};
          scratch.push_back(g_.node(value_of_slot_.at(s)).type.bytes() /
                            static_cast<size_t>(slices) * static_cast<size_t>(count));
          p_->slots[s].kind = Program::Slot::kTile;
        }
        TileSpec::Operand o = it->second;
        o.bytes = slice_bytes;
        return o;
      };
      for (; at < g.end; ++at) {
        LoopSpec& spec = loops_[at].spec;
        const bool overlaps = !g.halo.empty();
        if (!overlaps) spec.collapse();
        const Cut cut = overlaps ? Cut{0, 1, 1} : g.cuts[at - g.begin];
        const int64_t halo = overlaps ? g.halo[at - g.begin] : 0, rest = g.slices % g.tile;
        auto bytes = [&](const LoopOperand& o) {
          return cut.stride(o) * static_cast<int64_t>(size_of(o.dt));
        };
        TileSpec::Member m;
        std::vector<bool> in_scratch;
        auto operands = [&](auto& of, const std::vector<int>& slots, auto* to) {
          for (size_t k = 0; k < of.size(); ++k)
            to->push_back(operand_of(slots[k], bytes(of[k]), g.slices + halo, g.tile + halo));
        };
        operands(spec.in, loops_[at].in, &m.in);
        operands(spec.out, loops_[at].out, &m.out);
        for (auto* list : {&m.in, &m.out})
          for (auto& o : *list) in_scratch.push_back(o.kind == TileSpec::Operand::kScratch);
        auto part = [&](int64_t count) {
          return overlaps ? rows_of(spec, count + halo)
                          : slices_of(spec, cut, g.slices, count, in_scratch);
        };
        m.loop = part(g.tile);
        if (rest) m.rest = part(rest);
        if (const uint32_t op = loops_[at].op; op != kNoNode) {
          m.op = kernel_of_rows(op, m.loop.dims[0]);
          if (rest) m.rest_op = kernel_of_rows(op, m.rest.dims[0]);
        }
        tiles.members.push_back(std::move(m));
        const int u = group_at.at(static_cast<int>(at));
        unit_step_[u] = static_cast<int>(steps.size());
        extent_[u] = extent;
      }
      finish_tiles(g, std::move(tiles), &step);
      steps.push_back(std::move(step));
    }
    keep_until(p_->steps.size());
    p_->steps = std::move(steps);
  }
  // The groups that run together with this one: all of them read and write before any is done.
  std::pair<int, int> extent(int group) const {
    auto it = extent_.find(group);
    return it == extent_.end() ? std::pair(group, group) : it->second;
  }

  void choose_outputs() {
    std::map<int, int> buffer_of;  // slot -> output buffer
    Outputs known;
    for (auto& o : g_.outputs) known.roots.insert(root(o.node));
    for (size_t k = 0; k < p_->steps.size(); ++k)
      if (p_->steps[k].may_fail) known.last_to_fail = static_cast<int>(k);
    for (auto& o : g_.outputs) {
      const int s = slot(o.node);
      const uint32_t id = root(o.node);
      p_->outputs.push_back({s, g_.node(o.node).type});
      if (p_->slots[s].kind == Program::Slot::kArena && !buffer_of.count(s)) {
        buffer_of[s] = static_cast<int>(p_->output_buffers.size());
        Type t = g_.node(id).type;
        t.device = device_.id;  // a single element may be the host's afterwards
        p_->output_buffers.push_back({t, -1});
        if (o.assign_to >= 0)
          p_->outputs.back().donor = p_->output_buffers.back().donor =
              donor(id, o.assign_to, &known);
      }
    }
    for (auto [s, b] : buffer_of) p_->slots[s] = {Program::Slot::kOutput, static_cast<size_t>(b)};
  }

  // A part of an input is another: a kernel that leaves the rest where it lies.
  bool updates(uint32_t id, uint32_t in) const {
    static const OpDef &slice = OpTable::get().at("slice_update"),
                       &place = OpTable::get().at("dynamic_update_slice");
    const Node& n = g_.node(id);
    return (n.op == &slice || n.op == &place) && root(n.in[0]) == in && root(n.in[1]) != in;
  }

  // May the value be written over input `index`? Its kernel must read that input at the written
  // index only, nothing later may read it, it must leave in no other output, and no later step may
  // fail.
  struct Outputs {
    std::set<uint32_t> roots;
    std::set<int> donors;   // inputs whose memory is taken
    int last_to_fail = -1;  // step
  };
  int donor(uint32_t id, int index, Outputs* outputs) {
    const uint32_t in = g_.inputs()[index];
    const int u = born_.at(id);
    const bool loop = plan_.groups[u].kind == FusionGroup::kLoop;
    const Type &t = g_.node(id).type, &of = g_.node(in).type;
    if ((loop ? plan_.groups[u].reduces() : !updates(id, in)) || !(t == of) ||
        !(of.device == device_.id))
      return -1;
    if (last_use_[in] > u) return -1;
    if (outputs->donors.count(index) || outputs->roots.count(in)) return -1;
    const auto [first, last] = extent(u);
    for (int other = first; other <= last; ++other)
      if (other != u)
        for (auto [s, same_index] : loop_inputs_[other])
          if (root(s) == in && !same_index) return -1;  // rows that another tile writes
    for (auto [s, same_index] : loop_inputs_[u])
      if (root(s) == in && !same_index) return -1;
    if (outputs->last_to_fail >= unit_step_[u]) return -1;
    outputs->donors.insert(index);
    return index;
  }

  void place_values() {
    if (guarded()) return place_apart();
    std::vector<PlannedValue> values;
    std::vector<int> slots;
    std::map<uint32_t, size_t> index;  // of a value among them
    for (size_t k = 0; k < p_->slots.size(); ++k) {
      if (p_->slots[k].kind != Program::Slot::kArena) continue;
      const uint32_t id = value_of_slot_.at(static_cast<int>(k));
      const int born = born_.at(id);
      PlannedValue v{g_.node(id).type.bytes(), extent(born).first, 0, {}};
      v.last = std::max(extent(born).second, extent(std::max(born, last_use_[id])).second);
      const auto it = loop_inputs_.find(born);
      if (it != loop_inputs_.end() && !extent_.count(born) && !plan_.groups[born].reduces())
        for (auto [in, same_index] : it->second)
          if (same_index && index.count(root(in)) && replaces(id, root(in), it->second))
            v.over.push_back(index.at(root(in)));
      index[id] = values.size();
      values.push_back(std::move(v));
      slots.push_back(static_cast<int>(k));
    }
    const MemoryPlan plan = plan_memory(values);
    for (size_t i = 0; i < slots.size(); ++i) p_->slots[slots[i]].index = plan.offsets[i];
    p_->arena_bytes = plan.bytes;
  }
  // Each value a buffer of its own, as an output is: what runs out of one does not end up in
  // another.
  void place_apart() {
    for (size_t k = 0; k < p_->slots.size(); ++k) {
      if (p_->slots[k].kind != Program::Slot::kArena) continue;
      Type t = g_.node(value_of_slot_.at(static_cast<int>(k))).type;
      t.device = device_.id;
      p_->slots[k] = {Program::Slot::kOutput, p_->output_buffers.size()};
      p_->output_buffers.push_back({t, -1});
    }
  }
  // May a value be written over one that its kernel reads at its own index? That one must die here,
  // be as large, and not be read by another view too.
  bool replaces(uint32_t id, uint32_t old,
                const std::vector<std::pair<uint32_t, bool>>& inputs) const {
    const Type &t = g_.node(id).type, &of = g_.node(old).type;
    if (last_use_[old] != born_.at(id) || t.bytes() != of.bytes() ||
        size_of(t.dtype) != size_of(of.dtype))
      return false;
    return std::none_of(inputs.begin(), inputs.end(),
                        [&](auto& x) { return root(x.first) == old && !x.second; });
  }

  const Graph& g_;
  const bool fast_;
  Device& device_;
  const DeviceFacts facts_;
  FusionPlan plan_;
  std::shared_ptr<Program> p_;
  std::vector<int> slot_of_, last_use_;
  std::vector<bool> escapes_;
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> takers_;  // of results and outputs
  std::map<int, uint32_t> value_of_slot_;
  std::map<uint32_t, int> born_;
  std::map<int, std::vector<std::pair<uint32_t, bool>>>
      loop_inputs_;  // per group: operand, read at its own index alone
  std::map<int, int> unit_step_;
  std::vector<PlannedLoop> loops_;             // by step
  std::map<int, std::pair<int, int>> extent_;  // of groups that run in tiles
};

}  // namespace

std::shared_ptr<const Program> compile(const Graph& g, bool fast, DeviceId home) {
  const LongWork work("compiling", "a graph");
  Device& dev = device(device_of(g, home));
  Span optimise(TraceEvent::kOptimise);
  auto [prepared, plan, prologue] = prepare(g, fast && config().backend != "reference", dev);
  optimise.end();
  Span generate(TraceEvent::kGenerate);
  auto p = Compiler(*prepared, std::move(plan), fast, dev).run();
  // Numbers that were computed ahead are constants now, which lie on no device.
  for (size_t k = 0; k < p->outputs.size(); ++k)
    if (auto& o = p->outputs[k]; p->slots[o.slot].kind == Program::Slot::kLiteral)
      o.type.device = g.node(g.outputs[k].node).type.device;
  generate.end();
  if (prologue.graph)
    p->prologue = std::make_unique<Prologue>(
        Compiler(*prologue.graph, plan_fusion(*prologue.graph, dev.facts()), fast, dev).run(),
        std::move(prologue.inputs));
  PIJIT_LOG("kernels", p->describe());
  dump_stage("program", [&] { return p->describe(); });
  return p;
}

}  // namespace pijit
