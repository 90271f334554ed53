#include "compile/metadata.h"

#include <algorithm>
#include <map>

namespace pijit {
namespace {

// Operations of ops with kernels of their own; 0 where no simple count says what the kernel does.
int64_t flops_of(const Graph& g, const Node& n) {
  if (!n.op->flops) return 0;
  std::vector<const Type*> in;
  for (auto k : n.in) in.push_back(k == kNoNode ? nullptr : &g.node(k).type);
  return n.op->flops(InferCtx{{*n.op, n.attrs}, in}, n.type.shape);
}

// Rows that are picked out of a table count, the table does not.
int64_t bytes_of(const Graph& g, const Node& n) {
  const auto out = static_cast<int64_t>(n.type.bytes());
  int64_t bytes = out;
  const bool picks = n.op->has(kPicks);
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

Metadata metadata_of(const Graph& g, std::span<const uint32_t> nodes, const LoopSpec* loop,
                     std::span<const int> slots) {
  Metadata s;
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

Metadata joined(std::span<const MetadataRef> parts, int64_t bytes) {
  Metadata s;
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

std::string name_of_code(const Metadata& m) {
  if (m.places.empty()) return m.name;
  const std::string& place = m.places.front();
  return str_cat(m.name, " ", place.substr(place.rfind('/') + 1));  // npos + 1: all of it
}

}  // namespace pijit
