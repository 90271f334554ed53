// Characters of strings as a region's code: numbers below 256, of which CPython has one object
// each.
#pragma once
#include <optional>
#include <string_view>

#include "base/operators.h"
#include "capture/regions/emitter.h"

namespace pijit::regions {

// A character, also one that is a constant; kNull: it is none.
Av character_of(Emitter& e, const Av& a);
// Nothing: neither of them is a character.
std::optional<Av> compare_text(Emitter& e, CompareOp op, const Av& a, const Av& b);
// Is it one of a constant's?
int is_in_text(Emitter& e, PyObject* text, const Av& character);

// What a method without arguments gives, by the attribute of a string; null: code has it not.
struct CharacterMethod {
  std::string_view name;
  bool asks;  // else it gives a character
};
const CharacterMethod* character_method(PyObject* descriptor);
Av call_character(Emitter& e, const CharacterMethod& m, const Av& character);

// ord(), chr() and int().
Av place_of_character(Emitter& e, const std::vector<Av>& a);
Av character_at(Emitter& e, const std::vector<Av>& a);
Av digit_of(Emitter& e, const Av& character);

}  // namespace pijit::regions
