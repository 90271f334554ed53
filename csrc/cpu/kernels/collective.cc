// Operations of several processes: this process's memory and what runtime/collective.h needs.
#include <cstring>
#include <vector>

#include "cpu/cpu.h"
#include "runtime/collective.h"

namespace pijit {
namespace {

struct Made {
  std::string name, group;
  Collective c;
};
Made collective_of(const KernelRequest& r, Collective::Kind kind, int64_t count) {
  const OpCtx c = r.ctx();
  Made m{r.op.name, c.s("group"), {}};
  m.c.kind = kind;
  m.c.dtype = r.in[0].dtype;
  m.c.members = static_cast<int>(int64_t{c.i("ranks")});
  m.c.count = count;
  return m;
}
void set_reduction(const KernelRequest& r, Made* m) {
  m->c.reduction = *reduction_of(r.ctx().s("op"));
}
void set_root(const KernelRequest& r, Made* m) {
  m->c.root = static_cast<int>(int64_t{r.ctx().i("root")});
}
std::unique_ptr<OpKernel> runs(Made m) {
  return fn_kernel([m = std::move(m)](const void* const* x, void* out) {
    Collective c = m.c;
    c.in = x[0];
    c.out = out;
    processes::run(m.name, m.group, std::move(c));
  });
}
int64_t elements(const Type& t) { return t.shape.numel(); }

using Request = const KernelRequest&;
std::unique_ptr<OpKernel> all_reduce(Request r, std::string*) {
  Made m = collective_of(r, Collective::kAllReduce, elements(r.in[0]));
  set_reduction(r, &m);
  return runs(std::move(m));
}
std::unique_ptr<OpKernel> all_gather(Request r, std::string*) {
  return runs(collective_of(r, Collective::kAllGather, elements(r.in[0])));
}
std::unique_ptr<OpKernel> reduce_scatter(Request r, std::string*) {
  Made m = collective_of(r, Collective::kReduceScatter, elements(r.out));
  set_reduction(r, &m);
  return runs(std::move(m));
}
std::unique_ptr<OpKernel> broadcast(Request r, std::string*) {
  Made m = collective_of(r, Collective::kBroadcast, elements(r.in[0]));
  set_root(r, &m);
  return runs(std::move(m));
}
std::unique_ptr<OpKernel> reduce_to(Request r, std::string*) {
  Made m = collective_of(r, Collective::kReduce, elements(r.in[0]));
  set_reduction(r, &m);
  set_root(r, &m);
  return runs(std::move(m));
}
std::unique_ptr<OpKernel> gather_to(Request r, std::string*) {
  Made m = collective_of(r, Collective::kGather, elements(r.in[0]));
  set_root(r, &m);
  const bool root = r.ctx().i("own") == r.ctx().i("root");
  return fn_kernel([m = std::move(m), root, n = r.out.bytes()](const void* const* x, void* out) {
    Collective c = m.c;
    c.in = x[0];
    c.out = root ? out : nullptr;
    if (!root) std::memset(out, 0, n);
    processes::run(m.name, m.group, std::move(c));
  });
}
std::unique_ptr<OpKernel> scatter_from(Request r, std::string*) {
  Made m = collective_of(r, Collective::kScatter, elements(r.out));
  set_root(r, &m);
  return runs(std::move(m));
}
std::unique_ptr<OpKernel> all_to_all(Request r, std::string*) {
  Made m = collective_of(r, Collective::kAllToAll, 0);
  m.c.to_send = r.ctx().numbers("send");
  m.c.to_receive = r.ctx().numbers("receive");
  return runs(std::move(m));
}
std::unique_ptr<OpKernel> barrier(Request r, std::string*) {
  Made m = collective_of(r, Collective::kBarrier, 0);
  m.c.dtype = DType::U8;
  return fn_kernel([m = std::move(m), n = r.out.bytes()](const void* const* x, void* out) {
    processes::run(m.name, m.group, m.c);
    if (n) std::memcpy(out, x[0], n);
  });
}
std::unique_ptr<OpKernel> send_to(Request r, std::string*) {
  const OpCtx c = r.ctx();
  const int peer = static_cast<int>(int64_t{c.i("peer")}),
            tag = static_cast<int>(int64_t{c.i("tag")});
  const Type t = r.in[0];
  return fn_kernel([name = r.op.name, group = c.s("group"), peer, tag, t, n = elements(t),
                    bytes = r.out.bytes()](const void* const* x, void* out) {
    processes::send(name, group, peer, tag, t.dtype, x[0], n);
    std::memset(out, 0, bytes);
  });
}
std::unique_ptr<OpKernel> receive_from(Request r, std::string*) {
  const OpCtx c = r.ctx();
  const int peer = static_cast<int>(int64_t{c.i("peer")}),
            tag = static_cast<int>(int64_t{c.i("tag")});
  return fn_kernel([name = r.op.name, group = c.s("group"), peer, tag, t = r.out.dtype,
                    n = elements(r.out)](const void* const*, void* out) {
    processes::receive(name, group, peer, tag, t, out, n);
  });
}
std::unique_ptr<OpKernel> start(Request r, std::string*) {
  std::vector<int64_t> counts;
  for (size_t k = 1; k < r.in.size(); ++k) counts.push_back(elements(r.in[k]));
  return fn_kernel([name = r.op.name, group = r.ctx().s("group"), t = r.in[1].dtype,
                    reduction = *reduction_of(r.ctx().s("op")),
                    counts = std::move(counts)](const void* const* x, void* out) {
    std::vector<std::pair<const void*, int64_t>> parts;
    for (size_t k = 0; k < counts.size(); ++k) parts.emplace_back(x[k + 1], counts[k]);
    const int64_t ticket = processes::start_all_reduce(name, group, reduction, t, parts);
    std::memcpy(out, &ticket, sizeof ticket);
  });
}
std::unique_ptr<OpKernel> wait(Request r, std::string*) {
  return fn_kernel([name = r.op.name, n = elements(r.out)](const void* const* x, void* out) {
    int64_t ticket;
    std::memcpy(&ticket, x[0], sizeof ticket);
    processes::wait(name, ticket, out, n);
  });
}

}  // namespace

KernelFamily collective_kernels() {
  return {"of several processes",
          {{"all_reduce", all_reduce},
           {"all_gather", all_gather},
           {"reduce_scatter", reduce_scatter},
           {"broadcast", broadcast},
           {"reduce_to", reduce_to},
           {"gather_to", gather_to},
           {"scatter_from", scatter_from},
           {"all_to_all", all_to_all},
           {"barrier", barrier},
           {"send_to", send_to},
           {"receive_from", receive_from},
           {"all_reduce_start", start},
           {"all_reduce_wait", wait}},
          kReference};
}

}  // namespace pijit
