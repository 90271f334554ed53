// Attention by cuDNN, in one kernel that never stores the scores: softmax(scale * q k^T, masked) v,
// and its gradient, which computes the weights again from the scores and their rows' statistics.
// Masks are values that are added to the scores, or that the scores are cut down to. The library
// takes it as a graph of descriptors, for which it compiles a kernel.
#include <array>
#include <map>

#include "base/error.h"
#include "cuda/cudnn.h"
#include "cuda/source_kernel.h"

namespace pijit::cuda {
namespace {

// Of the library's binary interface: cudnn_graph.h.
enum : int {
  kPointwise = 0,  // cudnnBackendDescriptorType_t
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kPlan = 5,
  kKnobChoice = 7,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kAttention = 41,
  kAttentionGradient = 43,

  kHandleType = 0,  // cudnnBackendAttributeType_t
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kPointer = 6,
  kHeuristicMode = 8,
  kKnobType = 9,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kNode = 15,

  kModeOfPointwise = 0,  // cudnnBackendAttributeName_t
  kComputeType = 1,
  kModeOfHeuristic = 200,
  kGraphOfHeuristic = 201,
  kResultsOfHeuristic = 202,
  kEngineOfConfig = 300,
  kKnobsOfConfig = 302,
  kHandleOfPlan = 400,
  kConfigOfPlan = 401,
  kWorkspaceOfPlan = 402,
  kTypeOfKnob = 600,
  kValueOfKnob = 601,
  kPointwiseOfOperation = 750,
  kFirst = 751,
  kSecond = 752,
  kResult = 753,
  kHandleOfGraph = 800,
  kOperations = 801,
  kAlignment = 900,
  kElementType = 901,
  kDimensions = 902,
  kStrides = 903,
  kIdentity = 906,
  kIsVirtual = 907,
  kIsByValue = 908,
  kIdentities = 1000,
  kPointers = 1001,
  kWorkspace = 1003,
  kNotes = 1303,

  kAdd = 0,  // cudnnPointwiseMode_t
  kMin = 2,
  kBest = 3,              // cudnnBackendHeurMode_t
  kNondeterministic = 4,  // cudnnBackendNumericalNote_t
  kStages = 14,           // cudnnBackendKnobType_t
};
// Attributes of an attention descriptor; those of operands stand in the order of the op.
struct Attributes {
  int descriptor;
  std::vector<int> operands;  // inputs, then outputs
  int scale, masks, scores_in, scores_out;
};
const Attributes kForward{kAttention, {2800, 2801, 2802, 2803, 2804}, 2805, 2811, 2812, 2813};
const Attributes kGradient{kAttentionGradient,
                           {2851, 2852, 2853, 2854, 2855, 2862, 2859, 2860, 2861, 2875},
                           2856,
                           2867,
                           2868,
                           2869};
// The knob kStages of a gradient's engine says how dq is added up: in order (sm_90), or from
// cotangents of the scores that are stored first. What the library chooses itself adds by atomic
// operations, and is not noted to be nondeterministic. So cuDNN 9.28 has it; others aren't asked.
constexpr int64_t kOrderedStages[] = {4, 2};
constexpr size_t kGradientVersion = 92800;
constexpr int64_t kMostWorkspace = int64_t{512} << 20;
constexpr int64_t kScaleId = 20, kFirstMask = 21, kFirstScores = 100;  // others: from 1 on

Gpu* gpu = nullptr;  // of this plug-in

struct Refusal {
  int status;
};

// A descriptor, finished once all is set. Throws Refusal.
class GraphNode {
 public:
  GraphNode(Cudnn& l, int kind) : lib_(l) { check(l.node_create(kind, &d_)); }
  ~GraphNode() {
    if (d_) lib_.node_destroy(d_);
  }
  GraphNode(const GraphNode&) = delete;
  template <class T>
  GraphNode& set(int attribute, int type, const T* values, size_t n) {
    check(lib_.node_set(d_, attribute, type, static_cast<int64_t>(n), values));
    return *this;
  }
  template <class T>
  GraphNode& set(int attribute, int type, T value) {
    return set(attribute, type, &value, 1);
  }
  GraphNode& set(int attribute, const GraphNode& n) { return set(attribute, kNode, n.d_); }
  // How many there are; `values` receives as many as it has room for.
  template <class T>
  int64_t get(int attribute, int type, T* values, size_t room) const {
    int64_t n = 0;
    check(lib_.node_get(d_, attribute, type, static_cast<int64_t>(room), &n, values));
    return n;
  }
  GraphNode& finish() {
    check(lib_.node_finalize(d_));
    return *this;
  }
  Descriptor handle() const { return d_; }

