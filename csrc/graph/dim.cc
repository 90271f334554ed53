#include "graph/dim.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "graph/attrs.h"

namespace pijit {
namespace {

// A symbol, or a quotient or remainder of two expressions.
struct Atom {
  enum Kind : uint8_t { kSymbol, kFloorDiv, kMod } kind;
  int symbol = 0;
  Dim a, b;
  int weight = 1;  // symbols and numbers in it, and operations
  auto key() const { return std::tuple(kind, symbol, a.hash(), b.hash()); }
};
struct Poly {
  std::map<std::vector<int>, int64_t> terms;  // of sorted atoms, by coefficient; none is 0
  int64_t constant = 0;
  int weight = 1;
  auto key() const { return std::pair(terms, constant); }
};
struct RealExpr {
  std::string op;
  SizeNumber a, b;
  int weight = 1;
};
// An expression that is heavier ends in Misfit, so that each can be printed and evaluated.
constexpr int kHeaviest = 1000;
auto key_of(const SizeNumber& n) {
  if (n.index() == 0) return std::tuple(0, std::get<Dim>(n).hash(), 0);
  const Real& r = std::get<Real>(n);
  size_t bits;
  std::memcpy(&bits, &r.value, 8);
  return std::tuple(1, bits, r.expression);
}

// All expressions of the process. They are few (captures are), small, and never given back.
class Table {
 public:
  static Table& get() {
    static Table* t = new Table;
    return *t;
  }
  int atom(Atom a) {
    a.weight = 1 + weight(a.a) + weight(a.b);
    return intern(a, a.key(), &atoms_, &atom_index_);
  }
  Dim dim(Poly p) {
    if (p.terms.empty()) return p.constant;
    // room for signs and sums
    constexpr int64_t kLargest = int64_t{1} << 62;
    auto large = [](int64_t c) { return c > kLargest || c < -kLargest; };
    if (large(p.constant)) throw Misfit{};
    p.weight = 1;
    for (auto& [atoms, c] : p.terms) {
      if (large(c)) throw Misfit{};
      for (int i : atoms) p.weight += atom(i).weight;
    }
    return Dim::expression(static_cast<size_t>(intern(p, p.key(), &polys_, &poly_index_)));
  }
  Real real(RealExpr e) {
    e.weight = 1 + weight(e.a) + weight(e.b);
    Real r;
    r.expression = intern(e, std::tuple(e.op, key_of(e.a), key_of(e.b)), &reals_, &real_index_);
    return r;
  }
  const Atom& atom(int i) { return at(atoms_, static_cast<size_t>(i)); }
  const RealExpr& real(int i) { return at(reals_, static_cast<size_t>(i)); }
  const Poly& symbolic(Dim d) { return at(polys_, d.index()); }
  Poly poly(Dim d) {
    if (d.symbolic()) return symbolic(d);
    Poly p;
    p.constant = d;
    return p;
  }

