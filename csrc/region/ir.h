// Regions: loops over numbers and elements of arrays, as typed SSA over blocks with parameters.
// Where a region can't go on as Python would, or is done, it leaves by one of its exits, with the
// values of the frame there in a buffer.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"

namespace pijit::region {

enum class Type : uint8_t { kNone, kI64, kF64, kB1, kPtr, kSame };
enum class Effect : uint8_t { kPure, kCheck, kReads, kWrites };
enum class Op : uint8_t {
#define OP(id, name, type, operands, effect) id,
#include "region/ops.def"
#undef OP
};
struct OpFacts {
  const char* name;
  Type type;
  int operands;
  Effect effect;
};
const OpFacts& facts(Op op);
const char* type_name(Type t);

// Functions of C that instructions call, as CPython does.
enum class Function1 : uint8_t {
#define FUNCTION1(id) k_##id,
#include "region/functions.def"
#undef FUNCTION1
};
enum class Function2 : uint8_t {
#define FUNCTION2(id) k_##id,
#include "region/functions.def"
#undef FUNCTION2
};
using Fn1 = double (*)(double);
using Fn2 = double (*)(double, double);
using CallOut = int64_t (*)(int64_t, int64_t, int64_t);
struct FunctionFacts1 {
  const char* name;
  Fn1 fn;
};
struct FunctionFacts2 {
  const char* name;
  Fn2 fn;
};
const FunctionFacts1& facts(Function1 f);
const FunctionFacts2& facts(Function2 f);
bool function1(std::string_view name, Function1* f);
bool function2(std::string_view name, Function2* f);

constexpr int kNoValue = -1, kNoExit = -1;
// Of arrays that code takes: sums of some lengths are in 64 bits.
constexpr int64_t kMostLength = int64_t{1} << 60;
// imm of idiv and imod, once ranges are known: neither operand is below 0.
constexpr int64_t kSameSigns = 1;
// imm of loads and stores, whose address is a + b * scale + offset: the scale's logarithm in the
// low bits, the offset above.
constexpr int kScaleBits = 2;
constexpr int64_t address_imm(int log_scale, int64_t offset) {
  return offset * (1 << kScaleBits) + log_scale;
}
constexpr int log_scale_of(int64_t imm) { return static_cast<int>(imm & ((1 << kScaleBits) - 1)); }
constexpr int64_t offset_of(int64_t imm) { return imm >> kScaleBits; }
// imm of kLoadInt: what the word before an int's digits, of 30 bits each, tells.
enum class IntLayout : uint8_t {
  kSigned,  // how many there are, with the int's sign
  kTagged   // eight times as many, and 0, 1 or 2 for +, 0 and -, in two bits
};
constexpr int kIntWordAt = 16, kIntDigitsAt = 24, kIntDigitBits = 30;
constexpr int kMostIntDigits = 3;        // that may fit
constexpr uint32_t kHighDigitBelow = 8;  // the third one

struct ParallelLoop;

struct Instr {
  Op op;
  Type type;
  int args[3] = {kNoValue, kNoValue, kNoValue};
  int64_t imm = 0;
  int exit = kNoExit;
};

struct Edge {
  int block = -1;
  std::vector<int> args;
};

// A block ends in a jump (`next`), a branch (where `condition` holds, to `next`), or in an exit.
struct Block {
  std::vector<int> params;
  std::vector<int> instrs;
  int condition = kNoValue;
  Edge next, otherwise;
  int exit = kNoExit;
};

// Values that an exit writes to the first words of the buffer.
struct Exit {
  std::vector<int> values;
  bool returns = false;  // from a call of the function by itself: its only value
  int as = kNoExit;      // a copy of that one, which other values lead to
};

// Values are numbers of instructions. Block 0 is the first; nothing leads back to it.
struct Function {
  std::vector<Instr> instrs;
  std::vector<Block> blocks;
  std::vector<Exit> exits;
  int depth = -1;  // of a function that calls itself: a word; the next one is the code's own
  std::vector<std::shared_ptr<void>> kept;  // what its code calls
  std::vector<std::shared_ptr<ParallelLoop>> parallel;
  std::vector<int64_t> lengths;  // words of inputs that are 0 to kMostLength
  bool unrolled = false;         // it had more loops
  bool any_order = false;        // floats may be added up in another one
  // Of code that threads run at a time: an input, the address of so many words of the thread's.
  int own_words = kNoValue;
  size_t own_words_used = 0;

