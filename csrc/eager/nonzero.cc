// Places of what is not 0. How many there are, only the data tell: so this is no op of a graph, but
// two kernels, the second of which is asked for when the first one has counted.
#include "eager/nonzero.h"

#include "runtime/device.h"

namespace pijit {

ArrayRef nonzero(const ArrayRef& x, bool columns) {
  constexpr int64_t kParts = 64;
  const ArrayRef a = array_on(x, DeviceId{});
  Device& host = device(DeviceId{});
  auto run = [&](const char* name, std::vector<const Array*> in, const Type& out) {
    const OpDef& op = OpTable::get().at(name);
    const Attrs attrs{columns};
    KernelRequest r{op, attrs, {}, std::vector<bool>(in.size(), true), out};
    const void* from[2];
    for (size_t k = 0; k < in.size(); ++k) r.in.push_back(in[k]->type), from[k] = in[k]->data();
    ArrayRef y = new_array(out);
    host.kernels.make(r)->run(from, y->data());
    return y;
  };
  const ArrayRef counts = run("nonzero_counts", {a.get()}, Type{DType::I64, Shape{kParts}});
  Dim n = 0, rank = a->type.shape.rank();
  for (int64_t k = 0; k < kParts; ++k) n += static_cast<const int64_t*>(counts->data())[k];
  const ArrayRef places = run("nonzero_places", {a.get(), counts.get()},
                              Type{DType::I64, columns ? Shape{rank, n} : Shape{n, rank}});
  return array_on(places, x->type.device);
}

}  // namespace pijit