 private:
  int weight(Dim d) { return d.symbolic() ? at(polys_, d.index()).weight : 1; }
  int weight(const SizeNumber& n) {
    if (n.index() == 0) return weight(std::get<Dim>(n));
    const Real& r = std::get<Real>(n);
    return r.symbolic() ? real(r.expression).weight : 1;
  }
  template <class T, class K>
  int intern(const T& x, const K& key, std::deque<T>* list, std::map<K, int>* index) {
    if (x.weight > kHeaviest) throw Misfit{};
    const std::lock_guard lock(mutex_);
    const auto [it, fresh] = index->try_emplace(key, static_cast<int>(list->size()));
    if (fresh) {
      PIJIT_CHECK(list->size() < Dim::kExpressions, "too many expressions of sizes");
      list->push_back(x);
    }
    return it->second;
  }
  template <class T>
  const T& at(const std::deque<T>& list, size_t i) {
    const std::lock_guard lock(mutex_);
    PIJIT_CHECK(i < list.size(), "not an expression of sizes");
    return list[i];
  }
  std::mutex mutex_;
  std::deque<Atom> atoms_;
  std::deque<Poly> polys_;
  std::deque<RealExpr> reals_;
  std::map<decltype(std::declval<Atom>().key()), int> atom_index_;
  std::map<decltype(std::declval<Poly>().key()), int> poly_index_;
  using SizeKey = decltype(key_of(std::declval<SizeNumber>()));
  std::map<std::tuple<std::string, SizeKey, SizeKey>, int> real_index_;
};

int64_t checked_add(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) throw Misfit{};
  return r;
}
int64_t checked_mul(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) throw Misfit{};
  return r;
}
int64_t floor_div_of(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - (a % b != 0 && (a % b < 0) != (b < 0));
}
int64_t floor_mod_of(int64_t a, int64_t b) {
  const int64_t m = a % b;
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

void add_term(Poly* p, const std::vector<int>& atoms, int64_t coef) {
  if (atoms.empty()) {
    p->constant = checked_add(p->constant, coef);
    return;
  }
  int64_t& c = p->terms[atoms];
  c = checked_add(c, coef);
  if (c == 0) p->terms.erase(atoms);
}
Poly sum_of(const Poly& a, const Poly& b, int64_t sign) {
  Poly r = a;
  for (auto& [atoms, c] : b.terms) add_term(&r, atoms, checked_mul(c, sign));
  r.constant = checked_add(r.constant, checked_mul(b.constant, sign));
  return r;
}
Poly product_of(const Poly& a, const Poly& b) {
  Poly r;
  auto all = [](const Poly& p) {
    auto t = p.terms;
    if (p.constant) t[{}] = p.constant;
    return t;
  };
  for (auto& [x, c] : all(a))
    for (auto& [y, d] : all(b)) {
      std::vector<int> atoms;
      std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(atoms));
      add_term(&r, atoms, checked_mul(c, d));
    }
  if (r.terms.size() > 64) throw Misfit{};
  return r;
}
Poly of_atom(const Atom& a) {
  Poly p;
  p.terms[{Table::get().atom(a)}] = 1;
  return p;
}

// A value that no sizes go below, as far as can be seen: symbols are not negative.
std::optional<int64_t> least(const Poly& p) {
  for (auto& [atoms, c] : p.terms) {
    if (c < 0) return std::nullopt;
    for (int i : atoms) {
      const Atom& a = Table::get().atom(i);
      if (a.kind == Atom::kSymbol) continue;
      if (a.b.symbolic() || a.b < 0) return std::nullopt;
      if (a.kind == Atom::kMod) continue;
      const auto n = least(Table::get().poly(a.a));
      if (!n || *n < 0) return std::nullopt;
    }
  }
  return p.constant;
}

// a / m, where m is one product of atoms that divides each term of a.
std::optional<Poly> exact(const Poly& a, const Poly& m) {
  if (m.terms.size() != 1 || m.constant || a.constant) return std::nullopt;
  auto& [atoms, coef] = *m.terms.begin();
  Poly r;
  for (auto& [x, c] : a.terms) {
    std::vector<int> rest;
    if (c % coef || !std::includes(x.begin(), x.end(), atoms.begin(), atoms.end()))
      return std::nullopt;
    std::set_difference(x.begin(), x.end(), atoms.begin(), atoms.end(), std::back_inserter(rest));
    add_term(&r, rest, c / coef);
  }
  return r;
}

// a = n * whole + rest
std::pair<Poly, Poly> split(const Poly& a, int64_t n) {
  Poly whole, rest;
  for (auto& [atoms, c] : a.terms)
    if (c % n == 0)
      whole.terms[atoms] = c / n;
    else
      rest.terms[atoms] = c;
  whole.constant = floor_div_of(a.constant, n);
  rest.constant = floor_mod_of(a.constant, n);
  return {whole, rest};
}

