// cuDNN's graphs on the host: attention with masks and its gradient, in plain loops on the fake
// driver's stream. Its heuristic offers first what is not deterministic, then what has no plan. Of
// a gradient it has one plan that adds up in order: it wants the knob STAGES beside the knobs that
// the heuristic chose. Gradients go past masks as if they were sums: nothing says that cuDNN
// doesn't. With PIJIT_FAKE_CUDNN_TOO, the path of cuDNN itself, that one takes each descriptor,
// too, and makes plans for GPUs of three generations from their properties, for which it needs
// none.
#include <math.h>
#include <stdio.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace {

enum { kPw, kEng = 2, kCfg, kHeur, kPlan, kKnob = 7, kPwOp = 13, kGraph = 15, kPack, kTens };
enum { kSdpa = 41, kSdpaBack = 43 };
enum { kHandleT, kDataT, kBoolT, kIntT, kPtrT = 6, kHeurT = 8, kKnobT, kNoteT = 11, kPwT = 14 };
enum { kNodeT = 15, kStages = 14, kTileM = 40, kTileN = 41 };

struct GraphNode {
  int kind;
  bool finished = false;
  int choice = 0;  // of an engine
  std::map<int, std::vector<int64_t>> a;
  void* real = nullptr;
  int64_t at(int attribute, size_t k = 0) const {
    auto it = a.find(attribute);
    return it == a.end() || it->second.size() <= k ? 0 : it->second[k];
  }
  const GraphNode& node(int attribute, size_t k = 0) const {
    return *reinterpret_cast<const GraphNode*>(at(attribute, k));
  }
};

// Attributes that are set, with their types.
const std::map<int, std::map<int, int>> kKnown = {
    {kPw, {{0, kPwT}, {1, kDataT}}},
    {kCfg, {{300, kNodeT}, {302, kNodeT}}},
    {kHeur, {{200, kHeurT}, {201, kNodeT}}},
    {kPlan, {{400, kHandleT}, {401, kNodeT}}},
    {kKnob, {{600, kKnobT}, {601, kIntT}}},
    {kPwOp, {{750, kNodeT}, {751, kNodeT}, {752, kNodeT}, {753, kNodeT}}},
    {kGraph, {{800, kHandleT}, {801, kNodeT}}},
    {kPack, {{1000, kIntT}, {1001, kPtrT}, {1003, kPtrT}}},
    {kTens,
     {{900, kIntT},
      {901, kDataT},
      {902, kIntT},
      {903, kIntT},
      {906, kIntT},
      {907, kBoolT},
      {908, kBoolT}}},
    {kSdpa,
     {{2800, kNodeT},
      {2801, kNodeT},
      {2802, kNodeT},
      {2803, kNodeT},
      {2804, kNodeT},
      {2805, kNodeT},
      {2811, kNodeT},
      {2812, kIntT},
      {2813, kIntT}}},
    {kSdpaBack,
     {{2851, kNodeT},
      {2852, kNodeT},
      {2853, kNodeT},
      {2854, kNodeT},
      {2855, kNodeT},
      {2856, kNodeT},
      {2859, kNodeT},
      {2860, kNodeT},
      {2861, kNodeT},
      {2862, kNodeT},
      {2867, kNodeT},
      {2868, kIntT},
      {2869, kIntT},
      {2875, kNodeT}}},
};
size_t size_of(int type) {
  return type == kBoolT                                                         ? 1
         : type == kIntT || type == kPtrT || type == kNodeT || type == kHandleT ? 8
                                                                                : 4;
}

using Four = std::array<int64_t, 4>;
Four dims(const GraphNode& t) { return {t.at(902, 0), t.at(902, 1), t.at(902, 2), t.at(902, 3)}; }
bool is_tensor(const GraphNode& t, const Four& n, int64_t type) {
  return t.kind == kTens && dims(t) == n && t.at(901) == type;
}

