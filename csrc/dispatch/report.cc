#include "dispatch/report.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "region/parallel_loop.h"

namespace pijit {

py::list described_breaks(const FunctionCache& s) {
  py::list breaks;
  for (auto& b : s.breaks) {
    py::dict x;
    x["reason"] = reason_text(b.reason);
    x["detail"] = str_of(b.detail);
    x["location"] = str_of(b.location);
    x["hint"] = break_hint(b.reason, b.of);
    x["id"] = break_id(b.reason, b.of);
    breaks.append(x);
  }
  return breaks;
}

namespace {

py::list list_of(const std::vector<std::string>& v) {
  py::list l;
  for (auto& s : v) l.append(str_of(s));
  return l;
}

py::list described_misses(const FunctionCache& s) {
  py::list l;
  for (auto& m : s.misses) {
    py::dict x;
    x["where"] = str_of(m.place);
    x["guard"] = str_of(m.guard);
    x["old"] = str_of(m.was);
    x["new"] = str_of(m.is);
    l.append(x);
  }
  return l;
}

// The steps of a program, with the values that pass between them by number: of slots, which inputs
// of the program hold, too.
py::dict described_program(const Program& p) {
  py::dict d;
  py::list kernels, inputs, outputs;
  for (auto& st : p.steps) {
    py::dict x = described(*st.metadata);
    py::list in, out;
    for (int slot : st.in) in.append(slot);
    for (int slot : st.out) out.append(slot);
    x["in"] = in;
    x["out"] = out;
    py::list regions;
    if (auto* region = dynamic_cast<const RegionKernel*>(st.kernel.get()))
      for (auto& r : region->programs) regions.append(described_program(*r));
    x["regions"] = regions;
    kernels.append(x);
  }
  for (size_t k = 0; k < p.input_types.size(); ++k)
    for (size_t s = 0; s < p.slots.size(); ++s)
      if (p.slots[s].kind == Program::Slot::kInput && p.slots[s].index == k)
        inputs.append(py::make_tuple(s, str_of(p.input_types[k].str())));
  for (auto& o : p.outputs) outputs.append(py::make_tuple(o.slot, str_of(o.type.str())));
  d["kernels"] = kernels;
  d["inputs"] = inputs;
  d["outputs"] = outputs;
  d["arena_bytes"] = p.arena_bytes;
  return d;
}

py::dict described_entry(const Entry& e, const CodeInfo& code, int instr) {
  py::dict x;
  py::list guards, ops, names;
  for (auto& g : e.guards) guards.append(str_of(describe_guard(e, g, code)));
  for (auto& c : describe_constraints(e, code)) guards.append(str_of(c));
  for (auto& [n, c] : e.ops) ops.append(py::make_tuple(n, c));
  for (int s : e.inputs) names.append(str_of(describe_source(e.sources, s, code)));
  x["guards"] = guards;
  x["graph"] = str_of(graph_text(e, code));
  x["ops"] = ops;
  x["input_names"] = names;
  x["calls"] = e.calls;
  const Instance& one = *e.instances.begin()->second;
  x["steps"] = one.program ? one.program->steps.size() : 0;
  x["program"] = one.program ? one.program->describe() : "";
  x["kernels"] = one.program ? py::object(described_program(*one.program)) : py::none();
  x["sizes"] = e.instances.size();
  x["where"] = str_of(str_cat(code.filename, ":", e.first_line));
  x["first"] = instr == 0;
  x["places"] = list_of(e.places);
  x["complete"] = e.result >= 0;
  x["ends_at"] = str_of(e.break_record ? e.break_record->location : "");
  return x;
}

py::dict described_region(const Region& r, const CodeInfo& code) {
  py::dict x;
  py::list exits;
  for (auto& e : r.exits)
    if (e.count > 0)
      exits.append(py::make_tuple(code.instrs[e.instr].line, e.returns, e.count, str_of(e.why)));
  x["where"] = str_of(str_cat(code.filename, ":", r.first_line));
  x["lines"] = py::make_tuple(r.first_line, r.last_line);
  x["runs"] = r.runs;
  x["bytes"] = r.code->bytes();
  x["exits"] = exits;
  x["text"] = str_of(r.text);
  x["recursive"] = r.recursive;
  x["shared_turns"] = std::accumulate(r.parallel.begin(), r.parallel.end(), size_t{0},
                                      [](size_t n, auto& l) { return n + l->shared; });
  x["why"] = "";
  x["help"] = "";
  return x;
}

// Loops that have no machine code, each once, with the latest reason: code that is looked at again
// from further on knows more.
void describe_left_loops(const FunctionCache& s, const CodeInfo& code, py::list* regions) {
  std::map<std::pair<int, int>, const NoRegion*> loops;
  for (auto& n : s.left_loops) {
    bool has_one = false;
    for (auto& [key, p] : s.points)
      for (auto& r : p.regions)
        has_one |= r->first_line <= n.first_line && n.last_line <= r->last_line;
    if (!has_one || n.given_up) loops[{n.first_line, n.last_line}] = &n;
  }
  for (auto& [lines, n] : loops) {
    py::dict x;
    x["where"] = str_of(str_cat(code.filename, ":", n->line));
    x["lines"] = py::make_tuple(n->first_line, n->last_line);
    x["runs"] = 0;
    x["bytes"] = 0;
    x["exits"] = py::list();
    x["text"] = "";
    x["recursive"] = false;
    x["shared_turns"] = 0;
    x["why"] = str_of(n->why);
    x["help"] = str_of(n->help);
    regions->append(x);
  }
}

// What a value is, in few words, without asking any code of its class.
std::string brief(PyObject* o) {
  if (!o) return "nothing";
  if (is_tensor(o)) return array_of(o)->type.str();
  if (o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
      PyUnicode_CheckExact(o)) {
    std::string s = shown(o);
    constexpr size_t kLongest = 80;
    return s.size() > kLongest ? s.substr(0, kLongest - 3) + "..." : s;
  }
  if (PyType_Check(o)) return reinterpret_cast<PyTypeObject*>(o)->tp_name;
  if (PyFunction_Check(o))
    return "function " + text_of(reinterpret_cast<PyFunctionObject*>(o)->func_qualname);
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o))
    return str_cat(Py_TYPE(o)->tp_name, " of ", PySequence_Fast_GET_SIZE(o));
  if (PyDict_CheckExact(o)) return str_cat("dict of ", PyDict_GET_SIZE(o));
  return str_cat(Py_TYPE(o)->tp_name, " object");
}
// What a guard asks for, and what it found.
std::pair<std::string, std::string> was_and_is(const Guard& g, PyObject* now) {
  const std::string type = now ? Py_TYPE(now)->tp_name : "nothing";
  switch (g.kind) {
    case Guard::kType:
    case Guard::kExact:
    case Guard::kNumber: return {brief(g.obj.ptr()), type};
    case Guard::kTensor:
      return {g.type.str(), now && is_tensor(now) ? array_of(now)->type.str() : type};
    case Guard::kLength:
    case Guard::kAtLeast:
      return {str_cat(g.kind == Guard::kAtLeast ? "at least " : "", g.num, " items"), brief(now)};
    case Guard::kEquals:
    case Guard::kIs: {
      std::pair<std::string, std::string> r{brief(g.obj.ptr()), brief(now)};
      if (r.first == r.second) r.second = "another " + r.second;
      return r;
    }
    default: return {"", brief(now)};
  }
}

}  // namespace