Dim floor_quotient(Dim a, Dim b) {
  Table& t = Table::get();
  const Poly p = t.poly(a);
  if (b.symbolic()) {
    if (auto q = exact(p, t.poly(b))) return t.dim(*q);
    return t.dim(of_atom({Atom::kFloorDiv, 0, a, b}));
  }
  int64_t n = b;
  if (n == std::numeric_limits<int64_t>::min()) throw Misfit{};
  if (n < 0) return floor_quotient(-a, -n);
  auto [whole, rest] = split(p, n);
  if (rest.terms.empty()) return t.dim(whole);
  int64_t g = n;  // (g x + c) // (g n) = (x + c // g) // n
  for (auto& [atoms, c] : rest.terms) g = std::gcd(g, c);
  for (auto& [atoms, c] : rest.terms) c /= g;
  rest.constant = floor_div_of(rest.constant, g);
  n /= g;
  if (rest.terms.begin()->second < 0) {  // -x // n = -((x + n - 1) // n): signs in one place
    Poly opposite = product_of(rest, t.poly(-1));
    opposite.constant = checked_add(opposite.constant, n - 1);
    return t.dim(sum_of(whole, t.poly(floor_quotient(t.dim(opposite), n)), -1));
  }
  const auto& [atoms, coef] = *rest.terms.begin();
  const Atom* inner =
      rest.terms.size() == 1 && atoms.size() == 1 && coef == 1 ? &t.atom(atoms[0]) : nullptr;
  Dim q;
  if (inner && inner->kind == Atom::kFloorDiv && !inner->b.symbolic() && inner->b > 0) {
    const int64_t m = inner->b;  // (x // m + c) // n = (x + c m) // (m n)
    const Poly x = sum_of(t.poly(inner->a), t.poly(checked_mul(rest.constant, m)), 1);
    q = floor_quotient(t.dim(x), checked_mul(m, n));
  } else {
    q = t.dim(of_atom({Atom::kFloorDiv, 0, t.dim(rest), n}));
  }
  return t.dim(sum_of(whole, t.poly(q), 1));
}
Dim floor_remainder(Dim a, Dim b) {
  Table& t = Table::get();
  const Poly p = t.poly(a);
  if (b.symbolic()) {
    if (exact(p, t.poly(b))) return 0;
    return t.dim(of_atom({Atom::kMod, 0, a, b}));
  }
  const int64_t n = b;
  if (n == std::numeric_limits<int64_t>::min()) throw Misfit{};
  if (n < 0) return -floor_remainder(-a, -n);
  const Poly rest = split(p, n).second;
  if (rest.terms.empty()) return rest.constant;
  return t.dim(of_atom({Atom::kMod, 0, t.dim(rest), n}));
}

std::string text(const Poly& p, const std::function<std::string(int)>& name);
std::string text(Dim d, const std::function<std::string(int)>& name) {
  if (!d.symbolic()) return std::to_string(static_cast<int64_t>(d));
  return text(Table::get().poly(d), name);
}
// As an operand of a product, quotient or remainder.
std::string operand_text(Dim d, const std::function<std::string(int)>& name) {
  const std::string s = text(d, name);
  return s.find_first_of("+-*/%") == std::string::npos ? s : "(" + s + ")";
}
std::string text(const Poly& p, const std::function<std::string(int)>& name) {
  struct Term {
    size_t degree;
    std::string atoms;
    int64_t c;
  };
  std::vector<Term> terms;
  for (auto& [atoms, c] : p.terms) {
    const bool alone = atoms.size() == 1 && c == 1;
    std::vector<std::string> parts;
    for (int i : atoms) {
      const Atom a = Table::get().atom(i);
      const std::string s = a.kind == Atom::kSymbol
                                ? name(a.symbol)
                                : operand_text(a.a, name) + (a.kind == Atom::kMod ? "%" : "//") +
                                      operand_text(a.b, name);
      parts.push_back(a.kind == Atom::kSymbol || alone ? s : "(" + s + ")");
    }
    std::sort(parts.begin(), parts.end());
    std::string s;
    for (auto& x : parts) s += (s.empty() ? "" : "*") + x;
    terms.push_back({atoms.size(), s, c});
  }
  std::sort(terms.begin(), terms.end(), [](auto& a, auto& b) {
    return a.degree != b.degree ? a.degree > b.degree : a.atoms < b.atoms;
  });
  std::string r;
  for (auto& t : terms) {
    const bool negative = t.c < 0;
    if (!r.empty() || negative) r += negative ? "-" : "+";
    const uint64_t m = negative ? -static_cast<uint64_t>(t.c) : static_cast<uint64_t>(t.c);
    r += (m == 1 ? "" : std::to_string(m) + "*") + t.atoms;
  }
  if (p.constant > 0) r += "+" + std::to_string(p.constant);
  if (p.constant < 0) r += std::to_string(p.constant);
  return r;
}

