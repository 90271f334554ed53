#include "capture/values/host_array.h"

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/rebuilder.h"
#include "capture/values/exact.h"
#include "capture/values/scalar.h"
#include "capture/values/tensor.h"

namespace pijit {

PyTypeObject* HostArrayValue::type() const { return library.ndarray.type(); }

std::optional<V> HostArrayValue::getattr(Context& c, PyObject* name) {
  return protocol::builtin_attribute(c, this, name);
}

namespace {
V item(Context& c, HostArrayValue& a, const std::vector<V>&) {
  return number_of(c, c.tensor(a.tensor), nullptr);
}
constexpr Method<HostArrayValue> kHostArrayMethods[] = {
    {"item", 0, 0, item}};  // null: not followed
}  // namespace

std::optional<V> HostArrayValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                        Kwargs& kwargs) {
  const auto r = run_exact(kHostArrayMethods, *this, c, name, args, kwargs);
  return r && *r ? r : std::nullopt;
}

int HostArrayValue::rebuild(Rebuilder& r) {
  const auto copy = py::reinterpret_borrow<py::object>(type_lookup(tensor_type, names.asnumpy));
  const int whole = r.recipe(V(r.context().tensor(tensor)));
  return r.make<CallRecipe>(this, copy, std::vector<int>{whole});
}

}  // namespace pijit
