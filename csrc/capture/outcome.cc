// The outcome of a capture: recipes, effects, guards and program of an entry.
#include <algorithm>

#include "base/log.h"
#include "capture/tracer.h"
#include "compile/compile.h"

namespace pijit {

int Tracer::recipe(const V& v) {
  auto it = recipe_of_.find(v);
  if (it != recipe_of_.end()) {
    if (it->second < 0) give_up(Reason::kRebuild, "a container that holds itself");
    return it->second;
  }
  const Nested nested(*this);
  recipe_of_[v] = -1;
  Recipe r{Recipe::kNull};
  auto sub = [&](const V& x) { r.items.push_back(recipe(x)); };
  switch (v->kind) {
    case Value::kNull: break;
    case Value::kConst:
      r.kind = v->src >= 0 ? Recipe::kSource : Recipe::kConst;
      r.index = v->src;
      r.obj = v->obj;
      break;
    case Value::kTensor:
    case Value::kVarying:
      if (v->src >= 0) {
        r.kind = Recipe::kSource;
        r.index = v->src;
      } else if (v->first || v->second) {
        Recipe own{Recipe::kOutput, static_cast<int>(outputs_.size())};
        outputs_.push_back({v->node, -1});
        entry_->recipes.push_back(own);
        const int made = static_cast<int>(entry_->recipes.size()) - 1;
        r.kind = Recipe::kChoice;
        r.index = static_cast<int>(outputs_.size());
        outputs_.push_back({v->pred, -1});
        r.items = {v->first ? recipe(v->first) : made, v->second ? recipe(v->second) : made};
      } else {
        r.kind = v->kind == Value::kTensor ? Recipe::kOutput : Recipe::kNumber;
        r.index = static_cast<int>(outputs_.size());
        outputs_.push_back({v->node, -1});
      }
      break;
    case Value::kSize:
      r.kind = Recipe::kSize;
      r.index = static_cast<int>(entry_->sizes.size());
      entry_->sizes.push_back(v->expr);
      break;
    case Value::kOpenList:
    case Value::kOpenDict:
    case Value::kTuple:
    case Value::kList:
    case Value::kDict:
      if (v->src >= 0) {
        r.kind = Recipe::kSource;
        r.index = v->src;
        break;
      }
      r.kind = v->kind == Value::kTuple  ? Recipe::kTuple
               : v->kind == Value::kList ? Recipe::kList
                                         : Recipe::kDict;
      for (size_t k = 0; k < v->items.size(); ++k) sub(item(v, k));
      r.obj = v->cls;
      if (v->kind == Value::kDict) {
        py::list keys;
        for (auto& k : v->keys) keys.append(k);
        r.obj = py::tuple(keys);
      }
      break;
    case Value::kSet: {
      r.kind = Recipe::kSet;
      py::list keys;
      for (auto& k : v->keys) keys.append(k);
      r.obj = py::tuple(keys);
      r.obj2 = v->obj;
      break;
    }
    case Value::kSlice:
      r.kind = Recipe::kSlice;
      for (auto& x : v->items) sub(x);
      break;
    case Value::kCell:
      if (v->src >= 0) {
        r.kind = Recipe::kSource;
        r.index = v->src;
      } else {
        r.kind = Recipe::kCell;
        if (v->content) sub(v->content);
      }
      break;
    case Value::kFunction:
      r.kind = Recipe::kFunction;
      r.obj = v->code;
      r.obj2 = v->globals;
      for (auto& x : {v->defaults, v->kwdefaults, v->closure, v->annotations})
        r.items.push_back(x ? recipe(x) : -1);
      break;
    case Value::kMethod:
      if (v->src >= 0) {
        r.kind = Recipe::kSource;
        r.index = v->src;
        break;
      }
      r.kind = Recipe::kMethod;
      sub(v->func);
      sub(v->self);
      break;
    case Value::kIter: {
      if (v->iter == Value::kSequence && v->pos < 0)
        give_up(Reason::kRebuild, "an iterator that has ended");
      if (v->watched) {
        if (v->watched->changes != v->changes ||
            static_cast<int64_t>(v->watched->keys.size()) != v->stop)
          give_up(Reason::kRebuild, "iterator over a dict that has changed");
        r.kind = Recipe::kDictIter;
        r.index = static_cast<int>(v->pos);
        sub(v->self);
      } else if (v->iter == Value::kSequence) {
        r.kind = Recipe::kListIter;
        r.index = static_cast<int>(v->pos);
        sub(v->self ? v->self : v->items[0]);  // a Tensor or a string: by what Python has for it
      } else if (v->iter == Value::kReversed) {
        if (v->pos + 1 != static_cast<int64_t>(v->items[0]->items.size()))
          give_up(Reason::kRebuild, "an iterator under way");
        r.kind = Recipe::kCall;
        r.obj = py::reinterpret_borrow<py::object>(original("reversed"));
        sub(v->items[0]);
      } else if (v->iter == Value::kRange) {
        r.kind = Recipe::kCall;
        r.obj = py::reinterpret_borrow<py::object>(original("iter"));
        sub(constant(v->obj[py::slice(py::int_(v->pos), py::none(), py::none())]));
      } else if (v->iter == Value::kZip || v->iter == Value::kEnumerate) {
        r.kind = Recipe::kCall;
        r.obj = py::reinterpret_borrow<py::object>(
            original(v->iter == Value::kZip ? "zip" : "enumerate"));
        for (auto& x : v->items) sub(x);
        if (v->iter == Value::kEnumerate) sub(constant_int(v->pos));
      } else {
        if (v->iter == Value::kGenerator && (v->pos > 0 || !v->self)) throw StartedGenerator();
        if (v->iter != Value::kGenerator) give_up(Reason::kRebuild, "iterator");
        r.kind = Recipe::kCall;
        sub(v->self);
        for (auto& x : v->items) sub(x);
      }
      break;
    }
    case Value::kView: {
      static const char* names[] = {"keys", "values", "items"};
      r.kind = Recipe::kCall;
      r.obj = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyDict_Type))
                  .attr(names[v->view]);
      sub(v->items[0]);
      break;
    }
    case Value::kSuper: give_up(Reason::kRebuild, "super()");
    case Value::kArray: {
      static PyObject* copy =
          py::object(py::module_::import("numpy").attr("ndarray").attr("copy")).release().ptr();
      Recipe own{Recipe::kConst};
      own.obj = v->obj;
      entry_->recipes.push_back(own);
      r.kind = Recipe::kCall;
      r.obj = py::reinterpret_borrow<py::object>(copy);
      r.items = {static_cast<int>(entry_->recipes.size()) - 1};
      break;
    }
    case Value::kInstance: {
      // known before its attributes are, which may lead back to it
      r.kind = Recipe::kInstance;
      r.obj = v->obj;
      py::list names;
      for (auto& k : v->keys) names.append(k);
      r.obj2 = py::tuple(names);
      const int id = static_cast<int>(entry_->recipes.size());
      entry_->recipes.push_back(r);
      recipe_of_[v] = id;
      for (auto& x : v->items) sub(x);
      entry_->recipes[id].items = r.items;
      return id;
    }
    case Value::kException:
      if (v->raised || v->dirty || !v->content)
        give_up(Reason::kRebuild, "an exception that was raised or changed");
      r.kind = Recipe::kCall;
      r.obj = v->obj;
      for (auto& x : v->content->items) sub(x);
      break;
    case Value::kObject:
      if (v->src >= 0) {
        r.kind = Recipe::kSource;
        r.index = v->src;
      } else if (v->obj) {
        r.kind = Recipe::kConst;
        r.obj = v->obj;
      } else {
        give_up(Reason::kRebuild, "object");
      }
      break;
  }
  entry_->recipes.push_back(std::move(r));
  return recipe_of_[v] = static_cast<int>(entry_->recipes.size()) - 1;
}

