// oneDNN candidates: float32 matrix products and convolutions. Primitives are built once per kernel
// and hold their scratch memory; tensors stay row-major outside, layouts that oneDNN prefers are
// made by reorders inside the kernel.
#include <dnnl.hpp>
#include <omp.h>

#include <cstring>
#include <mutex>

#include "cpu/cpu.h"
#include "runtime/array.h"

namespace pijit {
namespace {

using dnnl::memory;
using Ints = std::vector<int64_t>;
using tag = memory::format_tag;

dnnl::engine& engine() {
  static auto* e = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *e;
}
dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  return s;
}

memory::desc desc(const Ints& dims, const Ints& strides) {
  return {dims, memory::data_type::f32, strides};
}
memory::desc desc(const Ints& dims, tag t) { return {dims, memory::data_type::f32, t}; }
Ints row_major(const Ints& d) {
  Ints s(d.size(), 1);
  for (size_t i = d.size(); i-- > 1;) s[i - 1] = s[i] * d[i];
  return s;
}

bool serves(const KernelRequest& r, std::string* why) {
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != DType::F32) return *why = "dtype is not float32", false;
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].shape.numel() == 0) return *why = "empty tensor", false;
  if (r.out.shape.numel() == 0) return *why = "empty tensor", false;
  return true;
}

// A primitive with arguments that come from outside in plain layout and may need a reorder. Small
// problems run on the calling thread: a barrier, and data in the other core's cache, cost more.
// Memory objects are made once and pointed at the data of each call.
class Primitive : public OpKernel {
 public:
  struct Arg {
    int id;
    memory::desc outside, inside;
  };
  Primitive(dnnl::primitive p, const std::vector<Arg>& in, const Arg& out, double flops)
      : prim_(std::move(p)) {
    size_t bytes = out.outside.get_size();
    for (auto& a : in) bytes += a.outside.get_size();
    small_ = flops < 6e6 && bytes < (size_t{1} << 20);
    for (auto& a : in) bound_.push_back(bind(a, true));
    bound_.push_back(bind(out, false));
    for (auto& b : bound_) args_.push_back({b.id, (b.reorder ? b.inside : b.outside).get()});
  }

  void run(const void* const* in, void* out) override {
    std::lock_guard lock(mu_);
    const int saved = omp_get_max_threads();
    const int want = small_ ? 1 : max_threads();
    if (want != saved) omp_set_num_threads(want);
    Scratch scratch;
    dnnl::stream& s = stream();
    for (size_t i = 0; i < bound_.size(); ++i) {
      Bound& b = bound_[i];
      const bool last = i + 1 == bound_.size();
      b.outside.set_data_handle(last ? out : const_cast<void*>(in[i]));
      if (!b.reorder) continue;
      b.inside.set_data_handle(scratch.take(b.inside.get_desc().get_size()));
      if (!last) execute(b.reorder, b.reorder_args, 2, s);
    }
    execute(prim_, args_.data(), args_.size(), s);
    if (bound_.back().reorder) execute(bound_.back().reorder, bound_.back().reorder_args, 2, s);
    s.wait();
    if (want != saved) omp_set_num_threads(saved);
  }

 private:
  // Memory for other layouts comes from the array pool: freshly mapped pages would cost more than
  // the work.
  struct Scratch {
    std::vector<std::pair<void*, size_t>> blocks;
    void* take(size_t n) {
      blocks.push_back({allocate(n), n});
      return blocks.back().first;
    }
    ~Scratch() {
      for (auto [p, n] : blocks) release(p, n);
    }
  };
  struct Bound {
    int id;
    memory outside, inside;
    dnnl::primitive reorder;  // empty: not needed
    dnnl_exec_arg_t reorder_args[2];
  };
  static Bound bind(const Arg& a, bool input) {
    Bound b{a.id, memory(a.outside, engine(), nullptr), {}, {}, {}};
    if (a.inside == a.outside) return b;
    b.inside = memory(a.inside, engine(), nullptr);
    const memory &from = input ? b.outside : b.inside, &to = input ? b.inside : b.outside;
    b.reorder = dnnl::reorder(from, to);
    b.reorder_args[0] = {DNNL_ARG_FROM, from.get()};
    b.reorder_args[1] = {DNNL_ARG_TO, to.get()};
    return b;
  }
  static void execute(const dnnl::primitive& p, const dnnl_exec_arg_t* args, size_t n,
                      dnnl::stream& s) {
    const dnnl_status_t status =
        dnnl_primitive_execute(p.get(), s.get(), static_cast<int>(n), args);
    PIJIT_CHECK(status == dnnl_success, "oneDNN: status ", static_cast<int>(status));
  }
  dnnl::primitive prim_;
  std::vector<Bound> bound_;  // inputs, then the output
  std::vector<dnnl_exec_arg_t> args_;
  std::mutex mu_;  // the memory objects belong to one call at a time
  bool small_;
};

