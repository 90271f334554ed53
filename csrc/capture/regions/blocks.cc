#include "capture/regions/blocks.h"

#include <map>

#include "python/hook.h"

namespace pijit::regions {

constexpr size_t kMostVersions = 6;  // of one instruction, by the types of variables

Blocks::Blocks(Emitter& e, const Code& code, PyObject* func) : e_(e) {
  bodies.push_back(std::make_unique<Body>(code, func));
}

int Blocks::own_instr(int instr) const {
  for (int b = current; b != 0; b = bodies[static_cast<size_t>(b)]->caller)
    instr = bodies[static_cast<size_t>(b)]->at;
  return instr;
}

bool Blocks::can_go_on() const {
  for (int b = current; b != 0; b = bodies[static_cast<size_t>(b)]->caller)
    if (!bodies[static_cast<size_t>(b)]->func) return false;
  return true;
}

static void collect(const Av& a, std::vector<int>* values) {
  for (int k = 0; k < a.values(); ++k) values->push_back(a.v[k]);
  for (auto& i : a.items) collect(i, values);
}
static void to_params(region::Function& f, Av& a, int block) {
  for (int k = 0; k < a.values(); ++k) a.v[k] = f.add_param(block, a.type(k));
  for (auto& i : a.items) to_params(f, i, block);
}

Av Blocks::tagged(const Av& a, int block) {
  if (a.kind == K::kTagged) return a;
  auto of = [&](RegionKind tag, int payload, int second = kNoValue) {
    Av t;
    t.kind = K::kTagged;
    t.v = {e_.d.icon(static_cast<int64_t>(tag)), payload,
           second == kNoValue ? e_.d.icon(0) : second};
    return t;
  };
  auto bits = [&](int x) { return e_.d.f.add(block, ins(Op::kFBits, Type::kI64, x)); };
  switch (a.kind) {
    case K::kInt: return of(number_kind_of(a), a.v[0]);
    case K::kFloat: return of(number_kind_of(a), bits(a.v[0]));
    case K::kComplex: {
      const int real = bits(a.v[0]);
      return of(number_kind_of(a), real, bits(a.v[1]));
    }
    case K::kBool:
      return of(number_kind_of(a), e_.d.f.add(block, ins(Op::kBToI, Type::kI64, a.v[0])));
    case K::kCharacter:
    case K::kHeld: return of(a.kind, a.v[0]);
    case K::kEntry: return of(K::kEntry, e_.d.icon(a.index));
    case K::kObject: return of(K::kObject, e_.d.icon(e_.d.object_number(a.object)));
    default: return of(K::kNull, e_.d.icon(0));
  }
}

region::Edge Blocks::go_to(int instr, Frame frame) {
  if (!body().merges[static_cast<size_t>(instr)]) {
    const int block = e_.d.f.add_block();
    pending.push_back({current, instr, block, std::move(frame)});
    return {block, {}};
  }
  const bool head = body().loop_end[instr] >= 0;
  // What nobody reads may be of any type there, and what is written becomes a number.
  const auto live = code().live[instr];
  if (const auto way = let_go_before(instr, &frame)) return *way;
  for (size_t k = 0; k < frame.slots.size(); ++k) {
    Av& a = frame.slots[k];
    if (!body().stored[k]) continue;
    if (!live[k] && e_.d.can_be_tagged(a))
      a = tagged(a, e_.block);
    else if (a.kind == K::kEntry)
      a = e_.d.typed(a);
  }
  auto& versions = body().versions[instr];
  for (Version& v : versions)
    if (auto edge = edge_to(v, frame)) return *edge;
  const int block = e_.d.f.add_block();
  if (versions.size() >= kMostVersions) {
    e_.d.f.blocks[block].exit = e_.make_exit(instr, frame);
    return {block, {}};
  }
  Version v{frame, block};
  region::Edge e{block, {}};
  v.frame.each_part([&](std::vector<Av>& part) {
    for (Av& a : part) {
      collect(a, &e.args);
      to_params(e_.d.f, a, block);
    }
  });
  if (head) poll_at(block, instr, v.frame);
  pending.push_back({current, instr, block, v.frame});
  versions.push_back(std::move(v));
  return e;
}

std::optional<region::Edge> Blocks::let_go_before(int instr, Frame* frame) {
  const auto live = code().live[instr];
  auto is_dead = [&](size_t k) {
    return body().stored[k] && !live[k] && has_new_arrays(frame->slots[k]);
  };
  size_t dead = 0;
  for (size_t k = 0; k < frame->slots.size(); ++k) dead += is_dead(k);
  if (dead == 0) return std::nullopt;
  const int from = e_.block, way = e_.d.f.add_block();
  e_.block = way;
  for (size_t k = 0; k < frame->slots.size(); ++k)
    if (is_dead(k)) e_.hold(std::exchange(frame->slots[k], Av{}), -1);
  e_.let_go_of_arrays(frame->stack);
  const region::Edge next = go_to(instr, std::move(*frame));
  e_.d.f.blocks[e_.block].next = next;
  e_.block = from;
  return region::Edge{way, {}};
}

std::optional<region::Edge> Blocks::edge_to(Version& v, Frame& frame) {
  if (v.frame.stack.size() != frame.stack.size() || v.frame.changed != frame.changed)
    return std::nullopt;
  auto fits = [&](const Av& to, const Av& a) {
    return same_shape(to, a) || (to.kind == K::kTagged && e_.d.can_be_tagged(a));
  };
  for (size_t k = 0; k < frame.slots.size(); ++k)
    if (!fits(v.frame.slots[k], frame.slots[k])) return std::nullopt;
  auto same = [](const std::vector<Av>& a, const std::vector<Av>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_shape);
  };
  if (!same(v.frame.stack, frame.stack)) return std::nullopt;
  for (size_t k = 0; k < frame.callers.size(); ++k)
    if (!same(v.frame.callers[k].slots, frame.callers[k].slots) ||
        !same(v.frame.callers[k].stack, frame.callers[k].stack))
      return std::nullopt;
  if (tuples_in(v.frame) != tuples_in(frame)) return std::nullopt;
  for (size_t k = 0; k < frame.slots.size(); ++k)
    if (v.frame.slots[k].kind == K::kTagged) frame.slots[k] = tagged(frame.slots[k], e_.block);
  region::Edge e{v.block, {}};
  frame.each_part([&](std::vector<Av>& part) {
    for (const Av& a : part) collect(a, &e.args);
  });
  return e;
}

