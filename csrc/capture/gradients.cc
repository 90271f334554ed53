// Gradient functions under capture: graph transforms of what a function adds to the graph.
#include <algorithm>
#include <set>

#include "capture/tracer.h"
#include "capture/values.h"
#include "graph/vals.h"
#include "graph/vmap.h"

namespace pijit {

// Containers that gradients see through: not slices.
static bool is_tree(const V& x) {
  return as<TupleValue>(x) || as<ListValue>(x) || as<DictValue>(x);
}

void Tracer::flatten(const V& x, std::vector<V>* out) {
  const Nested nested(*this);
  if (as<TensorValue>(x)) out->push_back(x);
  if (is_tree(x))
    for (auto& part : x->parts(*this)) flatten(part, out);
}

// x with its tensors replaced by nodes of their own, which are the leaves.
V Tracer::alias(const V& x, std::vector<V>* leaves) {
  const Nested nested(*this);
  static const OpDef& identity = OpTable::get().at("identity");
  if (as<TensorValue>(x)) {
    const Val in[] = {scope_->val(x->node)};
    V t = tensor(scope_->graph().Builder::op(identity, in, {}));
    leaves->push_back(t);
    return t;
  }
  if (!is_tree(x)) return x;
  std::vector<V> made;
  for (auto& part : x->parts(*this)) made.push_back(alias(part, leaves));
  return as<TupleValue>(x) ? tuple(made) : x->with_parts(*this, made);
}

// x with its tensors replaced, in order, by the given ones; lists become tuples.
V Tracer::like(const V& x, std::span<const Val> tensors, size_t* next) {
  const Nested nested(*this);
  if (as<TensorValue>(x)) return tensor(tensors[(*next)++]);
  if (!is_tree(x)) return constant(py::none());
  std::vector<V> made;
  for (auto& part : x->parts(*this)) made.push_back(like(part, tensors, next));
  return as<DictValue>(x) ? x->with_parts(*this, made) : tuple(made);
}

namespace {
std::vector<std::pair<std::string, V>> keywords(const V& dict) {
  std::vector<std::pair<std::string, V>> r;
  for (size_t k = 0; k < dict->keys.size(); ++k)
    r.push_back({text_of(dict->keys[k]), dict->items[k]});
  return r;
}
struct Deeper {
  int& n;
  explicit Deeper(int& n) : n(n) { ++n; }
  ~Deeper() { --n; }
};
// Changes nothing that was there before.
struct NoEffects {
  uint64_t &serial, before;
  NoEffects(uint64_t& s, uint64_t from) : serial(s), before(s) { s = from; }
  ~NoEffects() { serial = before; }
};
}  // namespace

// Mirrors with_own_gradient (pijit/grad.py).
V Tracer::call_with_own_gradient(const std::vector<V>& args) {
  static PyObject* helper =
      py::object(py::module_::import("pijit.grad").attr("own_gradients")).release().ptr();
  const V bprop = args[1], name = args[2], inputs = args[3];
  const V out = call(args[0], items_of(inputs), keywords(args[4]));
  has_own_gradients_ = true;
  if (grad_depth_ == 0) return out;
  if (arm_serial_) give_up(Reason::kTensorValue, "a gradient of the user's own in a branch");
  std::vector<V> outs;
  const bool single = out->kind == Value::kTensor;
  for (auto& o : single ? std::vector<V>{out} : items_of(out)) {
    if (o->kind != Value::kTensor) give_up(Reason::kUnsupportedCall, "a result without a gradient");
    alias(o, &outs);
  }
  const V result = single ? outs[0] : sequence(Value::kTuple, outs);
  OwnGradient g{&scope_->graph(), {}, {}, {}};
  for (auto& x : items_of(inputs))
    if (x->kind == Value::kTensor) g.in.push_back(scope_->val(x->node).id);
  for (auto& o : outs) g.outs.push_back(o->node.id);
  g.backward = [this, bprop, name, inputs, result](std::span<const Val> cts) {
    std::vector<V> given;
    for (auto v : cts) given.push_back(tensor(v));
    const V grads =
        call(wrap_static(helper), {bprop, name, inputs, result, sequence(Value::kList, given)}, {});
    std::vector<Val> r;
    for (auto& x : items_of(grads)) {
      const bool none = x->kind == Value::kConst && x->obj.is_none();
      if (!none && x->kind != Value::kTensor) give_up(Reason::kRaises, "a gradient is no Tensor");
      r.push_back(none ? Val{} : scope_->val(x->node));
    }
    return r;
  };
  undoable([this, n = own_gradients_.size()] { own_gradients_.resize(n); });
  own_gradients_.push_back(std::move(g));
  return result;
}

// The records of the nodes from `begin` on, as a tape that watches `wrt` has them.
std::vector<Record> Tracer::records_from(uint32_t begin, std::span<const Val> wrt) {
  Graph& graph = scope_->graph();
  auto records = records_of(graph, begin, static_cast<uint32_t>(graph.size()));
  std::map<uint32_t, const OwnGradient*> own;  // by the nodes that stand for results
  for (auto& g : own_gradients_)
    if (g.graph == &graph && !g.outs.empty() && g.outs[0] >= begin)
      for (auto o : g.outs) own[o] = &g;
  if (own.empty()) return records;
  std::set<uint32_t> watched;
  for (auto v : wrt) watched.insert(v.id);
  std::vector<Record> r;
  for (auto& rec : records) {
    auto it = rec.out.empty() ? own.end() : own.find(rec.out[0].id);
    if (it != own.end()) {
      const OwnGradient& g = *it->second;
      if (std::any_of(g.in.begin(), g.in.end(), [&](auto i) { return watched.count(i); })) {
        for (auto o : g.outs) watched.insert(o);
        if (rec.out[0].id != g.outs[0]) continue;
        Record custom;
        for (auto i : g.in) custom.in.push_back(graph.val(i));
        for (auto o : g.outs) custom.out.push_back(graph.val(o));
        custom.custom = g.backward;
        r.push_back(std::move(custom));
        continue;
      }
    }
    const bool flows =
        !(rec.op && rec.op->has(kNoGradient)) &&
        std::any_of(rec.in.begin(), rec.in.end(), [&](Val v) { return v && watched.count(v.id); });
    if (flows)
      for (auto v : rec.out) watched.insert(v.id);
    r.push_back(std::move(rec));
  }
  return r;
}

// Mirrors GradFunction.__call__ (pijit/grad.py), with the tape replaced by the range of nodes that
// the function adds to the graph.
V Tracer::call_grad(const V& g, std::vector<V> args, Kwargs kwargs) {
  auto field = [&](const char* name) { return attribute(g, PyUnicode_InternFromString(name)); };
  auto flag = [&](const char* name) {
    auto t = truth(field(name));
    if (!t) give_up(Reason::kUnsupportedCall, "gradient function");
    return *t;
  };
  const bool has_aux = flag("has_aux"), with_value = flag("with_value"), use_sens = flag("sens"),
             tuple_out = flag("tuple_out"), single = flag("single_weight");
  V sens;
  if (use_sens) {
    for (size_t k = 0; k < kwargs.size(); ++k)
      if (kwargs[k].first == "sens") {
        sens = kwargs[k].second;
        kwargs.erase(kwargs.begin() + static_cast<std::ptrdiff_t>(k));
        break;
      }
    if (!sens) {
      if (args.empty()) give_up(Reason::kRaises, "sens");
      sens = args.back();
      args.pop_back();
    }
  }
  const V positions_v = field("positions"), weights_v = field("weights");
  auto is_none = [](const V& v) { return v->kind == Value::kConst && v->obj.is_none(); };
  const bool by_position = !is_none(positions_v), by_weight = !is_none(weights_v);
  std::vector<int64_t> positions;
  if (positions_v->kind == Value::kConst && PyUnicode_Check(positions_v->obj.ptr())) {
    for (size_t k = 0; k < args.size(); ++k) {
      std::vector<V> t;
      flatten(args[k], &t);
      if (!t.empty()) positions.push_back(static_cast<int64_t>(k));
    }
  } else if (by_position) {
    for (auto& p : items_of(positions_v)) positions.push_back(*as_int(p));
  }
  struct Slot {
    size_t first, count;
  };
  std::vector<V> leaves;
  std::vector<Slot> slots;
  std::vector<V> originals;
  for (auto p : positions) {
    if (p >= static_cast<int64_t>(args.size())) give_up(Reason::kRaises, "grad_position");
    const size_t first = leaves.size();
    originals.push_back(args[p]);
    args[p] = alias(args[p], &leaves);
    if (leaves.size() == first) give_up(Reason::kRaises, "grad_position must be a Tensor");
    slots.push_back({first, leaves.size() - first});
  }
  std::vector<Val> wrt;
  for (auto& l : leaves) wrt.push_back(l->node);
  static const OpDef& identity = OpTable::get().at("identity");
  if (by_weight) {
    std::set<Value*> seen;
    for (auto& w : items_of(weights_v)) {
      if (w->kind != Value::kTensor || !seen.insert(w).second) give_up(Reason::kRaises, "weights");
      check_binding(w);
      undoable([w, n = w->node] { w->node = n; });
      const Val in[] = {scope_->val(w->node)};
      w->node = scope_->graph().Builder::op(identity, in, {});
      wrt.push_back(w->node);
    }
  }
  const uint32_t begin = static_cast<uint32_t>(scope_->graph().size());
  V value;
  {
    Deeper deeper(grad_depth_);
    value = call(field("fn"), args, kwargs);
  }
  std::vector<V> outputs;
  if (has_aux) {
    if (value->kind != Value::kTuple && value->kind != Value::kList)
      give_up(Reason::kRaises, "has_aux");
    if (value->items.empty()) give_up(Reason::kRaises, "has_aux");
    flatten(item(value, 0), &outputs);
  } else {
    flatten(value, &outputs);
  }
  if (outputs.empty()) give_up(Reason::kRaises, "no output to differentiate");
  std::vector<Operand> given;
  if (sens) {
    std::vector<V> parts;
    if (is_number(sens))
      parts.assign(outputs.size(), sens);
    else
      flatten(sens, &parts);
    if (parts.size() != outputs.size()) give_up(Reason::kRaises, "sens");
    for (auto& p : parts) given.push_back(operand(p));
  }
  Graph& graph = scope_->graph();
  for (auto& w : wrt) w = scope_->val(w);
  const auto records = records_from(begin, wrt);
  std::vector<Seed> seeds;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Val o = scope_->val(outputs[k]->node);
    const Val one =
        given.empty() ? graph.constant(o.dtype(), 1.0) : materialize(graph, given[k], o.dtype());
    seeds.push_back({o, v_broadcast(one, o.shape())});
  }
  const auto grads = backward(graph, records, seeds, wrt);

