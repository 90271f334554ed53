// What a region's code is: instructions of bytecode, followed for the types that variables have.
#pragma once
#include "capture/regions/arrays.h"
#include "capture/regions/blocks.h"
#include "capture/regions/complex.h"
#include "capture/regions/iterators.h"
#include "capture/regions/lists.h"
#include "capture/regions/numbers.h"

namespace pijit::regions {

class RegionBuilder {
 public:
  // `fast`: numerics.
  RegionBuilder(const Code& code, int instr, const Region::Frame& frame, ListKinds& kinds,
                bool fast);

  std::unique_ptr<Region> build();
  // The kind of the result of a function that calls itself, where another was supposed.
  std::optional<RegionKind> other_result() const { return other_result_; }
  void suppose_result(RegionKind kind) { result_ = kind; }
  NoRegion why_not() const { return because_; }

 private:
  std::unique_ptr<Region> refused(std::string why, std::string help);
  // The first in a loop counts, or else the first.
  void note_leave(const Leave& l);
  int line_here() const;
  void note_loop(int head);
  void fill(Pending p);
  // Of the region's own function, with its result.
  void leave_function(const Frame& now);
  // The edge to what is behind an instruction that jumps.
  region::Edge begin_turn(int instr, Frame frame);

  // Of what is computed on the stack.
  void make_arrays(std::vector<Av>& stack);
  int step(const BIn& in, Frame& f);
  void step_attribute(const BIn& in, std::vector<Av>& st);
  void step_operator(const BIn& in, std::vector<Av>& st);
  void step_two(const BIn& in, std::vector<Av>& st);  // operands
  void step_container(const BIn& in, std::vector<Av>& st);
  void step_cell(const BIn& in, Frame& f);
  int place_here() const;  // of a list that is made
  int step_flow(const BIn& in, Frame& f);
  Av cell_content(Av& slot);
  // What is found at a place that only other code changes.
  Av looked_up(RegionSource where);
  Av module_of(const Av& a, const std::string& name);
  void for_iter(const BIn& in, Frame& f);

  // `names`: of the last arguments; null: none has one.
  void call(const BIn& in, PyObject* names, std::vector<Av>& st);
  // Is it one that NumPy itself runs, with what is computed of arrays? Then its result is there.
  bool calls_numpy(const BIn& in, PyObject* names, size_t base, std::vector<Av>& st);
  bool is_own(PyObject* func) const;
  // Whose globals and closure it is: null, the region's own.
  py::object of_body() const;
  // Its lines are followed from here on; where they return, so are the caller's.
  void enter_function(PyObject* func, const std::vector<Av>& args);
  void enter_made(const Av& made, const std::vector<Av>& args);
  void enter(const Code& code, PyObject* func, Frame in);
  int return_to_caller(Frame* now);
  // --- a function that calls itself: from its beginning, with numbers alone
  // From here on, may it be a function of one to three numbers that calls itself?
  bool is_called_by_itself();
  // Does it use itself by name, or others that do?
  bool finds_itself(PyObject* func, int deep) const;
  void take_operands(Frame* start);
  Av call_itself(const std::vector<Av>& args);
  void note_result(const Av& a);
  std::unique_ptr<Region> recursive();

  std::unique_ptr<Region> finish();

  Draft d_;
  Emitter e_{d_};
  Blocks b_;
  bool may_call_itself_ = false, calls_itself_ = false, has_no_number_ = false;
  RegionKind result_ = K::kInt;
  std::optional<RegionKind> other_result_;
  std::vector<Av> operands_;
  NoRegion because_;
  bool because_in_loop_ = false;
  bool branches_ = false;       // what was followed so far
  bool leaves_arrays_ = false;  // in a loop, for what is computed of whole arrays
  // while an instruction is followed
  int next_body_ = -1;
  Frame entered_;  // of next_body_
  Av over_;        // the iterator of a loop before its turn, whose item is read where it goes on
  int condition_ = kNoValue;
  bool jumps_if_ = true;
  Frame other_;
  Av otherwise_;  // the result of an instruction that does not jump, where the condition is false
};

// The function of Python's that is called where an object is; null: none.
PyObject* function_behind(PyObject* o);
// Can code call it, or take from it what it calls?
bool is_of_use(PyObject* o);
// Numbers keep their identity where they may be what was given: what no turn of a loop has
// replaced is the same object behind it.
void note_sources(Draft& d);

}  // namespace pijit::regions
