#include "compile/subject.h"

#include <algorithm>
#include <map>

namespace pijit {
namespace {

int64_t count(const Shape& s) { return s.numel(); }

// Of activations, plain or with their channels in blocks.
int64_t channels(const Shape& s) { return int64_t{s[1]} * (s.rank() == 5 ? int64_t{s[4]} : 1); }

// Operations of ops with kernels of their own: multiplications and additions of products; 0 where
// no simple count says what the kernel does.
int64_t flops_of(const Graph& g, const Node& n) {
  std::string name = n.op->name;
  for (const char* suffix : {"_blocked", "_post"})
    if (name.ends_with(suffix)) name.resize(name.size() - std::string(suffix).size());
  auto in = [&](size_t k) -> const Shape& { return g.node(n.in[k]).type.shape; };
  const Shape& out = n.type.shape;
  if (name == "matmul") {
    const Shape& a = in(0);
    return 2 * count(out) * int64_t{a[a.rank() - (std::get<bool>(n.attrs[0]) ? 2 : 1)]};
  }
  if (name == "attention") {  // two products over all pairs of rows
    const Shape &q = in(0), &k = in(1);
    const int last = q.rank() - 1;
    return 2 * (count(q) + count(out)) * int64_t{k[last - 1]};
  }
  if (name == "attention_gradient") {  // five: scores and weights' cotangents, then dq, dk and dv
    const Shape &q = in(0), &k = in(1);
    return 2 * (3 * count(q) + 2 * count(in(3))) * int64_t{k[q.rank() - 2]};
  }
  if (name == "dense") return 2 * count(in(0)) * int64_t{in(1)[0]};
  if (name == "conv2d") return 2 * count(out) * count(in(1)) / std::max<int64_t>(1, channels(out));
  if (name == "conv2d_dx")
    return 2 * count(in(0)) * count(in(1)) / std::max<int64_t>(1, channels(in(0)));
  if (name == "conv2d_dw")
    return 2 * count(in(1)) * count(out) / std::max<int64_t>(1, channels(in(1)));
  return 0;
}

// Rows that are picked out of a table count, the table does not.
int64_t bytes_of(const Graph& g, const Node& n) {
  const auto out = static_cast<int64_t>(n.type.bytes());
  int64_t bytes = out;
  const bool picks = n.op->name.starts_with("gather");
  std::vector<uint32_t> seen;
  for (size_t k = 0; k < n.in.size(); ++k) {
    const uint32_t s = n.in[k];
    if (s == kNoNode || std::find(seen.begin(), seen.end(), s) != seen.end()) continue;
    seen.push_back(s);
    bytes += picks && k == 0 ? out : static_cast<int64_t>(g.node(s).type.bytes());
  }
  return bytes;
}

bool computes(const SNode& n) {
  if (!is_float(n.dt)) return false;
  switch (n.op) {
    case SOp::kAdd:
    case SOp::kSub:
    case SOp::kMul:
    case SOp::kDiv:
    case SOp::kFma:
    case SOp::kMin:
    case SOp::kMax:
    case SOp::kScale:
    case SOp::kSqrt:
    case SOp::kFloor:
    case SOp::kCeil:
    case SOp::kRint:
    case SOp::kTrunc:
    case SOp::kCall1:
    case SOp::kCall2:
    case SOp::kWide: return true;
    default: return false;
  }
}

int64_t flops_of(const LoopSpec& loop) {
  int64_t elements = 1, each = 0;
  for (auto d : loop.dims) elements *= d;
  for (auto& n : loop.body)
    if (computes(n)) each += n.op == SOp::kFma ? 2 : 1;
  for (auto& o : loop.out) each += o.combine != Combiner::kNone && is_float(o.dt);
  return each * elements;
}

// "add, mul, relu", and of many the first.
std::string name_of(const std::vector<std::string>& ops) {
  constexpr size_t kShown = 4;
  std::string name;
  std::vector<std::string> seen;
  for (auto& o : ops)
    if (std::find(seen.begin(), seen.end(), o) == seen.end()) seen.push_back(o);
  for (size_t k = 0; k < std::min(kShown, seen.size()); ++k) name += (k ? ", " : "") + seen[k];
  if (seen.size() > kShown) name += str_cat(" … (", ops.size(), " ops)");
  return name;
}

void add_once(std::vector<std::string>* to, const std::string& s) {
  if (std::find(to->begin(), to->end(), s) == to->end()) to->push_back(s);
}

}  // namespace

Subject subject_of(const Graph& g, std::span<const uint32_t> nodes, const LoopSpec* loop,
                   std::span<const int> slots) {
  Subject s;
  const Node& last = g.node(nodes.back());
  std::vector<uint32_t> operands;  // that come from outside of the kernel
  for (auto id : nodes) {
    const Node& n = g.node(id);
    s.ops.push_back(n.op->name);
    if (n.loc >= 0) add_once(&s.places, g.locations[n.loc]);
    for (auto i : n.in)
      if (i != kNoNode && g.node(i).kind != Node::kConst &&
          std::find(nodes.begin(), nodes.end(), i) == nodes.end() &&
          std::find(operands.begin(), operands.end(), i) == operands.end())
        operands.push_back(i);
  }
  s.name = name_of(s.ops);
  for (auto i : operands) s.detail += (s.detail.empty() ? "" : ", ") + g.node(i).type.str();
  s.detail += " → " + last.type.str();
  if (!loop) {
    s.bytes = bytes_of(g, last);
    s.flops = flops_of(g, last);
    return s;
  }
  std::map<int, int64_t> bytes;  // by slot
  for (size_t k = 0; k < loop->in.size() + loop->out.size(); ++k) {
    const LoopOperand& o = k < loop->in.size() ? loop->in[k] : loop->out[k - loop->in.size()];
    bytes[slots[k]] = std::max(bytes[slots[k]], loop->footprint(o));
  }
  for (auto& [slot, n] : bytes) s.bytes += n;
  s.flops = flops_of(*loop);
  return s;
}

Subject joined(std::span<const SubjectRef> parts, int64_t bytes) {
  Subject s;
  s.bytes = bytes;
  for (auto& p : parts) {
    s.flops += p->flops;
    s.ops.insert(s.ops.end(), p->ops.begin(), p->ops.end());
    for (auto& x : p->places) add_once(&s.places, x);
  }
  s.name = name_of(s.ops);
  s.detail = parts.front()->detail;
  if (const size_t to = s.detail.find(" → "); to != std::string::npos)
    s.detail = s.detail.substr(0, to);
  if (const size_t to = parts.back()->detail.find(" → "); to != std::string::npos)
    s.detail += parts.back()->detail.substr(to);
  return s;
}

}  // namespace pijit
