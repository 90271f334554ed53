// oneDNN: matrix products, convolutions, pooling, normalisation and layout changes, of float32 and,
// where the processor has instructions for it, bfloat16. Primitives are built once per kernel;
// layouts that oneDNN prefers are made by reorders inside the kernel.
#include "cpu/onednn/onednn.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <tuple>

#include "absl/strings/str_join.h"
#include "cpu/onednn/openmp.h"
#include "cpu/thread_pool.h"
#include "runtime/packed.h"

namespace pijit {
namespace onednn {
namespace {

dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  return s;
}
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
memory::data_type type_of(DType t) {
  PIJIT_CHECK(t == DType::F32 || t == DType::BF16, "oneDNN: no kernel for ", name_of(t));
  return t == DType::F32 ? memory::data_type::f32 : memory::data_type::bf16;
}
// What a primitive holds, most of it code in pages of its own (measured: resident memory per
// product of ever new shapes).
constexpr size_t kPrimitiveBytes = 72 << 10;
// The library keeps primitives that were used last, so that who asks whether there is one and then
// makes it makes one. A network of 1,500 layers has 162 different ones.
constexpr int kKeptPrimitives = 512;
size_t scratch_bytes(const dnnl::primitive& p) {
  const auto desc = p.get_primitive_desc();
  const_dnnl_primitive_attr_t attr;
  dnnl_scratchpad_mode_t mode;
  dnnl::error::wrap_c_api(dnnl_primitive_desc_get_attr(desc, &attr), "no attributes");
  dnnl::error::wrap_c_api(dnnl_primitive_attr_get_scratchpad_mode(attr, &mode), "no mode");
  PIJIT_CHECK(mode == dnnl_scratchpad_mode_user, "oneDNN: a primitive without attributes()");
  return dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0));
}

// How far apart the elements of each dim lie: (stride, dim, extent), dims of 1 left out. Empty: not
// to be told by strides.
std::vector<std::tuple<int64_t, int, int64_t>> places(const memory::desc& d) {
  std::vector<std::tuple<int64_t, int, int64_t>> r;
  if (d.get_format_kind() != memory::format_kind::blocked || d.get_padded_dims() != d.get_dims())
    return r;
  Ints outer = d.get_dims();
  const Ints strides = d.get_strides(), blocks = d.get_inner_blks(), of = d.get_inner_idxs();
  int64_t stride = 1;
  for (size_t k = blocks.size(); k-- > 0; stride *= blocks[k]) {
    if (blocks[k] > 1) r.push_back({stride, static_cast<int>(of[k]), blocks[k]});
    outer[of[k]] /= blocks[k];
  }
  for (size_t i = 0; i < outer.size(); ++i)
    if (outer[i] > 1) r.push_back({strides[i], static_cast<int>(i), outer[i]});
  std::sort(r.begin(), r.end());
  return r;
}
// What tells a layout from others. Empty: it cannot be told.
std::string text_of(const memory::desc& d) {
  if (d.get_format_kind() != memory::format_kind::blocked) return "";
  std::string s = str_cat(static_cast<int>(d.get_data_type()), "+", d.get_submemory_offset());
  for (const Ints& numbers : {d.get_dims(), d.get_padded_dims(), d.get_padded_offsets(),
                              d.get_strides(), d.get_inner_blks(), d.get_inner_idxs()})
    s += "|" + absl::StrJoin(numbers, ",");
  return s;
}
// Where the elements of one layout, in the order of their places, lie in another that has nothing
// else. Nothing: not to be told by strides.
std::optional<Layout> order_in(const memory::desc& d, const memory::desc& of) {
  const Ints dims = d.get_dims();
  const auto elements = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  const auto bytes = static_cast<size_t>(elements) * memory::data_type_size(d.get_data_type());
  for (const auto& x : {d, of})
    if (x.get_format_kind() != memory::format_kind::blocked || x.get_padded_dims() != dims ||
        x.get_submemory_offset() != 0 || x.get_size() != bytes)
      return std::nullopt;
  if (d.get_data_type() != of.get_data_type() || of.get_inner_nblks() != 0) return std::nullopt;
  Ints outer = dims, plain = of.get_strides();
  const Ints strides = d.get_strides(), blocks = d.get_inner_blks(), idxs = d.get_inner_idxs();
  std::vector<Layout::Axis> axes;
  int64_t stride = 1;
  for (size_t k = blocks.size(); k-- > 0; stride *= blocks[k]) {
    const auto i = static_cast<size_t>(idxs[k]);
    axes.push_back({blocks[k], plain[i], stride});
    outer[i] /= blocks[k];
    plain[i] *= blocks[k];
  }
  for (size_t i = 0; i < dims.size(); ++i) axes.push_back({outer[i], plain[i], strides[i]});
  return Layout::in_order(std::move(axes));
}
// Is each element at the same place? Channels in one block, for example, are channels last.
bool same_places(const memory::desc& a, const memory::desc& b) {
  if (a == b) return true;
  if (a.get_data_type() != b.get_data_type() || a.get_dims() != b.get_dims() ||
      a.get_submemory_offset() != b.get_submemory_offset())
    return false;
  const auto p = places(a);
  return !p.empty() && p == places(b);
}

}  // namespace