// An instance of an entry: its program, for a graph without symbols, and sizes.
static std::shared_ptr<const Instance> instance_of(const Entry& e,
                                                   const std::shared_ptr<const Graph>& graph,
                                                   std::vector<Number> sizes) {
  auto x = std::make_shared<Instance>();
  const Graph& g = *graph;
  bool may_fail = false;
  const auto live = g.live();
  for (uint32_t k = 0; k < g.size(); ++k)
    may_fail |= live[k] && g.node(k).op && g.node(k).op->has(kMayFail);
  if (!g.outputs.empty() || may_fail) {
    x->program = compile(g, e.fast);
    x->graph = graph;
  }
  x->donatable.assign(e.inputs.size(), false);
  if (x->program)
    for (auto& b : x->program->output_buffers)
      if (b.donor >= 0) x->donatable[b.donor] = true;
  x->sizes = std::move(sizes);
  return x;
}

static std::shared_ptr<const Instance> instance_at(const Entry& e,
                                                   const std::vector<int64_t>& dims) {
  auto misfit = std::make_shared<Instance>();
  misfit->fits = false;
  if (!e.symbols.fit(dims)) return misfit;
  const Dims values(dims.begin(), dims.end());
  try {
    std::vector<Number> sizes;
    for (auto& n : e.sizes) {
      const SizeNumber x = substitute(n, values);
      sizes.push_back(x.index() ? Number(std::get<Real>(x).value) : int64_t{std::get<Dim>(x)});
    }
    return instance_of(e, e.graph->with_sizes(values), std::move(sizes));
  } catch (const Misfit&) {
    return misfit;
  } catch (const OpError&) {  // this and the next: the plain run raises it at its line
    return misfit;
  } catch (const std::bad_alloc&) {
    return misfit;
  }
}

