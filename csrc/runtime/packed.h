// Operands in the layouts that kernels bring them into, kept with the memory that they were made of
// for as long as that is not written: weights that do not change between calls are brought there
// once. A form is made when it is asked for again of memory that has not been written since, so
// that weights which each step updates have none.
//
// A form that has each element as it is may be all that is kept of a weight: where nobody else
// reads the memory that it was made of, the pages of that go back to the system, and Array::data
// brings the elements back, for good, when somebody asks for them. Of the bytes that there are for
// forms it takes none.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "runtime/array.h"
#include "runtime/kernel.h"
#include "runtime/layout.h"

namespace pijit {

// The memory's form in a layout, `bytes` long, which pack(to) makes. Null: the call must make its
// own. It was not asked for before, or the memory is lent, or others that are in use take all the
// bytes that there are for forms (option packed_bytes). order: where a form that has all elements
// has them, in the memory's order.
std::shared_ptr<const Block> packed_form(const OperandMemory& memory, const std::string& layout,
                                         size_t bytes, absl::FunctionRef<void(void*)> pack,
                                         const std::optional<Layout>& order = {});

// The same for memory that nobody else reads or writes, and of which forms were made before.
void give_back_what_forms_have(Storage& s);

// Forgets the forms of memory that is written, lent or released.
void drop_forms_of(Storage& s);
void drop_kept_of(uint64_t unwritten);  // runtime/prologue.cc
inline void drop_forms(Storage& s) {
  if (s.unwritten.load(std::memory_order_relaxed)) drop_kept_of(s.unwritten.exchange(0));
  if (s.forms.load(std::memory_order_acquire)) drop_forms_of(s);
}
// Its memory may be written by others from now on: it never has forms again.
void lend(Storage& s);

// A number that the memory has (Storage::unwritten) until it is written, lent or released, and no
// other memory ever. 0: others may write it.
uint64_t watch(Storage& s);

size_t packed_bytes();  // of all forms, and what was claimed
// Bytes that count as those of forms.
class PackedBytes {
 public:
  PackedBytes() = default;
  // False where there is no room.
  static PackedBytes claim(size_t bytes);
  explicit operator bool() const { return claimed_; }
  PackedBytes(PackedBytes&& o) noexcept
      : bytes_(std::exchange(o.bytes_, 0)), claimed_(std::exchange(o.claimed_, false)) {}
  PackedBytes& operator=(PackedBytes&& o) noexcept {
    std::swap(bytes_, o.bytes_);
    std::swap(claimed_, o.claimed_);
    return *this;
  }
  ~PackedBytes();

 private:
  size_t bytes_ = 0;
  bool claimed_ = false;
};
void drop_all_forms();

}  // namespace pijit
