#include "cpu/region_ints.h"

namespace pijit {

using asmjit::Label;

void load_int(x86::Compiler& cc, x86::Gp object, x86::Gp to, const region::Instr& in, Label beyond,
              std::vector<std::function<void()>>* late) {
  const bool tagged = in.imm == static_cast<int64_t>(region::IntLayout::kTagged);
  const x86::Gp word = cc.newInt64(), t = cc.newInt64();
  const Label more = cc.newLabel(), done = cc.newLabel();
  const auto digit = [=](int k) { return x86::dword_ptr(object, region::kIntDigitsAt + 4 * k); };
  cc.mov(word, x86::qword_ptr(object, region::kIntWordAt));
  if (tagged) {
    cc.cmp(word, 16);
    cc.jae(more);
    cc.mov(t, word);
    cc.and_(t, 3);
    cc.neg(t);
    cc.add(t, 1);
  } else {
    cc.lea(t, x86::ptr(word, 1));
    cc.cmp(t, 2);
    cc.ja(more);
    cc.mov(t, word);
  }
  cc.mov(word.r32(), digit(0));
  cc.imul(t, word);
  cc.mov(to, t);
  cc.bind(done);
  late->push_back([=, &cc] {
    cc.bind(more);
    // how many digits, and whether it is below 0
    const x86::Gp digits = cc.newInt64(), n = cc.newInt64(), high = cc.newInt64();
    const Label two = cc.newLabel(), positive = cc.newLabel();
    cc.mov(digits, word);
    if (tagged) {
      cc.shr(digits, 3);
    } else {
      cc.neg(digits);
      cc.cmovs(digits, word);
    }
    cc.cmp(digits, region::kMostIntDigits);
    cc.ja(beyond);
    cc.mov(n.r32(), digit(1));
    cc.shl(n, region::kIntDigitBits);
    cc.mov(high.r32(), digit(0));
    cc.or_(n, high);
    cc.cmp(digits, region::kMostIntDigits);
    cc.jb(two);
    cc.mov(high.r32(), digit(2));
    cc.cmp(high, region::kHighDigitBelow);
    cc.jae(beyond);
    cc.shl(high, 2 * region::kIntDigitBits);
    cc.or_(n, high);
    cc.bind(two);
    if (tagged) {
      cc.test(word, 2);
      cc.jz(positive);
    } else {
      cc.test(word, word);
      cc.jns(positive);
    }
    cc.neg(n);
    cc.bind(positive);
    cc.mov(to, n);
    cc.jmp(done);
  });
}

}  // namespace pijit
