// Iterators as a region's code.
#pragma once
#include "capture/regions/emitter.h"

namespace pijit::regions {

Av range(Emitter& e, const std::vector<Av>& args);
// iter() of it.
Av iterator(Emitter& e, const Av& a);

// One turn of a loop: whether there is one, and the iterator behind it.
struct Turn {
  int condition;
  Av behind;
};
Turn turn_of(Emitter& e, const Av& iterator);
// What the turn has, by the iterator before it.
Av item_of(Emitter& e, const Av& iterator);

}  // namespace pijit::regions
