// MPI behind runtime/collective.h, as a library of its own: pijit runs without MPI, and whoever has
// none does not miss it. All calls come from one thread at a time. Where somebody else (mpi4py) has
// initialized MPI, it is theirs to finalize.
#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/collective.h"

namespace pijit {
namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int n = 0;
  MPI_Error_string(code, text, &n);
  throw OpError(OpError::kRuntime,
                std::string("[") + call + "] " + std::string(text, static_cast<size_t>(n)));
}
#define CHECKED(call, ...) check(call(__VA_ARGS__), #call)

// Halves are no types of MPI: their reductions are ours, computed in float32 as everywhere.
float float_of_bf16(uint16_t h) {
  const uint32_t bits = static_cast<uint32_t>(h) << 16;
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint16_t bf16_of_float(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  if (f != f) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
struct Half {
  static float read(const uint16_t* p) {
    _Float16 h;
    std::memcpy(&h, p, 2);
    return static_cast<float>(h);
  }
  static void write(uint16_t* p, float f) {
    const auto h = static_cast<_Float16>(f);
    std::memcpy(p, &h, 2);
  }
};
struct BFloat {
  static float read(const uint16_t* p) { return float_of_bf16(*p); }
  static void write(uint16_t* p, float f) { *p = bf16_of_float(f); }
};
template <Reduction kOp>
float reduced(float a, float b) {
  if constexpr (kOp == Reduction::kSum) return a + b;
  if constexpr (kOp == Reduction::kProd) return a * b;
  if (a != a || b != b) return a + b;
  return (kOp == Reduction::kMax) == (a > b) ? a : b;
}
template <class T, Reduction kOp>
void reduce_halves(void* in, void* inout, int* n, MPI_Datatype*) {
  const auto* x = static_cast<const uint16_t*>(in);
  auto* y = static_cast<uint16_t*>(inout);
  for (int k = 0; k < *n; ++k) T::write(y + k, reduced<kOp>(T::read(x + k), T::read(y + k)));
}

MPI_Datatype type_of(DType t) {
  switch (t) {
    case DType::I8: return MPI_INT8_T;
    case DType::I16: return MPI_INT16_T;
    case DType::I32: return MPI_INT32_T;
    case DType::I64: return MPI_INT64_T;
    case DType::U8: return MPI_UINT8_T;
    case DType::U16: return MPI_UINT16_T;
    case DType::U32: return MPI_UINT32_T;
    case DType::U64: return MPI_UINT64_T;
    case DType::F16: return MPI_UINT16_T;
    case DType::BF16: return MPI_UINT16_T;
    case DType::F32: return MPI_FLOAT;
    case DType::F64: return MPI_DOUBLE;
    case DType::C64: return MPI_C_FLOAT_COMPLEX;
    case DType::C128: return MPI_C_DOUBLE_COMPLEX;
    case DType::Bool: break;
  }
  return MPI_UINT8_T;
}

struct Comms {
  MPI_Comm data = MPI_COMM_NULL, talk = MPI_COMM_NULL;
};
int as_int(size_t n) {
  if (n > INT_MAX)
    throw OpError(OpError::kValue, "[MPI] a message of more than 2**31 - 1 bytes is not supported");
  return static_cast<int>(n);
}

// Elements by member, and where they begin.
struct Parts {
  std::vector<int> counts, at;
  void fill(const std::vector<int64_t>& elements) {
    size_t sum = 0;
    for (const int64_t n : elements) {
      counts.push_back(as_int(static_cast<size_t>(n)));
      at.push_back(as_int(sum));
      sum += static_cast<size_t>(n);
    }
  }
};
struct Pending {
  MPI_Request request = MPI_REQUEST_NULL;
  Parts to, from;  // the library reads them until the end
};

class Mpi : public Transport {
 public:
  Mpi() {
    int there = 0, gone = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&there);
    MPI_Finalized(&gone);
    if (gone)
      throw OpError(OpError::kRuntime,
                    "[init] MPI has ended in this process, and cannot start a second time");
    if (there) {
      MPI_Query_thread(&level);
    } else {
      CHECKED(MPI_Init_thread, nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
      ours_ = true;
    }
    if (level < MPI_THREAD_SERIALIZED) {
      if (ours_) MPI_Finalize();
      throw OpError(OpError::kRuntime,
                    "[init] this MPI library takes calls of one thread only: "
                    "MPI_THREAD_SERIALIZED is needed");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm node;
    CHECKED(MPI_Comm_split_type, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local_rank_);
    MPI_Comm_size(node, &local_size_);
    MPI_Comm_free(&node);
    make_ops<Half>(half_);
    make_ops<BFloat>(bfloat_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }

  Group make_group(std::span<const int> ranks, int tag) override {
    MPI_Group world, members;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    CHECKED(MPI_Group_incl, world, as_int(ranks.size()), ranks.data(), &members);
    auto* g = new Comms;
    const int code = MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &g->data);
    MPI_Group_free(&members);
    MPI_Group_free(&world);
    check(code, "MPI_Comm_create_group");
    CHECKED(MPI_Comm_dup, g->data, &g->talk);
    MPI_Comm_set_errhandler(g->data, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(g->talk, MPI_ERRORS_RETURN);
    return g;
  }
  void drop_group(Group g) override {
    auto* c = static_cast<Comms*>(g);
    MPI_Comm_free(&c->data);
    MPI_Comm_free(&c->talk);
    delete c;
  }

  Request start(Group g, const Collective& c) override {
    const MPI_Comm comm = static_cast<Comms*>(g)->data;
    const int n = as_int(static_cast<size_t>(c.count));
    const MPI_Datatype t = type_of(c.dtype);
    auto p = std::make_unique<Pending>();
    MPI_Request* const r = &p->request;
    int rank;
    MPI_Comm_rank(comm, &rank);
    const auto copy = [&] {
      if (c.in != c.out && c.count)
        std::memcpy(c.out, c.in, static_cast<size_t>(c.count) * size_of(c.dtype));
    };
    switch (c.kind) {
      case Collective::kBarrier: CHECKED(MPI_Ibarrier, comm, r); break;
      case Collective::kAllReduce:
        CHECKED(MPI_Iallreduce, c.in == c.out ? MPI_IN_PLACE : c.in, c.out, n, t,
                op_of(c.reduction, c.dtype), comm, r);
        break;
      case Collective::kAllGather: CHECKED(MPI_Iallgather, c.in, n, t, c.out, n, t, comm, r); break;
      case Collective::kReduceScatter:
        CHECKED(MPI_Ireduce_scatter_block, c.in, c.out, n, t, op_of(c.reduction, c.dtype), comm, r);
        break;
      case Collective::kBroadcast:
        copy();
        CHECKED(MPI_Ibcast, c.out, n, t, c.root, comm, r);
        break;
      case Collective::kReduce:
        if (rank != c.root) copy();
        CHECKED(MPI_Ireduce, c.in, rank == c.root ? c.out : nullptr, n, t,
                op_of(c.reduction, c.dtype), c.root, comm, r);
        break;
      case Collective::kGather:
        CHECKED(MPI_Igather, c.in, n, t, c.out, n, t, c.root, comm, r);
        break;
      case Collective::kScatter:
        CHECKED(MPI_Iscatter, c.in, n, t, c.out, n, t, c.root, comm, r);
        break;
      case Collective::kAllToAll:
        p->to.fill(c.to_send);
        p->from.fill(c.to_receive);
        CHECKED(MPI_Ialltoallv, c.in, p->to.counts.data(), p->to.at.data(), t, c.out,
                p->from.counts.data(), p->from.at.data(), t, comm, r);
        break;
    }
    return p.release();
  }

  Request start_exchange(Group g, const void* own, void* all, size_t bytes) override {
    auto* p = new Pending;
    CHECKED(MPI_Iallgather, own, as_int(bytes), MPI_BYTE, all, as_int(bytes), MPI_BYTE,
            static_cast<Comms*>(g)->talk, &p->request);
    return p;
  }
  Request start_send(Group g, int to, int tag, const void* bytes, size_t n) override {
    auto* p = new Pending;
    CHECKED(MPI_Isend, bytes, as_int(n), MPI_BYTE, to, tag, static_cast<Comms*>(g)->talk,
            &p->request);
    return p;
  }
  bool done(Request r) override {
    auto* p = static_cast<Pending*>(r);
    int flag = 0;
    CHECKED(MPI_Test, &p->request, &flag, MPI_STATUS_IGNORE);
    if (flag) delete p;
    return flag;
  }
  std::optional<Message> probe(Group g, int from, int tag) override {
    int flag = 0, n = 0;
    MPI_Status status;
    CHECKED(MPI_Iprobe, from < 0 ? MPI_ANY_SOURCE : from, tag, static_cast<Comms*>(g)->talk, &flag,
            &status);
    if (!flag) return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &n);
    return Message{status.MPI_SOURCE, static_cast<size_t>(n)};
  }
  void receive(Group g, int from, int tag, void* bytes, size_t n) override {
    CHECKED(MPI_Recv, bytes, as_int(n), MPI_BYTE, from, tag, static_cast<Comms*>(g)->talk,
            MPI_STATUS_IGNORE);
  }
  void end() override {
    int gone = 0;
    MPI_Finalized(&gone);
    if (ours_ && !gone) MPI_Finalize();
  }
  void abort(int code) override { MPI_Abort(MPI_COMM_WORLD, code); }

 private:
  template <class T>
  static void make_ops(MPI_Op* ops) {
    MPI_Op_create(reduce_halves<T, Reduction::kSum>, 1, &ops[0]);
    MPI_Op_create(reduce_halves<T, Reduction::kMax>, 1, &ops[1]);
    MPI_Op_create(reduce_halves<T, Reduction::kMin>, 1, &ops[2]);
    MPI_Op_create(reduce_halves<T, Reduction::kProd>, 1, &ops[3]);
  }
  MPI_Op op_of(Reduction r, DType t) const {
    const auto k = static_cast<size_t>(r);
    if (t == DType::F16) return half_[k];
    if (t == DType::BF16) return bfloat_[k];
    const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD};
    return ops[k];
  }

  bool ours_ = false;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  MPI_Op half_[4], bfloat_[4];
};

}  // namespace
}  // namespace pijit

extern "C" [[gnu::visibility("default")]] const char* pijit_transport_version() {
  return pijit::kTransportVersion;
}
extern "C" [[gnu::visibility("default")]] pijit::Transport* pijit_make_transport() {
  return new pijit::Mpi;
}
