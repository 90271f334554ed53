// Loops over elements that belong to another library, as NumPy's: what runs them knows where the
// operands lie, and nothing else. Each has a number, which ops of a graph name it by.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace pijit {

struct ForeignLoop {
  // Of n[0] elements: where operands lie, inputs first, and bytes from one element to the next. Of
  // products, n and the steps hold the sizes and strides of matrices besides.
  using Function = void (*)(char** operands, const std::ptrdiff_t* n, const std::ptrdiff_t* steps,
                            void* data);
  Function function = nullptr;
  void* data = nullptr;
  std::string name;
};

// Its number, the same at each call. What it consists of stays for ever.
int64_t number_of(const ForeignLoop& loop);
ForeignLoop foreign_loop(int64_t number);

}  // namespace pijit
