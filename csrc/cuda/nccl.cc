// Collectives and messages by NCCL, opened at run time. They run on streams beside the device's:
// each waits there for what it reads, and the device's stream for what they write. Collectives of
// all groups share one, a group that is made apart has its own. Communicators do not block
// the host (NCCL 2.18 or later): whoever calls asks until they are ready, and can give up.
#include <climits>
#include <cstring>
#include <map>
#include <mutex>

#include "base/error.h"
#include "cuda/gpu.h"
#include "cuda/nvrtc.h"
#include "runtime/collective.h"

namespace pijit::cuda {
namespace {

// Of the library's binary interface: nccl.h.
using Comm = void*;
struct UniqueId {
  char bytes[128];
};
constexpr int kLeastVersion = 21800;
struct CommConfig {  // as of 2.18; later ones are longer and know it by its size
  size_t size = sizeof(CommConfig);
  unsigned magic = 0xcafebeef;
  int version = kLeastVersion;
  int blocking = 0;
  int cga = INT_MIN, least_blocks = INT_MIN, most_blocks = INT_MIN;  // left to the library
  const char* net = nullptr;
  int split_share = INT_MIN;
};
enum : int { kDone = 0, kInProgress = 7 };
enum : int { kSumOp = 0, kProdOp = 1, kMaxOp = 2, kMinOp = 3 };
enum : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9
};

// X(member, exported name, parameters)
#define PIJIT_NCCL_FUNCTIONS(X)                                                                   \
  X(version, "ncclGetVersion", (int*))                                                            \
  X(unique_id, "ncclGetUniqueId", (UniqueId*))                                                    \
  X(init, "ncclCommInitRankConfig", (Comm*, int members, UniqueId, int rank, CommConfig*))        \
  X(async_error, "ncclCommGetAsyncError", (Comm, int*))                                           \
  X(finalize, "ncclCommFinalize", (Comm))                                                         \
  X(destroy, "ncclCommDestroy", (Comm))                                                           \
  X(abort, "ncclCommAbort", (Comm))                                                               \
  X(group_start, "ncclGroupStart", ())                                                            \
  X(group_end, "ncclGroupEnd", ())                                                                \
  X(all_reduce, "ncclAllReduce", (const void*, void*, size_t, int type, int op, Comm, Stream))    \
  X(all_gather, "ncclAllGather", (const void*, void*, size_t, int type, Comm, Stream))            \
  X(reduce_scatter, "ncclReduceScatter",                                                          \
    (const void*, void*, size_t, int type, int op, Comm, Stream))                                 \
  X(broadcast, "ncclBroadcast", (const void*, void*, size_t, int type, int root, Comm, Stream))   \
  X(reduce, "ncclReduce", (const void*, void*, size_t, int type, int op, int root, Comm, Stream)) \
  X(send, "ncclSend", (const void*, size_t, int type, int to, Comm, Stream))                      \
  X(receive, "ncclRecv", (void*, size_t, int type, int from, Comm, Stream))

struct Library {
#define X(member, name, parameters) int(*member) parameters = nullptr;
  PIJIT_NCCL_FUNCTIONS(X)
#undef X
  const char* (*error_text)(int) = nullptr;
  const char* (*last_error)(Comm) = nullptr;
};

// Null, and why, where the library is not found.
const Library* library(std::string* why) {
  struct Found {
    const Library* library = nullptr;
    std::string why;
  };
  static const Found found = [] {
    Found f;
    void* lib = open_library({"libnccl.so.2", "libnccl.so"});
    if (!lib) {
      f.why = "libnccl is not found; pip install nvidia-nccl-cu13, or set CUDA_HOME";
      return f;
    }
    auto* l = new Library;
#define X(member, name, parameters) {name, &l->member},
    const char* missing =
        find_functions(lib, {PIJIT_NCCL_FUNCTIONS(X){"ncclGetErrorString", &l->error_text},
                             {"ncclGetLastError", &l->last_error}});
#undef X
    int version = 0;
    if (missing)
      f.why = str_cat("libnccl has no ", missing, ": version 2.18 or later is needed");
    else if (l->version(&version) != kDone || version < kLeastVersion)
      f.why = str_cat("libnccl is too old: version 2.18 or later is needed, got ", version / 10000,
                      ".", version / 100 % 100);
    else
      f.library = l;
    if (!f.library) delete l;
    return f;
  }();
  *why = found.why;
  return found.library;
}

int op_of(Reduction r) {
  switch (r) {
    case Reduction::kSum: return kSumOp;
    case Reduction::kMax: return kMaxOp;
    case Reduction::kMin: return kMinOp;
    case Reduction::kProd: break;
  }
  return kProdOp;
}
// -1: the library does not reduce such numbers.
int type_of(DType t) {
  switch (t) {
    case DType::I8: return kInt8;
    case DType::U8: return kUint8;
    case DType::I32: return kInt32;
    case DType::U32: return kUint32;
    case DType::I64: return kInt64;
    case DType::U64: return kUint64;
    case DType::F16: return kFloat16;
    case DType::BF16: return kBfloat16;
    case DType::F32: return kFloat32;
    case DType::F64: return kFloat64;
    case DType::I16:
    case DType::U16:
    case DType::C64:
    case DType::C128:
    case DType::Bool: break;
  }
  return -1;
}
bool reduces(Collective::Kind k) {
  return k == Collective::kAllReduce || k == Collective::kReduceScatter || k == Collective::kReduce;
}

class Nccl : public DeviceCollectives {
 public:
  Nccl(Gpu& gpu, const Library& l) : gpu_(gpu), lib_(l) {
    gpu_.enter();
    gpu_.check(gpu_.driver().stream_create(&stream_, kNonBlocking), "making a stream");
  }

