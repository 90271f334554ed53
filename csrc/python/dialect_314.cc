// The dialect of CPython 3.14.
#include "python/dialect.h"

#if PY_VERSION_HEX >= 0x030E0000

namespace pijit {
namespace {

const Row kRows[] = {
    {"LOAD_ATTR", Op::LOAD_ATTR, Arg::kMethodName},
    {"LOAD_FAST_BORROW", Op::LOAD_FAST, Arg::kCount},
    {"LOAD_FAST_BORROW_LOAD_FAST_BORROW", Op::LOAD_FAST, Arg::kTwoSlots, 0, Op::LOAD_FAST},
    {"LOAD_SMALL_INT", Op::LOAD_CONST, Arg::kSmallInt},
    {"LOAD_COMMON_CONSTANT", Op::LOAD_CONST, Arg::kCommon},
    {"LOAD_SPECIAL", Op::LOAD_SPECIAL, Arg::kCount},
    {"NOT_TAKEN", Op::NOP},
    {"POP_ITER", Op::POP_TOP},
    {"FOR_ITER", Op::FOR_ITER, Arg::kForward, 1},
    {"CALL_FUNCTION_EX", Op::CALL_EX, Arg::kFixed, 1},
    {"WITH_EXCEPT_START", Op::WITH_EXCEPT_START, Arg::kFixed, 1},
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
    .loop_end = 1,  // END_FOR; POP_ITER takes the iterator
    .iterator_stays = true,
    .precall = false,
};

}  // namespace pijit

#endif
