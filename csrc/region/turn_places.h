// Where turns of a loop read and write, as far as their numbers decide it.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "region/counted_loop.h"
#include "region/parallel_loop.h"

namespace pijit::region {

class TurnPlaces : protected CountedLoop {
 public:
  TurnPlaces(Function& f, const Flow& flow, const Loop& l);

 protected:
  bool is_in(int b) const { return b >= 0 && l_.body[static_cast<size_t>(b)]; }
  bool is_param(int v) const { return f_.instrs[static_cast<size_t>(v)].op == Op::kParam; }
  int head_param(int v);  // its place; -1: it is none
  // The arguments that a parameter of another block than the head gets.
  template <class G>
  void each_argument(int param, G g) {
    const int b = home_[static_cast<size_t>(param)];
    for (int from : flow_.into(b))
      for (const Edge* e : {&block(from).next, &block(from).otherwise})
        if (e->block == b) g(e->args[static_cast<size_t>(at(param).imm)]);
  }
  // The word that has what does not change in the loop.
  size_t word_of(int v);
  // Of all accesses that are `live`. Throws Refused where a place can't be told, or all turns store
  // there.
  void find_places(const std::vector<bool>& live);

  const std::shared_ptr<ParallelLoop> made_ = std::make_shared<ParallelLoop>();
  std::map<int, size_t> words_;

 private:
  struct Test {
    int less, more;  // the first is below the other
    bool equal;      // or the same
  };
  int add_node(ParallelLoop::Node n);
  int constant_node(int64_t n);
  int between(int a, int b);
  // Of a number, where the access is reached.
  int node(int v);
  std::optional<int> known_node(int v);  // nothing: turns do not decide it
  int made_node(int v);
  int counted(int v);
  bool is_same(int a, int b);
  template <class G>
  void each_test(G g);
  std::optional<Test> test_of(int comparison, bool holds);
  std::optional<int> bound(int v, bool most);
  void need_tests(const Instr& store);
  void add_leaves(int v, std::vector<int>* leaves);

  std::vector<bool> moves_;  // by node: turns change it
  std::map<std::pair<int, int>, int> known_;
  std::vector<int> open_;      // numbers that are looked at
  int at_ = -1, access_ = -1;  // whose places are looked for: its block, and itself
};

}  // namespace pijit::region
