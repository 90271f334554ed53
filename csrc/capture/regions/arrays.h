// Elements of arrays as a region's code.
#pragma once
#include "capture/regions/emitter.h"

namespace pijit::regions {

// An array, or a row of one: from which axis on, and the bytes to it.
struct Part {
  const Array* array = nullptr;
  int axis = 0, offset = kNoValue;
};
Av item(Emitter& e, const Av& of, const Av& index);
Av element(Emitter& e, const Array& a, int offset);
// A number of NumPy's that lies somewhere.
Av loaded(Emitter& e, const Dtype& d, int data, int offset);
Av row_of(const Av& array, int place);
Part part_of(Emitter& e, const Av& a);
void store_item(Emitter& e, const Av& value, const Av& of, const Av& index);

}  // namespace pijit::regions
