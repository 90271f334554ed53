// Text form of graphs: printer and parser of the same language.
#include <cctype>
#include <cmath>
#include <cstring>
#include <sstream>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace pijit {

std::string attr_text(const AttrValue& v) {
  struct {
    std::string operator()(Dim x) const { return x.str(); }
    std::string operator()(double x) const {
      if (std::isnan(x)) return "nan";
      if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
      char buf[40];
      std::snprintf(buf, sizeof buf, "%.17g", x);
      for (int p = 1; p < 17; ++p) {  // the shortest text that reads back to the same bits
        char t[40];
        std::snprintf(t, sizeof t, "%.*g", p, x);
        if (std::strtod(t, nullptr) == x) return t;
      }
      return buf;
    }
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(const std::string& s) const { return "\"" + s + "\""; }
    std::string operator()(const Dims& s) const {
      std::string r = "(";
      for (size_t i = 0; i < s.size(); ++i) r += (i ? "," : "") + s[i].str();
      return r + ")";
    }
    std::string operator()(DType t) const { return std::string(name_of(t)); }
  } f;
  return std::visit(f, v);
}

AttrValue parse_attr(AttrKind kind, const std::string& t) {
  try {
    switch (kind) {
      case AttrKind::kInt: return std::get<Dim>(parse_size(t));
      case AttrKind::kFloat: return std::stod(t);
      case AttrKind::kBool: return t == "true";
      case AttrKind::kString: return t.size() >= 2 ? t.substr(1, t.size() - 2) : std::string();
      case AttrKind::kInts: {
        Dims v;
        for (size_t i = 1; i < t.size() && t[i] != ')';) {
          size_t end = i;  // of an expression: it may hold brackets, but no comma
          for (int depth = 0; end < t.size() && (depth > 0 || (t[end] != ',' && t[end] != ')'));
               ++end)
            depth += (t[end] == '(') - (t[end] == ')');
          v.push_back(std::get<Dim>(parse_size(t.substr(i, end - i))));
          i = end + (end < t.size() && t[end] == ',');
        }
        return v;
      }
      case AttrKind::kDType:
        if (auto d = dtype_from_name(t)) return *d;
    }
  } catch (const std::exception&) {
  }
  throw OpError(OpError::kValue, str_cat("[parse] bad attribute value '", t, "'"));
}

std::string Graph::print(bool with_locations) const {
  const auto l = live();
  std::ostringstream os;
  os << "graph(";
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Node& n = nodes_[inputs_[i]];
    os << (i ? ", " : "") << "%" << n.id << ": " << n.type.str();
    if (!n.name.empty()) os << " \"" << n.name << "\"";
    if (n.parameter) os << " parameter";
  }
  os << ") {\n";
  for (auto& n : nodes_) {
    if (n.kind == Node::kInput || !l[n.id]) continue;
    os << "  %" << n.id << ": " << n.type.str() << " = ";
    if (n.size) {
      os << "const(" << str(*n.size) << ")";
    } else if (n.kind == Node::kConst) {
      char buf[32];
      std::snprintf(buf, sizeof buf, "const(0x%llx)", static_cast<unsigned long long>(n.bits));
      os << buf;
    } else {
      os << n.op->name << "(";
      for (size_t k = 0; k < n.in.size(); ++k) {
        os << (k ? ", " : "");
        if (n.in[k] == kNoNode)
          os << "none";
        else
          os << "%" << n.in[k];
      }
      os << ")";
      if (!n.attrs.empty()) {
        os << " {";
        for (size_t k = 0; k < n.attrs.size(); ++k)
          os << (k ? ", " : "") << n.op->attrs[k].name << "=" << attr_text(n.attrs[k]);
        os << "}";
      }
    }
    if (with_locations && n.loc >= 0)
      os << "  # " << locations[n.loc].substr(locations[n.loc].rfind('/') + 1);
    os << "\n";
    for (auto& r : n.regions) {
      std::istringstream lines(r->print(false));
      os << "    region\n";
      for (std::string line; std::getline(lines, line);) os << "    " << line << "\n";
    }
  }
  os << "  return ";
  for (size_t i = 0; i < outputs.size(); ++i) {
    os << (i ? ", " : "");
    if (outputs[i].assign_to >= 0) os << "%" << inputs_[outputs[i].assign_to] << " := ";
    os << "%" << outputs[i].node;
  }
  os << "\n}\n";
  return os.str();
}

