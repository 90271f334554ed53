// Collectives: members agree on one, then it runs by the transport, or where values lie on a
// device.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "runtime/processes.h"

namespace pijit {

std::optional<Reduction> reduction_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"sum", "max", "min", "prod"};
  for (size_t k = 0; k < std::size(kNames); ++k)
    if (kNames[k] == name) return static_cast<Reduction>(k);
  return std::nullopt;
}

namespace processes {
namespace {

constexpr const char* kKindNames[] = {"barrier",        "all-reduce", "all-gather",
                                      "reduce-scatter", "broadcast",  "reduce",
                                      "gather",         "scatter",    "all-to-all"};
constexpr const char* kReductionNames[] = {"sum", "max", "min", "prod"};

// What members compare before data moves.
struct Intent {
  uint8_t kind = 0, reduction = 0, dtype = 0;
  uint8_t by_device = 0;  // it could go by the device's library: not compared
  int32_t root = 0;
  int64_t count = 0;
  uint64_t number = 0;  // of the group's collectives
  bool fits(const Intent& o) const {
    return kind == o.kind && reduction == o.reduction && dtype == o.dtype && root == o.root &&
           count == o.count && number == o.number;
  }
  std::string str() const {
    std::string s = kKindNames[kind];
    const bool reduces = kind == Collective::kAllReduce || kind == Collective::kReduceScatter ||
                         kind == Collective::kReduce;
    if (kind == Collective::kBarrier) return s;
    if (reduces) s += str_cat(" (", kReductionNames[reduction], ")");
    if (kind != Collective::kAllToAll) s += str_cat(" of ", count);
    s += str_cat(" ", public_name_of(static_cast<DType>(dtype)));
    const bool rooted = kind == Collective::kBroadcast || kind == Collective::kReduce ||
                        kind == Collective::kGather || kind == Collective::kScatter;
    return rooted ? str_cat(s, " with root ", root) : s;
  }
};

// Whether all could go by their devices' libraries.
bool check_agreement(std::string_view op, const Group& g, const Intent& own, const Exchange& x) {
  const auto at = [&](int m) {
    Intent i;
    std::memcpy(&i, x.all.data() + sizeof i * static_cast<size_t>(m), sizeof i);
    return i;
  };
  bool same = true;
  bool by_device = true;
  for (int m = 0; m < g.size(); ++m) same &= at(m).fits(own), by_device &= at(m).by_device != 0;
  if (same) return by_device;
  std::string text;
  for (int m = 0; m < g.size() && m < 16; ++m)
    text +=
        str_cat(m ? "; " : "", rank_text(g, m), ": ", at(m).str(), " (number ", at(m).number, ")");
  fail(op, str_cat("all ranks of group '", g.name,
                   "' must do the same with tensors of one size and dtype, but got ", text));
}

void check_counts(std::string_view op, const Group& g, const Collective& c, bool of_python,
                  uint64_t number) {
  const auto x =
      exchange(op, g, c.to_send.data(), c.to_send.size() * sizeof(int64_t), number, of_python);
  const auto sends = [&](int from, int to) {
    int64_t n;
    std::memcpy(&n, x->all.data() + sizeof n * static_cast<size_t>(from * g.size() + to), sizeof n);
    return n;
  };
  // All members see all counts but their receive counts: they tell what fits by a second exchange.
  int64_t wrong = -1;
  for (int m = 0; m < g.size(); ++m)
    if (sends(m, g.own) != c.to_receive[static_cast<size_t>(m)]) wrong = m;
  const auto verdict = exchange(op, g, &wrong, sizeof wrong, number, of_python);
  for (int m = 0; m < g.size(); ++m) {
    int64_t from;
    std::memcpy(&from, verdict->all.data() + sizeof from * static_cast<size_t>(m), sizeof from);
    if (from >= 0)
      fail(op, str_cat(rank_text(g, static_cast<int>(from)), " sends ",
                       sends(static_cast<int>(from), m), " elements to ", rank_text(g, m),
                       ", which expects another number of them"));
  }
}

// All members have come and do the same: what runs now, when it is its turn. Whether it goes by the
// devices' libraries.
bool agree(std::string_view op, Group& g, const Collective& c, bool by_device, bool of_python) {
  Engine& e = engine();
  Intent own;
  own.kind = c.kind;
  own.reduction = static_cast<uint8_t>(c.reduction);
  own.dtype = static_cast<uint8_t>(c.dtype);
  own.by_device = by_device;
  own.root = c.root;
  own.count = c.count;
  own.number = ++g.entered;
  {
    std::lock_guard lock(e.mu);
    e.entered[g.id] = g.entered;
    e.doing = str_cat(op, " ", own.number, " of ", g.name);
  }
  by_device =
      check_agreement(op, g, own, *exchange(op, g, &own, sizeof own, own.number, of_python));
  if (c.kind == Collective::kAllToAll) check_counts(op, g, c, of_python, own.number);
  return by_device;
}

// By the transport, in memory of the host.
void move(std::string_view op, const Group& g, const Collective& c, bool of_python) {
  Engine& e = engine();
  if (c.kind == Collective::kBarrier) return;
  // Libraries count in ints: longer ones in pieces, where elements are independent.
  constexpr int64_t kMost = int64_t{1} << 30;
  const auto size = static_cast<int64_t>(size_of(c.dtype));
  const bool in_pieces = c.kind == Collective::kAllReduce || c.kind == Collective::kBroadcast ||
                         c.kind == Collective::kReduce;
  for (int64_t at = 0; at == 0 || at < c.count; at += in_pieces ? kMost : c.count) {
    Collective piece = c;
    if (in_pieces) {
      piece.count = std::min(kMost, c.count - at);
      piece.in = static_cast<const char*>(c.in) + at * size;
      piece.out = static_cast<char*>(c.out) + at * size;
    }
    Transport::Request request;
    {
      std::lock_guard lock(e.calls);
      request = transport_for(op, g.handle).start(g.handle, piece);
    }
    try {
      Waiting(op, g, others(g), g.entered, of_python).until([&] {
        return e.transport->done(request);
      });
    } catch (...) {
      // The library may go on with the memory for ever (which is why it is the engine's).
      std::lock_guard lock(e.mu);
      set_broken(g, str_cat("a wait of '", op, "' was interrupted"));
      throw;
    }
    if (c.count == 0) break;
  }
}

// Bytes that a member reads and writes.
struct Parts {
  size_t in = 0, out = 0;
};
Parts parts_of(const Collective& c, const Group& g) {
  const size_t one = static_cast<size_t>(c.count) * size_of(c.dtype), all = one * g.ranks.size();
  const bool root = c.root == g.own;
  switch (c.kind) {
    case Collective::kBarrier: return {};
    case Collective::kAllReduce: return {one, one};
    case Collective::kAllGather: return {one, all};
    case Collective::kReduceScatter: return {all, one};
    case Collective::kBroadcast:
    case Collective::kReduce: return {one, one};
    case Collective::kGather: return {one, root ? all : 0};
    case Collective::kScatter: return {root ? all : 0, one};
    case Collective::kAllToAll: break;
  }
  Parts p;
  for (const int64_t n : c.to_send) p.in += static_cast<size_t>(n) * size_of(c.dtype);
  for (const int64_t n : c.to_receive) p.out += static_cast<size_t>(n) * size_of(c.dtype);
  return p;
}

// What the library may still read or write after a wait that an exception ended.
void keep_for_ever(std::shared_ptr<void> memory) {
  static auto* kept = new std::deque<std::shared_ptr<void>>;
  Engine& e = engine();
  std::lock_guard lock(e.mu);
  if (!e.broken.empty()) kept->push_back(std::move(memory));
}

// By memory of the host, wherever it lies.
void move_by_host(std::string_view op, const Group& g, Collective c, Device& d, bool of_python) {
  const Parts parts = parts_of(c, g);
  // The library's memory is the engine's, as an exception may end the wait for it.
  auto own = std::make_shared<std::pair<Memory, Memory>>(Memory(parts.in), Memory(parts.out));
  void* const out = c.out;
  if (parts.in && c.in) d.to_host(own->first.data(), c.in, parts.in);
  c.in = own->first.data();
  c.out = own->second.data();
  if (c.kind == Collective::kAllReduce) c.out = own->first.data();
  try {
    move(op, g, c, of_python);
  } catch (...) {
    keep_for_ever(std::move(own));
    throw;
  }
  if (!parts.out || !out) return;
  d.from_host(out, c.out, parts.out);
  d.synchronize();  // before the memory is used again
}

// Of the thread beside.
void run_started(Started& s) {
  std::lock_guard turn(engine().order);
  DeviceCollectives* library = library_for(s.c, *s.device);
  if (agree(s.op, *s.group, s.c, library != nullptr, false))
    s.reduced = move_on_device(s.op, s.group, s.c, *library, *s.filled, false);
  else if (s.device->is_host())
    move(s.op, *s.group, s.c, false);
  else
    move_by_host(s.op, *s.group, s.c, *s.device, false);
}

}  // namespace

void progress() {
  Engine& e = engine();
  std::unique_lock lock(e.mu);
  while (true) {
    if (e.queue.empty()) {
      if (e.ending) return;
      // What lies here until somebody asks for it is asked for at any time.
      e.changed.wait_for(lock, std::chrono::microseconds(e.outgoing.empty() ? 20000 : 200));
      if (!e.queue.empty() || e.ending) continue;
      lock.unlock();
      if (std::unique_lock calls(e.calls, std::try_to_lock); calls) {
        try {
          serve();
        } catch (const OpError& x) {
          PIJIT_LOG("exec", "communication: ", x.what());
        }
      }
      deliver();
      watch();
      lock.lock();
      continue;
    }
    const auto s = e.queue.front();
    e.queue.pop_front();
    e.busy = true;
    const std::string broken = e.broken;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (!broken.empty()) fail(s->op, str_cat("communication has failed before: ", broken));
      run_started(*s);
    } catch (...) {
      error = std::current_exception();
      keep_for_ever(s);
    }
    lock.lock();
    // A program that gets the error of the first of several waits for none of the others.
    if (error && e.broken.empty()) s->buffer = Memory(), s->there.reset();
    s->done = true, s->error = error;
    e.busy = false;
    e.changed.notify_all();
  }
}