std::shared_ptr<const Instance> instance_for(Entry& e, const std::vector<py::object>& values) {
  std::vector<int64_t> dims;
  for (auto [k, d] : e.varying) dims.push_back(array_of(values[e.inputs[k]].ptr())->type.shape[d]);
  auto it = e.instances.find(dims);
  if (it == e.instances.end()) {
    constexpr size_t kMaxInstances = 256;
    if (e.instances.size() >= kMaxInstances) e.instances.clear();
    it = e.instances.emplace(dims, instance_at(e, dims)).first;
  }
  return it->second->fits ? it->second : nullptr;
}

std::string graph_text(const Entry& e, const CodeInfo& code) {
  if (e.varying.empty() || e.graph_text.empty()) return e.graph_text;
  std::string text = e.graph_text;
  const auto merged = e.symbols.merged();
  std::map<std::string, std::string> meaning;
  std::vector<std::string> order;
  for (size_t v = 0; v < e.varying.size(); ++v) {
    const auto [k, d] = e.varying[v];
    std::string& m = meaning[merged[v].str()];
    if (m.empty()) order.push_back(merged[v].str());
    m += str_cat(m.empty() ? "" : " = ", describe_source(e.sources, e.inputs[k], code), ".shape[",
                 d, "]");
  }
  for (auto& s : order) text += str_cat("# ", s, " = ", meaning[s], "\n");
  return text;
}

std::vector<std::string> describe_constraints(const Entry& e, const CodeInfo& code) {
  auto name = [&](int v) {
    const auto [k, d] = e.varying[static_cast<size_t>(v)];
    return str_cat(describe_source(e.sources, e.inputs[k], code), ".shape[", d, "]");
  };
  static const std::map<std::string, std::pair<const char*, const char*>> signs = {
      {"lt", {"<", ">="}}, {"le", {"<=", ">"}},  {"gt", {">", "<="}},
      {"ge", {">=", "<"}}, {"eq", {"==", "!="}}, {"ne", {"!=", "=="}}};
  std::vector<std::string> r;
  for (auto& c : e.symbols.constraints()) {
    const auto& sign = signs.at(c.relation);
    r.push_back(
        str_cat(str(c.a, name), " ", c.holds ? sign.first : sign.second, " ", str(c.b, name)));
  }
  return r;
}

Val Tracer::add_input(Type t, int src, uint64_t varying) {
  for (int d = 0; d < t.shape.rank(); ++d)
    if (varying >> d & 1) {
      t.shape[d] = symbols_.symbol(t.shape[d]);
      varying_.push_back({static_cast<int>(input_source_.size()), d});
    }
  input_source_.push_back(src);
  return graph_->add_input(t);
}

