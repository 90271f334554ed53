// The dialects of CPython 3.11 and 3.12.
#include "python/dialect.h"

#if PY_VERSION_HEX < 0x030D0000

namespace pijit {
namespace {

constexpr bool k312 = PY_VERSION_HEX >= 0x030C0000;

const Row kRows[] = {
    {"PRECALL", Op::NOP, Arg::kOfCall},
    {"KW_NAMES", Op::NOP, Arg::kKeywords},
    {"LOAD_ATTR", Op::LOAD_ATTR, k312 ? Arg::kMethodName : Arg::kName},
    {"LOAD_METHOD", Op::LOAD_METHOD, Arg::kName},
    {"SEND", Op::SEND, Arg::kForward, k312 ? 1 : 0},
    {"FORMAT_VALUE", Op::FORMAT_VALUE, Arg::kCount},
    {"MAKE_FUNCTION", Op::MAKE_FUNCTION, Arg::kCount},
    {"POP_JUMP_FORWARD_IF_FALSE", Op::POP_JUMP, Arg::kForward, 0},
    {"POP_JUMP_FORWARD_IF_TRUE", Op::POP_JUMP, Arg::kForward, 1},
    {"POP_JUMP_FORWARD_IF_NONE", Op::POP_JUMP, Arg::kForward, 2},
    {"POP_JUMP_FORWARD_IF_NOT_NONE", Op::POP_JUMP, Arg::kForward, 3},
    {"POP_JUMP_BACKWARD_IF_FALSE", Op::POP_JUMP, Arg::kBackward, 0},
    {"POP_JUMP_BACKWARD_IF_TRUE", Op::POP_JUMP, Arg::kBackward, 1},
    {"POP_JUMP_BACKWARD_IF_NONE", Op::POP_JUMP, Arg::kBackward, 2},
    {"POP_JUMP_BACKWARD_IF_NOT_NONE", Op::POP_JUMP, Arg::kBackward, 3},
    {"JUMP_IF_FALSE_OR_POP", Op::JUMP_OR_POP, Arg::kForward, 0},
    {"JUMP_IF_TRUE_OR_POP", Op::JUMP_OR_POP, Arg::kForward, 1},
};

}  // namespace

const Dialect dialect = {
    .rows = kRows,
    .compare_shift = k312 ? 4 : 0,
    .truth_bit = 0,
    .loop_end = k312 ? 1 : 0,  // END_FOR
    .iterator_stays = false,
    .precall = !k312,
};

}  // namespace pijit

#endif
