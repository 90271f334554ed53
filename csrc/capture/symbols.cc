// Sizes as symbols. An entry whose sizes vary is a function of them, kept as actions, and shape
// rules run on numbers. Its graph in terms of symbols is found by interpolation: done again at a
// few sizes, the capture gives the same text but for some numbers, each a polynomial of degree 2 at
// most in the sizes, or a quotient as a stride makes it; a number that is neither is shown as `?`.
#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

#include "capture/capture.h"

namespace pijit {
namespace {

using Point = std::vector<int64_t>;  // a size per symbol
using Numbers = std::vector<int64_t>;

// The text with its varying parts taken out: whole decimal numbers, but for those of values (%12),
// symbols and words.
struct Template {
  std::vector<std::string> between;
  std::vector<std::string> numbers;
  explicit Template(const std::string& text) : between(1) {
    for (size_t i = 0; i < text.size();) {
      const char before = i ? text[i - 1] : ' ';
      size_t j = i;
      while (j < text.size() && std::isxdigit(static_cast<unsigned char>(text[j])) &&
             (std::isdigit(static_cast<unsigned char>(text[j])) || before == 'x'))
        ++j;
      const bool own = std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_' &&
                       before != '%' && before != '.';
      if (j > i && (own || before == 'x')) {
        numbers.push_back(text.substr(i, j - i));
        between.emplace_back();
        i = j;
      } else if (j > i) {
        between.back() += text.substr(i, j - i);
        i = j;
      } else {
        between.back() += text[i++];
      }
    }
  }
};

class Interpolation {
 public:
  explicit Interpolation(const Entry& e) : e_(e) {
    // One symbol for sizes that have agreed so far.
    std::map<std::vector<int64_t>, int> known;
    for (size_t v = 0; v < e.varying.size(); ++v) {
      std::vector<int64_t> history;
      for (auto& [dims, instance] : e.instances)
        if (instance->fits) history.push_back(dims[v]);
      const auto [it, fresh] = known.try_emplace(history, static_cast<int>(base_.size()));
      if (fresh) base_.push_back(history.back());
      symbol_of_.push_back(it->second);
    }
  }
  const std::vector<int>& symbol_of() const { return symbol_of_; }

  std::string text() {
    const Template* first = at(base_);
    if (!first) return e_.graph_text;
    std::string out;
    for (size_t k = 0; k < first->between.size(); ++k) {
      out += first->between[k];
      if (k < first->numbers.size()) out += number(k, first->numbers[k]);
    }
    return out;
  }

 private:
  // Null: the entry does not serve these sizes, or serves them by another graph.
  const Template* at(const Point& p) {
    auto it = made_.find(p);
    if (it == made_.end()) {
      std::vector<int64_t> dims;
      for (int s : symbol_of_) dims.push_back(p[s]);
      Graph g(false);
      Scope scope(&g, true);
      std::optional<Template> t;
      if (*std::min_element(p.begin(), p.end()) > 0 && build_at(e_, dims, scope))
        t.emplace(g.print());
      if (t && !made_.empty() && made_.begin()->second &&
          t->between != made_.begin()->second->between)
        t.reset();
      it = made_.emplace(p, std::move(t)).first;
    }
    return it->second ? &*it->second : nullptr;
  }
  std::optional<int64_t> value(size_t k, const Point& p) {
    const Template* t = at(p);
    if (!t || t->numbers[k].size() > 18) return std::nullopt;
    if (!std::all_of(t->numbers[k].begin(), t->numbers[k].end(),
                     [](unsigned char c) { return std::isdigit(c); }))
      return std::nullopt;
    return std::stoll(t->numbers[k]);
  }
  Point moved(std::initializer_list<std::pair<size_t, int64_t>> by) const {
    Point p = base_;
    for (auto [s, d] : by) p[s] += d;
    return p;
  }

  std::string number(size_t k, const std::string& own) {
    const size_t n = base_.size();
    bool varies = false;
    for (size_t s = 0; s < n; ++s)
      for (int64_t d : {int64_t{1}, kStep})
        if (const Template* t = at(moved({{s, d}}))) varies |= t->numbers[k] != own;
    if (!varies) return own;
    if (auto e = quotient(k)) return *e;
    if (auto e = polynomial(k)) return *e;
    if (auto e = remainder(k)) return *e;
    return "?";
  }

  // (a * s + r) // q of one symbol.
  std::optional<std::string> quotient(size_t k) {
    const auto v0 = value(k, base_);
    if (!v0) return std::nullopt;
    for (size_t s = 0; s < base_.size(); ++s) {
      const auto v1 = value(k, moved({{s, kStep}}));
      if (!v1 || *v1 == *v0) continue;
      const int64_t rise = *v1 - *v0, g = std::gcd(rise, kStep), a = rise / g, q = kStep / g;
      if (q == 1) return std::nullopt;
      for (int64_t r = -q * 8; r <= q * 8; ++r) {
        bool fits = true;
        int checked = 0;
        for (int64_t d = 0; d < 2 * q && fits; ++d)
          if (const auto v = value(k, moved({{s, d}}))) {
            const int64_t x = a * (base_[s] + d) + r;
            fits = *v == (x - ((x % q) + q) % q) / q;
            ++checked;
          }
        if (!fits || checked < q) continue;
        const std::string as = (a == 1 ? "" : std::to_string(a) + "*") + name(s);
        return r == 0 ? str_cat(as, "//", q)
                      : str_cat("(", as, r > 0 ? "+" : "-", r > 0 ? r : -r, ")//", q);
      }
      return std::nullopt;
    }
    return std::nullopt;
  }

