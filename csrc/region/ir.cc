#include "region/ir.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <charconv>
#include <cstring>

#include "base/error.h"

namespace pijit::region {

const OpFacts& facts(Op op) {
  static constexpr OpFacts kFacts[] = {
#define OP(id, name, type, operands, effect) {name, Type::type, operands, Effect::effect},
#include "region/ops.def"
#undef OP
  };
  return kFacts[static_cast<size_t>(op)];
}

const char* type_name(Type t) {
  static constexpr const char* kNames[] = {"none", "i64", "f64", "b1", "ptr", "same"};
  return kNames[static_cast<size_t>(t)];
}

namespace {

// As float.__divmod__ computes them.
double py_mod(double x, double y) {
  double mod = std::fmod(x, y);
  if (mod == 0) return std::copysign(0.0, y);
  if ((y < 0) != (mod < 0)) mod += y;
  return mod;
}
double py_floordiv(double x, double y) {
  double mod = std::fmod(x, y);
  double div = (x - mod) / y;
  if (mod != 0 && (y < 0) != (mod < 0)) div -= 1.0;
  if (div == 0) return std::copysign(0.0, x / y);
  double floored = std::floor(div);
  if (div - floored > 0.5) floored += 1.0;
  return floored;
}
// C's gives a NaN of either sign for one.
double py_pow(double x, double y) {
  if (std::isnan(x)) return y == 0 ? 1.0 : x;
  if (std::isnan(y)) return x == 1 ? 1.0 : y;
  return std::pow(x, y);
}
// What CPython and NumPy call in the C library of the machine that it runs on. Linked, it would be
// the one that glibc has had since 2.35, and a wheel would not load on older systems.
template <class F>
F* from_c_library(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}
// Of a complex number, by its parts.
double py_abs(double real, double imag) {
  static const auto hypot = from_c_library<double(double, double)>("hypot");
  return hypot(real, imag);
}
double py_atan2(double y, double x) { return std::atan2(y, x); }
double np_hypotf(double real, double imag) {
  static const auto hypotf = from_c_library<float(float, float)>("hypotf");
  return hypotf(static_cast<float>(real), static_cast<float>(imag));
}

using namespace std;  // NOLINT: the functions by their names alone

constexpr FunctionFacts1 kFunctions1[] = {
#define FUNCTION1(id) {#id, static_cast<Fn1>(id)},
#include "region/functions.def"
#undef FUNCTION1
};
constexpr FunctionFacts2 kFunctions2[] = {
#define FUNCTION2(id) {#id, static_cast<Fn2>(id)},
#include "region/functions.def"
#undef FUNCTION2
};

Generator generator = nullptr;

}  // namespace

const FunctionFacts1& facts(Function1 f) { return kFunctions1[static_cast<size_t>(f)]; }
const FunctionFacts2& facts(Function2 f) { return kFunctions2[static_cast<size_t>(f)]; }
bool function1(std::string_view name, Function1* f) {
  for (size_t k = 0; k < std::size(kFunctions1); ++k)
    if (kFunctions1[k].name == name) return *f = static_cast<Function1>(k), true;
  return false;
}
bool function2(std::string_view name, Function2* f) {
  for (size_t k = 0; k < std::size(kFunctions2); ++k)
    if (kFunctions2[k].name == name) return *f = static_cast<Function2>(k), true;
  return false;
}

DType element_type(Op op) {
  switch (op) {
    case Op::kLoadF64:
    case Op::kStoreF64: return DType::F64;
    case Op::kLoadF32:
    case Op::kStoreF32: return DType::F32;
    case Op::kLoadI64:
    case Op::kStoreI64: return DType::I64;
    case Op::kLoadI32:
    case Op::kStoreI32: return DType::I32;
    case Op::kLoadU32: return DType::U32;
    case Op::kLoadI16:
    case Op::kStoreI16: return DType::I16;
    case Op::kLoadU16: return DType::U16;
    case Op::kLoadI8: return DType::I8;
    case Op::kLoadU8:
    case Op::kStoreU8: return DType::U8;
    default: break;
  }
  throw InternalError(str_cat(facts(op).name, " is of no element"));
}

bool carries_what_is_not_finite(const Instr& in, int v) {
  switch (in.op) {
    case Op::kFAdd:
    case Op::kFSub:
    case Op::kFMul: return in.args[0] == v || in.args[1] == v;
    case Op::kFDiv:
    case Op::kFNeg:
    case Op::kFAbs:
    case Op::kFRound32: return in.args[0] == v;
    default: return false;
  }
}

bool register_generator(Generator g) {
  generator = g;
  return true;
}
std::unique_ptr<Code> compiled(Function f) {
  if (generator)
    if (auto code = generator(f)) return code;
  return interpreted(std::move(f));
}

int Function::add_param(int block, Type t) {
  Instr in{Op::kParam, t};
  in.imm = static_cast<int64_t>(blocks[block].params.size());
  instrs.push_back(in);
  blocks[block].params.push_back(static_cast<int>(instrs.size()) - 1);
  return blocks[block].params.back();
}

size_t Function::words() const {
  size_t n = 0;
  for (auto& in : instrs)
    if (in.op == Op::kInput) n = std::max(n, static_cast<size_t>(in.imm) + 1);
  for (auto& e : exits) n = std::max(n, e.values.size());
  if (calls_itself()) n = std::max<size_t>({n, static_cast<size_t>(depth) + 2, 3});
  return n;
}

std::vector<int> reverse_postorder(const Function& f) {
  std::vector<int> order;
  std::vector<uint8_t> state(f.blocks.size());  // 1: on the way, 2: done
  std::vector<std::pair<int, int>> stack{{0, 0}};
  state[0] = 1;
  while (!stack.empty()) {
    auto& [b, k] = stack.back();
    const Block& block = f.blocks[b];
    const int to = k == 0 ? block.otherwise.block : k == 1 ? block.next.block : -2;
    ++k;
    if (to == -2) {
      order.push_back(b);
      stack.pop_back();
    } else if (to >= 0 && !state[to]) {
      state[to] = 1;
      stack.emplace_back(to, 0);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<int> dominators(const Function& f, const std::vector<int>& order) {
  std::vector<int> place(f.blocks.size(), -1), idom(f.blocks.size(), -1);
  for (size_t k = 0; k < order.size(); ++k) place[order[k]] = static_cast<int>(k);
  std::vector<std::vector<int>> before(f.blocks.size());
  for (int b : order)
    for (int to : {f.blocks[b].next.block, f.blocks[b].otherwise.block})
      if (to >= 0) before[to].push_back(b);
  idom[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int b : order) {
      if (b == 0) continue;
      int d = -1;
      for (int p : before[b]) {
        if (idom[p] < 0) continue;
        if (d < 0) {
          d = p;
          continue;
        }
        for (int q = p; q != d;) {
          while (place[q] > place[d]) q = idom[q];
          while (place[d] > place[q]) d = idom[d];
        }
      }
      if (idom[b] != d) idom[b] = d, changed = true;
    }
  }
  idom[0] = -1;
  return idom;
}

bool has_loop(const Function& f) {
  const auto order = reverse_postorder(f);
  std::vector<int> place(f.blocks.size(), -1);
  for (size_t k = 0; k < order.size(); ++k) place[order[k]] = static_cast<int>(k);
  for (int b : order)
    for (int to : {f.blocks[b].next.block, f.blocks[b].otherwise.block})
      if (to >= 0 && place[to] <= place[b]) return true;
  return false;
}

// --- text

namespace {

bool tells_imm(Op op) {
  return op == Op::kPoll || op == Op::kCallOut || op == Op::kLoadInt || is_self(op);
}

std::string text_of(const Instr& in) {
  std::string s(facts(in.op).name);
  if (in.op == Op::kInput || in.op == Op::kConst) {
    s += str_cat(" ", type_name(in.type), " ");
    if (in.op == Op::kConst && in.type == Type::kF64) {
      double x;
      std::memcpy(&x, &in.imm, sizeof x);
      char text[40];
      s.append(text, std::to_chars(text, text + sizeof text, x).ptr);
      return s;
    }
    return s + std::to_string(in.imm);
  }
  if (in.op == Op::kCall1) s += str_cat(" ", facts(static_cast<Function1>(in.imm)).name);
  if (in.op == Op::kCall2) s += str_cat(" ", facts(static_cast<Function2>(in.imm)).name);
  for (int a : in.args)
    if (a != kNoValue) s += str_cat(" %", a);
  if (tells_imm(in.op)) s += str_cat(" ", in.imm);
  if (is_access(in.op) && in.imm != 0)
    s += str_cat(" times ", 1 << log_scale_of(in.imm), " plus ", offset_of(in.imm));
  if (in.exit != kNoExit) s += str_cat(" else ", in.exit);
  return s;
}

std::string text_of(const Edge& e) {
  std::string s = str_cat("b", e.block, "(");
  for (size_t k = 0; k < e.args.size(); ++k) s += str_cat(k ? " %" : "%", e.args[k]);
  return s + ")";
}

struct Words {
  std::string_view rest;
  bool skip() {
    size_t k = 0;
    while (k < rest.size() && std::strchr(" ,:=()", rest[k])) ++k;
    rest.remove_prefix(k);
    return !rest.empty();
  }
  std::string_view next() {
    if (!skip()) return {};
    size_t k = 0;
    while (k < rest.size() && !std::strchr(" ,:=()", rest[k])) ++k;
    auto w = rest.substr(0, k);
    rest.remove_prefix(k);
    return w;
  }
  std::string_view peek() { return Words{rest}.next(); }
};

int64_t number(std::string_view w) {
  if (!w.empty() && (w[0] == '%' || w[0] == 'b')) w.remove_prefix(1);
  int64_t n = 0;
  const auto r = std::from_chars(w.data(), w.data() + w.size(), n);
  PIJIT_CHECK(r.ec == std::errc(), "a number expected: ", w);
  return n;
}

Type type_of(std::string_view w) {
  for (auto t : {Type::kI64, Type::kF64, Type::kB1, Type::kPtr})
    if (w == type_name(t)) return t;
  PIJIT_CHECK(false, "a type expected: ", w);
}

}  // namespace

std::string Function::print() const {
  std::string s;
  for (int b : reverse_postorder(*this)) {
    const Block& block = blocks[b];
    s += str_cat("b", b, "(");
    for (size_t k = 0; k < block.params.size(); ++k)
      s += str_cat(k ? ", %" : "%", block.params[k], ": ", type_name(instrs[block.params[k]].type));
    s += "):\n";
    for (int v : block.instrs) {
      const Instr& in = instrs[v];
      s += in.type == Type::kNone ? str_cat("  ", text_of(in), "\n")
                                  : str_cat("  %", v, " = ", text_of(in), "\n");
    }
    if (block.exit != kNoExit)
      s += str_cat("  exit ", block.exit, "\n");
    else if (block.condition != kNoValue)
      s += str_cat("  branch %", block.condition, " ", text_of(block.next), " ",
                   text_of(block.otherwise), "\n");
    else
      s += str_cat("  jump ", text_of(block.next), "\n");
  }
  for (size_t k = 0; k < exits.size(); ++k) {
    s += str_cat("exit ", k, ":");
    if (exits[k].as != kNoExit) s += str_cat(" as ", exits[k].as);
    for (int v : exits[k].values) s += str_cat(" %", v);
    s += exits[k].returns ? " returns\n" : "\n";
  }
  if (calls_itself()) s += str_cat("depth ", depth, "\n");
  return s;
}

namespace {

Op op_named(std::string_view name) {
  for (auto op = Op::kParam;; op = static_cast<Op>(static_cast<int>(op) + 1)) {
    PIJIT_CHECK(op <= Op::kStoreU8, "no such instruction: ", name);
    if (name == facts(op).name) return op;
  }
}

// The type and number of an input or a constant, the function of a call.
void parse_before_operands(Words& w, Instr* in) {
  if (in->op == Op::kInput || in->op == Op::kConst) {
    in->type = type_of(w.next());
    const auto n = w.next();
    if (in->op == Op::kConst && in->type == Type::kF64) {
      const double x = std::strtod(std::string(n).c_str(), nullptr);
      std::memcpy(&in->imm, &x, sizeof x);
    } else {
      in->imm = number(n);
    }
  }
  if (in->op == Op::kCall1) {
    Function1 fn;
    PIJIT_CHECK(function1(w.next(), &fn));
    in->imm = static_cast<int64_t>(fn);
  }
  if (in->op == Op::kCall2) {
    Function2 fn;
    PIJIT_CHECK(function2(w.next(), &fn));
    in->imm = static_cast<int64_t>(fn);
  }
}

}  // namespace

Function Function::parse(std::string_view text) {
  Function f;
  int at = -1;
  auto value = [&](std::string_view w) {
    const auto n = static_cast<size_t>(number(w));
    if (f.instrs.size() <= n) f.instrs.resize(n + 1, Instr{Op::kConst, Type::kNone});
    return static_cast<int>(n);
  };
  auto block = [&](std::string_view w) {
    const auto n = static_cast<size_t>(number(w));
    if (f.blocks.size() <= n) f.blocks.resize(n + 1);
    return static_cast<int>(n);
  };
  auto edge = [&](Words& w) {
    Edge e;
    e.block = block(w.next());
    while (!w.peek().empty() && w.peek()[0] == '%') e.args.push_back(value(w.next()));
    return e;
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    Words w{line};
    if (!w.skip()) continue;
    if (line[0] == 'b') {
      at = block(w.next());
      while (!w.peek().empty()) {
        const int v = value(w.next());
        f.instrs[v] = {Op::kParam, type_of(w.next())};
        f.instrs[v].imm = static_cast<int64_t>(f.blocks[at].params.size());
        f.blocks[at].params.push_back(v);
      }
      continue;
    }
    if (line[0] == 'd') {
      w.next();
      f.depth = static_cast<int>(number(w.next()));
      continue;
    }
    if (line[0] == 'e') {
      w.next();
      const auto k = static_cast<size_t>(number(w.next()));
      if (f.exits.size() <= k) f.exits.resize(k + 1);
      if (w.peek() == "as") w.next(), f.exits[k].as = static_cast<int>(number(w.next()));
      while (!w.peek().empty() && w.peek() != "returns")
        f.exits[k].values.push_back(value(w.next()));
      f.exits[k].returns = w.next() == "returns";
      continue;
    }
    int to = -1;
    if (w.peek()[0] == '%') to = value(w.next());
    const std::string_view name = w.next();
    if (name == "exit") {
      f.blocks[at].exit = static_cast<int>(number(w.next()));
      continue;
    }
    if (name == "jump" || name == "branch") {
      if (name == "branch") f.blocks[at].condition = value(w.next());
      const Edge next = edge(w);
      f.blocks[at].next = next;
      if (name == "branch") {
        const Edge otherwise = edge(w);
        f.blocks[at].otherwise = otherwise;
      }
      continue;
    }
    Instr in{Op::kParam, Type::kNone};
    in.op = op_named(name);
    in.type = facts(in.op).type;
    parse_before_operands(w, &in);
    for (int k = 0; k < facts(in.op).operands; ++k) in.args[k] = value(w.next());
    if (in.type == Type::kSame) in.type = f.instrs[in.args[2]].type;
    if (tells_imm(in.op)) in.imm = number(w.next());
    if (w.peek() == "times") {
      w.next();
      const int64_t scale = number(w.next());
      w.next();
      in.imm = address_imm(__builtin_ctzll(static_cast<uint64_t>(scale)), number(w.next()));
    }
    if (w.peek() == "else") w.next(), in.exit = static_cast<int>(number(w.next()));
    if (to < 0) {
      f.instrs.emplace_back();
      to = static_cast<int>(f.instrs.size()) - 1;
    }
    f.instrs[to] = in;
    f.blocks[at].instrs.push_back(to);
  }
  return f;
}

void Function::verify() const {
  const auto order = reverse_postorder(*this);
  const auto idom = dominators(*this, order);
  std::vector<int> home(instrs.size(), -1), place(instrs.size(), -1);
  for (int b : order) {
    int k = 0;
    for (int v : blocks[b].params) home[v] = b, place[v] = k++;
    for (int v : blocks[b].instrs) home[v] = b, place[v] = k++;
  }
  auto reaches = [&](int v, int b, int at) {
    if (home[v] == b) return place[v] < at;
    for (b = idom[b]; b >= 0; b = idom[b])
      if (home[v] == b) return true;
    return false;
  };
  auto check_exit = [&](int exit, int b, int at) {
    if (exit == kNoExit) return;
    for (int v : exits[exit].values)
      PIJIT_CHECK(reaches(v, b, at), "exit ", exit, ": %", v, " is not there\n", print());
  };
  for (int b : order) {
    const Block& block = blocks[b];
    const int end = static_cast<int>(block.params.size() + block.instrs.size());
    for (int v : block.instrs) {
      const Instr& in = instrs[v];
      for (int k = 0; k < 3; ++k)
        PIJIT_CHECK((in.args[k] != kNoValue) == (k < facts(in.op).operands), "%", v, ": operands");
      for (int a : in.args)
        PIJIT_CHECK(a == kNoValue || reaches(a, b, place[v]), "%", v, ": %", a, " is not there\n",
                    print());
      check_exit(in.exit, b, place[v]);
    }
    check_exit(block.exit, b, end);
    PIJIT_CHECK((block.exit == kNoExit) == (block.next.block >= 0), "b", b, " has no end");
    for (const Edge* e : {&block.next, &block.otherwise}) {
      if (e->block < 0) continue;
      const auto& params = blocks[e->block].params;
      PIJIT_CHECK(params.size() == e->args.size(), "b", b, ": arguments of b", e->block);
      for (size_t k = 0; k < params.size(); ++k)
        PIJIT_CHECK(
            reaches(e->args[k], b, end) && instrs[e->args[k]].type == instrs[params[k]].type, "b",
            b, ": argument %", e->args[k], "\n", print());
    }
    if (block.condition != kNoValue)
      PIJIT_CHECK(reaches(block.condition, b, end) && block.otherwise.block >= 0, "b", b);
  }
}

}  // namespace pijit::region
