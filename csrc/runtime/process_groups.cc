// When communication begins and ends, and groups of ranks.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/processes.h"

namespace pijit::processes {
namespace {

// With all others, as communication begins: the world is a group.
void meet() {
  Engine& e = engine();
  e.rank = e.transport->rank();
  e.size = e.transport->size();
  e.local_rank = e.transport->local_rank();
  e.local_size = e.transport->local_size();
  std::vector<int> all(static_cast<size_t>(e.size));
  for (int k = 0; k < e.size; ++k) all[static_cast<size_t>(k)] = k;
  e.everybody = e.transport->make_group(all, 0);
  auto world = std::make_shared<Group>();
  world->name = "world";
  world->ranks = all;
  world->own = e.rank;
  world->id = id_of(world->name, all);
  world->handle = e.transport->make_group(all, 1);
  {
    std::lock_guard lock(e.mu);
    e.ending = false;
    e.broken.clear();
    e.groups["world"] = std::move(world);
  }
  char own[64] = {};
  gethostname(own, sizeof own - 1);
  const auto names = exchange("init", *group_of("init", "world"), own, sizeof own, 0, false);
  e.hosts.clear();
  for (size_t k = 0; k < all.size(); ++k) e.hosts.emplace_back(names->all.data() + k * sizeof own);
}

// Forgets the others and all groups; the library waits for another start, or its end. With `calls`
// where others may call it.
void leave() {
  Engine& e = engine();
  std::unique_lock of_groups(e.mu);
  if (e.broken.empty())
    for (const GroupRef& g : e.of_device) e.on_device->drop_group(g->of_device);
  e.of_device.clear();
  e.running.clear();
  e.to_others.clear();
  e.from_others.clear();
  e.asked.clear();
  for (auto& [name, g] : e.groups)
    if (g->handle) e.transport->drop_group(std::exchange(g->handle, nullptr));
  if (e.everybody) e.transport->drop_group(std::exchange(e.everybody, nullptr));
  e.groups.clear();
  e.entered.clear();
  e.answers.clear();
  auto unread_results = std::exchange(e.tickets, {});
  auto unread_messages = std::exchange(e.outgoing, {});
  auto sent_messages = std::exchange(e.leaving, {});
  e.hosts.clear();
  Memory::free_all();
  e.ended = std::move(e.transport);
  e.rank = e.local_rank = 0;
  e.size = e.local_size = 1;
  of_groups.unlock();
  unread_results.clear();
  unread_messages.clear();
  sent_messages.clear();
}

}  // namespace

void start(const std::string& library) {
  Engine& e = engine();
  OP_CHECK(!e.transport, kRuntime, "[init] communication is initialized already");
  void* lib = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);  // MPI's own plug-ins look there
  OP_CHECK(lib, kRuntime, "[init] the MPI plug-in cannot be loaded: ", dlerror());
  const auto version = reinterpret_cast<TransportVersion>(dlsym(lib, kTransportVersionName));
  const auto make = reinterpret_cast<TransportMake>(dlsym(lib, kTransportMakeName));
  OP_CHECK(version && make && std::string_view(version()) == kTransportVersion, kRuntime, "[init] ",
           library, " belongs to another build of pijit");
  e.transport = e.ended ? std::move(e.ended) : std::unique_ptr<Transport>(make());
  try {
    meet();
  } catch (...) {
    leave();  // so that another start() begins anew
    throw;
  }
  e.thread = std::thread(progress);
}

bool started() { return engine().transport != nullptr; }

void use_devices(bool use) { engine().use_devices = use; }

void set_timeout(double seconds) {
  OP_CHECK(seconds > 0, kValue, "[set_timeout] the time must be positive, got ", seconds);
  engine().timeout = seconds;
}

int rank() { return engine().rank; }
int size() { return engine().size; }
int local_rank() { return engine().local_rank; }
int local_size() { return engine().local_size; }

void abort(int code) {
  Engine& e = engine();
  if (e.transport) e.transport->abort(code);
}