  bool calls_itself() const { return depth >= 0; }
  int add(int block, Instr in) {
    instrs.push_back(in);
    blocks[block].instrs.push_back(static_cast<int>(instrs.size()) - 1);
    return blocks[block].instrs.back();
  }
  int add_param(int block, Type t);
  int add_block() {
    blocks.emplace_back();
    return static_cast<int>(blocks.size()) - 1;
  }
  // What a run by that exit returns.
  int returned_by(int exit) const { return exits[exit].as == kNoExit ? exit : exits[exit].as; }
  // The words that a buffer has: inputs, or what the largest exit writes.
  size_t words() const;
  std::string print() const;
  // Throws InternalError where a rule of SSA is broken.
  void verify() const;
  static Function parse(std::string_view text);
};

// Blocks in an order in which each comes behind those that dominate it. Unreachable ones are left
// out.
std::vector<int> reverse_postorder(const Function& f);
// By block: its immediate dominator; -1 of the first and of unreachable ones.
std::vector<int> dominators(const Function& f, const std::vector<int>& order);
bool has_loop(const Function& f);
inline bool is_access(Op op) { return op >= Op::kLoadF64 && op <= Op::kStoreU8; }
DType element_type(Op access);
// Is its result infinite or no number where that operand is?
bool carries_what_is_not_finite(const Instr& in, int v);
inline bool is_self(Op op) { return op >= Op::kSelfI && op <= Op::kSelfB; }

// Calls g(int& value) for each operand of an instruction, edge or exit.
template <class G>
void each_operand(Instr& in, G g) {
  for (int& a : in.args)
    if (a != kNoValue) g(a);
}
template <class G>
void each_operand(Block& b, G g) {
  if (b.condition != kNoValue) g(b.condition);
  for (int& a : b.next.args) g(a);
  for (int& a : b.otherwise.args) g(a);
}

// --- passes
// Parameters that are always the same value; constants; what was computed before; what nobody uses.
// `bounded`: ranges are known, and need no more to be said which number is below which.
void simplify(Function& f, bool bounded = false);
// Where ranges of integers say that they fit, overflow is not looked for.
void drop_checks(Function& f);
// By value: what integers can be; all of 64 bits where that is not known.
struct Range {
  int64_t least, most;
};
std::vector<Range> ranges_of(const Function& f);
// Loops that begin with the same block get one each.
void separate_loops(Function& f);
// Inner loops of few turns, whose number is known, become those turns.
void unroll(Function& f);
// What does not change in a loop is computed before it, and looked at there where each turn would.
void hoist(Function& f);
// Short ways that meet again become selects.
void select_ways(Function& f);
// Addresses as the processor adds them up, with what does not change in a loop apart.
void split_addresses(Function& f);
void optimize(Function& f);  // all of that
// Loops begin with what is done faster than turn by turn: outer ones whose turns do not need each
// other's results with turns that threads share, inner ones over elements with vectors. The last
// pass.
void prepare_loops(Function& f);
// Of the loop that begins with that block; false: it stays as it is.
bool parallelize_loop(Function& f, int head);
bool vectorize_loop(Function& f, int head);
bool unchecked_loop(Function& f, int head);
void vectorize_loops(Function& f);

// --- execution
class Code {
 public:
  virtual ~Code() = default;
  // From the inputs in the buffer to an exit, whose number it returns.
  virtual int run(int64_t* buffer) const = 0;
  virtual size_t bytes() const { return 0; }
};
// The reference.
std::unique_ptr<Code> interpreted(Function f);
// Machine code where a device has registered a generator; else the reference.
std::unique_ptr<Code> compiled(Function f);
using Generator = std::unique_ptr<Code> (*)(const Function&);
bool register_generator(Generator g);

// What the interpreter and folding compute; false: it leaves.
bool evaluate(const Instr& in, const int64_t* args, int64_t* result);

}  // namespace pijit::region
