#include "capture/regions/text.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "capture/regions/arrays.h"
#include "capture/regions/numbers.h"
#include "python/names.h"

namespace pijit::regions {

constexpr int64_t kCharacters = 256;

static int in_range(Emitter& e, int x, int64_t least, int64_t most) {
  e.check(e.emit(Op::kIGe, x, e.d.icon(least)));
  e.check(e.emit(Op::kILe, x, e.d.icon(most)));
  return x;
}

Av character_of(Emitter& e, const Av& a) {
  if (a.kind == K::kCharacter) return a;
  if (const Array* text = e.d.array_of_value(a); text && text->format == kText.format) {
    e.check(e.emit(Op::kIEq, text->sizes[0], e.d.icon(1)));
    return element(e, *text, e.d.icon(0));
  }
  if (a.kind != K::kObject || !is_narrow_text(a.object) || PyUnicode_GET_LENGTH(a.object) != 1)
    return {};
  return number(K::kCharacter, e.d.icon(PyUnicode_READ_CHAR(a.object, 0)));
}

std::optional<Av> compare_text(Emitter& e, CompareOp op, const Av& a, const Av& b) {
  if (a.kind != K::kCharacter && b.kind != K::kCharacter) return std::nullopt;
  const Av x = character_of(e, a), y = character_of(e, b);
  if (x.kind == K::kNull || y.kind == K::kNull) {
    const Av& other = x.kind == K::kNull ? a : b;
    const bool text = other.kind == K::kObject && PyUnicode_CheckExact(other.object);
    if (!(op == CompareOp::kEq || op == CompareOp::kNe) ||
        !(text || other.is_number() || (other.kind == K::kObject && other.object == Py_None)) ||
        other.of_numpy())
      leave(str_cat("a str is compared with ", a_(e.d.described(e.d.typed(other)))));
    return bool_of(e.d.constant(Type::kB1, op == CompareOp::kNe));
  }
  return compare(e, op, int_of(x.v[0]), int_of(y.v[0]));
}

int is_in_text(Emitter& e, PyObject* text, const Av& character) {
  constexpr Py_ssize_t kMost = 32;
  if (!is_narrow_text(text) || PyUnicode_GET_LENGTH(text) > kMost)
    leave("`in` looks into a long str");
  int found = e.d.constant(Type::kB1, 0);
  for (Py_ssize_t k = 0; k < PyUnicode_GET_LENGTH(text); ++k)
    found =
        e.either(found, e.emit(Op::kIEq, character.v[0], e.d.icon(PyUnicode_READ_CHAR(text, k))));
  return found;
}

namespace {

constexpr CharacterMethod kCharacterMethods[] = {
    {"isalpha", true}, {"isdigit", true}, {"isalnum", true},   {"isspace", true},
    {"isupper", true}, {"islower", true}, {"isdecimal", true}, {"isidentifier", true},
    {"upper", false},  {"lower", false},
};

// What it gives of each character; 256: another string.
using Table = std::array<uint16_t, kCharacters>;

const Table& table_of(const CharacterMethod& m) {
  static std::map<std::string_view, Table> tables;  // code reads them
  const auto [it, fresh] = tables.try_emplace(m.name);
  if (!fresh) return it->second;
  for (int k = 0; k < kCharacters; ++k) {
    const py::str character = py::reinterpret_steal<py::str>(PyUnicode_FromOrdinal(k));
    const py::object r = character.attr(std::string(m.name).c_str())();
    it->second[static_cast<size_t>(k)] =
        static_cast<uint16_t>(m.asks ? r.is(py::bool_(true))
                              : is_narrow_text(r.ptr()) && PyUnicode_GET_LENGTH(r.ptr()) == 1
                                  ? PyUnicode_READ_CHAR(r.ptr(), 0)
                                  : kCharacters);
  }
  return it->second;
}

}  // namespace

const CharacterMethod* character_method(PyObject* descriptor) {
  if (!descriptor || !Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) return nullptr;
  auto* d = reinterpret_cast<PyMethodDescrObject*>(descriptor);
  if (d->d_common.d_type != &PyUnicode_Type) return nullptr;
  for (const CharacterMethod& m : kCharacterMethods)
    if (m.name == d->d_method->ml_name) return &m;
  return nullptr;
}

Av call_character(Emitter& e, const CharacterMethod& m, const Av& character) {
  const int table = e.d.constant(Type::kPtr, reinterpret_cast<int64_t>(table_of(m).data()));
  const int at = e.emit(Op::kIMul, character.v[0], e.d.icon(sizeof(uint16_t)));
  const int x = e.emit(Op::kLoadU16, table, at);
  if (m.asks) return bool_of(e.emit(Op::kINe, x, e.d.icon(0)));
  return number(K::kCharacter, in_range(e, x, 0, kCharacters - 1));
}

Av place_of_character(Emitter& e, const std::vector<Av>& a) {
  const Av c = character_of(e, a[0]);
  if (c.kind == K::kNull) leave(str_cat("ord() of ", a_(e.d.described(e.d.typed(a[0])))));
  return int_of(c.v[0]);
}

Av character_at(Emitter& e, const std::vector<Av>& a) {
  return number(K::kCharacter, in_range(e, as_index(e, a[0]), 0, kCharacters - 1));
}

Av digit_of(Emitter& e, const Av& character) {
  return int_of(e.emit(Op::kISub, in_range(e, character.v[0], '0', '9'), e.d.icon('0')));
}

}  // namespace pijit::regions
