// Arithmetic of Python's complex numbers as a region's code: two floats each, computed in the
// order in which CPython computes them.
#pragma once
#include <string_view>

#include "base/operators.h"
#include "capture/regions/emitter.h"

namespace pijit::regions {

inline Av complex_of(int real, int imag) {
  Av a;
  a.kind = K::kComplex;
  a.v = {real, imag, kNoValue};
  return a;
}
// One of the operands is such a number, the other one, too, or one of Python's others.
Av complex_binary(Emitter& e, BinaryOp op, const Av& a, const Av& b);
Av complex_compare(Emitter& e, CompareOp op, const Av& a, const Av& b);
Av complex_unary(Emitter& e, UnaryOp op, const Av& a);
int complex_truth(Emitter& e, const Av& a);
Av complex_abs(Emitter& e, const Av& a);
// complex(x), complex(x, y)
Av complex_from(Emitter& e, const std::vector<Av>& args);
// An attribute, or a method without arguments; null: none of that name.
struct ComplexMember {
  std::string_view name;
  bool method;
  Av (*code)(Emitter& e, const Av& a);
};
const ComplexMember* complex_member(std::string_view name, bool method);

}  // namespace pijit::regions