const std::function<std::string(int)> kPlainNames = [](int k) { return "s" + std::to_string(k); };

double real_of(const Number& n) {
  if (n.index()) return std::get<double>(n);
  const int64_t i = std::get<int64_t>(n), limit = int64_t{1} << 53;
  if (i > limit || i < -limit) throw Misfit{};
  return static_cast<double>(i);
}
bool relation_holds(const std::string& r, const Number& a, const Number& b) {
  auto test = [&](auto x, auto y) {
    return r == "lt"   ? x < y
           : r == "le" ? x <= y
           : r == "gt" ? x > y
           : r == "ge" ? x >= y
           : r == "eq" ? x == y
                       : x != y;
  };
  if (a.index() == 0 && b.index() == 0) return test(std::get<int64_t>(a), std::get<int64_t>(b));
  return test(real_of(a), real_of(b));
}

thread_local SizeEnv* current_env = nullptr;

}  // namespace

// --- Dim

void Dim::reserved() {
  throw OpError(OpError::kValue, "an integer of this magnitude is not supported here");
}
std::string Dim::str() const { return text(*this, kPlainNames); }

// Where exact arithmetic ends, sizes are fixed and numbers go on.
Dim Dim::sum(Dim a, Dim b, int64_t sign) {
  Table& t = Table::get();
  try {
    return t.dim(sum_of(t.poly(a), t.poly(b), sign));
  } catch (const Misfit&) {
    return of(int64_t{a} + sign * int64_t{b});
  }
}
Dim Dim::product(Dim a, Dim b) {
  Table& t = Table::get();
  try {
    return t.dim(product_of(t.poly(a), t.poly(b)));
  } catch (const Misfit&) {
    return of(int64_t{a} * int64_t{b});
  }
}
Dim Dim::quotient(Dim a, Dim b) {
  if (b <= 0) return of(int64_t{a} / int64_t{b});  // rules divide by what is positive
  return a < 0 ? -floor_div(-a, b) : floor_div(a, b);
}
Dim Dim::remainder(Dim a, Dim b) {
  if (b <= 0) return of(int64_t{a} % int64_t{b});
  return a < 0 ? -floor_mod(-a, b) : floor_mod(a, b);
}
Dim Dim::floor_div(Dim a, Dim b) {
  if (numbers(a, b)) return floor_div_of(a.raw_, b.raw_);
  try {
    return floor_quotient(a, b);
  } catch (const Misfit&) {
    return floor_div_of(a, b);
  }
}
Dim Dim::floor_mod(Dim a, Dim b) {
  if (numbers(a, b)) return floor_mod_of(a.raw_, b.raw_);
  try {
    return floor_remainder(a, b);
  } catch (const Misfit&) {
    return floor_mod_of(a, b);
  }
}
bool Dim::equal(Dim a, Dim b) { return SizeEnv::current().decide(a, "eq", b); }
bool Dim::less(Dim a, Dim b) { return SizeEnv::current().decide(a, "lt", b); }
int64_t Dim::hint_of() const { return std::get<int64_t>(SizeEnv::current().hint(*this)); }
int64_t Dim::fixed() const {
  const int64_t v = hint_of();
  SizeEnv::current().decide(*this, "eq", Dim(v));
  return v;
}

std::vector<int64_t> numbers_of(std::span<const Dim> d) { return {d.begin(), d.end()}; }

// --- numbers that follow from sizes

