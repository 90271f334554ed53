// Dims of shapes: numbers, or expressions of symbols that stand for sizes which vary. An expression
// is canonical (a polynomial of symbols, floor quotients and remainders, with int64 coefficients),
// kept once for the whole process and named by its place in that table, so a Dim is one word.
//
// Rules compute with Dims as with numbers. Where one asks for a truth (`a == b`, `a < b`), the
// answer is that for the sizes at hand, and the SizeEnv in use keeps it as a constraint unless it
// holds for all sizes. A Dim that becomes a number is fixed: a constraint says that it has the
// value at hand. So whatever a rule decides holds for all sizes that fulfil the constraints.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace pijit {

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

class Dim {
 public:
  constexpr Dim() = default;
  template <Integer T>
  constexpr Dim(T v) : raw_(static_cast<int64_t>(v)) {
    if (symbolic()) reserved();
  }
  constexpr bool symbolic() const {
    return static_cast<uint64_t>(raw_) - static_cast<uint64_t>(kTag) < kExpressions;
  }
  operator int64_t() const { return symbolic() ? fixed() : raw_; }
  int64_t hint() const { return symbolic() ? hint_of() : raw_; }  // the value for the sizes at hand
  bool same_as(Dim o) const { return raw_ == o.raw_; }            // the same number or expression
  bool is_one() const { return raw_ == 1; }                       // for all sizes
  size_t hash() const { return static_cast<size_t>(raw_); }
  std::string str() const;  // "64*s0+1"

  friend Dim operator+(Dim a, Dim b) { return numbers(a, b) ? of(a.raw_ + b.raw_) : sum(a, b, 1); }
  friend Dim operator-(Dim a, Dim b) { return numbers(a, b) ? of(a.raw_ - b.raw_) : sum(a, b, -1); }
  friend Dim operator*(Dim a, Dim b) { return numbers(a, b) ? of(a.raw_ * b.raw_) : product(a, b); }
  // As C++ has it: rounded towards zero.
  friend Dim operator/(Dim a, Dim b) {
    return numbers(a, b) ? of(a.raw_ / b.raw_) : quotient(a, b);
  }
  friend Dim operator%(Dim a, Dim b) {
    return numbers(a, b) ? of(a.raw_ % b.raw_) : remainder(a, b);
  }
  friend Dim operator-(Dim a) { return Dim(0) - a; }
  Dim& operator+=(Dim o) { return *this = *this + o; }
  Dim& operator-=(Dim o) { return *this = *this - o; }
  Dim& operator*=(Dim o) { return *this = *this * o; }
  Dim& operator/=(Dim o) { return *this = *this / o; }
  friend bool operator==(Dim a, Dim b) { return numbers(a, b) ? a.raw_ == b.raw_ : equal(a, b); }
  friend bool operator<(Dim a, Dim b) { return numbers(a, b) ? a.raw_ < b.raw_ : less(a, b); }
  friend bool operator>(Dim a, Dim b) { return b < a; }
  friend bool operator<=(Dim a, Dim b) { return !(b < a); }
  friend bool operator>=(Dim a, Dim b) { return !(a < b); }
#define PIJIT_WITH_NUMBERS(result, op)    \
  template <Integer T>                    \
  friend result operator op(Dim a, T b) { \
    return a op Dim(b);                   \
  }                                       \
  template <Integer T>                    \
  friend result operator op(T a, Dim b) { \
    return Dim(a) op b;                   \
  }
  PIJIT_WITH_NUMBERS(Dim, +)
  PIJIT_WITH_NUMBERS(Dim, -)
  PIJIT_WITH_NUMBERS(Dim, *)
  PIJIT_WITH_NUMBERS(Dim, /)
  PIJIT_WITH_NUMBERS(Dim, %)
  PIJIT_WITH_NUMBERS(bool, ==)
  PIJIT_WITH_NUMBERS(bool, <)
  PIJIT_WITH_NUMBERS(bool, >)
  PIJIT_WITH_NUMBERS(bool, <=)
  PIJIT_WITH_NUMBERS(bool, >=)
#undef PIJIT_WITH_NUMBERS
  friend std::ostream& operator<<(std::ostream& os, Dim d) { return os << d.str(); }
  // Rounded down, as Python has it. Divisors are not 0.
  static Dim floor_div(Dim a, Dim b);
  static Dim floor_mod(Dim a, Dim b);

