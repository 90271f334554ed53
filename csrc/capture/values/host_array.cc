#include "capture/values/host_array.h"

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/scalar.h"
#include "capture/values/tensor.h"

namespace pijit {

PyTypeObject* HostArrayValue::type() const { return library.ndarray.type(); }

std::optional<V> HostArrayValue::getattr(Context& c, PyObject* name) {
  return protocol::builtin_attribute(c, this, name);
}

std::optional<V> HostArrayValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                        Kwargs& kwargs) {
  if (name == "item" && args.empty() && kwargs.empty())
    if (V number = number_of(c, c.tensor(tensor), nullptr)) return number;
  return std::nullopt;
}

int HostArrayValue::rebuild(Rebuilder& r) {
  const auto copy = py::reinterpret_borrow<py::object>(type_lookup(tensor_type, names.asnumpy));
  const int whole = r.recipe(V(r.context().tensor(tensor)));
  return r.make<CallRecipe>(this, copy, std::vector<int>{whole});
}

}  // namespace pijit
