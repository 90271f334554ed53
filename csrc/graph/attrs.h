// Attributes of a node: plain values in the order of the op's AttrSpecs. Equality, hash and text
// are derived here once for all ops.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "graph/dim.h"
#include "graph/dtype.h"

namespace pijit {

using AttrValue = std::variant<Dim, double, bool, std::string, Dims, DType>;
enum class AttrKind : uint8_t { kInt, kFloat, kBool, kString, kInts, kDType };  // variant order
using Attrs = std::vector<AttrValue>;

struct AttrSpec {
  std::string name;
  AttrKind kind;
  bool required = true;
  AttrValue def = {};
};

inline size_t hash_mix(size_t h, size_t v) { return (h ^ v) * 0x9e3779b97f4a7c15ull + (h >> 29); }

inline size_t hash_of(const AttrValue& v) {
  struct {
    size_t operator()(Dim x) const { return x.hash(); }
    size_t operator()(double x) const {
      size_t u;
      std::memcpy(&u, &x, 8);
      return u;
    }
    size_t operator()(bool x) const { return x; }
    size_t operator()(const std::string& s) const { return std::hash<std::string>()(s); }
    size_t operator()(const Dims& s) const {
      size_t h = s.size();
      for (auto x : s) h = hash_mix(h, x.hash());
      return h;
    }
    size_t operator()(DType t) const { return static_cast<size_t>(t); }
  } f;
  return hash_mix(v.index(), std::visit(f, v));
}
inline size_t hash_of(const Attrs& a) {
  size_t h = a.size();
  for (auto& v : a) h = hash_mix(h, hash_of(v));
  return h;
}
// Bitwise for doubles, so that NaN equals itself and 0.0 differs from -0.0; the same expressions.
inline bool same(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (auto* x = std::get_if<Dim>(&a)) return x->same_as(std::get<Dim>(b));
  if (auto* x = std::get_if<Dims>(&a)) {
    auto& y = std::get<Dims>(b);
    return std::equal(x->begin(), x->end(), y.begin(), y.end(),
                      [](Dim p, Dim q) { return p.same_as(q); });
  }
  if (auto* x = std::get_if<double>(&a)) return std::memcmp(x, std::get_if<double>(&b), 8) == 0;
  return a == b;
}
inline bool same(const Attrs& a, const Attrs& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}

std::string attr_text(const AttrValue& v);
// Parses text of the given kind; throws OpError.
AttrValue parse_attr(AttrKind kind, const std::string& text);

}  // namespace pijit
