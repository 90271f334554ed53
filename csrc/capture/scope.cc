#include "capture/scope.h"

#include <cmath>

namespace pijit {

Val Scope::val(Val captured) {
  if (!captured) return {};
  if (!replay_ && captured.b == graph_) return captured;
  auto it = here_.find({captured.b, captured.id});
  if (it != here_.end()) return it->second;
  PIJIT_CHECK(parent_, "a value of the capture is missing in its replay");
  const Val outer = parent_->val(captured);
  for (size_t k = own; k < operands.size(); ++k)
    if (operands[k] == outer) {
      const Val in = graph_->val(graph_->inputs()[k]);
      bind(captured, in);
      return in;
    }
  operands.push_back(outer);
  const Val in = graph_->add_input(outer.type());
  bind(captured, in);
  return in;
}

void replay(const std::vector<Action>& actions, Scope& s) {
  for (auto& a : actions) {
    s.starts.push_back(static_cast<uint32_t>(s.graph().size()));
    const auto results = a.run(s);
    for (size_t k = 0; k < results.size(); ++k) s.bind(a.results[k], results[k]);
  }
}

// As a double, exactly.
static double real(Number n) {
  if (n.index()) return std::get<double>(n);
  const int64_t i = std::get<int64_t>(n), limit = int64_t{1} << 53;
  if (i > limit || i < -limit) throw Misfit{};
  return static_cast<double>(i);
}

Number number_arithmetic(const std::string& op, Number a, Number b) {
  if (a.index() == 0 && b.index() == 0 && op != "truediv") {
    const int64_t x = std::get<int64_t>(a), y = std::get<int64_t>(b);
    int64_t r = 0;
    bool over = false;
    if (op == "add") {
      over = __builtin_add_overflow(x, y, &r);
    } else if (op == "sub") {
      over = __builtin_sub_overflow(x, y, &r);
    } else if (op == "mul") {
      over = __builtin_mul_overflow(x, y, &r);
    } else if (op == "floordiv" || op == "mod") {
      if (y == 0 || y == -1) throw Misfit{};
      int64_t q = x / y, m = x % y;
      if (m != 0 && (m < 0) != (y < 0)) --q, m += y;
      r = op == "mod" ? m : q;
    } else {
      throw Misfit{};
    }
    if (over) throw Misfit{};
    return r;
  }
  const double x = real(a), y = real(b);
  if (op == "add") return x + y;
  if (op == "sub") return x - y;
  if (op == "mul") return x * y;
  if (op == "truediv" && y != 0) return x / y;
  throw Misfit{};
}

bool number_relation(const std::string& op, Number a, Number b) {
  auto test = [&](auto x, auto y) {
    return op == "lt"   ? x < y
           : op == "le" ? x <= y
           : op == "gt" ? x > y
           : op == "ge" ? x >= y
           : op == "eq" ? x == y
                        : x != y;
  };
  if (a.index() == 0 && b.index() == 0) return test(std::get<int64_t>(a), std::get<int64_t>(b));
  return test(real(a), real(b));
}

}  // namespace pijit
