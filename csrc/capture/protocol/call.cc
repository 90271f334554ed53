// Calls of C code: what has no effects is run at capture, ops become nodes.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"

namespace pijit::protocol {

// Methods of `object`, as super() and object.__setattr__ reach them.
V call_object_method(Context& c, const std::string& name, const V& self,
                     const std::vector<V>& args) {
  if (name == "__init__" && args.empty()) return c.constant(py::none());
  if (name == "__setattr__" && args.size() == 2) {
    auto n = c.as_constant(args[0]);
    if (n && PyUnicode_Check(n->ptr())) {
      PyObject* text = n->release().ptr();
      PyUnicode_InternInPlace(&text);
      const py::object keep = py::reinterpret_steal<py::object>(text);
      store_attribute(c, self, text, args[1]);
      return c.constant(py::none());
    }
  }
  c.give_up(Reason::kUnsupportedCall, "object." + name);
}

V call_op(Context& c, const OpDef& op, const std::vector<V>& args, const Kwargs& kwargs) {
  std::vector<std::pair<std::string_view, V>> kw;
  for (auto& [k, v] : kwargs) kw.push_back({k, v});
  const auto slots = bind_args<V>(op, std::span<const V>(args), kw);
  std::vector<Operand> in;
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    if (op.inputs[k].variadic) {
      auto items = unpack(c, slots[k]);
      if (!items || (slots[k]->kind != Value::kTuple && slots[k]->kind != Value::kList))
        c.give_up(Reason::kUnsupportedOperand, op.name);
      for (auto& x : *items) in.push_back(c.operand(x));
    } else {
      const bool none = !slots[k] || is_none(slots[k]);
      OP_CHECK(!none || op.inputs[k].optional, kType, "[", op.name, "] ", op.inputs[k].name,
               " must be a tensor or a number");
      in.push_back(none ? Operand() : c.operand(slots[k]));
    }
  }
  Attrs attrs;
  for (size_t k = 0; k < op.attrs.size(); ++k) {
    const V& v = slots[op.inputs.size() + k];
    if (!v) {
      attrs.push_back(op.attrs[k].def);
      continue;
    }
    const auto o = object_with_sizes(c, v);
    if (!o)
      c.give_up(v->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedOperand,
                str_cat("attribute ", op.attrs[k].name, " of ", op.name));
    attrs.push_back(to_attr(op, op.attrs[k], o->ptr()));
  }
  return c.tensor(pijit::call_op(c.scope_->graph(), op, in, std::move(attrs)));
}

// A callable without effects, run at capture on constants.
V call_pure(Context& c, const py::object& f, const std::vector<V>& args, const Kwargs& kwargs,
            const std::string& name, const V& self) {
  if (kwargs.empty() && std::any_of(args.begin(), args.end(), is_input))
    if (V r = at_each_run(c, f.ptr(), args)) return r;
  auto known = [&](const V& v) {
    auto o = c.as_constant(v);
    if (!o)
      c.give_up(v->kind == Value::kTensor ? Reason::kTensorValue : Reason::kUnsupportedCall, name);
    return *o;
  };
  py::list positional;
  for (auto& a : args) positional.append(known(a));
  py::dict keywords;
  for (auto& [k, v] : kwargs) keywords[str_of(k)] = known(v);
  PyObject* r = PyObject_Call(f.ptr(), py::tuple(positional).ptr(), keywords.ptr());
  if (!r) {
    py::error_already_set e;
    c.raise(e);
  }
  const auto result = py::reinterpret_steal<py::object>(r);
  for (size_t k = 0; k < args.size(); ++k)  // int(x) may be x itself
    if (py::object(positional[k]).is(result)) return args[k];
  if (self && py::object(f.attr("__self__")).is(result)) return self;
  if (auto v = c.fresh(result)) return *v;
  c.give_up(Reason::kUnsupportedCall, name);
}

}  // namespace pijit::protocol
