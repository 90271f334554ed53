// Numbers that code puts into lists without a call: what CPython has made already is shared, and an
// object that nobody but the list holds becomes the next one.
#pragma once
#include "absl/functional/function_ref.h"
#include "capture/regions/emitter.h"

namespace pijit::regions {

// Over an item that is there; `otherwise`: by a call.
void store_number(Emitter& e, const List& l, int place, K kind, int word,
                  absl::FunctionRef<void()> otherwise);
// At the end, where a list has room.
void append_number(Emitter& e, const List& l, K kind, int word,
                   absl::FunctionRef<void()> otherwise);

inline int64_t address(const void* p) { return reinterpret_cast<int64_t>(p); }
int field(Emitter& e, int object, size_t offset);
int is_type(Emitter& e, int object, const PyTypeObject& type);
int item_object(Emitter& e, const List& l, int place);

}  // namespace pijit::regions
