// Python's operators: what operators.def says of them.
#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>

namespace pijit {

enum class BinaryOp : uint8_t {
#define BINARY(id, name, sign, function, op) id,
#define UNARY(id, name, sign, function, op)
#define COMPARE(id, name, sign, mirrored, negated, op)
#include "base/operators.def"
#undef BINARY
#undef UNARY
};
enum class UnaryOp : uint8_t {
#define BINARY(id, name, sign, function, op)
#define UNARY(id, name, sign, function, op) id,
#include "base/operators.def"
#undef UNARY
#undef COMPARE
};
enum class CompareOp : uint8_t {
#define UNARY(id, name, sign, function, op)
#define COMPARE(id, name, sign, mirrored, negated, op) id,
#include "base/operators.def"
#undef BINARY
#undef UNARY
#undef COMPARE
};

// `method`, `reflected`, `in_place`: __add__, __radd__, __iadd__. `op`: of Tensors, or null.
struct BinaryFacts {
  const char *name, *sign, *function, *method, *reflected, *in_place, *op;
};
struct UnaryFacts {
  const char *name, *sign, *function, *method, *op;
};
struct CompareFacts {
  const char *name, *sign, *method;
  CompareOp mirrored, negated;
  const char* op;
};
const BinaryFacts& facts(BinaryOp op);
const UnaryFacts& facts(UnaryOp op);
const CompareFacts& facts(CompareOp op);

// By the name of a function of the module `operator`, in place where it says so ("iadd").
std::optional<BinaryOp> binary_function(std::string_view name);
std::optional<BinaryOp> in_place_function(std::string_view name);
std::optional<UnaryOp> unary_function(std::string_view name);
std::optional<CompareOp> compare_function(std::string_view name);
// By the name of a method: __add__, __lt__.
std::optional<BinaryOp> binary_method(std::string_view name);
std::optional<CompareOp> compare_method(std::string_view name);

inline std::ostream& operator<<(std::ostream& s, BinaryOp op) { return s << facts(op).name; }
inline std::ostream& operator<<(std::ostream& s, UnaryOp op) { return s << facts(op).name; }
inline std::ostream& operator<<(std::ostream& s, CompareOp op) { return s << facts(op).name; }

}  // namespace pijit