struct Mask {
  int64_t mode, id, type;
  Four n;
};
struct AttentionProblem {
  bool back;
  Four q, k, v;
  int64_t type;
  std::vector<int64_t> ids;  // q, k, v, out, statistics or 0, scale; dout, dq, dk, dv, dbias or 0
  std::vector<Mask> masks;
};
// What an attention node says; false: something is wrong.
bool understood(const GraphNode& s, AttentionProblem* p) {
  const bool back = s.kind == kSdpaBack;
  const int first = back ? 2851 : 2800, scores_of = back ? 2867 : 2811;
  std::vector<int> names;
  for (int k = 0; k < 6; ++k) names.push_back(first + k);
  if (back) names.insert(names.end(), {2862, 2859, 2860, 2861, 2875});
  *p = {back};
  for (int name : names) {
    const bool absent = !s.at(name);
    if (absent ? name != 2804 && name != 2875 : s.node(name).at(907)) return false;
    p->ids.push_back(absent ? 0 : s.node(name).at(906));
  }
  auto node = [&](int k) -> const GraphNode& { return s.node(names[k]); };
  p->q = dims(node(0)), p->k = dims(node(1)), p->v = dims(node(2)), p->type = node(0).at(901);
  const Four rows{p->q[0], p->q[1], p->q[2], p->k[2]}, out{rows[0], rows[1], rows[2], p->v[3]};
  if ((p->type != kF16 && p->type != kBf16) ||
      !is_tensor(node(1), {rows[0], rows[1], rows[3], p->q[3]}, p->type) ||
      !is_tensor(node(2), {rows[0], rows[1], rows[3], p->v[3]}, p->type) ||
      !is_tensor(node(3), out, p->type) || !is_tensor(node(5), {1, 1, 1, 1}, kF32) ||
      !node(5).at(908) || p->q[3] % 8 || p->v[3] % 8)
    return false;
  if (p->ids[4] && !is_tensor(node(4), {rows[0], rows[1], rows[2], 1}, kF32)) return false;
  if (back && (!is_tensor(node(6), out, p->type) || !is_tensor(node(7), p->q, p->type) ||
               !is_tensor(node(8), p->k, p->type) || !is_tensor(node(9), p->v, p->type)))
    return false;
  if (!s.at(scores_of)) return !back || !p->ids[10];
  int64_t scores = s.at(scores_of + 1);
  const GraphNode& steps = s.node(scores_of);
  for (size_t i = 0; i < steps.a.at(801).size(); ++i) {
    const GraphNode& step = steps.node(801, i);
    if (step.kind != kPwOp || !step.at(750) || !step.at(751) || !step.at(752) || !step.at(753))
      return false;
    const GraphNode &x = step.node(751), &m = step.node(752), &y = step.node(753);
    if (x.at(906) != scores || !x.at(907) || !y.at(907) || m.at(907) || !is_tensor(x, rows, kF32) ||
        !is_tensor(y, rows, kF32) || step.node(750).at(1) != kF32)
      return false;
    for (int d = 0; d < 4; ++d)
      if (m.at(902, d) != 1 && m.at(902, d) != rows[d]) return false;
    scores = y.at(906);
    p->masks.push_back({step.node(750).at(0), m.at(906), m.at(901), dims(m)});
  }
  if (back && p->ids[10]) {  // of a mask that is added behind all others, the only such one
    int sums = 0;
    for (auto& m : p->masks) sums += m.mode == 0;
    const Mask& m = p->masks.back();
    if (sums != 1 || m.mode != 0 || m.n[2] != rows[2] || m.n[3] != rows[3] ||
        !is_tensor(node(10), m.n, p->type))
      return false;
  }
  return scores == s.at(scores_of + 2);
}