  bool has(const Collective& c) const override {
    const bool sums_of_pairs = is_complex(c.dtype) && c.reduction == Reduction::kSum;
    return !reduces(c.kind) || sums_of_pairs || type_of(c.dtype) >= 0;
  }
  size_t id_bytes() const override { return sizeof(UniqueId); }
  std::vector<char> make_id() override {
    gpu_.enter();
    UniqueId id;
    check(lib_.unique_id(&id), nullptr, "making the id of a communicator");
    return {id.bytes, id.bytes + sizeof id.bytes};
  }
  Group make_group(std::span<const char> id, int members, int own, bool apart) override {
    gpu_.enter();
    UniqueId meeting;
    std::memcpy(meeting.bytes, id.data(), sizeof meeting.bytes);
    CommConfig config;
    auto g = std::make_unique<Members>();
    g->own = own;
    g->size = members;
    g->stream = stream_;
    if (apart) gpu_.check(gpu_.driver().stream_create(&g->stream, kNonBlocking), "making a stream");
    check(lib_.init(&g->comm, members, meeting, own, &config), nullptr, "making a communicator");
    std::lock_guard lock(mu_);
    return all_.emplace_back(std::move(g)).get();
  }
  bool ready(Group g) override {
    auto* m = static_cast<Members*>(g);
    std::lock_guard lock(mu_);
    if (!m->comm) return true;  // it was aborted, and has said why
    int state = kDone;
    check(lib_.async_error(m->comm, &state), m->comm, "asking a communicator");
    check(state, m->comm, "what was started");
    return state != kInProgress;
  }

  void start(Group g, const Collective& c, const Event& after) override {
    auto* m = static_cast<Members*>(g);
    gpu_.enter();
    gpu_.wait_for(m->stream, after);
    std::lock_guard lock(mu_);
    const auto n = static_cast<size_t>(c.count), size = size_of(c.dtype);
    const bool pairs = reduces(c.kind) && is_complex(c.dtype);
    const int type = !reduces(c.kind)         ? kUint8
                     : c.dtype == DType::C64  ? kFloat32
                     : c.dtype == DType::C128 ? kFloat64
                                              : type_of(c.dtype);
    const size_t count = reduces(c.kind) ? (pairs ? 2 * n : n) : n * size;  // of that type
    const int op = op_of(c.reduction);
    const auto* in = static_cast<const char*>(c.in);
    auto* out = static_cast<char*>(c.out);
    const auto done = [&](int status) { check(status, m->comm, "starting a collective"); };
    switch (c.kind) {
      case Collective::kAllReduce:
        done(lib_.all_reduce(in, out, count, type, op, m->comm, m->stream));
        break;
      case Collective::kAllGather:
        done(lib_.all_gather(in, out, count, type, m->comm, m->stream));
        break;
      case Collective::kReduceScatter:
        done(lib_.reduce_scatter(in, out, count, type, op, m->comm, m->stream));
        break;
      case Collective::kBroadcast:
        done(lib_.broadcast(in, out, count, type, c.root, m->comm, m->stream));
        break;
      case Collective::kReduce:
        if (m->own != c.root)
          gpu_.check(gpu_.driver().copy(reinterpret_cast<Address>(out),
                                        reinterpret_cast<Address>(in), n * size, m->stream),
                     "copying on the GPU");
        done(lib_.reduce(in, out, count, type, op, c.root, m->comm, m->stream));
        break;
      case Collective::kGather:
      case Collective::kScatter:
      case Collective::kAllToAll: start_messages(*m, c, size); break;
      case Collective::kBarrier: break;
    }
  }
  void start_send(Group g, int to, const void* data, size_t bytes, const Event& after) override {
    auto* m = static_cast<Members*>(g);
    gpu_.enter();
    gpu_.wait_for(m->stream, after);
    std::lock_guard lock(mu_);
    check(lib_.send(data, bytes, kUint8, to, m->comm, m->stream), m->comm, "sending");
  }
  void start_receive(Group g, int from, void* data, size_t bytes, const Event& after) override {
    auto* m = static_cast<Members*>(g);
    gpu_.enter();
    gpu_.wait_for(m->stream, after);
    std::lock_guard lock(mu_);
    check(lib_.receive(data, bytes, kUint8, from, m->comm, m->stream), m->comm, "receiving");
  }
  std::shared_ptr<Event> started(Group g) override {
    gpu_.enter();
    return gpu_.record_on(static_cast<Members*>(g)->stream);
  }
  void hold(const Event& done) override {
    gpu_.enter();
    gpu_.wait_for(gpu_.stream(), done);
  }

