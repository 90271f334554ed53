#include "cpu/loops/vector_code.h"

#include <map>
#include <mutex>

#include "runtime/code_names.h"
#include "runtime/kernel.h"

namespace pijit {

void call1_block(double* x, uint64_t f) {
  const Fn1 fn = call1_fn(static_cast<Call1>(f));
  for (int i = 0; i < 8; ++i) x[i] = fn(x[i]);
}
void call2_block(double* x, uint64_t f) {  // x[0..7] with x[8..15]
  const Fn2 fn = call2_fn(static_cast<Call2>(f));
  for (int i = 0; i < 8; ++i) x[i] = fn(x[i], x[i + 8]);
}
void wide_block(float* x, uint64_t f) {
  static const auto loops = [] {
    std::vector<std::shared_ptr<const InnerLoop>> all;
    for (auto of : {
#define X(f) Wide::f,
             PIJIT_WIDE(X)
#undef X
         }) {
      InnerSpec s;
      s.form = LoopSpec::kMap;
      s.body = wide_body(of).nodes;
      s.in_types = {DType::F32};
      s.in_strides = s.out_strides = {1};
      LoopOutput o;
      o.dt = DType::F32;
      o.node = wide_body(of).result;
      s.out = {o};
      all.push_back(make_inner_loop(s));
    }
    return all;
  }();
  char* const ptrs[] = {reinterpret_cast<char*>(x), reinterpret_cast<char*>(x)};
  loops[f % 256]->run(ptrs, static_cast<int64_t>(f / 256));
}

const void* with_saved_registers(void (*f)(), int bytes,
                                 const std::function<void(x86::Assembler&, bool)>& save) {
  static std::mutex mu;
  static auto* made = new std::map<std::pair<void (*)(), int>, Code<void (*)()>>;
  std::lock_guard lock(mu);
  auto [it, fresh] = made->try_emplace({f, bytes});
  const CodeName name([] { return std::string("registers saved around a call"); });
  if (fresh)
    it->second = Code<void (*)()>([&](asmjit::CodeHolder& code) {
      x86::Assembler a(&code);
      const x86::Gp kept[] = {x86::rax, x86::rcx, x86::rdx, x86::rsi, x86::rdi,
                              x86::r8,  x86::r9,  x86::r10, x86::r11};
      a.push(x86::rbp);
      a.mov(x86::rbp, x86::rsp);
      for (auto& r : kept) a.push(r);
      a.sub(x86::rsp, bytes);
      a.and_(x86::rsp, -64);
      save(a, true);
      a.mov(x86::rax, reinterpret_cast<uint64_t>(f));
      a.call(x86::rax);
      save(a, false);
      a.lea(x86::rsp, x86::ptr(x86::rbp, -8 * static_cast<int>(std::size(kept))));
      for (size_t k = std::size(kept); k-- > 0;) a.pop(kept[k]);
      a.pop(x86::rbp);
      a.ret();
    });
  return reinterpret_cast<const void*>(it->second.get());
}

namespace {
bool supported(DType t) {
  return t == DType::F32 || t == DType::F64 || t == DType::I32 || t == DType::I64 ||
         t == DType::U32 || t == DType::Bool;
}

}  // namespace

VectorCode::VectorCode(const InnerSpec& s) : s_(s), body_(s.body) {
  for (auto& n : s.body) wide_ |= size_of(n.dt) == 8;
  lanes_ = wide_ ? 8 : 16;
  for (auto& n : body_) {
    if (n.op == SOp::kConst && is_signed_int(n.dt) && narrow(n.dt)) {
      const int unused = 64 - 8 * static_cast<int>(size_of(n.dt));
      n.imm = static_cast<uint32_t>(static_cast<int64_t>(n.imm << unused) >> unused);
    }
    n.dt = lane_type(n.dt);
  }
}

bool VectorCode::covers(std::string* why) const {
  for (auto& n : s_.body) {
    if (!supported(lane_type(n.dt))) return *why = "dtype", false;
    if (narrow(n.dt) && n.op != SOp::kInput && n.op != SOp::kConst && n.op != SOp::kCast &&
        n.op != SOp::kSelect)
      return *why = "arithmetic on a narrow type", false;
    if (narrow(n.dt) && !is_float(n.dt) && n.op == SOp::kCast && is_float(s_.body[n.a].dt))
      return *why = "a float as a narrow integer", false;
    if (n.dt == DType::U32 && n.op == SOp::kCast && is_float(s_.body[n.a].dt))
      return *why = "a float as an unsigned integer", false;
    const bool integer = n.dt == DType::I32 || n.dt == DType::I64 || n.dt == DType::U32;
    if (integer && (n.op == SOp::kDiv || n.op == SOp::kFloorDiv || n.op == SOp::kFloorMod ||
                    n.op == SOp::kTruncMod))
      return *why = "integer division", false;
    if (n.op == SOp::kBitcast && size_of(n.dt) != size_of(s_.body[n.a].dt))
      return *why = "bitcast", false;
    if (n.dt == DType::Bool && (n.op == SOp::kMin || n.op == SOp::kMax || n.op == SOp::kAdd ||
                                n.op == SOp::kMul || n.op == SOp::kAbs))
      return *why = "bool arithmetic", false;
    if (n.dt == DType::Bool && n.op >= SOp::kEq && n.op <= SOp::kGe &&
        s_.body[n.a].dt == DType::Bool)
      return *why = "bool comparison", false;
  }
  for (size_t k = 0; k < s_.in_types.size(); ++k)
    if (!supported(lane_type(s_.in_types[k])) || (s_.in_strides[k] != 0 && s_.in_strides[k] != 1))
      return *why = "strided input", false;
  for (size_t k = 0; k < s_.out.size(); ++k) {
    const auto& o = s_.out[k];
    if (!supported(lane_type(o.dt))) return *why = "dtype", false;
    if (o.combine != Combiner::kNone && narrow(o.dt)) return *why = "narrow reduction", false;
    if (o.combine == Combiner::kNone || s_.form == LoopSpec::kCol) {
      if (s_.out_strides[k] != 1) return *why = "strided output", false;
    }
    if (o.combine != Combiner::kNone && o.dt == DType::Bool) return *why = "bool reduction", false;
  }
  return true;
}

}  // namespace pijit
