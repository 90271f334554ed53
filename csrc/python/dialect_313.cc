// The dialect of CPython 3.13.
#include "python/dialect.h"

#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000

namespace pijit {
namespace {

const Row kRows[] = {
    {"LOAD_ATTR", Op::LOAD_ATTR, Arg::kMethodName},
    {"LOAD_FAST_LOAD_FAST", Op::LOAD_FAST, Arg::kTwoSlots, 0, Op::LOAD_FAST},
    {"STORE_FAST_LOAD_FAST", Op::STORE_FAST, Arg::kTwoSlots, 0, Op::LOAD_FAST},
    {"STORE_FAST_STORE_FAST", Op::STORE_FAST, Arg::kTwoSlots, 0, Op::STORE_FAST},
    {"SEND", Op::SEND, Arg::kForward, 1},
    {"TO_BOOL", Op::NOP, Arg::kTruth},
    {"CONVERT_VALUE", Op::CONVERT_VALUE, Arg::kConvert},
    {"FORMAT_SIMPLE", Op::FORMAT_VALUE, Arg::kFormat},
    {"FORMAT_WITH_SPEC", Op::FORMAT_VALUE, Arg::kFixed, 4},
    {"CALL_KW", Op::CALL_KW, Arg::kCount},
    {"MAKE_FUNCTION", Op::MAKE_FUNCTION, Arg::kFunction},
};

}  // namespace

const Dialect dialect = {
    .rows = kRows,
    .compare_shift = 5,
    .truth_bit = 16,
    .loop_end = 2,  // END_FOR, POP_TOP
    .iterator_stays = false,
    .precall = false,
};

}  // namespace pijit

#endif