  size_t next = 0;
  std::vector<V> by_arg;
  for (auto& o : originals) by_arg.push_back(like(o, grads, &next));
  V arg_part =
      by_position && !tuple_out && by_arg.size() == 1 ? by_arg[0] : sequence(Value::kTuple, by_arg);
  std::vector<V> ws;
  for (size_t k = leaves.size(); k < grads.size(); ++k) ws.push_back(tensor(grads[k]));
  V weight_part = single ? ws.at(0) : sequence(Value::kTuple, ws);
  V result = !by_weight     ? arg_part
             : !by_position ? weight_part
                            : sequence(Value::kTuple, {arg_part, weight_part});
  if (with_value) return sequence(Value::kTuple, {value, result});
  if (has_aux) {
    std::vector<V> rest;
    for (size_t k = 1; k < value->items.size(); ++k) rest.push_back(item(value, k));
    return sequence(Value::kTuple, {result, sequence(Value::kTuple, rest)});
  }
  return result;
}

std::optional<V> Tracer::call_transform(PyObject* f, const std::vector<V>& args,
                                        const Kwargs& kwargs) {
  auto function = [](const char* module, const char* name) {
    return py::object(py::module_::import(module).attr(name)).release().ptr();
  };
  static PyObject *jvp = function("pijit.grad", "jvp"),
                  *vectorize = function("pijit.vmap", "vectorize"),
                  *pull = function("pijit.jacobian", "pull"),
                  *push = function("pijit.jacobian", "push"),
                  *own = function("pijit.grad", "with_own_gradient");
  if (!kwargs.empty()) return std::nullopt;
  if (f == jvp && args.size() == 3) return call_jvp(args[0], args[1], args[2]);
  if (f == vectorize) return call_vectorize(args);
  if (f == own) return call_with_own_gradient(args);
  if (f == pull || f == push) return call_jacobian(args, f == push);
  return std::nullopt;
}

