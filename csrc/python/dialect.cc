// What each instruction of CPython's becomes, by its name, and what else versions spell
// otherwise. A name that a version lacks costs nothing there.
#include "python/dialect.h"

#include "base/operators.h"
#include "python/names.h"

namespace pijit {
namespace {

constexpr bool k311 = PY_VERSION_HEX >= 0x030B0000;
constexpr bool k312 = PY_VERSION_HEX >= 0x030C0000;
constexpr bool k313 = PY_VERSION_HEX >= 0x030D0000;
constexpr bool k314 = PY_VERSION_HEX >= 0x030E0000;
constexpr bool k315 = PY_VERSION_HEX >= 0x030F0000;

constexpr int op_number(UnaryOp op) { return static_cast<int>(op); }

constexpr Arg kCell = k311 ? Arg::kCount : Arg::kCell;
constexpr Arg kConditional = k311 ? Arg::kForward : Arg::kAbsolute;

#define OPERATOR(name, op)                                                               \
  {"BINARY_" name, Op::BINARY, Arg::kFixed, static_cast<int>(BinaryOp::op)}, {           \
    "INPLACE_" name, Op::BINARY, Arg::kFixed, static_cast<int>(BinaryOp::op), Op::NOP, 1 \
  }
const Row kRows[] = {
    {"NOP", Op::NOP},
    {"RESUME", Op::NOP},
    {"CACHE", Op::NOP},
    {"END_FOR", Op::NOP},
    {"LOAD_CONST", Op::LOAD_CONST, Arg::kConst},
    {"LOAD_SMALL_INT", Op::LOAD_CONST, Arg::kSmallInt},
    {"LOAD_COMMON_CONSTANT", Op::LOAD_CONST, Arg::kCommon},
    {"RETURN_CONST", Op::RETURN_VALUE, Arg::kReturnConst},
    {"RETURN_VALUE", Op::RETURN_VALUE},
    {"LOAD_FAST", Op::LOAD_FAST, Arg::kCount},
    {"LOAD_FAST_CHECK", Op::LOAD_FAST, Arg::kCount},
    {"LOAD_FAST_BORROW", Op::LOAD_FAST, Arg::kCount},
    {"LOAD_FAST_LOAD_FAST", Op::LOAD_FAST, Arg::kTwoSlots, 0, Op::LOAD_FAST},
    {"LOAD_FAST_BORROW_LOAD_FAST_BORROW", Op::LOAD_FAST, Arg::kTwoSlots, 0, Op::LOAD_FAST},
    {"STORE_FAST_LOAD_FAST", Op::STORE_FAST, Arg::kTwoSlots, 0, Op::LOAD_FAST},
    {"STORE_FAST_STORE_FAST", Op::STORE_FAST, Arg::kTwoSlots, 0, Op::STORE_FAST},
    {"LOAD_FAST_AND_CLEAR", Op::LOAD_FAST_AND_CLEAR, Arg::kCount},
    {"STORE_FAST", Op::STORE_FAST, Arg::kCount},
    {"DELETE_FAST", Op::DELETE_FAST, Arg::kCount},
    {"LOAD_GLOBAL", Op::LOAD_GLOBAL, k311 ? Arg::kNullName : Arg::kName},
    {"LOAD_NAME", Op::LOAD_GLOBAL, Arg::kName},  // only a module's code is decoded that has these
    {"STORE_NAME", Op::STORE_GLOBAL, Arg::kName},
    {"IMPORT_NAME", Op::IMPORT_NAME, Arg::kImport},
    {"IMPORT_FROM", Op::IMPORT_FROM, Arg::kName},
    {"STORE_GLOBAL", Op::STORE_GLOBAL, Arg::kName},
    {"LOAD_ATTR", Op::LOAD_ATTR, k312 ? Arg::kMethodName : Arg::kName},
    {"LOAD_METHOD", Op::LOAD_METHOD, Arg::kName},
    {"LOAD_SUPER_ATTR", Op::LOAD_SUPER_ATTR, Arg::kSuperName},
    {"STORE_ATTR", Op::STORE_ATTR, Arg::kName},
    {"DELETE_ATTR", Op::DELETE_ATTR, Arg::kName},
    {"LOAD_DEREF", Op::LOAD_DEREF, kCell},
    {"STORE_DEREF", Op::STORE_DEREF, kCell},
    {"LOAD_CLOSURE", Op::LOAD_CLOSURE, kCell},
    {"MAKE_CELL", Op::MAKE_CELL, Arg::kCount},
    {"COPY_FREE_VARS", Op::COPY_FREE_VARS, Arg::kCount},
    {"PUSH_NULL", Op::PUSH_NULL},
    {"POP_TOP", Op::POP_TOP, k311 ? Arg::kNone : Arg::kPop},
    {"COPY", Op::COPY, Arg::kCount},
    {"SWAP", Op::SWAP, Arg::kCount},
    {"UNARY_NEGATIVE", Op::UNARY, Arg::kFixed, op_number(UnaryOp::kNeg)},
    {"UNARY_POSITIVE", Op::UNARY, Arg::kFixed, op_number(UnaryOp::kPos)},
    {"UNARY_NOT", Op::UNARY, Arg::kFixed, op_number(UnaryOp::kNot)},
    {"UNARY_INVERT", Op::UNARY, Arg::kFixed, op_number(UnaryOp::kInvert)},
    {"BINARY_OP", Op::BINARY, Arg::kBinary},
    {"COMPARE_OP", Op::COMPARE, Arg::kCompare},
    {"IS_OP", Op::IS_OP, Arg::kCount},
    {"CONTAINS_OP", Op::CONTAINS_OP, Arg::kCount},
    {"BINARY_SUBSCR", Op::BINARY_SUBSCR},
    {"STORE_SUBSCR", Op::STORE_SUBSCR},
    {"DELETE_SUBSCR", Op::DELETE_SUBSCR},
    {"BINARY_SLICE", Op::BINARY_SLICE},
    {"STORE_SLICE", Op::STORE_SLICE},
    {"BUILD_TUPLE", Op::BUILD_TUPLE, Arg::kCount},
    {"BUILD_LIST", Op::BUILD_LIST, Arg::kCount},
    {"BUILD_MAP", Op::BUILD_MAP, Arg::kCount},
    {"BUILD_CONST_KEY_MAP", Op::BUILD_CONST_KEY_MAP, Arg::kCount},
    {"BUILD_SLICE", Op::BUILD_SLICE, Arg::kCount},
    {"BUILD_STRING", Op::BUILD_STRING, Arg::kCount},
    {"FORMAT_VALUE", Op::FORMAT_VALUE, Arg::kCount},
    {"CONVERT_VALUE", Op::CONVERT_VALUE, Arg::kConvert},
    {"FORMAT_SIMPLE", Op::FORMAT_VALUE, Arg::kFormat},
    {"FORMAT_WITH_SPEC", Op::FORMAT_VALUE, Arg::kFixed, 4},
    {"LIST_APPEND", Op::LIST_APPEND, Arg::kCount},
    {"LIST_EXTEND", Op::LIST_EXTEND, Arg::kCount},
    {"MAP_ADD", Op::MAP_ADD, Arg::kCount},
    {"DICT_UPDATE", Op::DICT_UPDATE, Arg::kCount},
    {"DICT_MERGE", Op::DICT_MERGE, k311 ? Arg::kCount : Arg::kCalled, 0, Op::NOP, 1},
    {"LIST_TO_TUPLE", Op::LIST_TO_TUPLE},
    {"CALL_INTRINSIC_1", Op::UNSUPPORTED, Arg::kIntrinsic},
    {"UNPACK_SEQUENCE", Op::UNPACK_SEQUENCE, Arg::kCount},
    {"UNPACK_EX", Op::UNPACK_EX, Arg::kCount},
    {"BUILD_SET", Op::BUILD_SET, Arg::kCount},
    {"SET_UPDATE", Op::SET_UPDATE, Arg::kCount},
    {"SET_ADD", Op::SET_ADD, Arg::kCount},
    {"GET_LEN", Op::GET_LEN},
    {"MATCH_SEQUENCE", Op::MATCH_KIND, Arg::kFixed, 0},
    {"MATCH_MAPPING", Op::MATCH_KIND, Arg::kFixed, 1},
    {"MATCH_CLASS", Op::MATCH_CLASS, k311 ? Arg::kCount : Arg::kMatch},
    {"MATCH_KEYS", Op::MATCH_KEYS, k311 ? Arg::kNone : Arg::kMatch},
    {"BEFORE_WITH", Op::BEFORE_WITH},
    {"LOAD_SPECIAL", Op::LOAD_SPECIAL, Arg::kCount},
    {"RAISE_VARARGS", Op::RAISE, Arg::kCount},
    {"LOAD_ASSERTION_ERROR", Op::LOAD_CONST, Arg::kFixed},
    {"PUSH_EXC_INFO", Op::PUSH_EXC_INFO},
    {"CHECK_EXC_MATCH", Op::CHECK_EXC_MATCH},
    {"POP_EXCEPT", Op::POP_EXCEPT},
    {"RERAISE", Op::RERAISE},
    {"WITH_EXCEPT_START", Op::WITH_EXCEPT_START, Arg::kFixed, k311 ? k314 : -1},
    {"RETURN_GENERATOR", Op::RETURN_GENERATOR},
    {"YIELD_VALUE", Op::YIELD_VALUE},
    {"GET_YIELD_FROM_ITER", Op::GET_YIELD_FROM_ITER},
    {"SEND", Op::SEND, Arg::kForward, k312 + k315, Op::NOP, k315},
    {"END_SEND", Op::END_SEND, Arg::kNone, 0, Op::NOP, k315},
    {"JUMP_FORWARD", Op::JUMP, Arg::kForward},
    {"JUMP_BACKWARD", Op::JUMP, Arg::kBackward},
    {"JUMP_BACKWARD_NO_INTERRUPT", Op::JUMP, Arg::kBackward},
    {"NOT_TAKEN", Op::NOP},
    {"TO_BOOL", Op::NOP, Arg::kTruth},
    {"POP_JUMP_IF_FALSE", Op::POP_JUMP, kConditional, 0},
    {"POP_JUMP_IF_TRUE", Op::POP_JUMP, kConditional, 1},
    {"POP_JUMP_IF_NONE", Op::POP_JUMP, Arg::kForward, 2},
    {"POP_JUMP_IF_NOT_NONE", Op::POP_JUMP, Arg::kForward, 3},
    {"POP_JUMP_FORWARD_IF_FALSE", Op::POP_JUMP, Arg::kForward, 0},
    {"POP_JUMP_FORWARD_IF_TRUE", Op::POP_JUMP, Arg::kForward, 1},
    {"POP_JUMP_FORWARD_IF_NONE", Op::POP_JUMP, Arg::kForward, 2},
    {"POP_JUMP_FORWARD_IF_NOT_NONE", Op::POP_JUMP, Arg::kForward, 3},
    {"POP_JUMP_BACKWARD_IF_FALSE", Op::POP_JUMP, Arg::kBackward, 0},
    {"POP_JUMP_BACKWARD_IF_TRUE", Op::POP_JUMP, Arg::kBackward, 1},
    {"POP_JUMP_BACKWARD_IF_NONE", Op::POP_JUMP, Arg::kBackward, 2},
    {"POP_JUMP_BACKWARD_IF_NOT_NONE", Op::POP_JUMP, Arg::kBackward, 3},
    {"JUMP_IF_FALSE_OR_POP", Op::JUMP_OR_POP, kConditional, 0},
    {"JUMP_IF_TRUE_OR_POP", Op::JUMP_OR_POP, kConditional, 1},
    {"GET_ITER", Op::GET_ITER, Arg::kIter, 0, Op::GET_YIELD_FROM_ITER, k315},
    {"FOR_ITER", Op::FOR_ITER, Arg::kForward, k314 + k315, Op::NOP, k315},
    {"POP_ITER", Op::POP_TOP, Arg::kFixed, k315},
    {"KW_NAMES", Op::NOP, Arg::kKeywords},
    {"PRECALL", Op::NOP, Arg::kOfCall},
    {"CALL", Op::CALL, Arg::kCall},
    {"CALL_KW", Op::CALL_KW, Arg::kCount},
    {"CALL_FUNCTION_EX", Op::CALL_EX, k314 ? Arg::kFixed : Arg::kLowBit, 1, Op::NOP, !k311},
    {"MAKE_FUNCTION", Op::MAKE_FUNCTION, k311 ? Arg::kFunction : Arg::kCalled, 0, Op::NOP, 1},
    // Of 3.9 and 3.10 alone:
    {"CALL_FUNCTION", Op::CALL, Arg::kCalled, 0, Op::NOP, 1},
    {"CALL_METHOD", Op::CALL, Arg::kCalled},
    {"CALL_FUNCTION_KW", Op::CALL_KW, Arg::kCalled, 0, Op::NOP, 1},
    {"ROT_TWO", Op::SWAP, Arg::kRotate, 2},
    {"ROT_THREE", Op::SWAP, Arg::kRotate, 3},
    {"ROT_FOUR", Op::SWAP, Arg::kRotate, 4},
    {"ROT_N", Op::SWAP, Arg::kRotate},
    {"DUP_TOP", Op::COPY, Arg::kCopies, 1},
    {"DUP_TOP_TWO", Op::COPY, Arg::kCopies, 2},
    {"JUMP_ABSOLUTE", Op::JUMP, Arg::kAbsolute},
    {"JUMP_IF_NOT_EXC_MATCH", Op::CHECK_EXC_MATCH, Arg::kMatches},
    {"SETUP_FINALLY", Op::NOP, Arg::kSetUp},
    {"SETUP_WITH", Op::BEFORE_WITH, Arg::kSetUp},
    {"POP_BLOCK", Op::NOP, Arg::kPopBlock},
    {"GEN_START", Op::POP_TOP},
    {"YIELD_FROM", Op::SEND, Arg::kYieldFrom},
    OPERATOR("ADD", kAdd),
    OPERATOR("AND", kAnd),
    OPERATOR("FLOOR_DIVIDE", kFloorDiv),
    OPERATOR("LSHIFT", kLshift),
    OPERATOR("MATRIX_MULTIPLY", kMatmul),
    OPERATOR("MODULO", kMod),
    OPERATOR("MULTIPLY", kMul),
    OPERATOR("OR", kOr),
    OPERATOR("POWER", kPow),
    OPERATOR("RSHIFT", kRshift),
    OPERATOR("SUBTRACT", kSub),
    OPERATOR("TRUE_DIVIDE", kTrueDiv),
    OPERATOR("XOR", kXor),
};
#undef OPERATOR

// By the numbers of the running interpreter.
constinit OnDemand<std::vector<const Row*>> known_rows;

}  // namespace

const Row* row_of(int opcode) {
  return known_rows.get([] {
    std::vector<const Row*> all(256);
    for (auto& r : kRows)
      if (auto it = opcodes().number.find(r.name); it != opcodes().number.end())
        all[static_cast<size_t>(it->second)] = &r;
    return all;
  })[static_cast<size_t>(opcode)];
}

const Dialect dialect = {
    .compare_shift = k313   ? 5
                     : k312 ? 4
                            : 0,
    .import_shift = k315 ? 2 : 0,
    .truth_bit = k313 ? 16 : 0,
    // END_FOR; in 3.13, POP_TOP behind it
    .loop_end = k314   ? 1
                : k313 ? 2
                : k312 ? 1
                       : 0,
    .precall = !k312,
    .stack_seen = k314,
};

}  // namespace pijit
