#include "runtime/processes.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace pijit::processes {
namespace {

thread_local uint64_t begun_here = 0;

std::string last_of(const Answer& a) {
  return a.doing[0] ? str_cat("; its last operation was ", a.doing) : std::string();
}

}  // namespace

uint64_t begun() { return begun_here; }
void count_begun() { ++begun_here; }

Engine& engine() {
  static auto* e = new Engine;  // threads may outlive static destruction
  return *e;
}

uint64_t id_of(std::string_view name, const std::vector<int>& ranks) {
  uint64_t h = 0xcbf29ce484222325ull;  // FNV-1a: the same in all processes
  auto mix = [&](uint8_t byte) { h = (h ^ byte) * 0x100000001b3ull; };
  for (const char c : name) mix(static_cast<uint8_t>(c));
  for (const int r : ranks)
    for (int k = 0; k < 4; ++k) mix(static_cast<uint8_t>(r >> (8 * k)));
  return h;
}

[[noreturn]] void fail(std::string_view op, const std::string& why) {
  throw OpError(OpError::kRuntime, str_cat("[", op, "] ", why));
}
Transport& transport_for(std::string_view op, const Transport::Group& g) {
  Engine& e = engine();
  if (!e.transport || !g) fail(op, "communication has ended");
  return *e.transport;
}
std::unique_lock<std::mutex> its_turn(std::mutex& m) {
  std::unique_lock lock(m, std::defer_lock);
  while (!lock.try_lock()) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (gil.turn) gil.turn();
  }
  return lock;
}
std::string rank_text(const Group& g, int member) {
  return str_cat("rank ", g.ranks[static_cast<size_t>(member)]);
}
std::string full_rank_text(const Group& g, int member) {
  const Engine& e = engine();
  const std::string text = str_cat(rank_text(g, member), " of ", e.size);
  const auto world = static_cast<size_t>(g.ranks[static_cast<size_t>(member)]);
  const bool several = std::any_of(e.hosts.begin(), e.hosts.end(),
                                   [&](const std::string& h) { return h != e.hosts[0]; });
  return several ? str_cat(text, " (on ", e.hosts[world], ")") : text;
}
void set_broken(const Group& g, std::string why) {
  Engine& e = engine();
  if (!e.broken.empty()) return;
  e.broken = std::move(why);
  e.broken_group = g.id;
}

void send_small(int to, int tag, const void* bytes, size_t n) {
  Engine& e = engine();
  const char* from = static_cast<const char*>(bytes);
  Engine::Sending s{nullptr, {from, from + n}};
  s.request = e.transport->start_send(e.everybody, to, tag, s.bytes.data(), n);
  e.sending.push_back(std::move(s));
}

void serve() {
  Engine& e = engine();
  while (const auto m = e.transport->probe(e.everybody, -1, kQuestion)) {
    Question q{};
    e.transport->receive(e.everybody, m->from, kQuestion, &q, sizeof q);
    Answer a;
    a.group = q.group;
    {
      std::lock_guard lock(e.mu);
      const auto it = e.entered.find(q.group);
      a.entered = it == e.entered.end() ? 0 : it->second;
      a.ended = e.ending;
      a.gave_up = !e.broken.empty() && e.broken_group == q.group;
      std::strncpy(a.doing, e.doing.c_str(), sizeof a.doing - 1);
    }
    send_small(m->from, kAnswer, &a, sizeof a);
  }
  while (const auto m = e.transport->probe(e.everybody, -1, kAnswer)) {
    Answer a;
    e.transport->receive(e.everybody, m->from, kAnswer, &a, sizeof a);
    std::lock_guard lock(e.mu);
    e.answers[m->from] = {a, Clock::now()};
  }
  while (const auto m = e.transport->probe(e.everybody, -1, kAsking)) {
    Asked a{m->from, {}};
    e.transport->receive(e.everybody, m->from, kAsking, &a.what, sizeof a.what);
    e.asked.push_back(a);
    e.to_deliver = true;
  }
  for (size_t k = e.sending.size(); k > 0; --k) {
    auto s = std::move(e.sending.front());
    e.sending.pop_front();
    if (!e.transport->done(s.request)) e.sending.push_back(std::move(s));
  }
}

void Waiting::until(const std::function<bool()>& ready) {
  Engine& e = engine();
  for (int turn = 0;; ++turn) {
    {
      std::lock_guard lock(e.calls);
      transport_for(op_, g_.handle);
      if (ready()) return;
      if (turn % 16 == 15) serve();
    }
    if (e.to_deliver) deliver();
    // Awake for some microseconds; then asleep, as whoever wakes comes before those that compute.
    if (turn < 64) {
      for (int k = 0; k < 32; ++k) __builtin_ia32_pause();
      continue;
    }
    const int pause = turn < 200 ? 10 : turn < 1000 ? 50 : 200;
    std::this_thread::sleep_for(std::chrono::microseconds(pause));
    if (of_python_ && gil.turn) gil.turn();
    look();
  }
}

