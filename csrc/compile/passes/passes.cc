#include "compile/passes/passes.h"

#include "graph/rewriter.h"
#include "graph/vals.h"

namespace pijit {
namespace {

// Reduces runs of adjacent axes one after the other, innermost first.
Val reduce_runs(Graph& to, const Node& n, Val x) {
  const Type out = n.type;
  auto axes = normalize_axes(n.op->name, std::get<Dims>(n.attrs[0]), x.shape().rank());
  if (is_half(x.dtype())) x = v_cast(x, DType::F32);
  if (n.op->combiner == Combiner::kSum && is_bool(x.dtype())) x = v_cast(x, DType::I64);
  while (!axes.empty()) {
    Dims run{axes.back()};
    axes.pop_back();
    while (!axes.empty() && axes.back() == run.front() - 1) {
      run.insert(run.begin(), axes.back());
      axes.pop_back();
    }
    x = to.Builder::op(*n.op, std::vector<Val>{x}, {run, false});
  }
  if (x.dtype() != out.dtype) x = v_cast(x, out.dtype);
  return v_reshape(x, out.shape);
}

// Halves computed in float32 and rounded once.
Val widened(Graph& to, const Node& n, std::span<const Val> in) {
  std::vector<Val> wide;
  for (auto v : in) wide.push_back(v && is_half(v.dtype()) ? v_cast(v, DType::F32) : v);
  const Type out{DType::F32, n.type.shape, n.type.device};
  const Val y = n.op->lower ? n.op->lower(LowerCtx{{*n.op, n.attrs}, to, wide, out})
                            : to.emit(*n.op, wide, n.attrs, out);
  return v_cast(y, n.type.dtype);
}

}  // namespace

std::unique_ptr<Graph> simplify(const Graph& g) {
  static const OpDef& identity = OpTable::get().at("identity");
  static const OpDef& stop = OpTable::get().at("stop_gradient");
  return rewrite(g, [](Graph& to, const Node& n, std::span<const Val> in) {
    // What places a single element (graph/infer.h) stays: regions are told its type.
    if ((n.op == &identity || n.op == &stop) && in[0].type().device == n.type.device) return in[0];
    return to.emit(*n.op, in, n.attrs, n.type);
  });
}

std::unique_ptr<Graph> lower(const Graph& g, const Served& served) {
  const auto by_rules = rewrite(g, [&](Graph& to, const Node& n, std::span<const Val> in) {
    const bool accumulates_f32 = n.op->has(kAccumulatesF32) && is_half(n.type.dtype);
    const bool whole = (accumulates_f32 || n.op->has(kWhole)) && served && served(g, n);
    if (accumulates_f32 && !whole) return widened(to, n, in);
    if (n.op->lower && !whole) return n.op->lower(LowerCtx{{*n.op, n.attrs}, to, in, n.type});
    return to.emit(*n.op, in, n.attrs, n.type);
  });
  return rewrite(*by_rules, [](Graph& to, const Node& n, std::span<const Val> in) {
    if (n.op->has(kReduction)) return reduce_runs(to, n, in[0]);
    return to.emit(*n.op, in, n.attrs, n.type);
  });
}

}  // namespace pijit
