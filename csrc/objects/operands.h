// Arguments of Python calls as operands and attributes of ops.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/operators.h"
#include "eager/eager.h"
#include "graph/op.h"
#include "objects/tensor.h"
#include "python/convert.h"
#include "python/hook.h"

namespace pijit {

// Python scalars become weak operands; tensors values; arrays and sequences tensors. Empty: not an
// operand.
std::optional<Operand> other_operand(EagerBuilder& b, PyObject* o);  // of what is no Tensor
inline std::optional<Operand> to_operand(EagerBuilder& b, PyObject* o) {
  return is_tensor(o) ? Operand(b.wrap(array_of(o))) : other_operand(b, o);
}
// The one road of eager calls: operands, promotion, run.
inline PyObject* run_op(const OpDef& op, EagerBuilder& b, std::span<const Operand> in,
                        Attrs attrs) {
  if (hook_sleeps) [[unlikely]]
    wake_hook();
  return new_tensor(b.array(call_op(b, op, in, std::move(attrs))));
}
// Throws OpError when `o` does not convert.
AttrValue to_attr(const OpDef& op, const AttrSpec& spec, PyObject* o);
// During capture, a size that varies stands as an opaque object where the functions here and in
// index.h take an int.
py::object symbolic_object(Dim d);
std::optional<Dim> symbolic_dim(PyObject* o);

// Distributes call arguments over inputs and attributes; null slots take defaults. A variadic input
// takes one sequence. Throws OpError(kType) as Python does for bad calls.
template <class T>
std::vector<T> bind_args(const OpDef& op, std::span<const T> args,
                         std::span<const std::pair<std::string_view, T>> kwargs) {
  const size_t n = op.inputs.size() + op.attrs.size();
  auto name = [&](size_t k) -> const std::string& {
    return k < op.inputs.size() ? op.inputs[k].name : op.attrs[k - op.inputs.size()].name;
  };
  OP_CHECK(args.size() <= n, kType, op.name, "() takes ", n, " arguments but ", args.size(),
           " were given");
  std::vector<T> slots(n);
  for (size_t k = 0; k < args.size(); ++k) slots[k] = args[k];
  for (auto& [key, value] : kwargs) {
    size_t k = 0;
    while (k < n && !(k < op.inputs.size() ? op.inputs[k].called(key) : name(k) == key)) ++k;
    if (k == n) {
      std::vector<std::string_view> known;
      for (size_t j = 0; j < n; ++j) known.push_back(name(j));
      throw OpError(OpError::kType, unexpected_keyword(op.name, key, known));
    }
    OP_CHECK(!slots[k], kType, op.name, "() got multiple values for argument '", key, "'");
    slots[k] = value;
  }
  for (size_t k = 0; k < n; ++k) {
    const bool need =
        k < op.inputs.size() ? !op.inputs[k].optional : op.attrs[k - op.inputs.size()].required;
    OP_CHECK(slots[k] || !need, kType, op.name, "() missing required argument '", name(k), "'");
  }
  return slots;
}

// The op of a Python operator between Tensors.
const OpDef& tensor_operator(BinaryOp op);
const OpDef& tensor_operator(CompareOp op);

}  // namespace pijit