dnnl::engine& engine() {
  static auto* e = [] {
    use_own_threads();
    if (!std::getenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY"))
      dnnl::set_primitive_cache_capacity(kKeptPrimitives);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *e;
}
memory::desc desc(const Ints& dims, const Ints& strides, DType t) {
  return {dims, type_of(t), strides};
}
memory::desc desc(const Ints& dims, tag layout, DType t) { return {dims, type_of(t), layout}; }
Ints row_major(const Ints& d) {
  Ints s(d.size(), 1);
  for (size_t i = d.size(); i-- > 1;) s[i - 1] = s[i] * d[i];
  return s;
}

Shape logical(const Shape& s) { return s.rank() == 5 ? Shape{s[0], s[1] * s[4], s[2], s[3]} : s; }
memory::desc feature_map(const Shape& s, DType t) {
  const Ints d = logical(s).numbers();
  return s.rank() == 5 ? in_blocks_of(s[4], d, t) : desc(d, row_major(d), t);
}
memory::desc in_blocks_of(int64_t b, const Ints& dims, DType t) {
  return desc(dims, b == 16 ? tag::nChw16c : tag::nChw8c, t);
}

bool serves(const KernelRequest& r, std::string* why) {
  if (r.out.dtype != DType::F32) return *why = "dtype is not float32", false;
  return serves_bf16_too(r, why);
}
bool serves_bf16_too(const KernelRequest& r, std::string* why) {
  if (r.out.dtype != DType::F32 && r.out.dtype != DType::BF16)
    return *why = "dtype is not float32 or bfloat16", false;
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].dtype != r.out.dtype)
      return *why = "operands differ in dtype", false;
  for (size_t i = 0; i < r.in.size(); ++i)
    if (r.present[i] && r.in[i].shape.numel() == 0) return *why = "empty tensor", false;
  if (r.out.shape.numel() == 0) return *why = "empty tensor", false;
  return true;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}
dnnl::reorder reorder_of(const memory::desc& from, const memory::desc& to) {
  return dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from, engine(), to, attributes()));
}

dnnl::primitive_attr post_ops(const memory::desc& residual, Activation activation) {
  using dnnl::algorithm;
  struct Form {
    algorithm as;
    float alpha, beta;
  };
  static constexpr std::array<Form, kActivations.size()> kForms{{
      {algorithm::undef, 0, 0},
      {algorithm::eltwise_relu, 0, 0},
      {algorithm::eltwise_clip, 0, 6},
      {algorithm::eltwise_hardswish, 1.0f / 6, 0.5f},
      {algorithm::eltwise_logistic, 0, 0},
      {algorithm::eltwise_tanh, 0, 0},
      {algorithm::eltwise_swish, 1, 0},
  }};
  dnnl::post_ops ops;
  if (residual.get_ndims() > 0) ops.append_binary(algorithm::binary_add, residual);
  const Form& form = kForms[static_cast<size_t>(activation)];
  if (activation != Activation::kNone) ops.append_eltwise(form.as, form.alpha, form.beta);
  dnnl::primitive_attr attr = attributes();
  attr.set_post_ops(ops);
  return attr;
}

int threads_for(const KernelRequest& r, double flops) {
  auto bytes_of = [](const Type& t) {
    return static_cast<size_t>(t.shape.numel()) * size_of(t.dtype);
  };
  size_t bytes = bytes_of(r.out);
  for (size_t k = 0; k < r.in.size(); ++k)
    if (r.present[k]) bytes += bytes_of(r.in[k]);
  return flops < 3e6 && bytes < (size_t{1} << 20) ? 1 : Threads::current();
}