void stop() {
  Engine& e = engine();
  if (!e.transport) return;
  wait_for_devices();
  {
    std::unique_lock lock(e.mu);
    wait_here(lock, [&] {
      return (e.queue.empty() && !e.busy && e.running.empty()) || !e.broken.empty();
    });
    e.ending = true;
    e.doing = "the end of its program";
    e.changed.notify_all();
  }
  e.thread.join();
  Transport::Request goodbye;
  char own = 0;
  std::vector<char> all(static_cast<size_t>(e.size));
  {
    std::lock_guard lock(e.calls);
    goodbye = e.transport->start_exchange(e.everybody, &own, all.data(), 1);
  }
  while (true) {  // as long as the others take
    {
      std::lock_guard lock(e.calls);
      serve();
      if (e.transport->done(goodbye)) break;
    }
    deliver();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (gil.turn) gil.turn();
  }
  std::lock_guard lock(e.calls);
  // All have said goodbye: what is not received soon, nobody receives.
  const auto begin = Clock::now();
  while (!e.sending.empty() && seconds_since(begin) < 0.2) serve();
  static auto* unread = new std::deque<Engine::Sending>;
  std::move(e.sending.begin(), e.sending.end(), std::back_inserter(*unread));
  e.sending.clear();
  leave();
}

void end() {
  Engine& e = engine();
  std::lock_guard lock(e.calls);
  if (e.ended) e.ended->end();
  e.ended.reset();
}

void make_group(const std::string& name, const std::vector<int>& ranks) {
  Engine& e = engine();
  auto g = std::make_shared<Group>();
  g->name = name;
  g->ranks = ranks;
  g->id = id_of(name, ranks);
  const auto own = std::find(ranks.begin(), ranks.end(), e.rank);
  if (own != ranks.end()) g->own = static_cast<int>(own - ranks.begin());
  if (g->own >= 0 && g->size() > 1) {
    // The member of least rank hears from all others before the library, which would wait for ever,
    // makes the group; then it tells them whether all list the ranks in one order.
    std::vector<int> sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    Group everybody;
    everybody.name = name;
    everybody.id = g->id;
    everybody.ranks = sorted;
    everybody.own =
        static_cast<int>(std::find(sorted.begin(), sorted.end(), e.rank) - sorted.begin());
    everybody.handle = e.everybody;
    const int tag = kGathering + static_cast<int>(id_of(name, sorted) % 4099) * 2 + kFirstOfUsers;
    struct Order {
      uint64_t id;
      int64_t other;  // a rank whose order differs, -1: there is none
    } order{g->id, -1};
    const auto hear = [&](int member) {
      Order heard{};
      Waiting("create_group", everybody, {member}, 1, true).until([&] {
        const auto m = e.transport->probe(e.everybody, sorted[static_cast<size_t>(member)], tag);
        if (!m) return false;
        e.transport->receive(e.everybody, m->from, tag, &heard, sizeof heard);
        return true;
      });
      return heard;
    };
    const auto tell = [&](int member) {
      std::lock_guard lock(e.calls);
      send_small(sorted[static_cast<size_t>(member)], tag, &order, sizeof order);
    };
    if (everybody.own == 0) {
      for (int m = 1; m < g->size(); ++m)
        if (hear(m).id != g->id && order.other < 0) order.other = sorted[static_cast<size_t>(m)];
      for (int m = 1; m < g->size(); ++m) tell(m);
    } else {
      tell(0);
      order = hear(0);
    }
    std::string listed;
    for (const int r : ranks) listed += str_cat(listed.empty() ? "" : ", ", r);
    OP_CHECK(order.other < 0, kValue, "[create_group] all ranks must list the ranks of group '",
             name, "' in one order, but rank ", order.other, " has another one than rank ",
             sorted[0], "; rank ", e.rank, " lists [", listed, "]");
  }
  if (g->own >= 0) {
    const auto order = its_turn(e.order);
    std::lock_guard lock(e.calls);
    g->handle = e.transport->make_group(ranks, 1 + static_cast<int>(g->id % 16381));
  }
  std::lock_guard lock(e.mu);
  e.groups[name] = std::move(g);
}

void drop_group(const std::string& name) {
  Engine& e = engine();
  std::lock_guard lock(e.mu);
  const auto it = e.groups.find(name);
  if (it == e.groups.end()) return;
  e.entered.erase(it->second->id);
  e.groups.erase(it);  // the library's group stays: to free it all members would have to come
}

}  // namespace pijit::processes
