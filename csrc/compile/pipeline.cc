#include "compile/pipeline.h"

#include "base/config.h"
#include "base/log.h"
#include "compile/passes/attention.h"
#include "compile/passes/fast_math.h"
#include "compile/passes/layout.h"
#include "compile/passes/passes.h"
#include "compile/passes/prologue.h"
#include "compile/passes/rematerialize.h"
#include "runtime/record.h"

namespace pijit {

// Passes that ask for nothing but the graph, each in a file of compile/passes that says more. Null:
// nothing changes.
std::unique_ptr<Graph> fuse_extrema(const Graph& g);
std::unique_ptr<Graph> gather_elements(const Graph& g);
std::unique_ptr<Graph> overlap_collectives(const Graph& g);
std::unique_ptr<Graph> slice_parts(const Graph& g);
std::unique_ptr<Graph> transpose_in_products(const Graph& g);
std::unique_ptr<Graph> unroll_axes(const Graph& g);

namespace {

struct Pipeline {
  const bool fast_math;
  const KernelRegistry& kernels;
  const DeviceFacts facts;
  const Served served;
  const bool on_host;
  FusionPlan plan;
  PrologueGraph prologue;
};

using Made = std::unique_ptr<Graph>;  // null: nothing changed
struct Step {
  const char* name;
  bool (*wanted)(const Pipeline&);
  Made (*run)(const Graph&, Pipeline&);
};

bool always(const Pipeline&) { return true; }
bool fast_math(const Pipeline& p) { return p.fast_math; }
bool fuses(const Pipeline&) { return config().fuse; }

// clang-format off
constexpr Step kSteps[] = {
    {"split-complex",    always,  [](const Graph& g, Pipeline&) { return split_complex(g); }},
    {"simplify",         always,  [](const Graph& g, Pipeline&) { return simplify(g); }},
    {"slice-parts",      always,  [](const Graph& g, Pipeline&) { return slice_parts(g); }},
    {"attention",        [](const Pipeline& p) { return p.fast_math && p.kernels.has("attention"); },
                                  [](const Graph& g, Pipeline& p) { return find_attention(g, p.served); }},
    {"lower",            always,  [](const Graph& g, Pipeline& p) { return lower(g, p.served); }},
    {"simplify-lowered", always,  [](const Graph& g, Pipeline&) { return simplify(g); }},
    {"fast-math",        fast_math, [](const Graph& g, Pipeline& p) { return fast_math(g, p.facts.channel_block); }},
    {"elements",         fuses,   [](const Graph& g, Pipeline&) { return gather_elements(g); }},
    {"unroll",           fuses,   [](const Graph& g, Pipeline&) { return unroll_axes(g); }},
    {"extrema",          fuses,   [](const Graph& g, Pipeline&) { return fuse_extrema(g); }},
    {"layout",           [](const Pipeline& p) { return p.facts.channel_block > 0; },
                                  [](const Graph& g, Pipeline& p) {
                                    return assign_layouts(g, p.facts.channel_block, p.kernels,
                                                          p.fast_math);
                                  }},
    {"unfuse",           [](const Pipeline& p) { return p.fast_math && p.on_host; },
                                  [](const Graph& g, Pipeline& p) { return unfuse_activations(g, p.kernels); }},
    {"fast-functions",   fast_math, [](const Graph& g, Pipeline&) { return fast_functions(g); }},
    {"transposed",       [](const Pipeline& p) { return p.kernels.has_own("matmul_transposed"); },
                                  [](const Graph& g, Pipeline&) { return transpose_in_products(g); }},
    {"prologue",         [](const Pipeline& p) { return p.on_host; },
                                  [](const Graph& g, Pipeline& p) { return split_prologue(g, &p.prologue); }},
    {"overlap",          always,  [](const Graph& g, Pipeline&) { return overlap_collectives(g); }},
    {"rematerialize",    always,  [](const Graph& g, Pipeline& p) {
                                    p.plan = plan_fusion(g, p.facts);
                                    Rematerialized again = rematerialize(g, p.plan, p.facts);
                                    if (again.graph) p.plan = std::move(again.plan);
                                    return std::move(again.graph);
                                  }},
};
// clang-format on

Pipeline pipeline_for(const Device& device, bool fast_math) {
  const KernelRegistry& kernels = device.kernels;
  return {fast_math,
          kernels,
          device.facts(),
          [&kernels, fast_math](const Graph& of, const Node& n) {
            return !(fast_math && may_be_taken_in(n)) &&
                   kernels.serves(request_of(of, n, fast_math));
          },
          device.is_host(),
          {},
          {}};
}

}  // namespace

std::unique_ptr<Graph> run_pass(std::string_view name, const Graph& g, const Device& device) {
  Pipeline p = pipeline_for(device, false);
  for (auto& step : kSteps)
    if (step.name == name) return step.run(g, p);
  throw InternalError(str_cat("there is no pass ", name));
}

KernelRequest request_of(const Graph& g, const Node& n, bool fast) {
  KernelRequest r{*n.op, n.attrs, {}, {}, n.type, fast};
  for (auto s : n.in) {
    r.present.push_back(s != kNoNode);
    r.in.push_back(s == kNoNode ? Type{} : g.node(s).type);
  }
  return r;
}

Prepared prepare(const Graph& g, bool fast_math, const Device& device) {
  Pipeline p = pipeline_for(device, fast_math);
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
  return {std::move(now), std::move(p.plan), std::move(p.prologue)};
}

}  // namespace pijit