bool symbolic(const SizeNumber& n) {
  return n.index() ? std::get<Real>(n).symbolic() : std::get<Dim>(n).symbolic();
}

SizeNumber size_arithmetic(const std::string& op, const SizeNumber& a, const SizeNumber& b) {
  const bool ints = a.index() == 0 && b.index() == 0;
  if (ints && op != "truediv") {
    const Dim x = std::get<Dim>(a), y = std::get<Dim>(b);
    Table& t = Table::get();
    if (op == "add") return t.dim(sum_of(t.poly(x), t.poly(y), 1));
    if (op == "sub") return t.dim(sum_of(t.poly(x), t.poly(y), -1));
    if (op == "mul") return t.dim(product_of(t.poly(x), t.poly(y)));
    if (op != "floordiv" && op != "mod") throw Misfit{};
    if (y == 0 || y == -1) throw Misfit{};
    if (!x.symbolic() && !y.symbolic())
      return op == "mod" ? Dim::floor_mod(x, y) : Dim::floor_div(x, y);
    return op == "mod" ? floor_remainder(x, y) : floor_quotient(x, y);
  }
  if (op != "add" && op != "sub" && op != "mul" && op != "truediv") throw Misfit{};
  if (symbolic(a) || symbolic(b)) {
    if (op == "truediv" && SizeEnv::current().decide(b, "eq", Dim(0))) throw Misfit{};
    return Table::get().real({op, a, b});
  }
  auto number = [](const SizeNumber& n) {
    return n.index() ? std::get<Real>(n).value : real_of(int64_t{std::get<Dim>(n)});
  };
  const double x = number(a), y = number(b);
  if (op == "truediv" && y == 0) throw Misfit{};
  return Real(op == "add" ? x + y : op == "sub" ? x - y : op == "mul" ? x * y : x / y);
}

// With numbers for all symbols.
static int64_t evaluate(Dim d, std::span<const Dim> values) {
  if (!d.symbolic()) return d;
  Table& t = Table::get();
  const Poly& p = t.symbolic(d);
  int64_t r = p.constant;
  for (auto& [atoms, c] : p.terms) {
    int64_t term = c;
    for (int i : atoms) {
      const Atom& a = t.atom(i);
      int64_t v = 0;
      if (a.kind == Atom::kSymbol) {
        PIJIT_CHECK(static_cast<size_t>(a.symbol) < values.size(), "unknown symbol s", a.symbol);
        v = values[static_cast<size_t>(a.symbol)];
      } else {
        const int64_t x = evaluate(a.a, values), y = evaluate(a.b, values);
        if (y == 0 || y == -1) throw Misfit{};
        v = a.kind == Atom::kMod ? floor_mod_of(x, y) : floor_div_of(x, y);
      }
      term = checked_mul(term, v);
    }
    r = checked_add(r, term);
  }
  return r;
}

Dim substitute(Dim d, std::span<const Dim> values) {
  if (!d.symbolic()) return d;
  if (std::none_of(values.begin(), values.end(), [](Dim v) { return v.symbolic(); }))
    return evaluate(d, values);
  Table& t = Table::get();
  const Poly p = t.poly(d);
  Poly r;
  r.constant = p.constant;
  for (auto& [atoms, c] : p.terms) {
    Poly term;
    term.constant = c;
    for (int i : atoms) {
      const Atom a = t.atom(i);
      Dim v;
      if (a.kind == Atom::kSymbol) {
        PIJIT_CHECK(static_cast<size_t>(a.symbol) < values.size(), "unknown symbol s", a.symbol);
        v = values[static_cast<size_t>(a.symbol)];
      } else {
        const Dim x = substitute(a.a, values), y = substitute(a.b, values);
        if (!y.symbolic() && (y == 0 || y == -1)) throw Misfit{};
        v = a.kind == Atom::kMod ? Dim::floor_mod(x, y) : Dim::floor_div(x, y);
      }
      term = product_of(term, t.poly(v));
    }
    r = sum_of(r, term, 1);
  }
  return t.dim(r);
}
SizeNumber substitute(const SizeNumber& n, std::span<const Dim> values) {
  if (n.index() == 0) return substitute(std::get<Dim>(n), values);
  const Real& r = std::get<Real>(n);
  if (!r.symbolic()) return r;
  const RealExpr e = Table::get().real(r.expression);
  const SizeNumber a = substitute(e.a, values), b = substitute(e.b, values);
  if (symbolic(a) || symbolic(b)) return Table::get().real({e.op, a, b});
  return size_arithmetic(e.op, a, b);
}