// Mirrors jvp (pijit/grad.py).
V Tracer::call_jvp(const V& fn, const V& inputs, const V& tangents) {
  auto tuple = [&](const V& v) {
    return v->kind == Value::kTuple || v->kind == Value::kList ? items_of(v) : std::vector<V>{v};
  };
  std::vector<V> args = tuple(inputs), leaves;
  const std::vector<V> along = tuple(tangents);
  if (args.size() != along.size()) give_up(Reason::kRaises, "jvp");
  for (auto& a : args) {
    if (a->kind != Value::kTensor) give_up(Reason::kUnsupportedCall, "jvp of a nested input");
    a = alias(a, &leaves);
  }
  std::vector<std::pair<Val, Val>> seeds;
  for (size_t k = 0; k < args.size(); ++k) {
    if (along[k]->kind != Value::kTensor || !(along[k]->node.type() == args[k]->node.type()))
      give_up(Reason::kRaises, "jvp");
    seeds.push_back({args[k]->node, along[k]->node});
  }
  const uint32_t begin = static_cast<uint32_t>(scope_->graph().size());
  V value;
  {
    Deeper deeper(grad_depth_);
    value = call(fn, args, {});
  }
  std::vector<V> outputs;
  flatten(value, &outputs);
  if (outputs.empty()) give_up(Reason::kRaises, "jvp");
  std::vector<Seed> along_inputs;
  std::vector<Val> wrt, of;
  for (auto& [x, t] : seeds) {
    wrt.push_back(scope_->val(x));
    along_inputs.push_back({wrt.back(), scope_->val(t)});
  }
  for (auto& o : outputs) of.push_back(scope_->val(o->node));
  const auto results = pushforward(scope_->graph(), records_from(begin, wrt), along_inputs, of);
  size_t next = 0;
  return sequence(Value::kTuple, {value, like(value, results, &next)});
}