template <class F>
std::unique_ptr<OpKernel> guarded(std::string* why, F f) {
  try {
    return f();
  } catch (const dnnl::error& e) {
    *why = e.what();
    return nullptr;
  }
}

std::unique_ptr<OpKernel> matmul(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    auto operand = [&](const Shape& s, bool trans, int rank) {
      Ints d = s.vec(), st = row_major(d);
      if (trans) {
        std::swap(d[d.size() - 1], d[d.size() - 2]);
        std::swap(st[st.size() - 1], st[st.size() - 2]);
      }
      while (static_cast<int>(d.size()) < rank)
        d.insert(d.begin(), 1), st.insert(st.begin(), s.numel());
      return desc(d, st);
    };
    const int rank = r.out.shape.rank();
    const auto a = operand(r.in[0].shape, r.ctx().flag("trans_a"), rank),
               b = operand(r.in[1].shape, r.ctx().flag("trans_b"), rank);
    const auto c = desc(r.out.shape.vec(), row_major(r.out.shape.vec()));
    dnnl::matmul::primitive_desc pd(engine(), a, b, c);
    const double flops =
        2.0 * static_cast<double>(r.out.shape.numel()) * static_cast<double>(a.get_dims().back());
    return std::make_unique<Primitive>(
        dnnl::matmul(pd),
        std::vector<Primitive::Arg>{{DNNL_ARG_SRC, a, a}, {DNNL_ARG_WEIGHTS, b, b}},
        Primitive::Arg{DNNL_ARG_DST, c, c}, flops);
  });
}

std::unique_ptr<OpKernel> dense(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const int64_t k = r.in[1].shape[1], n = r.in[1].shape[0], m = r.in[0].shape.numel() / k;
    const auto x = desc({m, k}, Ints{k, 1}), w = desc({k, n}, Ints{1, k}),
               b = desc({1, n}, Ints{n, 1}), y = desc({m, n}, Ints{n, 1});
    std::vector<Primitive::Arg> in{
        {DNNL_ARG_SRC, x, x}, {DNNL_ARG_WEIGHTS, w, w}, {DNNL_ARG_BIAS, b, b}};
    const auto pd = r.present[2] ? dnnl::matmul::primitive_desc(engine(), x, w, b, y)
                                 : dnnl::matmul::primitive_desc(engine(), x, w, y);
    if (!r.present[2]) in.pop_back();
    return std::make_unique<Primitive>(dnnl::matmul(pd), in, Primitive::Arg{DNNL_ARG_DST, y, y},
                                       2.0 * static_cast<double>(m * n * k));
  });
}

struct Conv {
  Ints x, w, y, stride, dil, pad_lo, pad_hi;
  memory::desc any(const Ints& d) const { return desc(d, tag::any); }
  memory::desc x_plain, w_plain, y_plain;
  double flops;
};
Conv conv_of(const KernelRequest& r, const Shape& x, const Shape& w, const Shape& y) {
  const OpCtx c = r.ctx();
  Conv v;
  v.x = x.vec();
  v.y = y.vec();
  v.w = w.vec();
  const int64_t g = c.i("group");
  v.flops = 2.0 * static_cast<double>(y.numel()) * static_cast<double>(w[1] * w[2] * w[3]);
  if (g > 1) v.w = {g, w[0] / g, w[1], w[2], w[3]};
  v.stride = c.ints("stride");
  for (auto d : c.ints("dilation")) v.dil.push_back(d - 1);
  const Ints& p = c.ints("pad");
  v.pad_lo = {p[0], p[2]};
  v.pad_hi = {p[1], p[3]};
  v.x_plain = desc(v.x, row_major(v.x));
  v.y_plain = desc(v.y, row_major(v.y));
  v.w_plain = desc(v.w, row_major(v.w));
  return v;
}
using dnnl::algorithm;
dnnl::convolution_forward::primitive_desc forward_pd(const Conv& c, bool bias) {
  const auto kind = dnnl::prop_kind::forward_training;
  if (bias)
    return {engine(),   kind,       algorithm::convolution_direct,
            c.any(c.x), c.any(c.w), desc({c.y[1]}, tag::a),
            c.any(c.y), c.stride,   c.dil,
            c.pad_lo,   c.pad_hi};
  return {engine(),   kind,       algorithm::convolution_direct,
          c.any(c.x), c.any(c.w), c.any(c.y),
          c.stride,   c.dil,      c.pad_lo,
          c.pad_hi};
}