void Tracer::finish(Entry* e) {
  e->own_gradients = has_own_gradients_;
  if (const auto paths = own_changes(); !paths.empty()) throw ChangesItself{paths};
  make_effects(e);
  if (!e->changed.empty())
    for (auto& [o, v] : known_)
      if (v->src >= 0 && v->obj.ptr() == o &&
          (v->kind == Value::kTensor || is_list(v) || is_dict(v) || v->kind == Value::kCell ||
           (v->kind == Value::kObject && !PyFunction_Check(o) && !PyType_Check(o) &&
            !PyModule_Check(o))))
        e->identities.push_back(v->src);

  e->inputs = input_source_;
  for (auto& o : outputs_) {
    const bool same =
        o.assign_to >= 0 && o.node.type() == graph_->node(graph_->inputs()[o.assign_to]).type;
    graph_->outputs.push_back({scope_->val(o.node).id, same ? o.assign_to : -1});
  }
  e->ops = graph_->op_counts();
  e->varying = varying_;
  if (varying_.empty()) {
    const auto made = instance_of(*e, graph_, {});
    e->instances[{}] = made;
    if (made->program) e->graph_text = graph_->print();
  } else {
    e->graph = graph_;
    e->symbols = std::move(symbols_);
    const auto made = instance_at(*e, e->symbols.hints());
    // What compiling rejects, the plain run raises.
    OP_CHECK(made->fits, kRuntime, "the graph cannot be compiled for these sizes");
    e->instances[e->symbols.hints()] = made;
    if (made->program) e->graph_text = graph_->with_sizes(e->symbols.merged())->print();
  }
  if (!e->graph_text.empty()) PIJIT_LOG("graph", "\n", e->graph_text);

  e->sources = std::move(sources_);
  std::stable_sort(guards_.begin(), guards_.end(), [](auto& a, auto& b) { return a.src < b.src; });
  e->guards = std::move(guards_);
  e->guard_range.resize(e->sources.size());
  size_t g = 0;
  for (size_t s = 0; s < e->sources.size(); ++s) {
    const int b = static_cast<int>(g);
    while (g < e->guards.size() && e->guards[g].src == static_cast<int>(s)) ++g;
    e->guard_range[s] = {b, static_cast<int>(g)};
  }
}

std::unique_ptr<Entry> Tracer::finish_return(const V& result) {
  auto e = std::make_unique<Entry>();
  entry_ = e.get();
  e->fast = start_.fast;
  frames_.resize(1);
  e->first_line = start_.code->instrs[start_.instr].line;
  e->result = recipe(result);
  finish(e.get());
  return e;
}

std::unique_ptr<Entry> Tracer::finish_break(Frame& f, const GraphBreak& b) {
  auto e = std::make_unique<Entry>();
  entry_ = e.get();
  // a return that could not be finished may have begun these
  recipe_of_.clear();
  outputs_.clear();
  graph_->outputs.clear();
  e->fast = start_.fast;
  e->first_line = start_.code->instrs[start_.instr].line;
  e->break_record = BreakRecord{b.reason, b.detail, location()};
  if (!b.where.empty() && b.where != location())
    e->break_record->detail += (b.detail.empty() ? "in " : ", in ") + b.where;
  e->instr = f.pc;
  for (size_t s = 0; s < f.slots.size(); ++s) {
    const bool live = f.code->live[f.pc][s] && f.slots[s]->kind != Value::kNull;
    e->slot_recipes.push_back(live ? recipe(f.slots[s]) : -1);
  }
  for (auto& v : f.stack) e->stack_recipes.push_back(v->kind == Value::kNull ? -1 : recipe(v));
  e->rest_in_python = f.code->handler_of(f.pc) != nullptr;
  finish(e.get());
  PIJIT_LOG("breaks", e->break_record->location, ": ", reason_text(b.reason),
            b.detail.empty() ? "" : " (", b.detail, b.detail.empty() ? "" : ")");
  return e;
}

}  // namespace pijit
