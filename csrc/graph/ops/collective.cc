// Operations of several processes (runtime/collective.h says how they run). `ranks` is how many the
// group has, ranks in attributes count in the group. All are kOrdered but the wait: a graph keeps
// the order in which they were emitted by their input `after`, whose value nobody reads, and none
// is folded, merged, computed again or left out.
//
// An all-reduce may be in two parts: the start copies its operands one behind the other and gives a
// ticket; the wait gives the result as one vector. Between them other kernels run.
#include "graph/vals.h"

namespace pijit {
namespace {

using I = const InferCtx&;
using Vj = VjpCtx&;

constexpr uint32_t kOnce = kCallOut | kMayFail | kTakesComplex;

[[noreturn]] Val no_batch(const VmapCtx& c) {
  throw OpError(OpError::kRuntime,
                str_cat("[", c.op.name,
                        "] a collective runs once for all elements of a batch, so that vmap cannot "
                        "map it: call it outside of the mapped function"));
}
void check_reduction(I c) {
  const std::string& op = c.s("op");
  OP_CHECK(op == "sum" || op == "prod" || op == "max" || op == "min", kValue, "[", c.op.name,
           "] op must be 'sum', 'prod', 'max' or 'min', got '", op, "'");
  const DType t = c.x(c.op.inputs[0].name == "after" ? 1 : 0).dtype;
  OP_CHECK(!is_bool(t), kType, "[", c.op.name, "] reduces numbers, got bool: cast it to int32");
  OP_CHECK(!is_complex(t) || op == "sum" || op == "prod", kType, "[", c.op.name, "] has no '", op,
           "' of complex numbers");
}
Dim ranks_of(I c) {
  const Dim n = c.i("ranks");
  OP_CHECK(n >= 1, kValue, "[", c.op.name, "] ranks must be at least 1, got ", n);
  return n;
}
const Shape& with_rows(I c) {
  OP_CHECK(c.shape(0).rank() > 0, kValue, "[", c.op.name,
           "] needs a tensor with a first dimension, got ", c.x(0).str());
  return c.shape(0);
}
Type joined(I c) {
  Shape s = with_rows(c);
  s[0] = s[0] * ranks_of(c);
  return {c.x(0).dtype, s};
}
Type divided(I c) {
  Shape s = with_rows(c);
  const Dim n = ranks_of(c);
  OP_CHECK(s[0] % n == 0, kValue, "[", c.op.name, "] the first dimension, ", s[0],
           ", must be a multiple of the number of ranks, ", n);
  s[0] = s[0] / n;
  return {c.x(0).dtype, s};
}
Val call(const VjpCtx& v, const char* op, Val x, Attrs attrs) {
  return v.b.op(op, {x, Val{}}, std::move(attrs));
}
// The cotangent summed over all ranks, each of which the value reached.
Val summed(const VjpCtx& v) {
  return call(v, "all_reduce", v.ct, {std::string("sum"), v.s("group"), v.i("ranks")});
}
Val same_of_tangent(JvpCtx& j) { return j.b.op(j.op, {j.t[0], Val{}}, j.attrs); }

// The product of what the other ranks have: where there are zeros, a quotient does not tell.
Val of_the_others(const VjpCtx& v) {
  const Val x = v.in[0], nothing = v_zeros(v.b, x.type()), zero = v_op("equal", x, nothing);
  const Val one = v_full(v.b, x.type(), 1.0), own = v_select(zero, one, x);
  const Val zeros = call(v, "all_reduce", v_select(zero, one, nothing),
                         {std::string("sum"), v.s("group"), v.i("ranks")});
  const Val all = call(v, "all_reduce", own, {std::string("prod"), v.s("group"), v.i("ranks")});
  const Val is_sole = v_op("equal", zeros, v_select(zero, one, nothing));
  return v_select(is_sole, all / own, nothing);
}
[[noreturn]] void no_gradient_in_two_parts(Vj) {
  throw OpError(
      OpError::kRuntime,
      "[all_reduce_start] an all-reduce that goes on beside other code (async_op=True) has "
      "no gradient: leave async_op out");
}

void grad_all_reduce(Vj v) {
  const std::string& op = v.s("op");
  const Val g = summed(v);
  if (op == "sum")
    v.d[0] = g;
  else if (op == "prod")
    v.d[0] = g * of_the_others(v);
  else
    v.d[0] = v_select(v_op("equal", v.in[0], v.out), g, v_zeros(v.b, g.type()));
}
Val jvp_of_sum(JvpCtx& j) {
  OP_CHECK(j.s("op") == "sum", kRuntime, "[", j.op.name, "] has a tangent for 'sum' only");
  return same_of_tangent(j);
}
// What all ranks contributed to one: only its own counts there.
Val at_root(const VjpCtx& v, Val x) {
  return v.i("own") == v.i("root") ? x : v_zeros(v.b, x.type());
}

}  // namespace

void register_collective(OpTable& t) {
  constexpr auto kString = AttrKind::kString;
  constexpr auto kInt = AttrKind::kInt;
  const auto add = [&](const char* name, std::initializer_list<const char*> own) {
    OpEntry e = t.add(name);
    e.in({"x", "after?"});
    for (const char* a : own) e.attr(a, std::string_view(a) == "op" ? kString : kInt);
    return e.attr("group", kString).attr("ranks", kInt).flags(kOnce | kOrdered);
  };
  add("all_reduce", {"op"})
      .infer([](I c) {
        check_reduction(c);
        return c.x(0);
      })
      .vjp(grad_all_reduce)
      .jvp(jvp_of_sum)
      .vmap(no_batch);
  add("all_gather", {})
      .infer(joined)
      .vjp([](Vj v) {
        v.d[0] = call(v, "reduce_scatter", v.ct, {std::string("sum"), v.s("group"), v.i("ranks")});
      })
      .jvp(same_of_tangent)
      .vmap(no_batch);
  add("reduce_scatter", {"op"})
      .infer([](I c) {
        check_reduction(c);
        return divided(c);
      })
      .vjp([](Vj v) {
        OP_CHECK(v.s("op") == "sum", kRuntime, "[reduce_scatter] has a gradient for 'sum' only");
        v.d[0] = call(v, "all_gather", v.ct, {v.s("group"), v.i("ranks")});
      })
      .jvp(jvp_of_sum)
      .vmap(no_batch);
  add("broadcast", {"root", "own"})  // root's, at all
      .infer([](I c) { return c.x(0); })
      .vjp([](Vj v) { v.d[0] = at_root(v, summed(v)); })
      .jvp(same_of_tangent)
      .vmap(no_batch);
  add("reduce_to", {"op", "root", "own"})  // the reduction at root, x elsewhere
      .infer([](I c) {
        check_reduction(c);
        return c.x(0);
      })
      .vjp([](Vj v) {
        OP_CHECK(v.s("op") == "sum", kRuntime, "[reduce_to] has a gradient for 'sum' only");
        const Val g =
            call(v, "broadcast", v.ct, {v.i("root"), v.i("own"), v.s("group"), v.i("ranks")});
        v.d[0] = v.i("own") == v.i("root") ? g : g + v.ct;
      })
      .vmap(no_batch);
  add("gather_to", {"root", "own"})
      .flags(kNoGradient)  // all parts at root; elsewhere one zero
      .infer([](I c) {
        const Type all = joined(c);
        return c.i("own") == c.i("root") ? all : Type{all.dtype, Shape{1}};
      })
      .vmap(no_batch);
  add("scatter_from", {"root", "own"})
      .flags(kNoGradient)  // this rank's part of root's
      .infer(divided)
      .vmap(no_batch);
  // Of a vector: `send` elements go to each rank, one rank's behind the other's; `receive` come.
  t.add("all_to_all")
      .in({"x", "after?"})
      .attr("send", AttrKind::kInts)
      .attr("receive", AttrKind::kInts)
      .attr("group", kString)
      .attr("ranks", kInt)
      .flags(kOnce | kOrdered)
      .infer([](I c) {
        auto sum = [&](const char* name) {
          Dim n = 0;
          OP_CHECK(static_cast<int64_t>(c.ints(name).size()) == ranks_of(c), kValue,
                   "[all_to_all] ", name, " must hold a number for each of ", ranks_of(c),
                   " ranks, got ", c.ints(name).size());
          for (auto k : c.ints(name)) {
            OP_CHECK(k >= 0, kValue, "[all_to_all] ", name, " holds ", k);
            n = n + k;
          }
          return n;
        };
        const Dim out = sum("receive");
        OP_CHECK(c.shape(0).rank() == 1 && c.shape(0)[0] == sum("send"), kValue,
                 "[all_to_all] sends ", sum("send"), " elements of a vector, got ", c.x(0).str());
        return Type{c.x(0).dtype, Shape{out}};
      })
      .vjp([](Vj v) {
        v.d[0] = call(v, "all_to_all", v.ct,
                      {v.ints("receive"), v.ints("send"), v.s("group"), v.i("ranks")});
      })
      .jvp(same_of_tangent)
      .vmap(no_batch);
  add("barrier", {}).flags(kNoGradient).infer([](I c) { return c.x(0); }).vmap(no_batch);
  t.add("send_to")
      .in({"x", "after?"})
      .attr("peer", kInt)
      .attr("tag", kInt)
      .attr("group", kString)
      .flags(kOnce | kOrdered | kNoGradient)
      .infer([](I c) {
        return Type{c.x(0).dtype, Shape{}};
      })
      .vmap(no_batch);
  t.add("receive_from")
      .in({"after?"})
      .attr("shape", AttrKind::kInts)
      .attr("dtype", AttrKind::kDType)
      .attr("peer", kInt)
      .attr("tag", kInt)
      .attr("group", kString)
      .flags(kOnce | kOrdered | kNoGradient)
      .infer([](I c) {
        Shape s(c.ints("shape"));
        for (auto d : s) OP_CHECK(d >= 0, kValue, "[receive_from] bad shape ", s.str());
        return Type{c.dt("dtype"), s};
      })
      .vmap(no_batch);
  t.add("all_reduce_start")
      .in({"after?", "xs*"})
      .attr("op", kString)
      .attr("group", kString)
      .attr("ranks", kInt)
      .flags(kOnce | kOrdered)
      .role(Role::kCollectiveStart)
      .infer([](I c) {
        OP_CHECK(c.in.size() > 1, kValue, "[all_reduce_start] needs a tensor");
        check_reduction(c);
        for (size_t k = 2; k < c.in.size(); ++k)
          OP_CHECK(c.in[k]->dtype == c.in[1]->dtype, kType,
                   "[all_reduce_start] takes tensors of one dtype, got ", c.in[1]->str(), " and ",
                   c.in[k]->str());
        return Type{DType::I64, Shape{}};
      })
      .vjp(no_gradient_in_two_parts)
      .vmap(no_batch);
  t.add("all_reduce_wait")
      .in({"ticket"})
      .attr("count", kInt)
      .attr("dtype", AttrKind::kDType)
      .flags(kOnce)
      .role(Role::kCollectiveWait)
      .infer([](I c) {
        OP_CHECK(c.x(0) == (Type{DType::I64, Shape{}}) && c.i("count") >= 0, kValue,
                 "[all_reduce_wait] takes a ticket and a number of elements, got ", c.x(0).str());
        return Type{c.dt("dtype"), Shape{c.i("count")}};
      })
      .vjp(no_gradient_in_two_parts)
      .vmap(no_batch);
}

}  // namespace pijit
