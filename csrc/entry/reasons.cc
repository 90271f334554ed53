#include "entry/entry.h"

namespace pijit {

const char* reason_text(Reason r) {
  static constexpr const char* t[] = {
#define BREAK(name, text, hint) text,
#include "entry/break_reasons.def"
#undef BREAK
  };
  return t[static_cast<int>(r)];
}
const char* reason_hint(Reason r) {
  static constexpr const char* t[] = {
#define BREAK(name, text, hint) hint,
#include "entry/break_reasons.def"
#undef BREAK
  };
  return t[static_cast<int>(r)];
}

}  // namespace pijit
