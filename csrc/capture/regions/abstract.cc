#include "capture/regions/abstract.h"

#include <algorithm>

#include "base/error.h"

namespace pijit::regions {

void leave(std::string why, std::string help, bool of_arrays) {
  throw Leave{std::move(why), std::move(help), of_arrays};
}

bool is_iterator(const Av& a) {
  return a.kind == K::kCounter || a.kind == K::kRangeIter || a.kind == K::kArrayIter ||
         a.kind == K::kListIter || a.kind == K::kTupleIter || a.kind == K::kEnumerate ||
         a.kind == K::kZip;
}

static bool are_alike(const Av& a, const Av& b) {
  if (a.kind == K::kTuple && b.kind == K::kTuple && a.index == b.index)
    return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), are_alike);
  return a.is_number() && same_shape(a, b);
}
bool can_be_chosen_from(const Av& tuple) {
  constexpr size_t kMost = 16;
  const auto& items = tuple.items;
  return !items.empty() && items.size() <= kMost &&
         std::all_of(items.begin(), items.end(),
                     [&](const Av& x) { return are_alike(x, items[0]); });
}

bool has_new_arrays(const Av& a) {
  bool has = false;
  each_new_array(a, [&](const Av&) { has = true; });
  return has;
}

void stay_alone(const Av& a) {
  if (is_iterator(a)) leave("an iterator is kept in a variable");
  if (a.kind == K::kMade) leave("a function is made");
  if (a.kind == K::kSlice) leave("a slice is kept in a variable");
}

std::string a_(const std::string& what) {
  const bool vowel = what.find_first_of("aeiouAEIO") == 0;
  return (vowel ? "an " : "a ") + what;
}

std::string described(const BIn& in) {
  switch (in.op) {
    case BOp::BUILD_MAP:
    case BOp::BUILD_CONST_KEY_MAP:
    case BOp::MAP_ADD:
    case BOp::DICT_UPDATE:
    case BOp::DICT_MERGE: return "a dict is made";
    case BOp::BUILD_SET:
    case BOp::SET_UPDATE:
    case BOp::SET_ADD: return "a set is made";
    case BOp::BUILD_STRING:
    case BOp::CONVERT_VALUE:
    case BOp::FORMAT_VALUE: return "a text is made";
    case BOp::STORE_SLICE: return "a slice is set";
    case BOp::STORE_ATTR:
    case BOp::DELETE_ATTR: return "an attribute of an object is set";
    case BOp::STORE_GLOBAL: return "a global variable is set";
    case BOp::STORE_DEREF: return "a variable is set that an inner function shares";
    case BOp::LOAD_SUPER_ATTR: return "super() is called";
    case BOp::UNPACK_EX: return "items are unpacked with a star";
    case BOp::CALL_KW: return "a function is called with names of arguments";
    case BOp::CALL_EX: return "a function is called with unpacked arguments";
    case BOp::IMPORT_NAME:
    case BOp::IMPORT_FROM: return "a module is imported";
    case BOp::MAKE_CELL:
    case BOp::LOAD_CLOSURE:
    case BOp::MAKE_FUNCTION: return "a function is made";
    case BOp::BEFORE_WITH:
    case BOp::LOAD_SPECIAL:
    case BOp::WITH_EXCEPT_START: return "`with` enters or leaves a context";
    case BOp::RAISE: return "an exception is raised";
    case BOp::PUSH_EXC_INFO:
    case BOp::CHECK_EXC_MATCH:
    case BOp::POP_EXCEPT:
    case BOp::RERAISE: return "an exception is handled";
    default: return str_cat("the instruction ", op_name(in.op), " has no machine code");
  }
}

}  // namespace pijit::regions