std::string str(const SizeNumber& n, const std::function<std::string(int)>& name) {
  if (n.index() == 0) return text(std::get<Dim>(n), name);
  const Real& r = std::get<Real>(n);
  if (!r.symbolic()) {
    const std::string s = attr_text(r.value);
    return s.find_first_not_of("-0123456789") == std::string::npos ? s + ".0" : s;
  }
  const RealExpr e = Table::get().real(r.expression);
  const char* sign = e.op == "add" ? "+" : e.op == "sub" ? "-" : e.op == "mul" ? "*" : "/";
  auto part = [&](const SizeNumber& x) {
    const std::string s = str(x, name);
    return s.find_first_of("+-*/%") == std::string::npos ? s : "(" + s + ")";
  };
  return part(e.a) + sign + part(e.b);
}
std::string str(const SizeNumber& n) { return str(n, kPlainNames); }

namespace {
struct SizeParser {
  const std::string& s;
  size_t i = 0;
  int depth = 0;
  [[noreturn]] void fail() const {
    throw OpError(OpError::kValue, str_cat("[parse] bad size '", s, "'"));
  }
  bool eat(const char* t) {
    const size_t n = std::strlen(t);
    if (s.compare(i, n, t)) return false;
    i += n;
    return true;
  }
  SizeNumber factor() {
    if (++depth > 100) fail();
    SizeNumber r;
    if (eat("(")) {
      r = sum();
      if (!eat(")")) fail();
    } else if (eat("-")) {
      r = size_arithmetic("mul", Dim(-1), factor());
    } else if (eat("s")) {
      const int64_t k = integer();
      if (k > 1000000) fail();
      r = Table::get().dim(of_atom({Atom::kSymbol, static_cast<int>(k), {}, {}}));
    } else {
      const size_t end = std::min(s.find_first_not_of("0123456789.", i), s.size());
      if (s.find('.', i) < end) {
        r = Real(std::stod(s.substr(i, end - i)));
        i = end;
      } else {
        r = Dim(integer());
      }
    }
    --depth;
    return r;
  }
  int64_t integer() {
    size_t used = 0;
    if (i >= s.size() || !std::isdigit(static_cast<unsigned char>(s[i]))) fail();
    const int64_t v = std::stoll(s.substr(i), &used);
    i += used;
    return v;
  }
  SizeNumber product() {
    SizeNumber r = factor();
    while (true) {
      if (eat("//"))
        r = size_arithmetic("floordiv", r, factor());
      else if (eat("*"))
        r = size_arithmetic("mul", r, factor());
      else if (eat("/"))
        r = size_arithmetic("truediv", r, factor());
      else if (eat("%"))
        r = size_arithmetic("mod", r, factor());
      else
        return r;
    }
  }
  SizeNumber sum() {
    SizeNumber r = product();
    while (true) {
      if (eat("+"))
        r = size_arithmetic("add", r, product());
      else if (eat("-"))
        r = size_arithmetic("sub", r, product());
      else
        return r;
    }
  }
};
}  // namespace

SizeNumber parse_size(const std::string& t) {
  SizeParser p{t};
  try {
    SizeNumber r = p.sum();
    if (p.i == t.size()) return r;
  } catch (const Misfit&) {
  } catch (const std::logic_error&) {  // of stoll, stod
  }
  p.fail();
}

// --- SizeEnv

SizeEnv& SizeEnv::current() {
  PIJIT_CHECK(current_env, "sizes that vary are not known here");
  return *current_env;
}
SizeEnv::Use::Use(SizeEnv* e) : before_(std::exchange(current_env, e)) {}
SizeEnv::Use::~Use() { current_env = before_; }