// Rows of a head: what is read and written by them.
struct Rows {
  const AttentionProblem& p;
  const void* const* given;
  double scale;
  const std::vector<const void*>& masks;
  int64_t b, h;
  int64_t head() const { return b * p.q[1] + h; }
  double at(int which, int64_t rows, int64_t i, int64_t width, int64_t d) const {
    return read(given[which], p.type, (head() * rows + i) * width + d);
  }
  double score(int64_t i, int64_t j) const {
    double x = 0;
    for (int64_t d = 0; d < p.q[3]; ++d)
      x += at(0, p.q[2], i, p.q[3], d) * at(1, p.k[2], j, p.q[3], d);
    x *= scale;
    for (size_t m = 0; m < masks.size(); ++m) {
      const Four& n = p.masks[m].n;
      const int64_t k = ((b % n[0] * n[1] + h % n[1]) * n[2] + i % n[2]) * n[3] + j % n[3];
      const double value = read(masks[m], p.masks[m].type, k);
      x = p.masks[m].mode == 0 ? x + value : fmin(x, value);
    }
    return x;
  }
};
void attend(const Rows& r, std::vector<double>*) {
  const AttentionProblem& p = r.p;
  const int64_t columns = p.k[2];
  std::vector<double> s(columns);
  for (int64_t i = 0; i < p.q[2]; ++i) {
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < columns; ++j) top = fmax(top, s[j] = r.score(i, j));
    for (auto& x : s) sum += x = exp(x - top);
    for (int64_t d = 0; d < p.v[3]; ++d) {
      double y = 0;
      for (int64_t j = 0; j < columns; ++j) y += s[j] / sum * r.at(2, columns, j, p.v[3], d);
      write(const_cast<void*>(r.given[3]), p.type, (r.head() * p.q[2] + i) * p.v[3] + d, y);
    }
    if (p.ids[4]) write(const_cast<void*>(r.given[4]), kF32, r.head() * p.q[2] + i, top + log(sum));
  }
}
void attend_back(const Rows& r, std::vector<double>* dbias) {
  const AttentionProblem& p = r.p;
  const int64_t columns = p.k[2], wide = p.q[3], width = p.v[3];
  std::vector<double> dq(p.q[2] * wide), dk(columns * wide), dv(columns * width);
  for (int64_t i = 0; i < p.q[2]; ++i) {
    const double statistic = read(r.given[4], kF32, r.head() * p.q[2] + i);
    double mean = 0;
    for (int64_t d = 0; d < width; ++d)
      mean += r.at(3, p.q[2], i, width, d) * r.at(6, p.q[2], i, width, d);
    for (int64_t j = 0; j < columns; ++j) {
      const double w = exp(r.score(i, j) - statistic);
      double dw = 0;
      for (int64_t d = 0; d < width; ++d) {
        dw += r.at(6, p.q[2], i, width, d) * r.at(2, columns, j, width, d);
        dv[j * width + d] += w * r.at(6, p.q[2], i, width, d);
      }
      if (dbias) {
        const Four& n = p.masks.back().n;
        (*dbias)[((r.b % n[0] * n[1] + r.h % n[1]) * n[2] + i) * n[3] + j] += w * (dw - mean);
      }
      const double ds = w * (dw - mean) * r.scale;
      for (int64_t d = 0; d < wide; ++d) {
        dq[i * wide + d] += ds * r.at(1, columns, j, wide, d);
        dk[j * wide + d] += ds * r.at(0, p.q[2], i, wide, d);
      }
    }
  }
  const std::vector<double>* made[] = {&dq, &dk, &dv};
  for (int k = 0; k < 3; ++k)
    for (size_t i = 0; i < made[k]->size(); ++i)
      write(const_cast<void*>(r.given[7 + k]), p.type, r.head() * made[k]->size() + i,
            (*made[k])[i]);
}

