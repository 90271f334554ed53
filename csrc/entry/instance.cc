// The program of an entry for certain sizes, and the entry's graph as text.
#include <algorithm>

#include "base/log.h"
#include "compile/compile.h"
#include "entry/entry.h"
#include "entry/instance.h"
#include "objects/ndarray.h"
#include "runtime/record.h"

namespace pijit {

namespace {
thread_local int64_t time_for_sizes = 0;
}  // namespace

int64_t take_time_for_sizes() { return std::exchange(time_for_sizes, 0); }

std::shared_ptr<const Instance> instance_of(const Entry& e,
                                            const std::shared_ptr<const Graph>& graph,
                                            std::vector<Number> sizes) {
  auto x = std::make_shared<Instance>();
  const Graph& g = *graph;
  bool may_fail = false;
  const auto live = g.live();
  for (uint32_t k = 0; k < g.size(); ++k) may_fail |= live[k] && g.node(k).may_fail;
  if (!g.outputs.empty() || may_fail) {
    x->program = compile(g, e.fast);
    x->graph = graph;
  }
  x->donatable.assign(e.inputs.size(), false);
  if (x->program && !x->program->loops)
    for (auto& b : x->program->output_buffers)
      if (b.donor >= 0) x->donatable[b.donor] = true;
  x->sizes = std::move(sizes);
  return x;
}

namespace {
// The graph of an entry for these dims, and the sizes that its recipes ask for. Null: there is none
// for them.
std::shared_ptr<const Graph> graph_at(const Entry& e, const std::vector<int64_t>& dims,
                                      std::vector<Number>* sizes) {
  if (!e.symbols.fit(dims)) return nullptr;
  const Dims values(dims.begin(), dims.end());
  try {
    for (auto& n : e.sizes) {
      const SizeNumber x = substitute(n, values);
      sizes->push_back(x.index() ? Number(std::get<Real>(x).value) : int64_t{std::get<Dim>(x)});
    }
    return e.graph->with_sizes(values);
  } catch (const Misfit&) {
    return nullptr;
  } catch (const OpError&) {  // this and the next: the plain run raises it at its line
    return nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
}  // namespace

std::shared_ptr<const Instance> instance_at(const Entry& e, const std::vector<int64_t>& dims) {
  std::vector<Number> sizes;
  const auto graph = graph_at(e, dims, &sizes);
  try {
    if (graph) return instance_of(e, graph, std::move(sizes));
  } catch (const OpError&) {  // the plain run says what comes of it
  } catch (const std::bad_alloc&) {
  }
  auto misfit = std::make_shared<Instance>();
  misfit->fits = false;
  return misfit;
}

bool compile_entry(Entry& e) {
  if (!e.graph) return true;  // all of it runs in Python
  std::vector<Number> sizes;
  const bool varies = !e.dynamic.empty();
  const auto dims = varies ? e.symbols.hints() : std::vector<int64_t>();
  const auto graph = varies ? graph_at(e, dims, &sizes) : std::exchange(e.graph, nullptr);
  if (!graph) return false;
  const auto made = instance_of(e, graph, std::move(sizes));
  e.instances[dims] = made;
  if (made->program)
    e.graph_text = (varies ? *e.graph->with_sizes(e.symbols.merged()) : *graph).print();
  if (!e.graph_text.empty()) PIJIT_LOG("graph", "\n", e.graph_text);
  return true;
}

std::vector<int64_t> sizes_of(const Entry& e, const Values& values) {
  std::vector<int64_t> dims;
  for (auto [k, d] : e.dynamic) {
    PyObject* o = values[e.inputs[k]];
    if (d < 0) {  // guards say what it is
      const long long i = PyLong_AsLongLong(o);
      dims.push_back(d == Entry::kNegated ? -i : i);
    } else if (is_tensor(o)) {
      dims.push_back(array_of(o)->type.shape[d]);
    } else {
      const auto* a = ndarray_fields(o);  // its axes in memory
      dims.push_back(a->shape[a->flags & kNdC ? d : a->nd - 1 - d]);
    }
  }
  return dims;
}
bool has_instance(const Entry& e, const std::vector<int64_t>& sizes) {
  return e.instances.contains(sizes);
}

std::shared_ptr<const Instance> instance_for(Entry& e, const Values& values) {
  if (e.dynamic.empty() && !e.instances.empty()) [[likely]] {  // every call asks: no key is made
    const auto& only = e.instances.begin()->second;
    return only->fits ? only : nullptr;
  }
  const std::vector<int64_t> dims = sizes_of(e, values);
  auto it = e.instances.find(dims);
  if (it == e.instances.end()) {
    constexpr size_t kMaxInstances = 256;
    if (e.instances.size() >= kMaxInstances) e.instances.clear();
    const int64_t begin = clock_ns();
    it = e.instances.emplace(dims, instance_at(e, dims)).first;
    time_for_sizes += std::max<int64_t>(clock_ns() - begin, 1);  // it is seen in any case
  }
  return it->second->fits ? it->second : nullptr;
}

namespace {
// What symbol `v` of an entry is.
std::string symbol_text(const Entry& e, size_t v, const CodeInfo& code) {
  const auto [k, d] = e.dynamic[v];
  std::string text = describe_source(e.sources, e.inputs[k], code);
  if (d < 0) return d == Entry::kNegated ? "-(" + text + ")" : text;
  return str_cat(text, ".shape[", d, "]");
}
}  // namespace

std::string graph_text(const Entry& e, const CodeInfo& code) {
  if (e.dynamic.empty() || e.graph_text.empty()) return e.graph_text;
  std::string text = e.graph_text;
  const auto merged = e.symbols.merged();
  std::map<std::string, std::string> meaning;
  std::vector<std::string> order;
  for (size_t v = 0; v < e.dynamic.size(); ++v) {
    std::string& m = meaning[merged[v].str()];
    if (m.empty()) order.push_back(merged[v].str());
    m += str_cat(m.empty() ? "" : " = ", symbol_text(e, v, code));
  }
  for (auto& s : order) text += str_cat("# ", s, " = ", meaning[s], "\n");
  return text;
}

std::vector<std::string> describe_constraints(const Entry& e, const CodeInfo& code) {
  auto name = [&](int v) { return symbol_text(e, static_cast<size_t>(v), code); };
  std::vector<std::string> r;
  for (auto& c : e.symbols.constraints()) {
    const CompareOp made = *compare_function(c.relation);
    const CompareOp relation = c.holds ? made : facts(made).negated;
    r.push_back(str_cat(str(c.a, name), " ", facts(relation).sign, " ", str(c.b, name)));
  }
  return r;
}

}  // namespace pijit