py::dict described(const Metadata& s) {
  py::dict d;
  d["name"] = str_of(s.name);
  d["detail"] = str_of(s.detail);
  d["kernel"] = str_of(s.kernel);
  d["ops"] = list_of(s.ops);
  d["places"] = list_of(s.places);
  d["bytes"] = s.bytes;
  d["flops"] = s.flops;
  return d;
}

void note_misses(FunctionCache* s, const ResumePoint& p, PyObject* func, PyObject* const* state,
                 const CodeInfo& code) {
  constexpr size_t kKept = 32;
  for (auto& e : p.entries) {
    Values values;
    int failed = -1;
    if (s->misses.size() >= kKept) return;
    if (check_guards(*e, func, state, &values, &failed) || failed < 0) continue;
    const Guard& g = e->guards[failed];
    auto [was, is] = was_and_is(g, values[g.src]);
    s->misses.push_back({str_cat(code.filename, ":", e->first_line), describe_guard(*e, g, code),
                         std::move(was), std::move(is)});
  }
}

MetadataRef call_metadata(FunctionCache* s, const CodeInfo& code) {
  if (!s->metadata) {
    Metadata x{text_of(qualname_of(code.code, s->globals.ptr()))};
    x.places.push_back(
        str_cat(code.filename, ":", reinterpret_cast<PyCodeObject*>(code.code)->co_firstlineno));
    s->metadata = std::make_shared<const Metadata>(std::move(x));
  }
  return s->metadata;
}

