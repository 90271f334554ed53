// Inner loops run by the block interpreter: every dtype, every stride; the definition of the
// reduction trees that the code generators reproduce.
#include "cpu/cpu.h"

#include <cstring>

#include "graph/eval/scalar_eval.h"
#include "runtime/array.h"

namespace pijit {
namespace {

template <class F>
void with_acc_type(DType t, F f) {
  switch (t) {
    case DType::Bool:
    case DType::U8: return f(uint8_t{});
    case DType::I8: return f(int8_t{});
    case DType::I16: return f(int16_t{});
    case DType::U16: return f(uint16_t{});
    case DType::I32: return f(int32_t{});
    case DType::U32: return f(uint32_t{});
    case DType::I64: return f(int64_t{});
    case DType::U64: return f(uint64_t{});
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    case DType::F16:
    case DType::BF16:
    case DType::C64:
    case DType::C128: break;
  }
  throw InternalError("reduction of a half or complex value");
}

template <class T>
T combine_one(Combiner c, T a, T b) {
  switch (c) {
    case Combiner::kSum: return static_cast<T>(a + b);
    case Combiner::kProd: return static_cast<T>(a * b);
    case Combiner::kMax: return a != a ? a : a > b ? a : b;
    case Combiner::kMin: return a != a ? a : a < b ? a : b;
    case Combiner::kAll: return static_cast<T>(a && b);
    default: return static_cast<T>(a || b);
  }
}

class BlockLoop : public InnerLoop {
 public:
  explicit BlockLoop(const InnerSpec& s) : spec_(s), program_(s.body, nodes(s), types(s)) {}

  void run(char* const* ptrs, int64_t n, int64_t passes, const int64_t* steps) const override {
    if (passes == 1) return pass(ptrs, n);
    char* at[64];
    const size_t count = spec_.in_types.size() + spec_.out.size();
    std::copy_n(ptrs, count, at);
    while (passes-- > 0) {
      pass(at, n);
      for (size_t k = 0; k < count; ++k) at[k] += steps[k];
    }
  }

 private:
  void pass(char* const* ptrs, int64_t n) const {
    const size_t ni = spec_.in_types.size(), no = spec_.out.size();
    void* dst[64];
    int64_t stride[64];
    for (size_t k = 0; k < no; ++k) {
      const bool reduce = spec_.out[k].combine != Combiner::kNone;
      dst[k] = reduce ? allocate(n * 8 + 8) : ptrs[ni + k];
      stride[k] = reduce ? 1 : spec_.out_strides[k];
    }
    program_.run(reinterpret_cast<const void* const*>(ptrs), spec_.in_strides.data(),
                 spec_.in_types.data(), dst, stride, n);
    for (size_t k = 0; k < no; ++k) {
      const auto& o = spec_.out[k];
      if (o.combine == Combiner::kNone) continue;
      with_acc_type(o.dt, [&](auto zero) {
        using T = decltype(zero);
        const T* x = static_cast<const T*>(dst[k]);
        if (spec_.form == LoopSpec::kCol) {
          T* acc = reinterpret_cast<T*>(ptrs[ni + k]);
          for (int64_t i = 0; i < n; ++i) acc[i] = combine_one(o.combine, acc[i], x[i]);
        } else {
          constexpr int kLanes = kLaneBytes / sizeof(T);
          T lane[kLanes];
          const uint64_t id = combiner_identity(o.combine, o.dt);
          for (auto& l : lane) std::memcpy(&l, &id, sizeof(T));
          for (int64_t i = 0; i < n; ++i)
            lane[i % kLanes] = combine_one(o.combine, lane[i % kLanes], x[i]);
          for (int h = kLanes / 2; h > 0; h /= 2)
            for (int i = 0; i < h; ++i) lane[i] = combine_one(o.combine, lane[i], lane[i + h]);
          std::memcpy(ptrs[ni + k], lane, sizeof(T));
        }
      });
      release(dst[k], n * 8 + 8);
    }
  }

  static std::vector<int> nodes(const InnerSpec& s) {
    std::vector<int> v;
    for (auto& o : s.out) v.push_back(o.node);
    return v;
  }
  static std::vector<DType> types(const InnerSpec& s) {
    std::vector<DType> v;
    for (auto& o : s.out) v.push_back(o.dt);
    return v;
  }
  InnerSpec spec_;
  BlockProgram program_;
};

}  // namespace

std::shared_ptr<const InnerLoop> block_inner_loop(const InnerSpec& s) {
  return std::make_shared<BlockLoop>(s);
}

}  // namespace pijit
