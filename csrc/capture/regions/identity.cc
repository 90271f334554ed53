#include <map>

#include "capture/regions/builder.h"

namespace pijit::regions {

void note_sources(Draft& d) {
  const auto order = region::reverse_postorder(d.f);
  std::vector<int> home(d.f.instrs.size(), -1);
  std::vector<std::vector<const region::Edge*>> into(d.f.blocks.size());
  for (int b : order) {
    for (int p : d.f.blocks[b].params) home[p] = b;
    for (const region::Edge* e : {&d.f.blocks[b].next, &d.f.blocks[b].otherwise})
      if (e->block >= 0) into[e->block].push_back(e);
  }
  auto sources_of = [&](int value) {
    std::vector<int> found, seen{value};
    for (size_t k = 0; k < seen.size(); ++k) {
      const In& in = d.f.instrs[seen[k]];
      // a function that calls itself may give what it was given
      if (in.op == Op::kInput || region::is_self(in.op))
        for (auto& need : d.r->needs)
          if ((need.word == in.imm || in.op != Op::kInput) && need.kind == RegionNeed::kNumber &&
              (need.number == K::kInt || need.number == K::kFloat))
            found.push_back(need.source);
      if (in.op != Op::kParam || home[seen[k]] < 0) continue;
      for (const region::Edge* e : into[home[seen[k]]])
        if (const int v = e->args[static_cast<size_t>(in.imm)];
            std::find(seen.begin(), seen.end(), v) == seen.end())
          seen.push_back(v);
    }
    return found;
  };
  std::map<int, std::vector<int>> known;  // by value
  auto note = [&](auto& self, RegionPiece& p, const std::vector<int>& values) -> void {
    for (auto& i : p.items) self(self, i, values);
    if (p.kind != K::kInt && p.kind != K::kFloat) return;
    const int v = values[static_cast<size_t>(p.at)];
    const auto [it, fresh] = known.try_emplace(v);
    if (fresh) it->second = sources_of(v);
    p.sources = it->second;
  };
  for (size_t k = 0; k < d.r->exits.size(); ++k)
    for (auto* part : {&d.r->exits[k].slots, &d.r->exits[k].stack})
      for (RegionPiece& p : *part) note(note, p, d.f.exits[k].values);
  if (!d.r->recursive) return;
  // which of its exits is the last one, code does not tell
  std::vector<int> all;
  for (auto& need : d.r->needs)
    if (need.kind == RegionNeed::kNumber && (need.number == K::kInt || need.number == K::kFloat))
      all.push_back(need.source);
  for (RegionExit& e : d.r->exits)
    if (e.returns && e.stack[0].kind != K::kBool) e.stack[0].sources = all;
}

}  // namespace pijit::regions