MetadataRef piece_metadata(const CodeInfo& code, int instr, std::string why) {
  Metadata x{text_of(qualname_of(code.code, nullptr)), std::move(why)};
  const int line = instr < 0 ? reinterpret_cast<PyCodeObject*>(code.code)->co_firstlineno
                             : code.instrs[instr].line;
  x.places.push_back(str_cat(code.filename, ":", line));
  return std::make_shared<const Metadata>(std::move(x));
}

std::string why_broken(const Entry& e) {
  if (!e.break_record) return "";
  const BreakRecord& b = *e.break_record;
  return reason_text(b.reason) + (b.detail.empty() ? "" : " (" + b.detail + ")");
}

py::dict report(const FunctionCache& s, const py::object& func) {
  const Code code = code_info(PyFunction_GET_CODE(func.ptr()));
  py::dict d;
  d["name"] = func.attr("__qualname__");
  d["compile_count"] = s.compile_count;
  d["compile_ms"] = s.compile_ms;
  d["new_sizes"] = s.new_sizes;
  d["calls"] = s.calls;
  d["graph_runs"] = s.graph_runs;
  py::list entries, callees, never, slower, regions;
  for (auto& [key, p] : s.points) {
    for (auto& e : p.entries) entries.append(described_entry(*e, *code, key.first));
    for (auto& r : p.regions) regions.append(described_region(*r, *code));
    if (p.never) never.append(str_of(str_cat(code->filename, ":", code->instrs[key.first].line)));
    if (const auto [first, behind] = loop_around(*code, key.first);
        p.lost_in > 0 && p.hopeless && first >= 0) {
      const auto [from, to] = lines_of(*code, first, behind - 1);
      slower.append(py::make_tuple(from, to));
    }
  }
  if (s.graph_runs == 0) describe_left_loops(s, *code, &regions);
  std::vector<const FunctionCache*> below;
  for (auto& [c, kept] : s.callees.all()) below.push_back(c);
  std::sort(below.begin(), below.end(), [](auto* a, auto* b) { return a->place < b->place; });
  for (auto* c : below) {
    py::dict x;
    x["where"] = str_of(c->place);
    x["compile_count"] = c->compile_count;
    x["compile_ms"] = c->compile_ms;
    x["calls"] = c->calls;
    x["graph_runs"] = c->graph_runs;
    x["breaks"] = described_breaks(*c);
    x["misses"] = described_misses(*c);
    py::list places;
    for (auto& [key, p] : c->points)
      for (auto& e : p.entries)
        for (auto& place : e->places) places.append(str_of(place));
    x["places"] = places;
    callees.append(x);
  }
  d["callees"] = callees;
  d["entries"] = entries;
  d["regions"] = regions;
  d["breaks"] = described_breaks(s);
  d["misses"] = described_misses(s);
  d["interpreted_from"] = never;
  d["slower_loops"] = slower;
  d["deoptimized"] = str_of(s.tier.verdict());
  return d;
}

}  // namespace pijit
