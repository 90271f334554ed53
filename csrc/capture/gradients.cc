// Gradient functions under capture: graph transforms of what a function adds to the graph.
#include <set>

#include "capture/tracer.h"
#include "graph/vals.h"

namespace pijit {

void Tracer::flatten(const V& x, std::vector<V>* out) {
  if (x->kind == Value::kTensor) {
    out->push_back(x);
  } else if (x->kind == Value::kTuple || x->kind == Value::kList || x->kind == Value::kDict) {
    for (size_t k = 0; k < x->items.size(); ++k) flatten(item(x, k), out);
  }
}

// x with its tensors replaced by nodes of their own, which are the leaves.
V Tracer::alias(const V& x, std::vector<V>* leaves) {
  static const OpDef& identity = OpTable::get().at("identity");
  if (x->kind == Value::kTensor) {
    const Val in[] = {scope_->val(x->node)};
    V t = tensor(scope_->graph().Builder::op(identity, in, {}));
    leaves->push_back(t);
    return t;
  }
  if (x->kind == Value::kTuple || x->kind == Value::kList) {
    std::vector<V> items;
    for (size_t k = 0; k < x->items.size(); ++k) items.push_back(alias(item(x, k), leaves));
    return sequence(x->kind, items);
  }
  if (x->kind == Value::kDict) {
    auto d = std::make_shared<Value>();
    d->kind = Value::kDict;
    d->keys = x->keys;
    for (size_t k = 0; k < x->items.size(); ++k) d->items.push_back(alias(item(x, k), leaves));
    return d;
  }
  return x;
}

// x with its tensors replaced, in order, by the given ones; lists become tuples.
V Tracer::like(const V& x, std::span<const Val> tensors, size_t* next) {
  if (x->kind == Value::kTensor) return tensor(tensors[(*next)++]);
  if (x->kind == Value::kTuple || x->kind == Value::kList) {
    std::vector<V> items;
    for (size_t k = 0; k < x->items.size(); ++k) items.push_back(like(item(x, k), tensors, next));
    return sequence(Value::kTuple, items);
  }
  if (x->kind == Value::kDict) {
    auto d = std::make_shared<Value>();
    d->kind = Value::kDict;
    d->keys = x->keys;
    for (size_t k = 0; k < x->items.size(); ++k)
      d->items.push_back(like(item(x, k), tensors, next));
    return d;
  }
  return constant(py::none());
}

namespace {
struct Deeper {
  int& n;
  explicit Deeper(int& n) : n(n) { ++n; }
  ~Deeper() { --n; }
};
}  // namespace

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
      if (w->kind != Value::kTensor || !seen.insert(w.get()).second)
        give_up(Reason::kRaises, "weights");
      check_effect(w);
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
  const uint32_t end = static_cast<uint32_t>(graph.size());
  for (auto& w : wrt) w = scope_->val(w);
  std::vector<Seed> seeds;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Val o = scope_->val(outputs[k]->node);
    const Val one =
        given.empty() ? graph.constant(o.dtype(), 1.0) : materialize(graph, given[k], o.dtype());
    seeds.push_back({o, v_broadcast(one, o.shape())});
  }
  const auto grads = backward(graph, records_of(graph, begin, end), seeds, wrt);

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
  Graph& graph = scope_->graph();
  const uint32_t end = static_cast<uint32_t>(graph.size());
  std::vector<Seed> along_inputs;
  for (auto& [x, t] : seeds) along_inputs.push_back({scope_->val(x), scope_->val(t)});
  std::vector<Val> of;
  for (auto& o : outputs) of.push_back(scope_->val(o->node));
  const auto results = pushforward(graph, records_of(graph, begin, end), along_inputs, of);
  size_t next = 0;
  return sequence(Value::kTuple, {value, like(value, results, &next)});
}

}  // namespace pijit