namespace {
struct Parser {
  const std::string& s;
  size_t i = 0;
  absl::flat_hash_map<uint32_t, uint32_t> ids;  // printed id -> node
  [[noreturn]] void fail(const std::string& what) const {
    int line = 1;
    for (size_t k = 0; k < i && k < s.size(); ++k) line += s[k] == '\n';
    throw OpError(OpError::kValue, str_cat("[parse] line ", line, ": expected ", what));
  }
  void ws() {
    while (i < s.size()) {
      if (s[i] == '#')
        while (i < s.size() && s[i] != '\n') ++i;
      else if (std::isspace(static_cast<unsigned char>(s[i])))
        ++i;
      else
        break;
    }
  }
  bool eat(const char* t) {
    ws();
    const size_t n = std::strlen(t);
    if (s.compare(i, n, t)) return false;
    i += n;
    return true;
  }
  void need(const char* t) {
    if (!eat(t)) fail(str_cat("'", t, "'"));
  }
  std::string word() {
    ws();
    const size_t b = i;
    while (i < s.size() && (std::isalnum(static_cast<unsigned char>(s[i])) || s[i] == '_')) ++i;
    if (b == i) fail("a name");
    return s.substr(b, i - b);
  }
  int64_t number() {
    ws();
    const size_t b = i;
    if (i < s.size() && s[i] == '-') ++i;
    while (i < s.size() && std::isdigit(static_cast<unsigned char>(s[i]))) ++i;
    if (b == i || i - b > 18) fail("a number");
    return std::stoll(s.substr(b, i - b));
  }
  uint32_t id() {
    need("%");
    return static_cast<uint32_t>(number());
  }
  uint32_t use() {
    auto it = ids.find(id());
    if (it == ids.end()) fail("a value defined above");
    return it->second;
  }
  Type type() {
    auto d = dtype_from_name(word());
    if (!d) fail("a dtype");
    Type t{*d, {}};
    need("[");
    if (!eat("]")) {
      do {
        t.shape.push_back(std::get<Dim>(parse_size(until(",]"))));
      } while (eat(","));
      need("]");
    }
    if (eat("@")) {
      const auto where = device_from_name(word());
      if (!where) fail("a device");
      t.device = *where;
    }
    return t;
  }
  // Up to one of these characters outside of brackets.
  std::string until(const char* ends) {
    ws();
    const size_t b = i;
    for (int depth = 0; i < s.size() && s[i] != '\n'; ++i) {
      if (depth == 0 && std::strchr(ends, s[i])) break;
      depth += (s[i] == '(') - (s[i] == ')');
    }
    return s.substr(b, i - b);
  }
  std::string quoted() {
    const size_t b = i;
    while (i < s.size() && s[i] != '"') ++i;
    std::string r = s.substr(b, i - b);
    need("\"");
    return r;
  }
  std::string attr() {
    ws();
    const size_t b = i;
    if (i < s.size() && s[i] == '"') {
      ++i;
      quoted();
    } else {
      until(",}");
    }
    return s.substr(b, i - b);
  }
};
}  // namespace

static std::unique_ptr<Graph> parse_graph(Parser& p, int depth) {
  if (depth > 50) p.fail("fewer nested regions");
  auto g = std::make_unique<Graph>();
  p.need("graph");
  p.need("(");
  if (!p.eat(")")) {
    do {
      const uint32_t id = p.id();
      p.need(":");
      const Type t = p.type();
      std::string name;
      if (p.eat("\"")) name = p.quoted();
      const bool parameter = p.eat("parameter");
      p.ids[id] = g->add_input(t, name, parameter).id;
    } while (p.eat(","));
    p.need(")");
  }
  p.need("{");
  while (!p.eat("return")) {
    const uint32_t id = p.id();
    p.need(":");
    const Type t = p.type();
    p.need("=");
    const std::string name = p.word();
    p.need("(");
    if (name == "const") {
      const std::string w = p.until(")");
      p.need(")");
      if (w.starts_with("0x")) {
        char* end = nullptr;
        const uint64_t bits = std::strtoull(w.c_str(), &end, 16);
        if (*end) p.fail("constant bits");
        p.ids[id] = g->constant(t.dtype, bits).id;
      } else {
        p.ids[id] = g->constant(t.dtype, parse_size(w)).id;
      }
      continue;
    }
    const OpDef* op = OpTable::get().find(name);
    if (!op) p.fail("an op name, not '" + name + "'");
    std::vector<Val> in;
    if (!p.eat(")")) {
      do {
        if (p.eat("none"))
          in.push_back({});
        else
          in.push_back(g->val(p.use()));
      } while (p.eat(","));
      p.need(")");
    }
    Attrs attrs;
    if (p.eat("{")) {
      do {
        const std::string key = p.word();
        if (attrs.size() >= op->attrs.size() || op->attrs[attrs.size()].name != key)
          p.fail("attributes of " + name + " in order");
        p.need("=");
        attrs.push_back(parse_attr(op->attrs[attrs.size()].kind, p.attr()));
      } while (p.eat(","));
      p.need("}");
    }
    if (attrs.size() != op->attrs.size()) p.fail("all attributes of " + name);
    const bool arity =
        op->variadic() ? in.size() + 1 >= op->inputs.size() : in.size() == op->inputs.size();
    if (!arity) p.fail("another number of inputs for " + name);
    std::vector<std::shared_ptr<const Graph>> regions;
    while (p.eat("region")) {
      const auto outer = p.ids;
      regions.push_back(parse_graph(p, depth + 1));
      p.ids = outer;
    }
    for (auto v : in)
      if (!v && !regions.empty()) p.fail("values");
    Val v = regions.empty() ? g->Builder::op(*op, in, attrs) : g->emit_region(*op, in, regions);
    if (!(v.type() == t))
      p.fail(str_cat("type ", v.type().str(), " for ", name, ", not ", t.str()));
    p.ids[id] = v.id;
  }
  p.ws();
  if (!p.eat("}")) {
    do {
      uint32_t a = p.use();
      GraphOutput o{a};
      if (p.eat(":=")) {
        for (size_t k = 0; k < g->inputs().size(); ++k)
          if (g->inputs()[k] == a) o.assign_to = static_cast<int>(k);
        if (o.assign_to < 0) p.fail("an input on the left of :=");
        o.node = p.use();
      }
      g->outputs.push_back(o);
    } while (p.eat(","));
    p.need("}");
  }
  return g;
}

std::unique_ptr<Graph> Graph::parse(const std::string& text) {
  Parser p{text, 0, {}};
  return parse_graph(p, 0);
}

}  // namespace pijit
