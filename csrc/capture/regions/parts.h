// Views of arrays, as a region's code has them: which places of each axis of an array that is
// there.
#pragma once
#include "capture/regions/arrays.h"

namespace pijit::regions {

// Is it an array of numbers or a view of one?
bool is_part(Emitter& e, const Av& a);
// The same as a kPart.
Av part(Emitter& e, const Av& a);
// Is an index an array, or has it one?
bool has_arrays(Emitter& e, const Av& index);
// Does an index take several elements?
bool takes_part(Emitter& e, const Av& of, const Av& index);
// What an index takes: a view, or an element.
Av taken(Emitter& e, const Av& of, const Av& index);
// All axes from their ends on.
Av flipped(Emitter& e, const Av& of);
// Two views of the same elements, by the same values.
bool same_part(const Av& a, const Av& b);

// Where a view lies.
struct Place {
  const Array* array = nullptr;
  int offset = kNoValue;  // bytes from where the array begins
  std::vector<int> sizes, strides;
};
Place place_of(Emitter& e, const Av& part);
int rank_of(const Av& part);
Av array_attribute(Emitter& e, const Av& array, const std::string& name);
const Array& array_of_part(Emitter& e, const Av& part);
const Dtype& dtype_of_part(Emitter& e, const Av& part);

}  // namespace pijit::regions
