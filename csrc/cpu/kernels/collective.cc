// Operations of several processes: this process's memory and what runtime/collective.h needs. These
// are the kernels of all devices: what lies on another one, the device copies or moves itself.
#include <cstring>
#include <map>
#include <mutex>
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
std::unique_ptr<OpKernel> runs(const KernelRequest& r, Made m) {
  return fn_kernel([m = std::move(m), &d = device(r.out.device)](const void* const* x, void* out) {
    Collective c = m.c;
    c.in = x[0];
    c.out = out;
    processes::run(m.name, m.group, std::move(c), d);
  });
}
void put_zeros(Device& d, void* out, size_t bytes) {
  if (d.is_host()) {
    std::memset(out, 0, bytes);
    return;
  }
  const std::vector<char> zeros(bytes);
  d.from_host(out, zeros.data(), bytes);
  d.synchronize();  // before they go
}

// Tickets on other devices, by where they lie: reading one would be a wait for the device.
class Tickets {
 public:
  void put(Device& d, void* at, int64_t ticket) {
    if (d.is_host()) {
      std::memcpy(at, &ticket, sizeof ticket);
      return;
    }
    d.from_host(at, &ticket, sizeof ticket);
    std::lock_guard lock(mu_);
    all_[at] = ticket;
  }
  int64_t take(Device& d, const void* at) {
    int64_t ticket;
    if (!d.is_host()) {
      std::lock_guard lock(mu_);
      if (const auto it = all_.find(at); it != all_.end()) {
        ticket = it->second;
        all_.erase(it);
        return ticket;
      }
    }
    d.to_host(&ticket, at, sizeof ticket);  // or it was copied since
    return ticket;
  }
  static Tickets& of_process() {
    static auto* t = new Tickets;
    return *t;
  }

 private:
  std::mutex mu_;
  std::map<const void*, int64_t> all_;
};
int64_t elements(const Type& t) { return t.shape.numel(); }

using Request = const KernelRequest&;
std::unique_ptr<OpKernel> all_reduce(Request r, std::string*) {
  Made m = collective_of(r, Collective::kAllReduce, elements(r.in[0]));
  set_reduction(r, &m);
  return runs(r, std::move(m));
}
std::unique_ptr<OpKernel> all_gather(Request r, std::string*) {
  return runs(r, collective_of(r, Collective::kAllGather, elements(r.in[0])));
}
std::unique_ptr<OpKernel> reduce_scatter(Request r, std::string*) {
  Made m = collective_of(r, Collective::kReduceScatter, elements(r.out));
  set_reduction(r, &m);
  return runs(r, std::move(m));
}
std::unique_ptr<OpKernel> broadcast(Request r, std::string*) {
  Made m = collective_of(r, Collective::kBroadcast, elements(r.in[0]));
  set_root(r, &m);
  return runs(r, std::move(m));
}
std::unique_ptr<OpKernel> reduce_to(Request r, std::string*) {
  Made m = collective_of(r, Collective::kReduce, elements(r.in[0]));
  set_reduction(r, &m);
  set_root(r, &m);
  return runs(r, std::move(m));
}
std::unique_ptr<OpKernel> gather_to(Request r, std::string*) {
  Made m = collective_of(r, Collective::kGather, elements(r.in[0]));
  set_root(r, &m);
  const bool root = r.ctx().i("own") == r.ctx().i("root");
  return fn_kernel([m = std::move(m), root, n = r.out.bytes(), &d = device(r.out.device)](
                       const void* const* x, void* out) {
    Collective c = m.c;
    c.in = x[0];
    c.out = root ? out : nullptr;
    if (!root) put_zeros(d, out, n);
    processes::run(m.name, m.group, std::move(c), d);
  });
}
std::unique_ptr<OpKernel> scatter_from(Request r, std::string*) {
  Made m = collective_of(r, Collective::kScatter, elements(r.out));
  set_root(r, &m);
  return runs(r, std::move(m));
}
std::unique_ptr<OpKernel> all_to_all(Request r, std::string*) {
  Made m = collective_of(r, Collective::kAllToAll, 0);
  m.c.to_send = r.ctx().numbers("send");
  m.c.to_receive = r.ctx().numbers("receive");
  return runs(r, std::move(m));
}
std::unique_ptr<OpKernel> barrier(Request r, std::string*) {
  Made m = collective_of(r, Collective::kBarrier, 0);
  m.c.dtype = DType::U8;
  return fn_kernel([m = std::move(m), n = r.out.bytes(), &d = device(r.out.device)](
                       const void* const* x, void* out) {
    d.synchronize();  // what was started before has been done
    processes::run(m.name, m.group, m.c, d);
    if (n) d.copy(out, x[0], n);
  });
}
std::unique_ptr<OpKernel> send_to(Request r, std::string*) {
  const OpCtx c = r.ctx();
  const int peer = static_cast<int>(int64_t{c.i("peer")}),
            tag = static_cast<int>(int64_t{c.i("tag")});
  return fn_kernel([name = r.op.name, group = c.s("group"), peer, tag, t = r.in[0].dtype,
                    n = elements(r.in[0]), bytes = r.out.bytes(),
                    &d = device(r.out.device)](const void* const* x, void* out) {
    processes::send(name, group, peer, tag, t, x[0], n, d);
    static constexpr char kZero[16] = {};  // of any dtype, as the output is one element
    d.from_host(out, kZero, bytes);
  });
}
std::unique_ptr<OpKernel> receive_from(Request r, std::string*) {
  const OpCtx c = r.ctx();
  const int peer = static_cast<int>(int64_t{c.i("peer")}),
            tag = static_cast<int>(int64_t{c.i("tag")});
  return fn_kernel([name = r.op.name, group = c.s("group"), peer, tag, t = r.out.dtype,
                    n = elements(r.out), &d = device(r.out.device)](const void* const*, void* out) {
    processes::receive(name, group, peer, tag, t, out, n, d);
  });
}
std::unique_ptr<OpKernel> start(Request r, std::string*) {
  std::vector<int64_t> counts;
  for (size_t k = 1; k < r.in.size(); ++k) counts.push_back(elements(r.in[k]));
  return fn_kernel([name = r.op.name, group = r.ctx().s("group"), t = r.in[1].dtype,
                    reduction = *reduction_of(r.ctx().s("op")), counts = std::move(counts),
                    &d = device(r.out.device)](const void* const* x, void* out) {
    std::vector<std::pair<const void*, int64_t>> parts;
    for (size_t k = 0; k < counts.size(); ++k) parts.emplace_back(x[k + 1], counts[k]);
    const int64_t ticket = processes::start_all_reduce(name, group, reduction, t, parts, d);
    Tickets::of_process().put(d, out, ticket);
  });
}
std::unique_ptr<OpKernel> wait(Request r, std::string*) {
  return fn_kernel([name = r.op.name, n = elements(r.out), &d = device(r.out.device)](
                       const void* const* x, void* out) {
    processes::wait(name, Tickets::of_process().take(d, x[0]), out, n);
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
