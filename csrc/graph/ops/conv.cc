// Convolution and pooling on NCHW tensors. Each gradient is an op of its own, linear in both its
// tensor inputs, so that gradients of any order stay within the family.
#include "graph/vmap.h"
#include "graph/vals.h"

namespace pijit {
namespace {
using V = VjpCtx&;

Dim out_size(const OpCtx& c, Dim in, Dim k, Dim stride, Dim dil, Dim lo, Dim hi) {
  const Dim eff = dil * (k - 1) + 1;
  OP_CHECK(in + lo + hi >= eff, kValue, "[", c.op.name, "] the kernel of ", eff,
           " is larger than the padded input of ", in + lo + hi);
  return (in + lo + hi - eff) / stride + 1;
}
void check_window(const OpCtx& c, bool dilation) {
  OP_CHECK(c.ints("stride").size() == 2 && c.ints("pad").size() == 4, kValue, "[", c.op.name,
           "] expected 2 strides and 4 paddings");
  for (auto s : c.ints("stride"))
    OP_CHECK(s > 0, kValue, "[", c.op.name, "] stride must be > 0, got ", s);
  for (auto s : c.ints("pad"))
    OP_CHECK(s >= 0, kValue, "[", c.op.name, "] padding must be >= 0, got ", s);
  if (dilation) {
    OP_CHECK(c.ints("dilation").size() == 2, kValue, "[", c.op.name, "] expected 2 dilations");
    for (auto s : c.ints("dilation"))
      OP_CHECK(s > 0, kValue, "[", c.op.name, "] dilation must be > 0, got ", s);
  }
}
Shape conv_out(const OpCtx& c, const Shape& x, const Shape& w) {
  check_window(c, true);
  OP_CHECK(x.rank() == 4 && w.rank() == 4, kValue, "[", c.op.name,
           "] expected x[N,C,H,W] and w[O,C/group,kh,kw], got ", x.str(), " and ", w.str());
  const Dim g = c.i("group");
  OP_CHECK(g > 0 && x[1] == w[1] * g && w[0] % g == 0, kValue, "[", c.op.name, "] x ", x.str(),
           " has ", x[1], " channels, the weight ", w.str(), " takes ", w[1], " in each of ", g,
           " groups");
  const Dims &s = c.ints("stride"), &p = c.ints("pad"), &d = c.ints("dilation");
  return Shape{x[0], w[0], out_size(c, x[2], w[2], s[0], d[0], p[0], p[1]),
               out_size(c, x[3], w[3], s[1], d[1], p[2], p[3])};
}
OpEntry conv_attrs(OpEntry e) {
  return e.attr("stride", AttrKind::kInts, Dims{1, 1})
      .attr("pad", AttrKind::kInts, Dims{0, 0, 0, 0})
      .attr("dilation", AttrKind::kInts, Dims{1, 1})
      .attr("group", AttrKind::kInt, int64_t{1});
}
Attrs with_shape(const Attrs& a, const Shape& s) {
  Attrs r = a;
  r.resize(4);
  r.push_back(s.dims());
  return r;
}
Attrs without_shape(const Attrs& a) { return {a.begin(), a.begin() + 4}; }
Shape pool_out(const OpCtx& c, const Shape& x) {
  check_window(c, false);
  OP_CHECK(x.rank() == 4 && c.ints("kernel").size() == 2, kValue, "[", c.op.name,
           "] expected x[N,C,H,W] and 2 kernel sizes, got ", x.str());
  const Dims &k = c.ints("kernel"), &s = c.ints("stride"), &p = c.ints("pad");
  for (int i = 0; i < 2; ++i) {
    OP_CHECK(k[i] > 0, kValue, "[", c.op.name, "] kernel must be > 0, got ", k[i]);
    OP_CHECK(p[2 * i] < k[i] && p[2 * i + 1] < k[i], kValue, "[", c.op.name,
             "] padding must be smaller than the kernel");
  }
  return Shape{x[0], x[1], out_size(c, x[2], k[0], s[0], 1, p[0], p[1]),
               out_size(c, x[3], k[1], s[1], 1, p[2], p[3])};
}
OpEntry pool_attrs(OpEntry e) {
  return e.vmap(vmap_joined)
      .attr("kernel", AttrKind::kInts)
      .attr("stride", AttrKind::kInts)
      .attr("pad", AttrKind::kInts, Dims{0, 0, 0, 0});
}
void same_float(const InferCtx& c) {
  bool same = true;
  std::string got;
  for (size_t i = 0; i < c.in.size(); ++i) {
    if (!c.in[i]) continue;
    same &= is_float(c.x(i).dtype) && c.x(i).dtype == c.x(0).dtype;
    got += (got.empty() ? "" : " and ") + c.x(i).str();
  }
  OP_CHECK(same, kType, "[", c.op.name, "] expected floating operands of one dtype, got ", got);
}

// The batch joins the images where the weight is the same for all; else the channels, each element
// with groups of its own: [batch, images, channels, ...] to [images, batch * channels, ...].
Val images_to_channels(Val x) {
  const Shape& s = x.shape();
  return v_reshape(v_transpose(x, {1, 0, 2, 3, 4}), Shape{s[1], s[0] * s[2], s[3], s[4]});
}
Val channels_to_images(Val x, Dim batch) {
  const Shape& s = x.shape();
  return v_transpose(v_reshape(x, Shape{s[0], batch, s[1] / batch, s[2], s[3]}), {1, 0, 2, 3, 4});
}
Val weights_joined(Val w) {
  const Shape& s = w.shape();
  return v_reshape(w, Shape{s[0] * s[1], s[2], s[3], s[4]});
}
// Operands of the op in order: 'i' images, 'w' weights, 'b' a bias.
VmapFn vmap_conv(std::string operands, bool gives_weights) {
  return [operands, gives_weights](const VmapCtx& c) -> Val {
    const bool own_weights = gives_weights || c.batched[1] || (c.in.size() > 2 && c.batched[2]);
    if (!own_weights) {
      Val x = c.in[0];
      const Shape& s = x.shape();
      x = v_reshape(x, Shape{s[0] * s[1], s[2], s[3], s[4]});
      Attrs a = c.attrs;
      if (a.size() > 4) std::get<Dims>(a[4])[0] *= c.size;
      std::vector<Val> in{x, c.in[1]};
      if (c.in.size() > 2) in.push_back(c.in[2]);
      return v_reshape(c.b.op(c.op, in, a), c.with_batch(c.out.shape));
    }
    std::vector<Val> in;
    for (size_t k = 0; k < c.in.size(); ++k) {
      const Val x = c.in[k] ? c.front(static_cast<int>(k)) : Val{};
      in.push_back(!x                   ? x
                   : operands[k] == 'i' ? images_to_channels(x)
                   : operands[k] == 'w' ? weights_joined(x)
                                        : v_reshape(x, Shape{x.shape().numel()}));
    }
    Attrs a = c.attrs;
    std::get<Dim>(a[3]) *= c.size;
    if (a.size() > 4) std::get<Dims>(a[4])[gives_weights ? 0 : 1] *= c.size;
    const Val y = c.b.op(c.op, in, a);
    return gives_weights ? v_reshape(y, c.with_batch(c.out.shape)) : channels_to_images(y, c.size);
  };
}

// Of the images that a convolution makes, or takes to make gradients, and its weights: which
// operands they are, or the output. Channels may stand in blocks.
constexpr int kOut = -1;
template <int kImages, int kWeights>
int64_t conv_flops(const InferCtx& c, const Shape& out) {
  const Shape &y = kImages == kOut ? out : c.shape(kImages),
              &w = kWeights == kOut ? out : c.shape(kWeights);
  const int64_t channels = int64_t{y[1]} * (y.rank() == 5 ? int64_t{y[4]} : 1);
  return 2 * int64_t{y.numel()} * int64_t{w.numel()} / std::max<int64_t>(1, channels);
}

// The same op on feature maps whose channels stand in blocks of b, [N,C/b,H,W,b]: the order that
// convolutions compute in. The first input may have its channels in the usual place, where there
// are too few for a block.
Shape without_blocks(const Shape& s) {
  return s.rank() == 5 ? Shape{s[0], s[1] * s[4], s[2], s[3]} : s;
}
void add_blocked(OpTable& t, const char* name, bool blocked_output) {
  const OpDef& plain = t.at(name);
  OpEntry e = t.add(str_cat(name, "_blocked").c_str());
  e.like(plain).attr("block", AttrKind::kInt).flags(kPhysical).flops(plain.flops);
  t.extend(name).blocked(t.at(str_cat(name, "_blocked")));
  e.infer([&plain, blocked_output](const InferCtx& c) {
    std::vector<Type> types;
    std::vector<const Type*> in;
    for (auto* x : c.in) types.push_back(x ? Type{x->dtype, without_blocks(x->shape)} : Type{});
    for (size_t k = 0; k < types.size(); ++k) in.push_back(c.in[k] ? &types[k] : nullptr);
    const Attrs attrs(c.attrs.begin(), c.attrs.end() - 1);
    Type out = plain.infer(InferCtx{{plain, attrs}, in});
    if (!blocked_output) return out;
    const Dim b = c.i("block");
    OP_CHECK(b > 0 && out.shape[1] % b == 0, kValue, "[", c.op.name, "] ", out.str(),
             " has no blocks of ", b, " channels");
    out.shape[1] /= b;
    out.shape.push_back(b);
    return out;
  });
}
}  // namespace

void register_conv(OpTable& t) {
  conv_attrs(t.add("conv2d").in({"x", "w", "b?"}))
      .role(Role::kConv)
      .flops(conv_flops<kOut, 1>)
      .flags(kAccumulatesF32)
      .infer([](const InferCtx& c) {
        same_float(c);
        const Shape s = conv_out(c, c.shape(0), c.shape(1));
        if (c.in[2])
          OP_CHECK(c.shape(2) == Shape{s[1]}, kValue, "[conv2d] the bias must have ", s[1],
                   " elements, got ", c.x(2).str());
        return Type{c.x(0).dtype, s};
      })
      .vjp([](V v) {
        const Val x = v.in[0], w = v.in[1];
        if (v.need[0]) v.d[0] = v.b.op("conv2d_dx", {v.ct, w}, with_shape(v.attrs, x.shape()));
        if (v.need[1]) v.d[1] = v.b.op("conv2d_dw", {x, v.ct}, with_shape(v.attrs, w.shape()));
        if (v.need[2]) v.d[2] = v_sum(v.ct, {0, 2, 3}, false);
      })
      .vmap(vmap_conv("iwb", false));
  conv_attrs(t.add("conv2d_dx").in({"dy", "w"}))
      .role(Role::kConvInput)
      .flops(conv_flops<0, 1>)
      .attr("shape", AttrKind::kInts)
      .flags(kMultilinear | kAccumulatesF32)
      .infer([](const InferCtx& c) {
        same_float(c);
        const Shape x(c.ints("shape"));
        const Shape y = conv_out(c, x, c.shape(1));
        OP_CHECK(y == c.shape(0), kValue, "[conv2d_dx] dy must be ", y.str(), ", got ",
                 c.x(0).str());
        return Type{c.x(0).dtype, x};
      })
      .vjp([](V v) {
        if (v.need[0]) v.d[0] = v.b.op("conv2d", {v.ct, v.in[1], Val{}}, without_shape(v.attrs));
        if (v.need[1])
          v.d[1] = v.b.op("conv2d_dw", {v.ct, v.in[0]}, with_shape(v.attrs, v.in[1].shape()));
      })
      .vmap(vmap_conv("iw", false));
  conv_attrs(t.add("conv2d_dw").in({"x", "dy"}))
      .role(Role::kConvWeights)
      .flops(conv_flops<1, kOut>)
      .attr("shape", AttrKind::kInts)
      .flags(kMultilinear | kAccumulatesF32)
      .infer([](const InferCtx& c) {
        same_float(c);
        const Shape w(c.ints("shape"));
        const Shape y = conv_out(c, c.shape(0), w);
        OP_CHECK(y == c.shape(1), kValue, "[conv2d_dw] dy must be ", y.str(), ", got ",
                 c.x(1).str());
        return Type{c.x(0).dtype, w};
      })
      .vjp([](V v) {
        if (v.need[0])
          v.d[0] = v.b.op("conv2d_dx", {v.in[1], v.ct}, with_shape(v.attrs, v.in[0].shape()));
        if (v.need[1]) v.d[1] = v.b.op("conv2d", {v.in[0], v.ct, Val{}}, without_shape(v.attrs));
      })
      .vmap(vmap_conv("ii", true));
  pool_attrs(t.add("max_pool2d").in({"x"}))
      .role(Role::kPool)
      .flags(kAccumulatesF32)
      .infer([](const InferCtx& c) {
        return Type{c.x(0).dtype, pool_out(c, c.shape(0))};
      })
      .vjp([](V v) {
        v.d[0] = v.b.op("max_pool2d_dx", {v.in[0], v.ct}, v.attrs);
      });
  // dy goes to the first maximum of each window in row-major order.
  pool_attrs(t.add("max_pool2d_dx").in({"x", "dy"}))
      .role(Role::kPool)
      .flags(kAccumulatesF32)
      .infer([](const InferCtx& c) {
        OP_CHECK(pool_out(c, c.shape(0)) == c.shape(1), kValue,
                 "[max_pool2d_dx] dy does not fit: ", c.x(1).str());
        return c.x(0);
      })
      .vjp([](V v) {
        if (v.need[1]) v.d[1] = v.b.op("max_pool2d_pick", {v.in[0], v.ct}, v.attrs);
      });
  // y at the place of the first maximum of x, per window: the adjoint of max_pool2d_dx in dy.
  pool_attrs(t.add("max_pool2d_pick").in({"x", "y"}))
      .flags(kAccumulatesF32)
      .infer([](const InferCtx& c) {
        OP_CHECK(c.x(0) == c.x(1), kValue, "[max_pool2d_pick] operands differ: ", c.x(0).str(),
                 " and ", c.x(1).str());
        return Type{c.x(0).dtype, pool_out(c, c.shape(0))};
      })
      .vjp([](V v) {
        if (v.need[1]) v.d[1] = v.b.op("max_pool2d_dx", {v.in[0], v.ct}, v.attrs);
      });
  // count_pad: padding counts as elements of the mean.
  pool_attrs(t.add("avg_pool2d").in({"x"}))
      .role(Role::kPool)
      .attr("count_pad", AttrKind::kBool, false)
      .flags(kLinear | kAccumulatesF32)
      .infer([](const InferCtx& c) {
        OP_CHECK(is_float(c.x(0).dtype), kType, "[avg_pool2d] expected a floating dtype, got ",
                 c.x(0).str());
        return Type{c.x(0).dtype, pool_out(c, c.shape(0))};
      })
      .vjp([](V v) {
        Attrs a = v.attrs;
        a.push_back(v.in[0].shape().dims());
        v.d[0] = v.b.op("avg_pool2d_dx", {v.ct}, a);
      });
  pool_attrs(t.add("avg_pool2d_dx").in({"dy"}))
      .role(Role::kPool)
      .attr("count_pad", AttrKind::kBool, false)
      .attr("shape", AttrKind::kInts)
      .flags(kLinear | kAccumulatesF32)
      .infer([](const InferCtx& c) {
        const Shape x(c.ints("shape"));
        OP_CHECK(pool_out(c, x) == c.shape(0), kValue,
                 "[avg_pool2d_dx] dy does not fit: ", c.x(0).str());
        return Type{c.x(0).dtype, x};
      })
      .vjp([](V v) {
        Attrs a = v.attrs;
        a.pop_back();
        v.d[0] = v.b.op("avg_pool2d", {v.ct}, a);
      });
  // The same with a residual, then an activation, added to the result (compile/passes/fast_math.h).
  t.add("conv2d_post")
      .like(t.at("conv2d"))
      .in({"residual?"})
      .attr("activation", AttrKind::kString)
      .flags(kPhysical)
      .role(Role::kConv)
      .flops(conv_flops<kOut, 1>)
      .infer([&t](const InferCtx& c) {
        const OpDef& plain = t.at("conv2d");
        const Attrs attrs(c.attrs.begin(), c.attrs.end() - 1);
        const Type y = plain.infer(InferCtx{{plain, attrs}, c.in.first(3)});
        OP_CHECK(!c.in[3] || c.x(3) == y, kValue, "[conv2d_post] the residual must be ", y.str());
        return y;
      });
  t.extend("conv2d").post(t.at("conv2d_post"));
  for (auto [name, blocked_output] : {std::pair{"conv2d", true},
                                      {"conv2d_post", true},
                                      {"conv2d_dx", true},
                                      {"conv2d_dw", false},
                                      {"max_pool2d", true},
                                      {"max_pool2d_dx", true},
                                      {"avg_pool2d", true},
                                      {"avg_pool2d_dx", true}})
    add_blocked(t, name, blocked_output);
  // [N,C,H,W] to [N,C/b,H,W,b] and back.
  t.add("block_channels")
      .in({"x"})
      .flags(kPhysical)
      .attr("block", AttrKind::kInt)
      .infer([](const InferCtx& c) {
        const Shape& s = c.shape(0);
        const Dim b = c.i("block");
        OP_CHECK(s.rank() == 4 && b > 0 && s[1] % b == 0, kValue, "[block_channels] ", c.x(0).str(),
                 " has no blocks of ", b, " channels");
        return Type{c.x(0).dtype, Shape{s[0], s[1] / b, s[2], s[3], b}};
      });
  t.add("unblock_channels").in({"x"}).flags(kPhysical).infer([](const InferCtx& c) {
    OP_CHECK(c.shape(0).rank() == 5, kValue, "[unblock_channels] expected 5 dimensions, got ",
             c.x(0).str());
    return Type{c.x(0).dtype, without_blocks(c.shape(0))};
  });
}

}  // namespace pijit
