// Matrix products.
#include "cpu/onednn/onednn.h"

namespace pijit::onednn {
namespace {

// oneDNN's products of float32 without AVX-512 step through an operand from row to row, along the
// axis that is summed over, unless its rows are that axis. Where rows lie a multiple of 2 KiB
// apart, these share few sets of the cache: such an operand is copied, its rows a bit further apart
// (1024 x 512 x 256: 35 GFLOPS become 85). `uses` of the copy must make up for it.
memory::desc spread(const memory::desc& d, int summed, int64_t uses) {
  const Ints dims = d.get_dims();
  Ints strides = d.get_strides();
  const int rank = static_cast<int>(dims.size()), other = 2 * rank - 3 - summed;
  const int64_t row = dims[other];
  if (strides[other] != 1 || strides[summed] != row || row % 512 != 0 || dims[summed] < 64 ||
      uses < 32)
    return d;
  for (int k = 0; k < rank; ++k)
    if (k != other) strides[k] = strides[k] / row * (row + 16);
  return desc(dims, strides);
}

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const DType t = r.out.dtype;
    auto operand = [&](const Shape& s, bool trans, int rank) {
      Ints d = s.numbers(), st = row_major(d);
      if (trans) {
        std::swap(d[d.size() - 1], d[d.size() - 2]);
        std::swap(st[st.size() - 1], st[st.size() - 2]);
      }
      while (static_cast<int>(d.size()) < rank)
        d.insert(d.begin(), 1), st.insert(st.begin(), s.numel());
      return desc(d, st, t);
    };
    const int rank = r.out.shape.rank();
    const auto a = operand(r.in[0].shape, r.ctx().flag("trans_a"), rank),
               b = operand(r.in[1].shape, r.ctx().flag("trans_b"), rank);
    const auto c = desc(r.out.shape.numbers(), row_major(r.out.shape.numbers()), t);
    const Threads threads(
        threads_for(r, 2.0 * static_cast<double>(r.out.shape.numel() * a.get_dims().back())));
    dnnl::matmul::primitive_desc pd(engine(), a, b, c, attributes());
    auto a_inside = a, b_inside = b;
    if (std::string_view(pd.impl_info_str()).starts_with("gemm:jit:f32")) {
      const int64_t m = c.get_dims()[rank - 2], n = c.get_dims()[rank - 1];
      a_inside = spread(a, rank - 1, n);
      b_inside = spread(b, rank - 2, m);
      pd = {engine(), a_inside, b_inside, c, attributes()};
    }
    return std::make_unique<Primitive>(
        dnnl::matmul(not_plain_loops(pd, t)),
        std::vector<Primitive::Arg>{{DNNL_ARG_SRC, a, a_inside}, {DNNL_ARG_WEIGHTS, b, b_inside}},
        Primitive::Arg{DNNL_ARG_DST, c, c});
  });
}

std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const DType t = r.out.dtype;
    const int64_t k = r.in[1].shape[1], n = r.in[1].shape[0], m = r.in[0].shape.numel() / k;
    const auto x = desc({m, k}, Ints{k, 1}, t), w = desc({k, n}, Ints{1, k}, t),
               b = desc({1, n}, Ints{n, 1}, t), y = desc({m, n}, Ints{n, 1}, t);
    const std::vector<Primitive::Arg> in{{DNNL_ARG_SRC, x, x},
                                         {DNNL_ARG_WEIGHTS, w, w},
                                         {r.present[2] ? DNNL_ARG_BIAS : Primitive::kAbsent, b, b}};
    const Threads threads(threads_for(r, 2.0 * static_cast<double>(m * n * k)));
    const auto attr = r.op.has(kPhysical) ? post_ops({}, epilogue_of(r).activation) : attributes();
    const auto pd = r.present[2] ? dnnl::matmul::primitive_desc(engine(), x, w, b, y, attr)
                                 : dnnl::matmul::primitive_desc(engine(), x, w, y, attr);
    return std::make_unique<Primitive>(dnnl::matmul(not_plain_loops(pd, t)), in,
                                       Primitive::Arg{DNNL_ARG_DST, y, y});
  });
}

}  // namespace

KernelFamily matmul_kernels() {
  return {"onednn",
          {{"matmul", for_threads<matmul>},
           {"dense", for_threads<dense>},
           {"dense_post", for_threads<dense>}}};
}

}  // namespace pijit::onednn