 private:
  static void check(int status) {
    if (status != 0) throw Refusal{status};
  }
  Cudnn& lib_;
  Descriptor d_ = nullptr;
};

int type_of(DType t) {
  return t == DType::F16 ? kFloat16 : t == DType::BF16 ? kBfloat16 : kFloat32;
}

class Attention {
 public:
  // Throws Refusal.
  Attention(Cudnn& l, const KernelRequest& r)
      : lib_(l),
        gradient_(r.op.role == Role::kAttentionGradient),
        scale_(static_cast<float>(r.ctx().f("scale"))) {
    what_ = str_cat(gradient_ ? "the gradient of " : "", "attention of q ", r.in[0].shape.str(),
                    ", k ", r.in[1].shape.str());
    const Attributes& names = gradient_ ? kGradient : kForward;
    const int rank = r.out.shape.rank();
    const std::string& how = r.ctx().s("how");
    masks_ = how.size();
    inputs_ = r.in.size() - masks_;
    std::vector<Type> operands(r.in.begin(), r.in.begin() + static_cast<int64_t>(inputs_));
    operands.push_back(r.out);
    if (gradient_) {
      operands.push_back(r.in[1]);
      operands.push_back(r.in[2]);
      if (r.ctx().flag("bias")) operands.push_back(r.in.back());
    } else if (r.ctx().flag("statistics")) {
      operands.push_back(r.out);
      operands.back().dtype = DType::F32;
      operands.back().shape[rank - 1] = 1;
    }
    for (size_t k = inputs_; k < operands.size(); ++k) output_bytes_.push_back(operands[k].bytes());
    auto scores = four(r.in[0].shape, rank);
    scores[3] = four(r.in[1].shape, rank)[2];
    std::lock_guard lock(l.mu);
    GraphNode& attention = node(names.descriptor);
    for (size_t k = 0; k < operands.size(); ++k)
      attention.set(names.operands[k],
                    tensor(static_cast<int64_t>(k) + 1, type_of(operands[k].dtype),
                           four(operands[k].shape, rank)));
    attention.set(names.scale, tensor(kScaleId, kFloat32, {1, 1, 1, 1}, kIsByValue));
    if (!how.empty()) {
      std::vector<Descriptor> steps;
      const GraphNode* before = &tensor(kFirstScores, kFloat32, scores, kIsVirtual);
      for (size_t k = 0; k < how.size(); ++k) {
        const Type& t = r.in[inputs_ + k];
        const auto at = static_cast<int64_t>(k);
        const GraphNode& mask = tensor(kFirstMask + at, type_of(t.dtype), four(t.shape, rank));
        const GraphNode& after = tensor(kFirstScores + at + 1, kFloat32, scores, kIsVirtual);
        GraphNode& mode =
            node(kPointwise)
                .set(kModeOfPointwise, kPointwiseMode, int{how[k] == 'a' ? kAdd : kMin})
                .set(kComputeType, kDataType, int{kFloat32})
                .finish();
        steps.push_back(node(kPointwiseOperation)
                            .set(kPointwiseOfOperation, mode)
                            .set(kFirst, *before)
                            .set(kSecond, mask)
                            .set(kResult, after)
                            .finish()
                            .handle());
        before = &after;
      }
      GraphNode& masks = node(kOperationGraph);
      masks.set(kOperations, kNode, steps.data(), steps.size()).finish();
      attention.set(names.masks, masks)
          .set(names.scores_in, kInt64, kFirstScores)
          .set(names.scores_out, kInt64, kFirstScores + static_cast<int64_t>(how.size()));
    }
    attention.finish();
    GraphNode& graph = node(kOperationGraph)
                           .set(kHandleOfGraph, kHandleType, l.handle)
                           .set(kOperations, attention)
                           .finish();
    // Products and a softmax would store the scores, in float32 somewhere.
    const int64_t instead = 4 * scores[0] * scores[1] * scores[2] * scores[3];
    choose(node(kHeuristic)
               .set(kGraphOfHeuristic, graph)
               .set(kModeOfHeuristic, kHeuristicMode, int{kBest})
               .finish(),
           gradient_ ? std::max(kMostWorkspace, instead) : kMostWorkspace);
  }

