// Arithmetic of complex numbers as a region's code: two floats each, computed in the order in which
// CPython computes them, or NumPy where one of them is its own.
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
// A number as a complex one of NumPy's. Leaves where a part is beyond what float32 has.
Av complex_as(Emitter& e, const Av& a, const Dtype& d);
// One of the operands is such a number, the other one, too, or a real one.
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
  bool method, of_numpy;  // NumPy's alone
  Av (*code)(Emitter& e, const Av& a);
};
const ComplexMember* complex_member(const Av& of, std::string_view name, bool method);

}  // namespace pijit::regions
