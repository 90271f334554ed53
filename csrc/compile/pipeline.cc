#include "compile/pipeline.h"

#include "base/config.h"
#include "base/log.h"
#include "compile/passes/attention.h"
#include "compile/passes/extrema.h"
#include "compile/passes/layout.h"
#include "compile/passes/recompute.h"
#include "compile/passes/relax.h"
#include "compile/passes/short_axes.h"
#include "compile/passes/passes.h"
#include "runtime/record.h"

namespace pijit {
namespace {

struct Pipeline {
  const bool relaxed;
  const KernelRegistry& kernels;
  const DeviceFacts facts;
  const Served served;
  FusionPlan plan;
};

using Made = std::unique_ptr<Graph>;  // null: nothing changed
struct Step {
  const char* name;
  bool (*wanted)(const Pipeline&);
  Made (*run)(const Graph&, Pipeline&);
};

bool always(const Pipeline&) { return true; }
bool relaxed(const Pipeline& p) { return p.relaxed; }
bool fuses(const Pipeline&) { return config().fuse; }

// clang-format off
constexpr Step kSteps[] = {
    {"split-complex",    always,  [](const Graph& g, Pipeline&) { return split_complex(g); }},
    {"simplify",         always,  [](const Graph& g, Pipeline&) { return simplify(g); }},
    {"attention",        [](const Pipeline& p) { return p.relaxed && p.kernels.has("attention"); },
                                  [](const Graph& g, Pipeline& p) { return find_attention(g, p.served); }},
    {"lower",            always,  [](const Graph& g, Pipeline& p) { return lower(g, p.served); }},
    {"simplify-lowered", always,  [](const Graph& g, Pipeline&) { return simplify(g); }},
    {"relax",            relaxed, [](const Graph& g, Pipeline& p) { return relax(g, p.facts.channel_block); }},
    {"short-axes",       fuses,   [](const Graph& g, Pipeline&) { return unroll_short_axes(g); }},
    {"extrema",          fuses,   [](const Graph& g, Pipeline&) { return fuse_extrema(g); }},
    {"layout",           [](const Pipeline& p) { return p.facts.channel_block > 0; },
                                  [](const Graph& g, Pipeline& p) {
                                    return assign_layouts(g, p.facts.channel_block, p.kernels);
                                  }},
    {"recompute",        always,  [](const Graph& g, Pipeline& p) {
                                    p.plan = plan_fusion(g, p.facts);
                                    Recomputed again = recompute_cheap_values(g, p.plan, p.facts);
                                    if (again.graph) p.plan = std::move(again.plan);
                                    return std::move(again.graph);
                                  }},
};
// clang-format on

}  // namespace

KernelRequest request_of(const Graph& g, const Node& n, bool fast) {
  KernelRequest r{*n.op, n.attrs, {}, {}, n.type, fast};
  for (auto s : n.in) {
    r.present.push_back(s != kNoNode);
    r.in.push_back(s == kNoNode ? Type{} : g.node(s).type);
  }
  return r;
}

Prepared prepare(const Graph& g, bool relaxed, const Device& device) {
  const KernelRegistry& kernels = device.kernels;
  Pipeline p{relaxed,
             kernels,
             device.facts(),
             [&kernels, relaxed](const Graph& of, const Node& n) {
               return !(relaxed && may_be_taken_in(n)) &&
                      kernels.serves(request_of(of, n, relaxed));
             },
             {}};
  auto check = [](const char* name, const Graph& now) {
    if (config().verify) now.verify();
    dump_stage(name, [&] { return now.print(); });
  };
  check("capture", g);
  Made now;
  for (auto& step : kSteps) {
    if (!step.wanted(p)) continue;
    const Graph& before = now ? *now : g;
    const bool logs = log_enabled("passes");
    const int64_t begin = logs ? clock_ns() : 0;
    Made made = step.run(before, p);
    if (logs)
      PIJIT_LOG("passes", step.name, ": ", (clock_ns() - begin) / 1000, " us, ",
                made ? str_cat(before.size(), " to ", made->size(), " nodes") : "no change");
    if (!made) continue;
    now = std::move(made);
    check(step.name, *now);
  }
  return {std::move(now), std::move(p.plan)};
}

}  // namespace pijit
