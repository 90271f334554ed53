// What goes by a device's own library, and the watch over it.
#include <algorithm>
#include <deque>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "runtime/processes.h"

namespace pijit::processes {
namespace {

// Asks all members how they are: those that do not answer within 2 seconds, in words.
std::string missing_of(const Group& g) {
  Engine& e = engine();
  const auto begin = Clock::now();
  const auto heard = [&](int m) {
    std::lock_guard lock(e.mu);
    const auto it = e.answers.find(g.ranks[static_cast<size_t>(m)]);
    return it != e.answers.end() && it->second.second >= begin;
  };
  const std::vector<int> all = others(g);
  {
    std::lock_guard lock(e.calls);
    const Question q{g.id};
    for (const int m : all) send_small(g.ranks[static_cast<size_t>(m)], kQuestion, &q, sizeof q);
  }
  while (seconds_since(begin) < 2 && !std::all_of(all.begin(), all.end(), heard)) {
    {
      std::lock_guard lock(e.calls);
      serve();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::string text;
  for (const int m : all)
    if (!heard(m))
      text += str_cat(text.empty() ? "" : "; ", full_rank_text(g, m), " does not answer");
  return text;
}

}  // namespace

DeviceCollectives* library_of(Device& d) {
  Engine& e = engine();
  if (d.is_host() || !e.use_devices) return nullptr;
  std::string why;
  DeviceCollectives* library = d.collectives(&why);
  if (!library) {
    PIJIT_LOG("exec", "communication: by the host: ", why);
    return nullptr;
  }
  std::lock_guard lock(e.mu);
  e.on_device = library;
  return library;
}
DeviceCollectives* library_for(const Collective& c, Device& d) {
  DeviceCollectives* library = c.kind == Collective::kBarrier ? nullptr : library_of(d);
  return library && library->has(c) ? library : nullptr;
}

void abort_on_device() {
  Engine& e = engine();
  std::string why;
  {
    std::lock_guard lock(e.mu);
    why = e.broken;
    e.running.clear();
    e.changed.notify_all();
  }
  e.on_device->abort(why);
}

void wait_until_ready(std::string_view op, const Group& g, std::vector<int> members,
                      DeviceCollectives& library, bool of_python) {
  std::string why = "a wait for the device's library was interrupted";
  try {
    Waiting(op, g, std::move(members), g.entered, of_python).until([&] {
      try {
        return library.ready(g.of_device);
      } catch (const OpError& x) {
        why = x.what();
        throw;
      }
    });
  } catch (...) {
    {
      std::lock_guard lock(engine().mu);
      set_broken(g, std::move(why));
    }
    abort_on_device();
    throw;
  }
}

std::shared_ptr<Event> move_on_device(std::string_view op, const GroupRef& g, const Collective& c,
                                      DeviceCollectives& library, const Event& after,
                                      bool of_python) {
  Engine& e = engine();
  if (!g->of_device) {
    // The member of rank 0 tells the others by the transport where to meet.
    std::vector<char> id(library.id_bytes());
    if (g->own == 0) id = library.make_id();
    const auto ids = exchange(op, *g, id.data(), id.size(), g->entered, of_python);
    g->of_device = library.make_group({ids->all.data(), id.size()}, g->size(), g->own, false);
    {
      std::lock_guard lock(e.mu);
      e.of_device.push_back(g);
    }
    wait_until_ready(op, *g, others(*g), library, of_python);
  }
  library.start(g->of_device, c, after);
  wait_until_ready(op, *g, others(*g), library, of_python);
  return note_started(op, g, library);
}

std::shared_ptr<Event> note_started(std::string_view op, const GroupRef& g,
                                    DeviceCollectives& library) {
  Engine& e = engine();
  std::shared_ptr<Event> done = library.started(g->of_device);
  std::lock_guard lock(e.mu);
  e.running.push_back({std::string(op), g, done, Clock::now()});
  return done;
}

void watch() {
  Engine& e = engine();
  std::deque<Running> all;
  bool broken;
  {
    std::lock_guard lock(e.mu);
    if (e.running.empty()) return;
    all = e.running;
    broken = !e.broken.empty();
  }
  if (broken) return abort_on_device();
  Running first = all.front();
  std::string why;
  try {
    if (first.done->done()) {
      std::lock_guard lock(e.mu);
      while (!e.running.empty() && e.running.front().done->done()) e.running.pop_front();
      e.changed.notify_all();
      return;
    }
    // Lines to others run side by side: one may fail while another waits for ever.
    std::set<const Group*> asked;
    for (const Running& r : all) {
      if (!asked.insert(r.group.get()).second) continue;
      first = r;
      e.on_device->ready(r.group->of_device);
    }
    first = all.front();
  } catch (const OpError& x) {
    why = x.what();
  }
  const Group& g = *first.group;
  const bool failed = !why.empty();
  if (!failed && seconds_since(first.begin) < e.timeout) return;
  const std::string missing = missing_of(g);
  if (failed)
    why += missing.empty() ? "" : ": " + missing;
  else
    why =
        str_cat("no result of ", first.op, " within ", e.timeout, " s in group '", g.name,
                "': ", missing.empty() ? "all ranks have come to it, but it does not end" : missing,
                ". PIJIT_COMM_TIMEOUT sets the time.");
  {
    std::lock_guard lock(e.mu);
    set_broken(g, std::move(why));
  }
  abort_on_device();
}

void wait_for_devices() {
  Engine& e = engine();
  std::unique_lock lock(e.mu);
  wait_here(lock, [&] { return (e.queue.empty() && !e.busy) || !e.broken.empty(); });
  const std::deque<Running> all = e.running;
  lock.unlock();
  try {
    for (auto& r : all) r.done->wait();
  } catch (const OpError& x) {
    PIJIT_LOG("exec", "communication: ", x.what());
  }
}

Started::~Started() {
  if (!reduced) return;
  try {
    engine().on_device->hold(*reduced);
  } catch (const OpError& x) {
    PIJIT_LOG("exec", "communication: ", x.what());
  }
}

}  // namespace pijit::processes
