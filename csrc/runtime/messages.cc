// Messages between two processes.
#include <cstring>

#include "base/error.h"
#include "runtime/processes.h"

namespace pijit::processes {
namespace {

struct MessageHead {
  int64_t count;
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

}  // namespace

void send(std::string_view op, const std::string& group, int to, int tag, DType dtype,
          const void* data, int64_t count) {
  Engine& e = engine();
  const GroupRef g = group_of(op, group);
  check_partner(op, *g, to, tag);
  const size_t n = static_cast<size_t>(count) * size_of(dtype);
  std::vector<char> bytes(sizeof(MessageHead) + n);
  const MessageHead head{count, static_cast<uint8_t>(dtype), {}};
  std::memcpy(bytes.data(), &head, sizeof head);
  if (n) std::memcpy(bytes.data() + sizeof head, data, n);
  std::lock_guard lock(e.calls);
  count_begun();
  Engine::Sending s{nullptr, std::move(bytes)};
  s.request = transport_for(op, g->handle)
                  .start_send(g->handle, to, kFirstOfUsers + tag, s.bytes.data(), s.bytes.size());
  e.sending.push_back(std::move(s));
}

void receive(std::string_view op, const std::string& group, int from, int tag, DType dtype,
             void* data, int64_t count) {
  Engine& e = engine();
  const GroupRef g = group_of(op, group);
  check_partner(op, *g, from, tag);
  std::vector<char> bytes;
  count_begun();
  Waiting(op, *g, {from}, 0, true).until([&] {
    const auto m = e.transport->probe(g->handle, from, kFirstOfUsers + tag);
    if (!m) return false;
    bytes.resize(m->bytes);
    e.transport->receive(g->handle, from, kFirstOfUsers + tag, bytes.data(), bytes.size());
    return true;
  });
  MessageHead head{};
  OP_CHECK(bytes.size() >= sizeof head, kRuntime, "[", op, "] a message of another program came");
  std::memcpy(&head, bytes.data(), sizeof head);
  OP_CHECK(head.count == count && head.dtype == static_cast<uint8_t>(dtype), kValue, "[", op, "] ",
           rank_text(*g, from), " sent ", head.count, " elements of ",
           public_name_of(static_cast<DType>(head.dtype)), ", but ", count, " of ",
           public_name_of(dtype), " were expected");
  if (count) std::memcpy(data, bytes.data() + sizeof head, bytes.size() - sizeof head);
}

}  // namespace pijit::processes