void run(std::string_view op, const std::string& group, Collective c, Device& d) {
  Engine& e = engine();
  const GroupRef g = group_of(op, group);
  const auto n = static_cast<size_t>(g->size());
  OP_CHECK(c.members == g->size(), kValue, "[", op, "] was made for a group of ", c.members,
           " ranks, but '", group, "' has ", g->size());
  OP_CHECK(c.root >= 0 && c.root < g->size(), kValue, "[", op, "] there is no rank ", c.root,
           " in group '", group, "' of ", g->size());
  OP_CHECK(c.kind != Collective::kAllToAll || (c.to_send.size() == n && c.to_receive.size() == n),
           kValue, "[", op, "] needs a number of elements for each of the ", n, " ranks");
  {
    std::unique_lock lock(e.mu);
    wait_here(lock, [&] { return e.queue.empty() && !e.busy; });
  }
  DeviceCollectives* library = library_for(c, d);
  const auto turn = its_turn(e.order);
  count_begun();
  if (!agree(op, *g, c, library != nullptr, true)) return move_by_host(op, *g, c, d, true);
  const std::unique_ptr<Event> after = d.record(false);
  library->hold(*move_on_device(op, g, c, *library, *after, true));
}

int64_t start_all_reduce(std::string_view op, const std::string& group, Reduction r, DType dtype,
                         std::span<const std::pair<const void*, int64_t>> parts, Device& d) {
  Engine& e = engine();
  auto s = std::make_shared<Started>();
  s->op = op;
  s->group = group_of(op, group);
  s->device = &d;
  size_t bytes = 0;
  for (auto& [data, count] : parts) bytes += static_cast<size_t>(count) * size_of(dtype);
  char* to;
  if (d.is_host()) {
    s->buffer = Memory(bytes);
    to = s->buffer.data();
  } else {
    s->there.emplace(d, bytes);
    to = s->there->p;
  }
  s->c.in = s->c.out = to;
  for (auto& [data, count] : parts) {
    const size_t n = static_cast<size_t>(count) * size_of(dtype);
    if (n) d.copy(to, data, n);
    to += n;
  }
  if (!d.is_host()) s->filled = d.record(false);
  s->c.kind = Collective::kAllReduce;
  s->c.reduction = r;
  s->c.dtype = dtype;
  s->c.members = s->group->size();
  s->c.count = static_cast<int64_t>(bytes / size_of(dtype));
  std::lock_guard lock(e.mu);
  count_begun();
  const int64_t ticket = e.next_ticket++;
  e.tickets[ticket] = s;
  e.queue.push_back(std::move(s));
  e.changed.notify_all();
  return ticket;
}

void wait(std::string_view op, int64_t ticket, void* out, int64_t count) {
  Engine& e = engine();
  std::shared_ptr<Started> s;
  {
    std::unique_lock lock(e.mu);
    const auto it = e.tickets.find(ticket);
    OP_CHECK(it != e.tickets.end(), kValue, "[", op, "] nothing was started with ticket ", ticket);
    s = it->second;
    wait_here(lock, [&] { return s->done; });
    e.tickets.erase(ticket);
  }
  if (s->error) std::rethrow_exception(s->error);
  OP_CHECK(s->c.count == count, kValue, "[", op, "] ", s->c.count, " elements were started, ",
           count, " are waited for");
  if (s->reduced) e.on_device->hold(*s->reduced);
  if (count) s->device->copy(out, s->c.out, static_cast<size_t>(count) * size_of(s->c.dtype));
}

}  // namespace processes
}  // namespace pijit
