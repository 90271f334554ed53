// Operands in the layouts that kernels bring them into, kept with the memory that they were made of
// for as long as that is not written: weights that do not change between calls are brought there
// once. A form is made when it is asked for again of memory that has not been written since, so
// that weights which each step updates have none.
#pragma once
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "runtime/array.h"

namespace pijit {

// The memory's form in a layout, `bytes` long, which pack(to) makes. Null: the call must make its
// own. It was not asked for before, or the memory is lent, or others that are in use take all the
// bytes that there are for forms (option packed_bytes).
std::shared_ptr<const Block> packed_form(Storage& of, const std::string& layout, size_t bytes,
                                         absl::FunctionRef<void(void*)> pack);

// Forgets the forms of memory that is written, lent or released.
void drop_forms_of(Storage& s);
inline void drop_forms(Storage& s) {
  if (s.forms.load(std::memory_order_acquire)) drop_forms_of(s);
}
// Its memory may be written by others from now on: it never has forms again.
void lend(Storage& s);

size_t packed_bytes();  // of all forms
void drop_all_forms();

}  // namespace pijit
