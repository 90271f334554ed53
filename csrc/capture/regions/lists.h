// Items of lists as a region's code.
#pragma once
#include <string_view>

#include "capture/regions/emitter.h"

namespace pijit::regions {

// No object: it is no list that code has.
List list_of(Emitter& e, const Av& a);
int list_length(Emitter& e, const List& l);
Av list_item(Emitter& e, const List& l, const Av& index);
// The item at a place that is there.
Av list_item_at(Emitter& e, const List& l, int place);
void store_list_item(Emitter& e, const List& l, const Av& index, const Av& value);
// A method that code has, by the list's attribute; null: none.
struct ListMethod {
  std::string_view name;
  size_t args;
  Av (*code)(Emitter& e, const List& l, const std::vector<Av>& args);
};
const ListMethod* list_method(PyObject* descriptor);

}  // namespace pijit::regions
