#include "runtime/scan.h"

namespace pijit {

void ScanKernel::carry_zeros(Type t) {
  t.device = device_.id;
  Carried c{t, -1, new_array(t)};
  const std::vector<char> zeros(t.bytes());
  if (!zeros.empty()) device_.from_host(c.zeros->data(), zeros.data(), zeros.size());
  carried.push_back(std::move(c));
}

void ScanKernel::launch(const void* const* in, void* const* out) {
  const auto lent = [&](Type t, const void* at) {
    t.device = device_.id;  // a program's operands lie there, whatever they were
    return new_external_array(
        t, const_cast<void*>(at), [](void*) {}, nullptr);
  };
  const auto at = [](const void* p, const Place& place, int64_t t) {
    return static_cast<const char*>(p) + place.offset + place.stride * static_cast<size_t>(t);
  };
  char* const result = static_cast<char*>(out[0]);
  std::vector<ArrayRef> state;
  for (auto& c : carried) state.push_back(c.operand >= 0 ? lent(c.type, in[c.operand]) : c.zeros);
  std::vector<ArrayRef> whole(inputs.size());  // what all steps read
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].operand >= 0 && inputs[k].place.stride == 0)
      whole[k] = lent(inputs[k].type, at(in[inputs[k].operand], inputs[k].place, 0));
  std::vector<ArrayRef> args(inputs.size()), results(outputs.size());
  std::vector<Array*> raw(inputs.size());
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = reverse ? steps - 1 - i : i;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const Input& x = inputs[k];
      args[k] = whole[k]         ? whole[k]
                : x.carried >= 0 ? state[static_cast<size_t>(x.carried)]
                                 : lent(x.type, at(in[x.operand], x.place, t));
      raw[k] = args[k].get();
    }
    program->run(raw, nullptr, results.data());
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Output& y = outputs[k];
      if (y.stored)
        device_.copy(result + y.place.offset + y.place.stride * static_cast<size_t>(t),
                     results[k]->data(), results[k]->type.bytes());
      if (y.carried >= 0) state[static_cast<size_t>(y.carried)] = std::move(results[k]);
    }
  }
  for (size_t k = 0; k < ends.size(); ++k)
    device_.copy(result + ends[k], state[k]->data(), state[k]->type.bytes());
}

}  // namespace pijit