namespace {
// What failed for one element is found out by the op on all of them.
void forget_failures(Graph& g, uint32_t begin, uint32_t end, std::span<const Seed> examples) {
  std::set<uint32_t> of_one;
  for (auto& s : examples) of_one.insert(s.value.id);
  for (uint32_t i = begin; i < end; ++i)
    for (auto x : g.node(i).in)
      if (of_one.count(x)) {
        of_one.insert(i);
        g.abandon(i, i + 1);
      }
}
}  // namespace

// Mirrors vectorize (pijit/vmap.py).
V Tracer::call_vectorize(const std::vector<V>& args) {
  const std::vector<V> examples = items_of(args[3]), batches = items_of(args[4]);
  std::vector<std::pair<Val, Val>> pairs;
  for (size_t k = 0; k < examples.size(); ++k)
    pairs.push_back({examples[k]->node, batches[k]->node});
  Graph& graph = scope_->graph();
  const uint32_t begin = static_cast<uint32_t>(graph.size());
  const size_t own = own_gradients_.size();
  V value;
  {
    Deeper deeper(grad_depth_);
    NoEffects no_effects(mapped_serial_, arena_.serial());
    value = call(args[0], items_of(args[1]), keywords(args[2]));
  }
  if (grad_depth_ > 0 && own_gradients_.size() > own)
    give_up(Reason::kRaises, "a gradient of the user's own in a mapped function");
  std::vector<V> outputs;
  flatten(value, &outputs);
  const uint32_t end = static_cast<uint32_t>(graph.size());
  std::vector<Seed> seeds;
  for (auto& [one, all] : pairs) seeds.push_back({scope_->val(one), scope_->val(all)});
  std::vector<Val> of;
  for (auto& o : outputs) of.push_back(scope_->val(o->node));
  const Dim size = seeds.at(0).cotangent.shape()[0];
  std::vector<V> results;
  for (auto v : vmapped(graph, records_of(graph, begin, end), seeds, of, size))
    results.push_back(v ? tensor(v) : constant(py::none()));
  forget_failures(graph, begin, end, seeds);
  return sequence(Value::kTuple, {value, sequence(Value::kList, results)});
}