  // For the table: the expression behind a symbolic Dim.
  static Dim expression(size_t index) { return of(kTag + static_cast<int64_t>(index)); }
  size_t index() const { return static_cast<size_t>(raw_ - kTag); }
  static constexpr uint64_t kExpressions = uint64_t{1} << 24;

 private:
  static constexpr int64_t kTag = -0x5a3c'1e87'6b4d'2f10;  // no size, offset or seed of practice
  static bool numbers(Dim a, Dim b) { return !a.symbolic() && !b.symbolic(); }
  static constexpr Dim of(int64_t raw) {
    Dim d;
    d.raw_ = raw;
    return d;
  }
  [[noreturn]] static void reserved();
  int64_t fixed() const;
  int64_t hint_of() const;
  static Dim sum(Dim a, Dim b, int64_t sign);
  static Dim product(Dim a, Dim b);
  static Dim quotient(Dim a, Dim b);
  static Dim remainder(Dim a, Dim b);
  static bool equal(Dim a, Dim b);
  static bool less(Dim a, Dim b);
  int64_t raw_ = 0;
};
using Dims = std::vector<Dim>;
// The numbers of a list without symbols.
std::vector<int64_t> numbers_of(std::span<const Dim> d);

// A float that follows from sizes: a number, or an expression kept in a table of its own.
struct Real {
  double value = 0;
  int expression = -1;
  Real() = default;
  Real(double v) : value(v) {}
  bool symbolic() const { return expression >= 0; }
};
// What Python computes from sizes, an int or a float.
using SizeNumber = std::variant<Dim, Real>;
using Number = std::variant<int64_t, double>;

// Sizes for which something was not meant, or where exact arithmetic ends.
struct Misfit {};

// Exact, as Python computes it: add, sub, mul, truediv, floordiv, mod. Throws Misfit where it
// cannot.
SizeNumber size_arithmetic(const std::string& op, const SizeNumber& a, const SizeNumber& b);
bool symbolic(const SizeNumber& n);
// No size that the symbols can have makes it greater: what is counted lies in memory, of 47 bits.
double greatest(Dim d);
std::string str(const SizeNumber& n);
SizeNumber parse_size(const std::string& text);  // the inverse; throws OpError

// What is known of the symbols of a graph.
class SizeEnv {
 public:
  struct Constraint {
    SizeNumber a, b;
    std::string relation;  // lt, le, eq, ne, gt, ge
    bool holds;
    bool operator<(const Constraint& o) const;
  };
  Dim symbol(int64_t hint);  // a new one; hint >= 0
  Dim at(size_t k) const;    // the k-th that was made
  const std::vector<int64_t>& hints() const { return hints_; }
  // Whether a is in this relation to b: kept as a constraint where it depends on the sizes.
  bool decide(const SizeNumber& a, const std::string& relation, const SizeNumber& b);
  Number hint(const SizeNumber& n) const;
  const std::vector<Constraint>& constraints() const { return constraints_; }
  bool fit(std::span<const int64_t> sizes) const;  // fulfil all constraints
  // Per symbol, the first one that a constraint makes equal to it: for people to read.
  std::vector<Dim> merged() const;

  static SizeEnv& current();  // throws InternalError where there is none
  // In use by this thread while it lives.
  class Use {
   public:
    explicit Use(SizeEnv* e);
    ~Use();
    Use(const Use&) = delete;

   private:
    SizeEnv* before_;
  };

 private:
  std::vector<int64_t> hints_;
  std::vector<Constraint> constraints_;  // in the order of the decisions
  std::set<Constraint> known_;
};

// With values for the symbols: numbers give a number (throws Misfit where int64 does not hold it),
// others an expression.
Dim substitute(Dim d, std::span<const Dim> values);
SizeNumber substitute(const SizeNumber& n, std::span<const Dim> values);
// With names for the symbols.
std::string str(const SizeNumber& n, const std::function<std::string(int)>& name);

}  // namespace pijit
