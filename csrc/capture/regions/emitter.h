// Code of the instruction that is followed: its values, checks and exits.
#pragma once
#include <optional>

#include "absl/functional/function_ref.h"
#include "capture/regions/draft.h"

namespace pijit::regions {

class Emitter {
 public:
  explicit Emitter(Draft& draft) : d(draft) {}

  // What follows belongs to this instruction. No instruction changes slots before it may leave.
  void begin(int instr, int own_instr, const Frame& now);
  int add(const In& in) { return d.f.add(block, in); }
  int emit(Op op, int a, int b = kNoValue, int c = kNoValue);
  void check(int condition) { emit(Op::kCheck, condition); }
  int either(int a, int b) { return emit(Op::kSelect, a, a, b); }
  // One of two values, whose code runs alone.
  int choose(int condition, absl::FunctionRef<int()> yes, absl::FunctionRef<int()> no);
  // What is done where all of its conditions hold, each looked at where those before it do.
  struct Way {
    std::vector<absl::FunctionRef<int()>> conditions;
    absl::FunctionRef<void()> code;
  };
  // The first of the ways that can be gone, else the last code.
  void first_of(const std::vector<Way>& ways, absl::FunctionRef<void()> otherwise);
  int call(region::CallOut fn, int a, int b, int c);
  // The instruction changes what others see. Leaves where it may be done anew.
  void changes(const char* what);
  // Are arrays computed with on the stack? That happens where they are stored; until then, CPython
  // would begin anew where the first of it began.
  bool computes_arrays() const { return anchor_.has_value(); }
  // What was computed is an array now: CPython goes on from here.
  void arrays_are_made();
  // Variables hold so many more of what code made.
  void hold(const Av& a, int more);
  void arrays_were_made() { made_ = true; }
  // Those that no variable holds make room, where the stack has none either.
  void let_go_of_arrays(const std::vector<Av>& stack);
  int call(region::Function1 fn, int x);
  int call(region::Function2 fn, int x, int y);

  // Where CPython goes on. What a called function does is pure: CPython calls it anew.
  int make_exit(int instr, const Frame& frame);
  int make_exit(int instr, const std::vector<Av>& slots, const std::vector<Av>& stack,
                bool returns = false);
  // Has the instruction changed what others see?
  bool has_changed() const { return changed_; }
  void note_change() { changed_ = d.stores = true; }
  // That of the instruction which is followed.
  int exit_here();
  int instr() const { return instr_; }
  // The instruction of the region's own function that is under way.
  int own_instr() const { return own_instr_; }
  const Frame& now() const { return *now_; }
  const std::vector<Av>& stack_before() const { return before_; }

  Draft& d;
  int block = 0;
  bool may_store = true;

 private:
  int instr_ = 0, own_instr_ = 0, exit_ = kNoExit;
  const Frame* now_ = nullptr;
  std::vector<Av> before_;  // its stack
  struct Anchor {
    int instr;
    std::vector<Av> stack;
  };
  std::optional<Anchor> anchor_;
  bool made_ = false;  // an array, since others were let go of
  bool changed_ = false;
  int exit_from(int instr, const Frame& frame, const std::vector<Av>& stack);
};

}  // namespace pijit::regions