// cuDNN itself.
struct Real {
  int (*create)(int, void**);
  int (*set)(void*, int, int, int64_t, const void*);
  int (*get)(void*, int, int, int64_t, int64_t*, void*);
  int (*finalize)(void*);
  void (*last_error)(char*, size_t);
};
const Real* real() {
  static const Real* made = []() -> const Real* {
    const char* path = getenv("PIJIT_FAKE_CUDNN_TOO");
    if (!path) return nullptr;
    void* lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) return fprintf(stderr, "%s\n", dlerror()), abort(), nullptr;
    auto* r = new Real;
    auto find = [&](auto& f, const char* name) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(lib, name));
    };
    find(r->create, "cudnnBackendCreateDescriptor");
    find(r->set, "cudnnBackendSetAttribute");
    find(r->get, "cudnnBackendGetAttribute");
    find(r->finalize, "cudnnBackendFinalize");
    find(r->last_error, "cudnnGetLastErrorString");
    return r;
  }();
  return made;
}
int said(int status, const char* what) {
  if (!status) return kOk;
  char text[2048] = "";
  real()->last_error(text, sizeof text);
  fprintf(stderr, "cuDNN refuses %s: %d %s\n", what, status, text);
  return status;
}
// What stands in a descriptor of a GPU's properties.
std::string properties(int capability) {
  const bool old = capability == 80;
  return "{\"deviceVer\":" + std::to_string(capability * 10) +
         ",\"cudaDeviceId\":0,\"driverVer\":13000,\"totalGlobalMem\":80000000000,"
         "\"regsPerBlock\":65536,\"multiProcessorCount\":" +
         (old ? "108" : "132") +
         ",\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
         "\"maxSharedMemoryPerBlockOptin\":" +
         (old ? "166912" : "232448") +
         ",\"oversizedSharedMemoryPerBlock\":0,\"reservedSharedMemoryPerBlock\":1024,"
         "\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,"
         "\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,\"supportCoopLaunch\":1,"
         "\"smClockRateKHz\":1410000,\"memClockRateKHz\":1215000,\"memoryBusWidth\":5120,"
         "\"l2CacheSize\":41943040,\"deviceName\":\"a "
         "GPU\",\"maxGridSize\":[2147483647,65535,65535],"
         "\"maxBlockSize\":[1024,1024,64]}";
}
// Whether it has a plan that is deterministic, for each generation.
bool really_planned(const GraphNode& heuristic) {
  const Real& r = *real();
  for (int capability : {80, 90, 100}) {
    void *gpu = nullptr, *h = nullptr, *graph = heuristic.node(201).real;
    const std::string json = properties(capability);
    const int mode = heuristic.at(200);
    int64_t n = 0, got = 0;
    if (said(r.create(38, &gpu), "a GPU") ||
        said(r.set(gpu, 2702, 24, json.size(), json.data()), "a GPU") ||
        said(r.finalize(gpu), "a GPU") || said(r.create(kHeur, &h), "a heuristic") ||
        said(r.set(h, 201, kNodeT, 1, &graph), "a graph") ||
        said(r.set(h, 200, kHeurT, 1, &mode), "a mode") ||
        said(r.set(h, 204, kNodeT, 1, &gpu), "a GPU") || said(r.finalize(h), "a heuristic") ||
        said(r.get(h, 202, kNodeT, 0, &n, nullptr), "a heuristic"))
      return false;
    std::vector<void*> configs(n);
    for (auto& c : configs) r.create(kCfg, &c);
    if (said(r.get(h, 202, kNodeT, n, &got, configs.data()), "a heuristic")) return false;
    bool planned = false;
    const bool back = heuristic.node(201).node(801).kind == kSdpaBack;
    for (int64_t k = 0; k < got && !planned; ++k) {
      void* engine = nullptr;
      int notes[16];
      int64_t one, noted = 0;
      r.create(kEng, &engine);
      r.get(configs[k], 300, kNodeT, 1, &one, &engine);
      if (said(r.get(engine, 1303, kNoteT, 16, &noted, notes), "an engine") ||
          std::find(notes, notes + noted, 4) != notes + noted)
        continue;
      auto plan = [&](void* config) {
        void* p = nullptr;
        r.create(kPlan, &p);
        return !r.set(p, 401, kNodeT, 1, &config) && !r.set(p, 407, kNodeT, 1, &gpu) &&
               (back ? r.finalize(p) : said(r.finalize(p), "a plan")) == 0;
      };
      if (!back) planned = plan(configs[k]);
      for (int64_t stages : {4, 2}) {  // as attention.cc does
        if (!back || planned) break;
        std::vector<void*> knobs(32);
        for (auto& x : knobs) r.create(kKnob, &x);
        int64_t chosen = 0;
        if (said(r.get(configs[k], 302, kNodeT, 31, &chosen, knobs.data()), "knobs")) return false;
        const int type = kStages;
        r.create(kKnob, &knobs[chosen]);
        void* config = nullptr;
        r.create(kCfg, &config);
        planned = !said(r.set(knobs[chosen], 600, kKnobT, 1, &type), "a knob") &&
                  !said(r.set(knobs[chosen], 601, kIntT, 1, &stages), "a knob") &&
                  !said(r.finalize(knobs[chosen]), "a knob") &&
                  !said(r.set(config, 300, kNodeT, 1, &engine), "an engine") &&
                  !said(r.set(config, 302, kNodeT, chosen + 1, knobs.data()), "knobs") &&
                  !r.finalize(config) && plan(config);
      }
    }
    if (!planned) return fprintf(stderr, "cuDNN has no plan for sm_%d\n", capability), false;
  }
  return true;
}
bool mirrored(const GraphNode& n) {
  return real() && n.kind != kHeur && n.kind != kPlan && n.kind != kPack && n.kind != kEng &&
         n.kind != kCfg && n.kind != kKnob;
}
bool backward(const GraphNode& config) {
  return reinterpret_cast<const GraphNode*>(config.at(201))->node(801).kind == kSdpaBack;
}
int64_t knob(const GraphNode& config, int type) {
  const auto it = config.a.find(302);
  for (size_t k = 0; it != config.a.end() && k < it->second.size(); ++k)
    if (config.node(302, k).at(600) == type) return config.node(302, k).at(601);
  return -1;
}
}  // namespace

