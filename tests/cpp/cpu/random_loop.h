// Random loops of 5 to 30 ops over all elementwise ops, and random data for them.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cpu/cpu.h"
#include "graph/graph.h"

namespace pijit {

class RandomLoop {
 public:
  explicit RandomLoop(uint32_t seed) : rng_(seed) {
    const int inputs = pick(1, 3), length = pick(5, 30);
    std::vector<Val> pool;
    for (int k = 0; k < inputs; ++k) {
      const DType t = any_of(kTypes);
      pool.push_back(graph_.add_input({t, Shape{}}));
      spec_.in_types.push_back(t);
      spec_.in_strides.push_back(pick(0, 4) == 0 ? 0 : 1);
    }
    for (int tries = 0; tries < 40 * length && static_cast<int>(pool.size()) < length; ++tries) {
      Val v = random_op(pool);
      if (v) pool.push_back(v);
    }
    // The last value, and perhaps others that stay alive beside it.
    std::vector<Val> results = {pool.back()};
    while (pick(0, 2) == 0) results.push_back(any_of(pool));
    for (Val v : results) graph_.outputs.push_back({v.id});
    spec_.form = static_cast<LoopSpec::Form>(pick(0, 2));
    translate(results);
  }

  const InnerSpec& spec() const { return spec_; }
  std::string text() const { return graph_.print(false); }

  // Runs with new data; the outputs' bytes, NaN in one form.
  std::vector<std::vector<uint8_t>> run(const InnerLoop& loop, int64_t n) {
    std::mt19937 data(17);
    std::vector<std::vector<uint8_t>> in, out;
    std::vector<char*> ptrs;
    for (DType t : spec_.in_types) in.push_back(random_values(t, n, data));
    for (auto& o : spec_.out) {
      std::vector<uint8_t> bytes(n * size_of(o.dt));
      const uint64_t id = o.combine == Combiner::kNone ? 0 : combiner_identity(o.combine, o.dt);
      for (int64_t i = 0; i < n; ++i) std::memcpy(&bytes[i * size_of(o.dt)], &id, size_of(o.dt));
      out.push_back(bytes);
    }
    for (auto& x : in) ptrs.push_back(reinterpret_cast<char*>(x.data()));
    for (auto& x : out) ptrs.push_back(reinterpret_cast<char*>(x.data()));
    loop.run(ptrs.data(), n);
    for (size_t k = 0; k < out.size(); ++k) one_nan(spec_.out[k].dt, out[k]);
    return out;
  }

  static std::vector<uint8_t> random_values(DType t, int64_t n, std::mt19937& data) {
    static const double special[] = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.5,
                                     1e-3,
                                     80.0,
                                     -300.0,
                                     1e5,
                                     3e38,
                                     1e-40,
                                     std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::quiet_NaN()};
    SBuilder sb;
    std::vector<uint8_t> bytes(n * size_of(t));
    for (int64_t i = 0; i < n; ++i) {
      double v = std::normal_distribution<double>(0, 2)(data);
      if (data() % 8 == 0) v = special[data() % std::size(special)];
      if (!is_float(t)) v = std::isfinite(v) && std::fabs(v) < 1e6 ? std::trunc(3 * v) : 7;
      const uint64_t bits = is_float(t) || is_bool(t)
                                ? sb.nodes[sb.constant(t, is_bool(t) ? v != 0 : v).id].imm
                                : sb.nodes[sb.constant_int(t, static_cast<int64_t>(v)).id].imm;
      std::memcpy(&bytes[i * size_of(t)], &bits, size_of(t));
    }
    return bytes;
  }

  // Which of two NaNs an instruction hands on differs, and nothing promises it.
  static void one_nan(DType t, std::vector<uint8_t>& bytes) {
    auto each = [&](auto zero, auto is_nan) {
      using T = decltype(zero);
      for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
        T x;
        std::memcpy(&x, &bytes[i], sizeof(T));
        if (is_nan(x)) x = static_cast<T>(~T{});
        std::memcpy(&bytes[i], &x, sizeof(T));
      }
    };
    if (t == DType::F32)
      each(uint32_t{}, [](uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; });
    else if (t == DType::F64)
      each(uint64_t{}, [](uint64_t x) { return (x & ~(1ull << 63)) > 0x7ffull << 52; });
    else if (t == DType::F16)
      each(uint16_t{}, [](uint16_t x) { return (x & 0x7fff) > 0x7c00; });
    else if (t == DType::BF16)
      each(uint16_t{}, [](uint16_t x) { return (x & 0x7fff) > 0x7f80; });
  }

 private:
  inline static const std::vector<DType> kTypes = {DType::F32,  DType::F32, DType::F32,
                                                   DType::F64,  DType::I32, DType::I64,
                                                   DType::Bool, DType::F16, DType::BF16};

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng_); }
  template <class T>
  const T& any_of(const std::vector<T>& v) {
    return v[pick(0, static_cast<int>(v.size()) - 1)];
  }

  // Some elementwise op on values of the pool, newer ones preferred; none if it does not take them.
  Val random_op(const std::vector<Val>& pool) {
    static const std::vector<const OpDef*> ops = [] {
      std::vector<const OpDef*> r;
      for (auto& op : OpTable::get().all())
        if (op->has(kElementwise) && op->scalar && !op->inputs.empty()) r.push_back(op.get());
      return r;
    }();
    const OpDef& op = *any_of(ops);
    Attrs attrs;
    for (auto& a : op.attrs) {
      if (a.kind == AttrKind::kDType)
        attrs.push_back(any_of(kTypes));
      else if (!a.required)
        attrs.push_back(a.def);
      else
        return {};
    }
    std::vector<Val> in;
    for (size_t k = 0; k < op.inputs.size(); ++k)
      in.push_back(pick(0, 1) ? pool[pool.size() - 1 - pick(0, std::min<int>(3, pool.size() - 1))]
                              : any_of(pool));
    try {
      const Val v = graph_.Builder::op(op, in, attrs);
      return v;
    } catch (const OpError&) {  // the op does not take these dtypes
    }
    return {};
  }

  void translate(const std::vector<Val>& results) {
    SBuilder sb;
    std::vector<SVal> value(graph_.size());
    int inputs = 0;
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      const Node& n = graph_.node(id);
      if (n.kind == Node::kInput) {
        value[n.id] = sb.input(inputs++, n.type.dtype);
      } else if (n.kind == Node::kConst) {
        value[n.id] = sb.bits(n.type.dtype, n.bits);
      } else {
        std::vector<SVal> x;
        for (uint32_t k : n.in) x.push_back(value[k]);
        value[n.id] = build_scalar(sb, *n.op, n.attrs, x, n.type.dtype);
      }
    }
    spec_.body = sb.nodes;
    for (Val v : results) {
      LoopOutput o;
      o.node = value[v.id].id;
      o.dt = v.dtype();
      const bool foldable = !is_bool(o.dt) && !is_half(o.dt) && size_of(o.dt) >= 4;
      if (spec_.form != LoopSpec::kMap && foldable)
        o.combine = any_of(
            std::vector<Combiner>{Combiner::kSum, Combiner::kProd, Combiner::kMax, Combiner::kMin});
      else
        spec_.form = LoopSpec::kMap;
      spec_.out.push_back(o);
      spec_.out_strides.push_back(1);
    }
    if (spec_.form == LoopSpec::kMap)
      for (auto& o : spec_.out) o.combine = Combiner::kNone;
  }

  std::mt19937 rng_;
  Graph graph_;
  InnerSpec spec_;
};

}  // namespace pijit
