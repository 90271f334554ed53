// Attributes that objects have by C code of their types.
#pragma once
#include <cstdint>
#include <string_view>

namespace pijit::protocol {

enum class Inherent : uint8_t { kNone, kClass, kDict, kName, kQualname, kModule, kDoc };
Inherent inherent(std::string_view name);

}  // namespace pijit::protocol
