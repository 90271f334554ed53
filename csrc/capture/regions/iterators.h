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

// The item of a tuple at a place that is there. Leaves where its items are not alike.
Av chosen_item(Emitter& e, const Av& tuple, int place);

}  // namespace pijit::regions