// Mirrors pull and push (pijit/jacobian.py).
V Tracer::call_jacobian(const std::vector<V>& args, bool forward) {
  std::vector<V> inner = items_of(args[1]), leaves;
  for (auto& p : items_of(args[3])) {
    V& a = inner.at(static_cast<size_t>(*as_int(p)));
    a = alias(a, &leaves);
  }
  std::vector<Val> in;
  for (auto& x : leaves) in.push_back(x->node);
  Graph& graph = scope_->graph();
  const uint32_t begin = static_cast<uint32_t>(graph.size());
  V value;
  {
    Deeper deeper(grad_depth_);
    value = call(args[0], inner, keywords(args[2]));
  }
  const bool has_aux = *truth(args[4]);
  if (has_aux &&
      ((value->kind != Value::kTuple && value->kind != Value::kList) || value->items.size() < 2))
    give_up(Reason::kRaises, "has_aux");
  std::vector<V> outputs;
  flatten(has_aux ? item(value, 0) : value, &outputs);
  if (outputs.empty()) give_up(Reason::kRaises, "no output to differentiate");
  for (auto& x : in) x = scope_->val(x);
  const auto records = records_from(begin, in);
  std::vector<Val> out;
  for (auto& o : outputs) {
    out.push_back(scope_->val(o->node));
    if (!is_inexact(out.back().dtype())) give_up(Reason::kRaises, "an output is not floating");
  }

  // f along the units of x's shape: results have the number of the unit in front
  auto along_basis = [&](Val x, auto f) {
    const Dim n = x.shape().numel();
    Shape all = x.shape();
    all.insert(0, n);
    const Val units = graph.Builder::op("arange", {}, {0.0, 1.0, n, DType::I64});
    const Val equal = v_op("equal", v_reshape(units, Shape{n, 1}), units);
    const Val basis = v_reshape(v_cast(equal, x.dtype()), all);
    const Val example = v_zeros(graph, x.type());
    const uint32_t from = static_cast<uint32_t>(graph.size());
    const std::vector<Val> of = f(example);
    const uint32_t to = static_cast<uint32_t>(graph.size());
    const Seed seed{example, basis};
    auto r = vmapped(graph, records_of(graph, from, to), std::span(&seed, 1), of, n);
    for (size_t k = 0; k < r.size(); ++k) {
      Shape s = of[k].shape();
      s.insert(0, n);
      if (!r[k]) r[k] = v_broadcast(of[k], s);
    }
    forget_failures(graph, from, to, std::span(&seed, 1));
    return r;
  };
  auto joined = [](const Shape& a, const Shape& b) {
    Shape s = a;
    for (auto d : b) s.push_back(d);
    return s;
  };
  std::vector<V> columns(out.size() * in.size());
  if (forward) {
    for (size_t j = 0; j < in.size(); ++j) {
      const auto r = along_basis(in[j], [&](Val t) {
        const Seed seed{in[j], t};
        return pushforward(graph, records, std::span(&seed, 1), out);
      });
      for (size_t i = 0; i < out.size(); ++i) {
        Dims perm;
        for (int k = 0; k < out[i].shape().rank(); ++k) perm.push_back(k + 1);
        perm.push_back(0);
        columns[i * in.size() + j] =
            tensor(v_reshape(v_transpose(r[i], perm), joined(out[i].shape(), in[j].shape())));
      }
    }
  } else {
    for (size_t i = 0; i < out.size(); ++i) {
      const auto r = along_basis(out[i], [&](Val ct) {
        const Seed seed{out[i], ct};
        return backward(graph, records, std::span(&seed, 1), in);
      });
      for (size_t j = 0; j < in.size(); ++j)
        columns[i * in.size() + j] = tensor(v_reshape(r[j], joined(out[i].shape(), in[j].shape())));
    }
  }
  return sequence(Value::kTuple, {value, sequence(Value::kList, columns)});
}

}  // namespace pijit