std::unique_ptr<OpKernel> conv2d(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const Conv c = conv_of(r, r.in[0].shape, r.in[1].shape, r.out.shape);
    const auto pd = forward_pd(c, r.present[2]);
    std::vector<Primitive::Arg> in{{DNNL_ARG_SRC, c.x_plain, pd.src_desc()},
                                   {DNNL_ARG_WEIGHTS, c.w_plain, pd.weights_desc()}};
    if (r.present[2]) in.push_back({DNNL_ARG_BIAS, pd.bias_desc(), pd.bias_desc()});
    return std::make_unique<Primitive>(dnnl::convolution_forward(pd), in,
                                       Primitive::Arg{DNNL_ARG_DST, c.y_plain, pd.dst_desc()},
                                       c.flops);
  });
}
std::unique_ptr<OpKernel> conv2d_dx(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const Conv c = conv_of(r, r.out.shape, r.in[1].shape, r.in[0].shape);
    const dnnl::convolution_backward_data::primitive_desc pd(
        engine(), algorithm::convolution_direct, c.any(c.x), c.any(c.w), c.any(c.y), c.stride,
        c.dil, c.pad_lo, c.pad_hi, forward_pd(c, false));
    return std::make_unique<Primitive>(
        dnnl::convolution_backward_data(pd),
        std::vector<Primitive::Arg>{{DNNL_ARG_DIFF_DST, c.y_plain, pd.diff_dst_desc()},
                                    {DNNL_ARG_WEIGHTS, c.w_plain, pd.weights_desc()}},
        Primitive::Arg{DNNL_ARG_DIFF_SRC, c.x_plain, pd.diff_src_desc()}, c.flops);
  });
}
std::unique_ptr<OpKernel> conv2d_dw(const KernelRequest& r, std::string* why) {
  if (!serves(r, why)) return nullptr;
  return guarded(why, [&]() -> std::unique_ptr<OpKernel> {
    const Conv c = conv_of(r, r.in[0].shape, r.out.shape, r.in[1].shape);
    // Few input channels leave most of a channel block empty; with channels last nothing is padded
    // (measured: 6 to 16 channels, 5 x 5: 55 us instead of 106).
    const auto layout = c.x[1] <= 16 && c.y[1] >= 16 ? tag::nhwc : tag::any;
    const dnnl::convolution_backward_weights::primitive_desc pd(
        engine(), algorithm::convolution_direct, desc(c.x, layout), c.any(c.w), desc(c.y, layout),
        c.stride, c.dil, c.pad_lo, c.pad_hi, forward_pd(c, false));
    return std::make_unique<Primitive>(
        dnnl::convolution_backward_weights(pd),
        std::vector<Primitive::Arg>{{DNNL_ARG_SRC, c.x_plain, pd.src_desc()},
                                    {DNNL_ARG_DIFF_DST, c.y_plain, pd.diff_dst_desc()}},
        Primitive::Arg{DNNL_ARG_DIFF_WEIGHTS, c.w_plain, pd.diff_weights_desc()}, c.flops);
  });
}

}  // namespace

void register_onednn_kernels(KernelRegistry& r) {
  r.add("matmul", {"onednn", matmul});
  r.add("dense", {"onednn", dense});
  r.add("conv2d", {"onednn", conv2d});
  r.add("conv2d_dx", {"onednn", conv2d_dx});
  r.add("conv2d_dw", {"onednn", conv2d_dw});
}

}  // namespace pijit
