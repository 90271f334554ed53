// Layer normalisation and, where no code can be generated for loops, batch normalisation and
// softmax. Generated loops are as fast or faster for those two (README); interpreted ones 10 to 30
// times slower. The statistics of a batch are sums, whose order in oneDNN is that of its layouts
// and threads: they are our own, in both modes and for any number of threads the same.
#include "cpu/onednn/onednn.h"

#include <cmath>

namespace pijit::onednn {
namespace {

std::unique_ptr<OpKernel> layer_norm(const KernelRequest& r, std::string* why) {
  if (!serves_bf16_too(r, why)) return nullptr;
  // Below, making a call costs more than it saves.
  if (r.out.shape.numel() < 4096) return *why = "small", nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const int64_t begin = r.ctx().i("begin");
    int64_t rows = 1, n = 1;
    for (int k = 0; k < r.out.shape.rank(); ++k) (k < begin ? rows : n) *= r.out.shape[k];
    const DType t = r.out.dtype;
    const auto x = desc({rows, n}, tag::ab, t), from = desc({n}, tag::a, t), g = desc({n}, tag::a);
    using dnnl::normalization_flags;
    const Threads threads(threads_for(r, 8.0 * static_cast<double>(rows * n)));
    auto flags = normalization_flags::none;
    if (r.present[1]) flags |= normalization_flags::use_scale;
    if (r.present[2]) flags |= normalization_flags::use_shift;
    const dnnl::layer_normalization_forward::primitive_desc pd(
        engine(), dnnl::prop_kind::forward_inference, x, x, static_cast<float>(r.ctx().f("eps")),
        flags, attributes());
    return std::make_unique<Primitive>(
        dnnl::layer_normalization_forward(not_plain_loops(pd, t)),
        std::vector<Primitive::Arg>{{DNNL_ARG_SRC, x, x},
                                    {r.present[1] ? DNNL_ARG_SCALE : Primitive::kAbsent, from, g},
                                    {r.present[2] ? DNNL_ARG_SHIFT : Primitive::kAbsent, from, g}},
        Primitive::Arg{DNNL_ARG_DST, x, x});
  });
}

// Batch normalisation, given its statistics: all but x differ from channel to channel alone.
std::unique_ptr<OpKernel> normalize(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  if (generates_code()) return *why = "generated loops are as fast", nullptr;
  const Shape& s = r.out.shape;
  const int rank = s.rank();
  if (rank < 2 || rank > 5) return *why = "no batch of channels", nullptr;
  for (size_t k = 1; k < r.in.size(); ++k) {
    if (!r.present[k]) continue;
    const Shape& of = r.in[k].shape;
    const int channels = of.rank() - rank + 1;
    if (channels < 0 || of[channels] != s[1] || of.numel() != s[1])
      return *why = "not by channel", nullptr;
  }
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const auto x = desc(s.numbers(), row_major(s.numbers()));
    const auto per_channel = desc({s[1]}, tag::a);
    using dnnl::normalization_flags;
    const Threads threads(threads_for(r, 8.0 * static_cast<double>(s.numel())));
    auto flags = normalization_flags::use_global_stats;
    if (r.present[3]) flags |= normalization_flags::use_scale;
    if (r.present[4]) flags |= normalization_flags::use_shift;
    const dnnl::batch_normalization_forward::primitive_desc pd(
        engine(), dnnl::prop_kind::forward_inference, x, x, static_cast<float>(r.ctx().f("eps")),
        flags, attributes());
    return std::make_unique<Primitive>(
        dnnl::batch_normalization_forward(pd),
        std::vector<Primitive::Arg>{
            {DNNL_ARG_SRC, x, x},
            {DNNL_ARG_MEAN, per_channel, per_channel},
            {DNNL_ARG_VARIANCE, per_channel, per_channel},
            {r.present[3] ? DNNL_ARG_SCALE : Primitive::kAbsent, per_channel, per_channel},
            {r.present[4] ? DNNL_ARG_SHIFT : Primitive::kAbsent, per_channel, per_channel}},
        Primitive::Arg{DNNL_ARG_DST, x, x});
  });
}

// oneDNN passes over NaN when it looks for the maximum, so a row of an infinity or a NaN comes out
// as NaN there and as a number elsewhere. All of the row is NaN by IEEE 754.
class Softmax : public OpKernel {
 public:
  Softmax(std::unique_ptr<Primitive> p, int64_t rows, int64_t n)
      : primitive_(std::move(p)), rows_(rows), n_(n) {}
  void run(const void* const* in, void* out) override {
    primitive_->run(in, out);
    parallel_for(rows_, 1 + 65536 / n_, [&](int64_t from, int64_t to) {
      for (float* y = static_cast<float*>(out) + from * n_; from < to; ++from, y += n_) {
        bool numbers = true;
        for (int64_t k = 0; k < n_; ++k) numbers &= y[k] == y[k];
        if (!numbers) std::fill_n(y, n_, std::nanf(""));
      }
    });
  }

 private:
  std::unique_ptr<Primitive> primitive_;
  int64_t rows_, n_;
};
template <dnnl::algorithm kind>
std::unique_ptr<OpKernel> softmax(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  if (generates_code()) return *why = "generated loops are as fast", nullptr;
  const int rank = r.out.shape.rank(), axis = normalize_axis("softmax", r.ctx().i("axis"), rank);
  if (axis != rank - 1) return *why = "plain loops for other axes than the last", nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const int64_t n = r.out.shape[axis], rows = r.out.shape.numel() / n;
    const auto x = desc({rows, n}, tag::ab);
    const Threads threads(threads_for(r, 16.0 * static_cast<double>(rows * n)));
    const dnnl::softmax_forward::primitive_desc pd(engine(), dnnl::prop_kind::forward_inference,
                                                   kind, x, x, 1, attributes());
    return std::make_unique<Softmax>(
        std::make_unique<Primitive>(dnnl::softmax_forward(pd),
                                    std::vector<Primitive::Arg>{{DNNL_ARG_SRC, x, x}},
                                    Primitive::Arg{DNNL_ARG_DST, x, x}),
        rows, n);
  });
}

}  // namespace

KernelFamily norm_kernels() {
  return {"onednn",
          {{"layer_norm", for_threads<layer_norm>},
           {"normalize", for_threads<normalize>},
           {"softmax", for_threads<softmax<dnnl::algorithm::softmax_accurate>>},
           {"log_softmax", for_threads<softmax<dnnl::algorithm::softmax_log>>}}};
}

}  // namespace pijit::onednn