std::vector<size_t> Blocks::tuples_in(Frame& frame) {
  std::vector<size_t> first;
  std::map<int, size_t> known;
  auto note = [&](auto& self, const Av& a) -> void {
    if (is_to_be_made(a))
      first.push_back(a.same ? known.try_emplace(a.same, first.size()).first->second
                             : first.size());
    for (const Av& i : a.items) self(self, i);
  };
  frame.each_part([&](std::vector<Av>& part) {
    for (const Av& a : part) note(note, a);
  });
  return first;
}

void Blocks::poll_at(int block, int instr, const Frame& frame) {
  In poll = ins(Op::kPoll, Type::kNone, e_.d.poll_address());
  poll.imm = interpreter_breaker().mask;
  poll.exit = e_.make_exit(instr, frame);
  e_.d.f.add(block, poll);
}

int Blocks::loop_around(int instr) const {
  for (int head = 0; head <= instr; ++head)
    if (own().loop_end[head] >= instr) return head;
  return -1;
}

int Blocks::next_loop(int instr) const {
  for (size_t head = instr; head < own().code->instrs.size(); ++head)
    if (own().loop_end[head] >= 0) return static_cast<int>(head);
  return -1;
}

int Blocks::body_of(const Code& code, PyObject* func) {
  for (size_t k = 1; k < bodies.size(); ++k)
    if (const Body& b = *bodies[k];
        b.caller == current && b.at == e_.instr() && b.func == func && b.code->code == code->code)
      return static_cast<int>(k);
  body().merges[static_cast<size_t>(e_.instr()) + 1] = true;  // where its ways back meet
  bodies.push_back(std::make_unique<Body>(code, func, current, e_.instr()));
  return static_cast<int>(bodies.size()) - 1;
}

}  // namespace pijit::regions