  void run(const void* const* in, void* const* out) {
    gpu->enter();
    const DeviceBlock workspace(*gpu, static_cast<size_t>(workspace_bytes_));
    std::vector<int64_t> ids{kScaleId};
    std::vector<const void*> pointers{&scale_};
    auto bind = [&](size_t id, const void* p) {
      ids.push_back(static_cast<int64_t>(id));
      pointers.push_back(p);
    };
    for (size_t k = 0; k < inputs_; ++k) bind(1 + k, in[k]);
    std::vector<std::unique_ptr<DeviceBlock>> unread;
    for (size_t k = 0; k < output_bytes_.size(); ++k) {
      if (!out[k]) unread.push_back(std::make_unique<DeviceBlock>(*gpu, output_bytes_[k]));
      bind(1 + inputs_ + k, out[k] ? out[k] : unread.back()->p);
    }
    for (size_t k = 0; k < masks_; ++k) bind(kFirstMask + k, in[inputs_ + k]);
    int status = 0;
    try {
      std::lock_guard lock(lib_.mu);
      GraphNode pack(lib_, kVariantPack);
      pack.set(kIdentities, kInt64, ids.data(), ids.size())
          .set(kPointers, kPointer, pointers.data(), pointers.size())
          .set(kWorkspace, kPointer, workspace.p)
          .finish();
      status = lib_.set_stream(lib_.handle, gpu->stream());
      if (status == 0) status = lib_.execute(lib_.handle, plan_->handle(), pack.handle());
    } catch (const Refusal& r) {
      status = r.status;
    }
    OP_CHECK(status == 0, kRuntime, "[GPU] cuDNN refuses ", what_, ": ", lib_.error_string(status));
    gpu->after(what_);
  }

 private:
  using Four = std::array<int64_t, 4>;
  GraphNode& node(int kind) {
    return *nodes_.emplace_back(std::make_unique<GraphNode>(lib_, kind));
  }
  // [batch, heads, rows, columns] of what broadcasts to a shape of `rank` axes.
  static Four four(const Shape& s, int rank) {
    Four n{1, 1, 1, 1};
    for (int k = 0; k < s.rank(); ++k) {
      const int axis = rank - s.rank() + k;
      n[rank == 3 && axis > 0 ? axis + 1 : axis] = s[k];
    }
    return n;
  }
  GraphNode& tensor(int64_t id, int type, const Four& n, int kind = 0) {
    const Four strides{n[1] * n[2] * n[3], n[2] * n[3], n[3], 1};
    int64_t alignment = 16;  // of rows too
    const int64_t row = n[3] * (type == kFloat32 ? 4 : 2);
    while (n[0] * n[1] * n[2] > 1 && row % alignment != 0) alignment /= 2;
    GraphNode& t = node(kTensor)
                       .set(kIdentity, kInt64, id)
                       .set(kElementType, kDataType, type)
                       .set(kDimensions, kInt64, n.data(), 4)
                       .set(kStrides, kInt64, strides.data(), 4)
                       .set(kAlignment, kInt64, alignment);
    if (kind) t.set(kind, kBoolean, true);
    return t.finish();
  }
  // The best plan that gives the same bits each time.
  void choose(const GraphNode& heuristic, int64_t most_workspace) {
    const int64_t n = heuristic.get<Descriptor>(kResultsOfHeuristic, kNode, nullptr, 0);
    std::vector<Descriptor> configs;
    std::vector<GraphNode*> found;
    for (int64_t k = 0; k < n; ++k) {
      found.push_back(&node(kEngineConfig));
      configs.push_back(found.back()->handle());
    }
    const int64_t got =
        n ? heuristic.get(kResultsOfHeuristic, kNode, configs.data(), configs.size()) : 0;
    for (int64_t k = 0; k < got; ++k) {
      try {
        GraphNode& engine = node(kEngine);
        Descriptor e = engine.handle();
        found[k]->get(kEngineOfConfig, kNode, &e, 1);
        int notes[16] = {};
        const int64_t noted = engine.get(kNotes, kNumericalNote, notes, std::size(notes));
        if (std::find(notes, notes + noted, kNondeterministic) != notes + noted) continue;
        if (!gradient_ && planned(*found[k], most_workspace)) return;
        for (int64_t stages : kOrderedStages)
          if (gradient_ && planned_in_order(engine, *found[k], stages, most_workspace)) return;
      } catch (const Refusal&) {  // the next one, then
      }
    }
    throw Refusal{3000};  // CUDNN_STATUS_NOT_SUPPORTED
  }
  bool planned(const GraphNode& config, int64_t most_workspace) {
    GraphNode& plan = node(kPlan)
                          .set(kHandleOfPlan, kHandleType, lib_.handle)
                          .set(kConfigOfPlan, config)
                          .finish();
    plan.get(kWorkspaceOfPlan, kInt64, &workspace_bytes_, 1);
    if (workspace_bytes_ > most_workspace) return false;
    plan_ = &plan;
    return true;
  }
  // The same configuration, but for how dq is added up.
  bool planned_in_order(const GraphNode& engine, const GraphNode& config, int64_t stages,
                        int64_t most_workspace) {
    Descriptor knobs[32];
    std::vector<GraphNode*> found;
    for (auto& k : knobs) {
      found.push_back(&node(kKnobChoice));
      k = found.back()->handle();
    }
    const int64_t got = config.get(kKnobsOfConfig, kNode, knobs, std::size(knobs));
    std::vector<Descriptor> chosen;
    for (int64_t k = 0; k < got; ++k) {
      int type = -1;
      found[k]->get(kTypeOfKnob, kKnobType, &type, 1);
      if (type != kStages) chosen.push_back(knobs[k]);
    }
    chosen.push_back(node(kKnobChoice)
                         .set(kTypeOfKnob, kKnobType, int{kStages})
                         .set(kValueOfKnob, kInt64, stages)
                         .finish()
                         .handle());
    try {
      return planned(node(kEngineConfig)
                         .set(kEngineOfConfig, engine)
                         .set(kKnobsOfConfig, kNode, chosen.data(), chosen.size())
                         .finish(),
                     most_workspace);
    } catch (const Refusal&) {
      return false;
    }
  }

