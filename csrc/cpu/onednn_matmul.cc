// Matrix products.
#include "cpu/onednn.h"

namespace pijit::onednn {
namespace {

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
    const dnnl::matmul::primitive_desc pd(engine(), a, b, c, attributes());
    return std::make_unique<Primitive>(
        dnnl::matmul(not_plain_loops(pd, t)),
        std::vector<Primitive::Arg>{{DNNL_ARG_SRC, a, a}, {DNNL_ARG_WEIGHTS, b, b}},
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
    const std::vector<Primitive::Arg> in{
        {DNNL_ARG_SRC, x, x}, {DNNL_ARG_WEIGHTS, w, w}, {DNNL_ARG_BIAS, b, b}};
    const Threads threads(threads_for(r, 2.0 * static_cast<double>(m * n * k)));
    const auto attr =
        r.op.name == "dense_post" ? post_ops({}, r.ctx().s("activation")) : attributes();
    const auto pd = r.present[2] ? dnnl::matmul::primitive_desc(engine(), x, w, b, y, attr)
                                 : dnnl::matmul::primitive_desc(engine(), x, w, y, attr);
    return std::make_unique<Primitive>(dnnl::matmul(not_plain_loops(pd, t)), in,
                                       Primitive::Arg{DNNL_ARG_DST, y, y});
  });
}

}  // namespace

void register_matmul(KernelRegistry& r) {
  r.add("matmul", {"onednn", for_threads<matmul>});
  r.add("dense", {"onednn", for_threads<dense>});
  r.add("dense_post", {"onednn", for_threads<dense>});
}

}  // namespace pijit::onednn
