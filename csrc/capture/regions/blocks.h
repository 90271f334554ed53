// The blocks of a region's code: a version of an instruction for each set of types of its frame.
#pragma once
#include "capture/regions/emitter.h"

namespace pijit::regions {

struct Version {
  Frame frame;
  int block;
};
struct Pending {
  int body, instr, block;
  Frame frame;
};
// A function that is followed: the region's own, or one that is called at an instruction of
// another.
struct Body {
  Body(const Code& its_code, PyObject* its_func, int its_caller = -1, int its_place = -1)
      : code(its_code), func(its_func), caller(its_caller), at(its_place) {
    std::vector<int> into(code->instrs.size() + 1);
    loop_end.assign(code->instrs.size() + 1, -1);
    for (size_t pc = 0; pc < code->instrs.size(); ++pc)
      for (int to : successors(*code, static_cast<int>(pc))) {
        if (to < 0) continue;
        ++into[to];
        if (to <= static_cast<int>(pc)) loop_end[to] = static_cast<int>(pc);
      }
    stored.assign(static_cast<size_t>(code->num_slots), false);
    for (auto& in : code->instrs)
      if (const SlotUse use = slot_use(in); use == SlotUse::WRITE || use == SlotUse::CLEAR)
        stored[static_cast<size_t>(in.a)] = true;
    for (int n : into) merges.push_back(n > 1);
  }
  Code code;
  PyObject* func;
  int caller, at;
  std::vector<Av> closure;           // of a function that was made
  std::vector<bool> merges, stored;  // places where ways meet, by instruction; by slot
  std::vector<int> loop_end;
  std::map<int, std::vector<Version>> versions;
};

class Blocks {
 public:
  Blocks(Emitter& e, const Code& code, PyObject* func);

  Body& body() { return *bodies[static_cast<size_t>(current)]; }
  const Body& body() const { return *bodies[static_cast<size_t>(current)]; }
  const Body& own() const { return *bodies[0]; }
  const CodeInfo& code() const { return *body().code; }
  // The instruction of the region's own function during one of the current body.
  int own_instr(int instr) const;
  // Can CPython go on within the functions that are followed here?
  bool can_go_on() const;
  Av tagged(const Av& a, int block);
  // The edge out of the current block to code at an instruction, for a frame of these types.
  region::Edge go_to(int instr, Frame frame);
  std::optional<region::Edge> edge_to(Version& v, Frame& frame);
  // The edge of a way of its own, where variables that nobody reads there hold arrays that code
  // made.
  std::optional<region::Edge> let_go_before(int instr, Frame* frame);
  // Where the same tuple is held first, for each that is to be made.
  static std::vector<size_t> tuples_in(Frame& frame);
  void poll_at(int block, int instr, const Frame& frame);
  // The beginning of the outermost loop around an instruction, and of the next behind it; -1: none.
  int loop_around(int instr) const;
  int next_loop(int instr) const;
  int body_of(const Code& code, PyObject* func);

  std::vector<std::unique_ptr<Body>> bodies;
  int current = 0;
  std::vector<Pending> pending;

 private:
  Emitter& e_;
};

}  // namespace pijit::regions