extern "C" {
EXPORT cudnnBackendCreateDescriptor(int kind, GraphNode** n) {
  if (!kKnown.count(kind) && kind != kEng) return kBad;
  *n = new GraphNode{kind};
  return mirrored(**n) ? said(real()->create(kind, &(*n)->real), "a descriptor") : kOk;
}
EXPORT cudnnBackendDestroyDescriptor(GraphNode* n) { return delete n, kOk; }
EXPORT cudnnBackendSetAttribute(GraphNode* n, int attribute, int type, int64_t count,
                                const void* values) {
  const auto known = kKnown.find(n->kind);
  if (n->finished || known == kKnown.end() || !known->second.count(attribute) ||
      known->second.at(attribute) != type || count < 1)
    return kBad;
  std::vector<int64_t>& to = n->a[attribute];
  to.assign(count, 0);
  std::vector<void*> nodes;
  for (int64_t k = 0; k < count; ++k) {
    memcpy(&to[k], static_cast<const char*>(values) + k * size_of(type), size_of(type));
    if (type != kNodeT) continue;
    const auto* other = reinterpret_cast<GraphNode*>(to[k]);
    if (!other || !other->finished) return kBad;
    nodes.push_back(other->real);
  }
  if (!mirrored(*n) || type == kHandleT) return kOk;
  return said(real()->set(n->real, attribute, type, count, type == kNodeT ? nodes.data() : values),
              ("attribute " + std::to_string(attribute)).c_str());
}
EXPORT cudnnBackendFinalize(GraphNode* n) {
  AttentionProblem p;
  if (n->finished || !kKnown.count(n->kind)) return kBad;
  if (n->kind == kTens) {
    if (n->a[902].size() != 4 || n->a[903].size() != 4 || n->at(903, 3) != 1 || !n->a.count(906) ||
        !n->a.count(901))
      return kBad;
    for (int k = 0; k < 4; ++k)
      if (n->at(902, k) < 1 || (k < 3 && n->at(903, k) != n->at(903, k + 1) * n->at(902, k + 1)))
        return kBad;
    const int64_t bytes = n->at(901) == kF32 ? 4 : 2;
    if (n->at(900) < bytes || n->at(900) & (n->at(900) - 1)) return kBad;
  }
  if ((n->kind == kSdpa || n->kind == kSdpaBack) && !understood(*n, &p)) return kBad;
  if (n->kind == kGraph && !n->at(801)) return kBad;
  if (n->kind == kHeur && (n->at(200) != 3 || !n->at(201) || !n->node(201).at(800))) return kBad;
  if (n->kind == kPlan && (!n->at(400) || !n->at(401))) return kBad;
  if (n->kind == kPlan && n->node(401).choice != 2) return kNotSupported;
  if (n->kind == kPlan && backward(n->node(401)) && knob(n->node(401), kStages) != 2)
    return kBad;  // cuDNN would add up in any order
  if (n->kind == kCfg) {
    if (!n->at(300)) return kBad;
    n->choice = n->node(300).choice, n->a[201] = n->node(300).a.at(201);
    if (knob(*n, kStages) == 4) return kNotSupported;  // on sm_90 alone
    if (knob(*n, kTileM) != 2 || knob(*n, kTileN) != 1) return kBad;
  }
  if (n->kind == kKnob && (!n->a.count(600) || !n->a.count(601))) return kBad;
  if (n->kind == kPack && (n->a[1000].size() != n->a[1001].size() || !n->at(1003))) return kBad;
  n->finished = true;
  return mirrored(*n) ? said(real()->finalize(n->real), "a descriptor") : kOk;
}
EXPORT cudnnBackendGetAttribute(GraphNode* n, int attribute, int type, int64_t most, int64_t* count,
                                void* values) {
  auto filled = [&](GraphNode* to, int kind, const GraphNode& from, int choice) {
    if (to->kind != kind) return false;
    to->choice = choice, to->a[201] = from.a.at(201), to->finished = true;
    return true;
  };
  auto** nodes = static_cast<GraphNode**>(values);
  if (n->kind == kHeur && attribute == 202 && type == kNodeT && n->finished) {
    const bool none = mode("PIJIT_FAKE_CUDNN", "refuses") ||
                      (mode("PIJIT_FAKE_CUDNN", "forward") && backward(*n)) ||
                      (real() && !really_planned(*n));
    *count = none ? 0 : 3;
    for (int k = 0; k < *count && k < most; ++k)
      if (!filled(nodes[k], kCfg, *n, k)) return kBad;
    return kOk;
  }
  if (n->kind == kCfg && attribute == 300 && type == kNodeT && most == 1)
    return *count = 1, filled(*nodes, kEng, *n, n->choice) ? kOk : kBad;
  if (n->kind == kCfg && attribute == 302 && type == kNodeT && most >= 2) {
    for (int k = 0; k < 2; ++k) {
      if (nodes[k]->kind != kKnob) return kBad;
      nodes[k]->a[600] = {k ? kTileN : kTileM}, nodes[k]->a[601] = {k ? 1 : 2};
      nodes[k]->finished = true;
    }
    return *count = 2, kOk;
  }
  if (n->kind == kKnob && attribute == 600 && type == kKnobT && most == 1 && n->finished)
    return *count = 1, *static_cast<int*>(values) = n->at(600), kOk;
  if (n->kind == kEng && attribute == 1303 && type == kNoteT && most > 1) {
    static_cast<int*>(values)[0] = 0, static_cast<int*>(values)[1] = 4;
    return *count = n->choice == 0 ? 2 : 1, kOk;
  }
  if (n->kind == kPlan && attribute == 402 && type == kIntT && n->finished && most == 1)
    return *count = 1, *static_cast<int64_t*>(values) = kWorkspace, kOk;
  return kBad;
}
EXPORT cudnnBackendExecute(Handle* h, GraphNode* plan, GraphNode* pack) {
  if (!h->stream || plan->kind != kPlan || !plan->finished || pack->kind != kPack ||
      !pack->finished)
    return kBad;
  AttentionProblem p;
  const GraphNode& s = reinterpret_cast<const GraphNode*>(plan->node(401).at(201))->node(801);
  if (!understood(s, &p)) return kBad;
  auto pointer = [&](int64_t id) -> const void* {
    for (size_t k = 0; k < pack->a[1000].size(); ++k)
      if (pack->at(1000, k) == id) return reinterpret_cast<const void*>(pack->at(1001, k));
    return nullptr;
  };
  std::vector<const void*> given, masks;
  for (size_t k = 0; k < p.ids.size(); ++k) {
    given.push_back(pointer(p.ids[k]));
    const bool absent = (k == 4 || k == 10) && !p.ids[k];
    if (!absent && (!given[k] || (k != 4 && k != 5 && (uintptr_t)given[k] % 16))) return kBad;
  }
  for (auto& m : p.masks) {
    masks.push_back(pointer(m.id));
    if (!masks.back()) return kBad;
  }
  if (mode("PIJIT_FAKE_CUDNN", "fails")) return kFailed;
  ++calls[p.back ? kAttendBack : kAttend];
  const float scale = *static_cast<const float*>(given[5]);  // by value: read at once
  later([=, workspace = reinterpret_cast<void*>(pack->at(1003))] {
    scribble(workspace);
    const bool bias = p.back && p.ids[10];
    std::vector<double> dbias(bias ? p.q[0] * p.q[1] * p.q[2] * p.k[2] : 0);
    for (int64_t b = 0; b < p.q[0]; ++b)
      for (int64_t h = 0; h < p.q[1]; ++h)
        (p.back ? attend_back : attend)({p, given.data(), scale, masks, b, h},
                                        bias ? &dbias : nullptr);
    if (!bias) return;
    const Four& n = p.masks.back().n;
    for (int64_t k = 0; k < n[0] * n[1] * n[2] * n[3]; ++k)
      write(const_cast<void*>(given[10]), p.type, k, dbias[k]);
  });
  return kOk;
}
}