void Waiting::look() {
  Engine& e = engine();
  const double waited = seconds_since(begin_), every = std::min(1.0, e.timeout / 4);
  if (seconds_since(asked_) > every) {
    asked_ = Clock::now();
    std::lock_guard lock(e.calls);
    transport_for(op_, g_.handle);
    const Question q{g_.id};
    for (const int m : members_) send_small(g_.ranks[m], kQuestion, &q, sizeof q);
  }
  std::string why;
  {
    std::lock_guard lock(e.mu);
    for (const int m : members_) {
      const auto it = e.answers.find(g_.ranks[m]);
      if (it == e.answers.end() || it->second.second < begin_) continue;
      const Answer& a = it->second.first;
      if (a.ended && (!number_ || a.group != g_.id || a.entered < number_))
        why =
            str_cat(full_rank_text(g_, m), " has ended, so that it will not take part", last_of(a));
      else if (a.gave_up && number_ && a.group == g_.id && a.entered <= number_)
        why = str_cat(full_rank_text(g_, m), " has given up waiting for the others", last_of(a));
    }
  }
  if (!why.empty()) give_up(why);
  if (waited > e.timeout) give_up(overdue());
}

std::string Waiting::overdue() {
  Engine& e = engine();
  std::lock_guard lock(e.mu);
  std::string text = str_cat("no result within ", e.timeout, " s in group '", g_.name, "': ");
  std::string missing;
  for (const int m : members_) {
    const auto it = e.answers.find(g_.ranks[m]);
    const bool heard = it != e.answers.end() && it->second.second >= begin_;
    std::string about;
    if (!heard)
      about = "does not answer";
    else if (!number_)
      about = str_cat("has not sent it", last_of(it->second.first));
    else if (it->second.first.group == g_.id && it->second.first.entered < number_)
      about = str_cat("has not come to it", last_of(it->second.first));
    if (!about.empty())
      missing += str_cat(missing.empty() ? "" : "; ", full_rank_text(g_, m), " ", about);
  }
  return text + (missing.empty() ? "all ranks have come to it, but it does not end" : missing) +
         ". PIJIT_COMM_TIMEOUT sets the time.";
}

void Waiting::give_up(const std::string& why) {
  Engine& e = engine();
  {
    std::lock_guard lock(e.mu);
    set_broken(g_, why);
  }
  fail(op_, why);
}

std::vector<int> others(const Group& g) {
  std::vector<int> m;
  for (int k = 0; k < g.size(); ++k)
    if (k != g.own) m.push_back(k);
  return m;
}

GroupRef group_of(std::string_view op, const std::string& name) {
  Engine& e = engine();
  std::lock_guard lock(e.mu);
  if (!e.broken.empty()) fail(op, str_cat("communication has failed before: ", e.broken));
  OP_CHECK(e.transport, kRuntime, "[", op,
           "] communication of several processes is not initialized: call "
           "mindspore.communication.init()");
  const auto it = e.groups.find(name);
  OP_CHECK(it != e.groups.end(), kValue, "[", op, "] the group '", name,
           "' does not exist: call create_group first");
  OP_CHECK(it->second->own >= 0, kValue, "[", op, "] rank ", e.rank, " is not in group '", name,
           "'");
  return it->second;
}

std::shared_ptr<Exchange> exchange(std::string_view op, const Group& g, const void* bytes, size_t n,
                                   uint64_t number, bool of_python) {
  Engine& e = engine();
  auto x = std::make_shared<Exchange>();
  x->own.assign(static_cast<const char*>(bytes), static_cast<const char*>(bytes) + n);
  x->all.resize(n * g.ranks.size());
  Transport::Request request;
  {
    std::lock_guard lock(e.calls);
    request = transport_for(op, g.handle).start_exchange(g.handle, x->own.data(), x->all.data(), n);
  }
  try {
    Waiting(op, g, others(g), number, of_python).until([&] { return e.transport->done(request); });
  } catch (...) {
    static auto* left = new std::deque<std::shared_ptr<Exchange>>;
    std::lock_guard lock(e.mu);
    left->push_back(x);
    set_broken(g, str_cat("a wait of '", op, "' for other ranks was interrupted"));
    throw;
  }
  return x;
}

}  // namespace pijit::processes
