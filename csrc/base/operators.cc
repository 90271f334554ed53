#include "base/operators.h"

namespace pijit {
namespace {

constexpr BinaryFacts kBinary[] = {
#define BINARY(id, name, sign, function, op) \
  {name, sign, function, "__" name "__", "__r" name "__", "__i" name "__", op},
#define UNARY(id, name, sign, function, op)
#define COMPARE(id, name, sign, mirrored, negated, op)
#include "base/operators.def"
#undef BINARY
#undef UNARY
};
constexpr UnaryFacts kUnary[] = {
#define BINARY(id, name, sign, function, op)
#define UNARY(id, name, sign, function, op) {name, sign, function, "__" name "__", op},
#include "base/operators.def"
#undef UNARY
#undef COMPARE
};
constexpr CompareFacts kCompare[] = {
#define UNARY(id, name, sign, function, op)
#define COMPARE(id, name, sign, mirrored, negated, op) \
  {name, sign, "__" name "__", CompareOp::mirrored, CompareOp::negated, op},
#include "base/operators.def"
#undef BINARY
#undef UNARY
#undef COMPARE
};

template <class Op, class Row, size_t n, class Fits>
std::optional<Op> find(const Row (&rows)[n], Fits fits) {
  for (size_t k = 0; k < n; ++k)
    if (fits(rows[k])) return static_cast<Op>(k);
  return std::nullopt;
}

}  // namespace

const BinaryFacts& facts(BinaryOp op) { return kBinary[static_cast<size_t>(op)]; }
const UnaryFacts& facts(UnaryOp op) { return kUnary[static_cast<size_t>(op)]; }
const CompareFacts& facts(CompareOp op) { return kCompare[static_cast<size_t>(op)]; }

std::optional<BinaryOp> binary_function(std::string_view name) {
  return find<BinaryOp>(kBinary, [&](auto& r) { return name == r.function; });
}
std::optional<BinaryOp> in_place_function(std::string_view name) {
  if (name.empty() || name[0] != 'i') return std::nullopt;
  return find<BinaryOp>(kBinary, [&](auto& r) { return name.substr(1) == r.name; });
}
std::optional<UnaryOp> unary_function(std::string_view name) {
  if (name == "inv") return UnaryOp::kInvert;  // its other name
  return find<UnaryOp>(kUnary, [&](auto& r) { return name == r.function; });
}
std::optional<CompareOp> compare_function(std::string_view name) {
  return find<CompareOp>(kCompare, [&](auto& r) { return name == r.name; });
}
std::optional<BinaryOp> binary_method(std::string_view name) {
  return find<BinaryOp>(kBinary, [&](auto& r) { return name == r.method; });
}
std::optional<CompareOp> compare_method(std::string_view name) {
  return find<CompareOp>(kCompare, [&](auto& r) { return name == r.method; });
}

}  // namespace pijit