bool SizeEnv::Constraint::operator<(const Constraint& o) const {
  return std::tuple(key_of(a), relation, key_of(b), holds) <
         std::tuple(key_of(o.a), o.relation, key_of(o.b), o.holds);
}

double greatest(Dim d) {
  constexpr double kMemory = 0x1p47;
  Table& t = Table::get();
  const Poly p = t.poly(d);
  double sum = std::abs(static_cast<double>(p.constant));
  for (auto& [atoms, n] : p.terms) {
    double term = std::abs(static_cast<double>(n));
    for (int a : atoms) term *= t.atom(a).kind == Atom::kSymbol ? kMemory : HUGE_VAL;
    sum += term;
  }
  return sum;
}

Dim SizeEnv::symbol(int64_t hint) {
  hints_.push_back(hint);
  return at(hints_.size() - 1);
}
Dim SizeEnv::at(size_t k) const {
  return Table::get().dim(of_atom({Atom::kSymbol, static_cast<int>(k), {}, {}}));
}

Number SizeEnv::hint(const SizeNumber& n) const {
  const Dims values(hints_.begin(), hints_.end());
  const SizeNumber r = substitute(n, values);
  if (r.index()) return std::get<Real>(r).value;
  return int64_t{std::get<Dim>(r)};
}

bool SizeEnv::decide(const SizeNumber& a, const std::string& relation, const SizeNumber& b) {
  const bool r = relation_holds(relation, hint(a), hint(b));
  if (!symbolic(a) && !symbolic(b)) return r;
  if (a.index() == 0 && b.index() == 0) {
    Table& t = Table::get();
    try {  // what holds for all sizes
      const Poly x = t.poly(std::get<Dim>(a)), y = t.poly(std::get<Dim>(b));
      const Poly d = sum_of(x, y, -1);
      if (d.terms.empty()) return r;
      const auto low = least(d), high = least(sum_of(y, x, -1));
      if ((low && *low > 0) || (high && *high > 0)) return r;
      if (low && *low == 0 && (relation == "ge" || relation == "lt")) return r;
      if (high && *high == 0 && (relation == "le" || relation == "gt")) return r;
    } catch (const Misfit&) {
    }
  }
  Constraint c{a, b, relation, r};
  if (known_.insert(c).second) constraints_.push_back(std::move(c));
  return r;
}

bool SizeEnv::fit(std::span<const int64_t> sizes) const {
  if (sizes.size() != hints_.size()) return false;
  const Dims values(sizes.begin(), sizes.end());
  auto number = [&](const SizeNumber& n) -> Number {
    const SizeNumber r = substitute(n, values);
    if (r.index()) return std::get<Real>(r).value;
    return int64_t{std::get<Dim>(r)};
  };
  try {
    for (auto& c : constraints_)
      if (relation_holds(c.relation, number(c.a), number(c.b)) != c.holds) return false;
    return true;
  } catch (const Misfit&) {
    return false;
  }
}

std::vector<Dim> SizeEnv::merged() const {
  std::vector<Dim> r;
  for (size_t k = 0; k < hints_.size(); ++k)
    r.push_back(Table::get().dim(of_atom({Atom::kSymbol, static_cast<int>(k), {}, {}})));
  const std::vector<Dim> own = r;
  for (auto& c : constraints_) {
    if (c.relation != "eq" || !c.holds || c.a.index() || c.b.index()) continue;
    auto find = [&](const SizeNumber& n) {
      size_t k = 0;
      while (k < own.size() && !own[k].same_as(std::get<Dim>(n))) ++k;
      return k;
    };
    const size_t x = find(c.a), y = find(c.b);
    if (x == own.size() || y == own.size()) continue;
    const Dim from = x < y ? r[y] : r[x], to = x < y ? r[x] : r[y];
    for (auto& d : r)
      if (d.same_as(from)) d = to;
  }
  return r;
}

}  // namespace pijit
