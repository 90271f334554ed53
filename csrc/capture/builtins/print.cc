// print(), after the graph and in the order of all effects.
#include <algorithm>

#include "capture/protocol/protocol.h"
#include "capture/registry.h"
#include "capture/values.h"

namespace pijit {

// Prints after the graph, in the order of all effects, what the values are now.
V print(Tracer& t, Call& call) {
  if (t.arm_serial_ || t.mapped_serial_)
    t.give_up(Reason::kTensorValue, "print() in a branch or loop on a tensor or a mapped function");
  for (auto* f : t.frames_)
    if (t.handles_stream_errors(*f))
      t.give_up(Reason::kUnsupportedCall, "print() where its exceptions are handled");
  py::dict keywords;
  for (auto& [k, v] : call.kwargs) {
    auto c = as_constant(t, v);
    const bool text = c && (c->is_none() || PyUnicode_CheckExact(c->ptr()));
    if (!c || (k != "flush" && !((k == "sep" || k == "end") && text)))
      t.give_up(Reason::kUnsupportedCall, "print()");
    keywords[str_of(k)] = *c;
  }
  std::vector<V> values, given;
  const std::function<void(const V&)> add = [&](const V& x) {
    const Context::Nested nested(t);
    const bool made = x->src < 0 && (is_list(x) || is_dict(x));
    if ((!made && !as<TupleValue>(x)) || (!is_dict(x) && as_constant(t, x))) {
      given.push_back(x);
    } else {  // as graph mode shows them
      const auto parts = is_dict(x) ? items_in(x) : protocol::items_of(t, x);
      std::for_each(parts.begin(), parts.end(), add);
    }
  };
  for (auto& x : call.args) runs_as_graph() ? add(x) : given.push_back(x);
  for (auto& x : given) {
    if (as<TensorValue>(x)) {
      if (x->dirty && as<TensorValue>(x)->parameter) t.give_up(Reason::kUnsupportedCall, "print()");
      values.push_back(x->src >= 0 && !x->dirty ? x : V(t.tensor(x->node())));
    } else if (is_input(x) || is_computed(x) || as<HostArrayValue>(x)) {
      values.push_back(x);
    } else if (as<ExceptionValue>(x)) {
      values.push_back(exception_text(t, x, "__str__"));
    } else if (auto c = as_constant(t, x)) {
      values.push_back(t.constant(*c));
    } else if (auto s = as<ObjectValue>(x) || as<InstanceValue>(x) ? protocol::text(t, x, "__str__")
                                                                   : std::nullopt) {
      values.push_back(*s);
    } else {
      t.give_up(Reason::kUnsupportedCall, "print()");
    }
  }
  t.log({Context::Note::kPrint, nullptr, share(call.callable), {}, values, keywords});
  return t.constant(py::none());
}

}  // namespace pijit