  void abort(const std::string& why) override {
    gpu_.cut_off(why);  // first: whoever waits wakes up by what follows
    std::lock_guard lock(mu_);
    gpu_.enter();
    for (auto& m : all_)
      if (m->comm) lib_.abort(std::exchange(m->comm, nullptr));
  }
  void drop_group(Group g) override {
    auto* m = static_cast<Members*>(g);
    gpu_.enter();
    std::lock_guard lock(mu_);
    Comm comm = std::exchange(m->comm, nullptr);
    if (!comm) return;
    // What it needs for that, it says; where that takes too long, the process ends without it.
    int state = lib_.finalize(comm);
    for (int turn = 0; state == kInProgress && turn < 5000; ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (lib_.async_error(comm, &state) != kDone) return;
    }
    if (state == kDone) lib_.destroy(comm);
    if (m->stream != stream_) gpu_.driver().stream_destroy(m->stream);
  }

 private:
  struct Members {
    Comm comm = nullptr;  // null: it is gone
    Stream stream = nullptr;
    int own = 0, size = 1;
  };
  // All messages of one collective at once, so that none waits for another.
  void start_messages(const Members& m, const Collective& c, size_t size) {
    const auto* in = static_cast<const char*>(c.in);
    auto* out = static_cast<char*>(c.out);
    const auto done = [&](int status) { check(status, m.comm, "starting a collective"); };
    const auto send = [&](int to, size_t bytes) {
      if (bytes) done(lib_.send(in, bytes, kUint8, to, m.comm, m.stream));
      in += bytes;
    };
    const auto receive = [&](int from, size_t bytes) {
      if (bytes) done(lib_.receive(out, bytes, kUint8, from, m.comm, m.stream));
      out += bytes;
    };
    const size_t one = static_cast<size_t>(c.count) * size;
    const bool root = m.own == c.root;
    done(lib_.group_start());
    for (int k = 0; k < m.size; ++k) {
      if (c.kind == Collective::kAllToAll) {
        send(k, static_cast<size_t>(c.to_send[static_cast<size_t>(k)]) * size);
        receive(k, static_cast<size_t>(c.to_receive[static_cast<size_t>(k)]) * size);
      } else if (c.kind == Collective::kGather) {
        if (k == c.root) send(k, one);
        if (root) receive(k, one);
      } else {
        if (root) send(k, one);
        if (k == c.root) receive(k, one);
      }
    }
    done(lib_.group_end());
  }
  void check(int status, Comm comm, const char* what) const {
    if (status == kDone || status == kInProgress) return;
    const char* more = lib_.last_error(comm);
    throw OpError(OpError::kRuntime,
                  str_cat("[GPU] NCCL: ", what, " failed: ", lib_.error_text(status),
                          more && *more ? str_cat(" (", more, ")") : std::string()));
  }

  Gpu& gpu_;
  const Library& lib_;
  Stream stream_ = nullptr;
  std::mutex mu_;
  std::vector<std::unique_ptr<Members>> all_;
};

}  // namespace

DeviceCollectives* Gpu::collectives(std::string* why) {
  static Nccl* made = [&]() -> Nccl* {
    const Library* l = library(why);
    return l ? new Nccl(*this, *l) : nullptr;
  }();
  if (!made) library(why);
  return made;
}

}  // namespace pijit::cuda