std::unique_ptr<OpKernel> ForThreads::make(KernelFactory make, const KernelRequest& r,
                                           std::string* why) {
  auto k = std::make_unique<ForThreads>(make, r);
  if (!k->made_for(max_threads(), why)) return nullptr;
  return k;
}
OpKernel* ForThreads::now() {
  const int n = max_threads();
  const Made* m = current_.load(std::memory_order_acquire);
  if (m->threads != n) {
    std::string why;
    m = made_for(n, &why);
    PIJIT_CHECK(m, "oneDNN: refuses for ", n, " threads: ", why);
  }
  return m->kernel.get();
}
const ForThreads::Made* ForThreads::made_for(int threads, std::string* why) {
  std::lock_guard lock(mu_);
  const Made* m = nullptr;
  for (auto& k : all_)
    if (k->threads == threads) m = k.get();
  if (!m) {
    const Threads scope(threads);
    auto kernel = make_(request_.view(), why);
    if (!kernel) return nullptr;
    m = all_.emplace_back(std::make_unique<Made>(Made{threads, std::move(kernel)})).get();
  }
  current_.store(m, std::memory_order_release);
  return m;
}

Primitive::Primitive(dnnl::primitive p, const std::vector<Arg>& in, const Arg& out)
    : threads_(Threads::current()) {
  for (auto& a : in) bound_.push_back(bind(a, true));
  bound_.push_back(bind(out, false));
  std::vector<dnnl_exec_arg_t> args;
  for (auto& b : bound_)
    if (b.id != kAbsent) args.push_back({b.id, (b.reorder.p ? b.inside : b.outside).get()});
  call_ = Call(std::move(p), std::move(args));
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].id != DNNL_ARG_WEIGHTS || !bound_[i].reorder.p) continue;
    const std::string from = text_of(in[i].outside), to = text_of(in[i].inside);
    if (from.empty() || to.empty()) continue;
    packs_ = static_cast<int>(i);
    layout_ = str_cat("onednn ", from, " to ", to);
    order_ = order_in(in[i].inside, in[i].outside);
  }
}
Primitive::Call::Call(dnnl::primitive primitive, std::vector<dnnl_exec_arg_t> a)
    : p(std::move(primitive)), args(std::move(a)), bytes(kPrimitiveBytes) {
  const auto bytes = static_cast<int64_t>(scratch_bytes(p));
  if (bytes == 0) return;
  scratch = memory({{bytes}, memory::data_type::u8, tag::a}, engine(), nullptr);
  args.push_back({DNNL_ARG_SCRATCHPAD, scratch.get()});
}

void Primitive::run(const void* const* in, void* out, const OperandMemory* packed_memory) {
  std::lock_guard lock(mu_);
  const Threads scope(threads_);
  if (threads_ > 1) Team::of_this_thread(threads_);  // throws here rather than in the library
  Scratch scratch;
  std::shared_ptr<const Block> kept;
  dnnl::stream& s = stream();
  auto execute = [&](Call& c) {
    if (c.scratch) c.scratch.set_data_handle(scratch.take(c.scratch.get_desc().get_size()));
    const dnnl_status_t status =
        dnnl_primitive_execute(c.p.get(), s.get(), static_cast<int>(c.args.size()), c.args.data());
    PIJIT_CHECK(status == dnnl_success, "oneDNN: status ", static_cast<int>(status));
  };
  for (size_t i = 0; i < bound_.size(); ++i) {
    Bound& b = bound_[i];
    const bool last = i + 1 == bound_.size();
    if (!last && !in[i]) continue;
    b.outside.set_data_handle(last ? out : const_cast<void*>(in[i]));
    if (!b.reorder.p) continue;
    if (packed_memory && static_cast<int>(i) == packs_) {
      kept = packed_form(
          *packed_memory, layout_, b.inside.get_desc().get_size(),
          [&](void* to) {
            b.inside.set_data_handle(to);
            execute(b.reorder);
            s.wait();
          },
          order_);
      if (kept) {
        b.inside.set_data_handle(kept->p);
        continue;
      }
    }
    b.inside.set_data_handle(scratch.take(b.inside.get_desc().get_size()));
    if (!last) execute(b.reorder);
  }
  execute(call_);
  if (bound_.back().reorder.p) execute(bound_.back().reorder);
  s.wait();
}

Primitive::Bound Primitive::bind(const Arg& a, bool input) {
  if (same_places(a.inside, a.outside)) return {a.id, memory(a.inside, engine(), nullptr), {}, {}};
  Bound b{a.id, memory(a.outside, engine(), nullptr), {}, {}};
  b.inside = memory(a.inside, engine(), nullptr);
  const memory &from = input ? b.outside : b.inside, &to = input ? b.inside : b.outside;
  b.reorder = Call(reorder_of(from.get_desc(), to.get_desc()),
                   {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}});
  return b;
}

}  // namespace onednn

}  // namespace pijit
