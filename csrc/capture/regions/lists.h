// Lists and their items as a region's code.
#pragma once
#include <string_view>

#include "base/operators.h"
#include "capture/regions/emitter.h"

namespace pijit::regions {

// No object: it is no list that code has.
List list_of(Emitter& e, const Av& a);
int list_length(Emitter& e, const List& l);
Av list_item(Emitter& e, const List& l, const Av& index);
// The item at a place that is there.
Av list_item_at(Emitter& e, const List& l, int place);
void store_list_item(Emitter& e, const List& l, const Av& index, const Av& value);
void delete_list_item(Emitter& e, const Av& of, const Av& index);
// A tuple of the items of a list of that length; what is no list stays what it is.
Av unpacked_list(Emitter& e, const Av& a, int length);
int contains(Emitter& e, const Av& container, const Av& value);

// --- new lists, of a kind (see ListKinds)
Av list_of_items(Emitter& e, const std::vector<Av>& items, int kind);
// Of a display or comprehension, which nobody else has: it is filled also where effects may not be.
void extend_own(Emitter& e, const Av& list, const Av& items);
void append_own(Emitter& e, const Av& list, const Av& value);
Av list_slice(Emitter& e, const Av& of, const Av& slice, int kind);
inline bool is_list(Emitter& e, const Av& a, const Av& b) {
  return list_of(e, a).object != kNoValue || list_of(e, b).object != kNoValue;
}
Av list_binary(Emitter& e, BinaryOp op, bool in_place, const Av& a, const Av& b, int kind);
// list(x)
Av list_from(Emitter& e, const std::vector<Av>& args, int kind);
// What a function of C gives for a list of numbers that it does not change; `result`: its kind, if
// it is a number.
Av applied(Emitter& e, PyObject* fn, const List& l, K result);

// A method that code has, by the list's attribute; null: none.
struct ListMethod {
  std::string_view name;
  size_t least, most;  // arguments
  Av (*code)(Emitter& e, const List& l, const std::vector<Av>& args, int kind);
};
const ListMethod* list_method(PyObject* descriptor);

}  // namespace pijit::regions
