// Messages between two processes. One in memory of the host leaves at once, with its head. Of one
// on a device that has a library of its own only the head does: the receiver finds it by its tag
// and asks for the values, by the library if it has one too, and then both start to move them. So
// neither tags nor the order of sends and receives are the library's concern, whose sends wait for
// their receivers.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "runtime/processes.h"

namespace pijit::processes {
namespace {

struct MessageHead {
  int64_t count;
  uint64_t number;  // of what lies on the sender's device; 0: the values are behind the head
  uint8_t dtype;
  uint8_t unused[7];
};

void check_partner(std::string_view op, const Group& g, int member, int tag) {
  OP_CHECK(member >= 0 && member < g.size(), kValue, "[", op, "] there is no rank ", member,
           " in group '", g.name, "' of ", g.size());
  OP_CHECK(member != g.own, kValue, "[", op, "] rank ", member, " is this process itself");
  constexpr int kMostTags = 30000;
  OP_CHECK(tag >= 0 && tag <= kMostTags, kValue, "[", op, "] the tag must be from 0 to ", kMostTags,
           ", got ", tag);
}

// Between those that are on their way to one receiver.
int tag_of(uint64_t number) { return kFirstOfMessages + static_cast<int>(number % 8192); }

GroupRef make_line(int from, int to) {
  Engine& e = engine();
  auto line = std::make_shared<Group>();
  line->name = str_cat("rank ", from, " to rank ", to);
  line->ranks = {from, to};
  line->own = e.rank == from ? 0 : 1;
  line->id = id_of(line->name, line->ranks);
  line->handle = e.everybody;
  return line;
}
void note_made(const GroupRef& line) {
  Engine& e = engine();
  std::lock_guard lock(e.mu);
  e.of_device.push_back(line);
}

// With `calls`.
void start_message(Transport::Group g, int to, int tag, std::vector<char> bytes) {
  Engine& e = engine();
  Engine::Sending s{nullptr, std::move(bytes)};
  s.request = e.transport->start_send(g, to, tag, s.bytes.data(), s.bytes.size());
  e.sending.push_back(std::move(s));
}

// What was asked for goes on its way. False: not yet. With `delivering`.
bool deliver_one(const Asked& a) {
  Engine& e = engine();
  Outgoing m;
  {
    std::lock_guard lock(e.mu);
    const auto it = e.outgoing.find(a.what.number);
    if (it == e.outgoing.end()) return true;
    m = it->second;
  }
  const auto leaves = [&] {
    std::lock_guard lock(e.mu);
    e.outgoing.erase(a.what.number);
    if (m.sent) e.leaving.push_back(m);
    return true;
  };
  if (a.what.how == Asking::kDrop) return leaves();
  if (a.what.how == Asking::kByHost) {
    std::vector<char> bytes(m.bytes);
    m.device->to_host(bytes.data(), m.there->p, m.bytes);
    std::lock_guard lock(e.calls);
    start_message(e.everybody, m.to, tag_of(a.what.number), std::move(bytes));
    return leaves();
  }
  DeviceCollectives& library = *e.on_device;
  GroupRef& line = e.to_others[m.to];
  if (!line) line = make_line(e.rank, m.to);
  if (!line->of_device) {
    line->of_device = library.make_group({a.what.id, library.id_bytes()}, 2, line->own, true);
    note_made(line);
  }
  if (!library.ready(line->of_device)) return false;
  if (line->entered != a.what.number) {  // it is not started
    library.start_send(line->of_device, 1, m.there->p, m.bytes, *m.filled);
    line->entered = a.what.number;
    if (!library.ready(line->of_device)) return false;
  }
  m.sent = note_started(m.op, line, library);
  return leaves();
}

}  // namespace

void deliver() {
  Engine& e = engine();
  std::unique_lock turn(e.delivering, std::try_to_lock);
  if (!turn) return;  // another thread is at it
  {
    std::lock_guard lock(e.mu);
    if (!e.broken.empty()) return;
  }
  Asked first{};
  try {
    while (true) {
      {
        std::lock_guard lock(e.calls);
        e.to_deliver = !e.asked.empty();
        if (e.asked.empty()) break;
        first = e.asked.front();
      }
      if (!deliver_one(first)) return;
      std::lock_guard lock(e.calls);
      e.asked.pop_front();
    }
    std::deque<Outgoing> gone;  // their memory goes without `mu`
    std::lock_guard lock(e.mu);
    while (!e.leaving.empty() && e.leaving.front().sent->done()) {
      gone.push_back(std::move(e.leaving.front()));
      e.leaving.pop_front();
    }
  } catch (const OpError& x) {
    PIJIT_LOG("exec", "communication: ", x.what());
    {
      std::lock_guard lock(e.calls);
      e.asked.clear();
      e.to_deliver = false;
    }
    {
      std::lock_guard lock(e.mu);
      set_broken(*make_line(e.rank, first.from), x.what());
    }
    abort_on_device();
  }
}

void send(std::string_view op, const std::string& group, int to, int tag, DType dtype,
          const void* data, int64_t count, Device& d) {
  Engine& e = engine();
  const GroupRef g = group_of(op, group);
  check_partner(op, *g, to, tag);
  const size_t n = static_cast<size_t>(count) * size_of(dtype);
  MessageHead head{count, 0, static_cast<uint8_t>(dtype), {}};
  std::vector<char> bytes(sizeof head);
  if (n && library_of(d)) {
    Outgoing m;
    m.op = op;
    m.to = g->ranks[static_cast<size_t>(to)];
    m.bytes = n;
    m.device = &d;
    m.there = std::make_shared<DeviceBlock>(d, n);
    d.copy(m.there->p, data, n);
    m.filled = d.record(false);
    std::lock_guard lock(e.mu);
    head.number = ++e.messages;
    e.outgoing.emplace(head.number, std::move(m));
    e.changed.notify_all();
  } else if (n) {
    bytes.resize(sizeof head + n);
    d.to_host(bytes.data() + sizeof head, data, n);
  }
  std::memcpy(bytes.data(), &head, sizeof head);
  std::lock_guard lock(e.calls);
  count_begun();
  transport_for(op, g->handle);
  start_message(g->handle, to, kFirstOfUsers + tag, std::move(bytes));
}

void receive(std::string_view op, const std::string& group, int from, int tag, DType dtype,
             void* data, int64_t count, Device& d) {
  Engine& e = engine();
  const GroupRef g = group_of(op, group);
  check_partner(op, *g, from, tag);
  std::vector<char> bytes;
  count_begun();
  const auto get = [&](const Transport::Group& place, int member, int its_tag) {
    Waiting(op, *g, {from}, 0, true).until([&] {
      const auto m = e.transport->probe(place, member, its_tag);
      if (!m) return false;
      bytes.resize(m->bytes);
      e.transport->receive(place, member, its_tag, bytes.data(), bytes.size());
      return true;
    });
  };
  get(g->handle, from, kFirstOfUsers + tag);
  MessageHead head{};
  OP_CHECK(bytes.size() >= sizeof head, kRuntime, "[", op, "] a message of another program came");
  std::memcpy(&head, bytes.data(), sizeof head);
  const int sender = g->ranks[static_cast<size_t>(from)];
  Asking question;
  question.number = head.number;
  const auto ask = [&] {
    std::lock_guard lock(e.calls);
    transport_for(op, g->handle);
    send_small(sender, kAsking, &question, sizeof question);
  };
  if (head.count != count || head.dtype != static_cast<uint8_t>(dtype)) {
    question.how = Asking::kDrop;
    if (head.number) ask();
    throw OpError(OpError::kValue,
                  str_cat("[", op, "] ", rank_text(*g, from), " sent ", head.count, " elements of ",
                          public_name_of(static_cast<DType>(head.dtype)), ", but ", count, " of ",
                          public_name_of(dtype), " were expected"));
  }
  const size_t n = static_cast<size_t>(count) * size_of(dtype);
  DeviceCollectives* library = head.number ? library_of(d) : nullptr;
  if (!library) {
    size_t begin = sizeof head;
    if (head.number) {
      question.how = Asking::kByHost;
      ask();
      get(e.everybody, sender, tag_of(head.number));
      begin = 0;
    }
    OP_CHECK(bytes.size() == begin + n, kRuntime, "[", op, "] a message of another program came");
    if (!n) return;
    d.from_host(data, bytes.data() + begin, n);
    if (!d.is_host()) d.synchronize();  // before the memory goes
    return;
  }
  const auto turn = its_turn(e.receiving);
  GroupRef& line = e.from_others[sender];
  if (!line) line = make_line(sender, e.rank);
  const bool is_new = !line->of_device;
  if (is_new) {
    const std::vector<char> id = library->make_id();
    OP_CHECK(id.size() <= sizeof question.id, kRuntime, "[", op, "] the id of a group is too long");
    std::copy(id.begin(), id.end(), question.id);
  }
  ask();
  if (is_new) {
    line->of_device = library->make_group({question.id, library->id_bytes()}, 2, line->own, true);
    note_made(line);
    wait_until_ready(op, *line, {}, *library, true);
  }
  const std::unique_ptr<Event> after = d.record(false);  // the memory may be in use until then
  library->start_receive(line->of_device, 0, data, n, *after);
  wait_until_ready(op, *line, {}, *library, true);
  library->hold(*note_started(op, line, *library));
}

}  // namespace pijit::processes