  Cudnn& lib_;
  const bool gradient_;
  const float scale_;
  std::string what_;
  std::vector<std::unique_ptr<GraphNode>> nodes_;
  const GraphNode* plan_ = nullptr;
  int64_t workspace_bytes_ = 0;
  size_t inputs_ = 0, masks_ = 0;
  std::vector<size_t> output_bytes_;
};

class AttentionKernel : public OpKernel {
 public:
  explicit AttentionKernel(std::shared_ptr<Attention> a) : a_(std::move(a)) {}
  void launch(const void* const* in, void* const* out) override { a_->run(in, out); }
  void run(const void* const* in, void* out) override { launch(in, &out); }

 private:
  std::shared_ptr<Attention> a_;
};

// Of equal requests, which are many in a network, the kernel is compiled once.
std::shared_ptr<Attention> made_for(Cudnn& l, const KernelRequest& r, std::string* why) {
  static std::mutex mu;
  static std::map<std::string, std::pair<std::shared_ptr<Attention>, std::string>> known;
  std::string key =
      str_cat(r.op.name, " ", r.ctx().s("how"), " ", bits_of(DType::F64, r.ctx().f("scale")));
  if (r.ctx().flag(r.op.role == Role::kAttention ? "statistics" : "bias")) key += " and more";
  for (auto& t : r.in) key += str_cat(" ", static_cast<int>(t.dtype), t.shape.str());
  std::lock_guard lock(mu);
  if (known.size() > 256) known.clear();
  auto [it, fresh] = known.try_emplace(key);
  if (fresh) try {
      it->second.first = std::make_shared<Attention>(l, r);
    } catch (const Refusal& refusal) {
      it->second.second = str_cat("cuDNN has no such attention: ", l.error_string(refusal.status));
    }
  *why = it->second.second;
  return it->second.first;
}

std::unique_ptr<OpKernel> kernel(const KernelRequest& r, std::string* why) {
  NEED(r.fast, "it is rounded otherwise than products and a softmax");
  NEED(is_half(r.out.dtype), "not of halves");
  NEED(!r.ctx().flag("apart"), "rows of heads apart");
  NEED(gpu->capability() >= 80, "compute capability 8.0 is needed");
  for (auto& t : r.in) NEED(t.shape.numel() > 0, "nothing to attend to");
  for (int k = 0; k < 3; ++k) {
    const int64_t width = r.in[k].shape[r.in[k].shape.rank() - 1];
    NEED(width % 8 == 0 && width <= 128, "heads that are not of 8 to 128 elements in eights");
  }
  gpu->enter();
  Cudnn* l = cudnn();
  NEED(l, "libcudnn is not found");
  NEED(r.op.role == Role::kAttention || l->version() >= kGradientVersion, "cuDNN 9.28 is needed");
  auto made = made_for(*l, r, why);
  if (!made) return nullptr;
  return std::make_unique<AttentionKernel>(made);
}

}  // namespace

void register_attention(Gpu& g) {
  gpu = &g;
  for (const char* name : {"attention", "attention_gradient"})
    g.kernels.add(name, {"cudnn", kernel});
}

}  // namespace pijit::cuda