  // (s + r) % q of one symbol, as padding to a multiple makes it.
  std::optional<std::string> remainder(size_t k) {
    for (size_t s = 0; s < base_.size(); ++s)
      for (int64_t q = 2; q <= 8; ++q)
        for (int64_t r = 0; r < q; ++r) {
          int checked = 0;
          bool fits = true;
          for (int64_t d = 0; d < 2 * q && fits; ++d)
            if (const auto v = value(k, moved({{s, d}})))
              fits = *v == (base_[s] + d + r) % q, ++checked;
          if (!fits || checked < q + 1) continue;
          return r == 0 ? str_cat(name(s), "%", q) : str_cat("(", name(s), "+", r, ")%", q);
        }
    return std::nullopt;
  }

  // Sum of c, a * s, b * s * t, by differences; some more points have to agree.
  std::optional<std::string> polynomial(size_t k) {
    const size_t n = base_.size();
    const auto v0 = value(k, base_);
    if (!v0) return std::nullopt;
    std::vector<std::vector<int64_t>> second(n, std::vector<int64_t>(n));
    std::vector<int64_t> first(n);
    const auto whole = [](int64_t x, int64_t by, int64_t* r) { return *r = x / by, x % by == 0; };
    for (size_t s = 0; s < n; ++s) {
      const auto v1 = value(k, moved({{s, kStep}})), v2 = value(k, moved({{s, 2 * kStep}}));
      if (!v1 || !v2) return std::nullopt;
      if (!whole(*v2 - 2 * *v1 + *v0, 2 * kStep * kStep, &second[s][s])) return std::nullopt;
      if (!whole(*v1 - *v0 - second[s][s] * kStep * kStep, kStep, &first[s])) return std::nullopt;
      for (size_t t = 0; t < s; ++t) {
        const auto vt = value(k, moved({{t, kStep}})),
                   both = value(k, moved({{s, kStep}, {t, kStep}}));
        if (!vt || !both || !whole(*both - *v1 - *vt + *v0, kStep * kStep, &second[t][s]))
          return std::nullopt;
      }
    }
    // around the base point to around 0
    int64_t constant = *v0;
    std::vector<int64_t> linear = first;
    for (size_t s = 0; s < n; ++s) {
      constant -= first[s] * base_[s];
      for (size_t t = s; t < n; ++t) {
        constant += second[s][t] * base_[s] * base_[t];
        linear[s] -= second[s][t] * base_[t];
        linear[t] -= second[s][t] * base_[s];
      }
    }
    auto value_at = [&](const Point& p) {
      int64_t v = constant;
      for (size_t s = 0; s < n; ++s) {
        v += linear[s] * p[s];
        for (size_t t = s; t < n; ++t) v += second[s][t] * p[s] * p[t];
      }
      return v;
    };
    Point mixed = base_;
    for (size_t s = 0; s < n; ++s) mixed[s] += kStep + 3 + static_cast<int64_t>(s);
    int checked = 0;
    auto agrees = [&](const Point& p) {
      const auto v = value(k, p);
      checked += v.has_value();
      return !v || *v == value_at(p);
    };
    bool fits = agrees(mixed);
    for (size_t s = 0; s < n; ++s)
      for (int64_t d = 1; d < 4; ++d) fits &= agrees(moved({{s, d}}));
    if (!fits || checked == 0) return std::nullopt;
    std::string text;
    auto term = [&](int64_t a, const std::string& of) {
      if (a == 0) return;
      if (!text.empty() || a < 0) text += a < 0 ? "-" : "+";
      const int64_t m = a < 0 ? -a : a;
      text += of.empty() ? std::to_string(m) : m == 1 ? of : str_cat(m, "*", of);
    };
    for (size_t s = 0; s < n; ++s)
      for (size_t t = s; t < n; ++t) term(second[s][t], name(s) + "*" + name(t));
    for (size_t s = 0; s < n; ++s) term(linear[s], name(s));
    term(constant, "");
    return text;
  }
  static std::string name(size_t s) { return "s" + std::to_string(s); }

  static constexpr int64_t kStep = 48;  // divisible by the usual strides
  const Entry& e_;
  std::vector<int> symbol_of_;  // per varying dim
  Point base_;
  std::map<Point, std::optional<Template>> made_;
};

}  // namespace

std::string symbolic_text(const Entry& e, const CodeInfo& code) {
  if (e.varying.empty() || e.graph_text.empty()) return e.graph_text;
  Interpolation in(e);
  std::map<int, std::string> meaning;
  for (size_t v = 0; v < e.varying.size(); ++v) {
    const auto [k, d] = e.varying[v];
    std::string& m = meaning[in.symbol_of()[v]];
    m += str_cat(m.empty() ? "" : " = ", describe_source(e.sources, e.inputs[k], code), ".shape[",
                 d, "]");
  }
  std::string text = in.text();
  for (auto& [s, m] : meaning) text += str_cat("# s", s, " = ", m, "\n");
  return text;
}

}  // namespace pijit
