// A transport of two ranks, of which there is one: what it says, both say. The first start fails
// half way, where the ranks tell each other their machines' names.
#include <cstring>

#include "base/error.h"
#include "runtime/collective.h"

namespace pijit {
namespace {

class Failing : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 2; }
  Group make_group(std::span<const int>, int) override { return new int(++groups_); }
  void drop_group(Group g) override {
    --groups_;
    delete static_cast<int*>(g);
  }
  Request start(Group, const Collective& c) override {
    if (c.in != c.out) std::memcpy(c.out, c.in, static_cast<size_t>(c.count) * size_of(c.dtype));
    return this;
  }
  Request start_exchange(Group, const void* own, void* all, size_t n) override {
    if (++exchanges_ == 1) throw OpError(OpError::kRuntime, "[init] the network is down");
    for (size_t k = 0; k < 2; ++k) std::memcpy(static_cast<char*>(all) + k * n, own, n);
    return this;
  }
  Request start_send(Group, int, int, const void*, size_t) override { return this; }
  bool done(Request) override { return true; }
  std::optional<Message> probe(Group, int, int) override { return std::nullopt; }
  void receive(Group, int, int, void*, size_t) override {}
  void end() override {
    if (groups_) __builtin_trap();
  }
  void abort(int) override { __builtin_trap(); }

 private:
  int exchanges_ = 0, groups_ = 0;
};

}  // namespace
}  // namespace pijit

extern "C" [[gnu::visibility("default")]] const char* pijit_transport_version() {
  return pijit::kTransportVersion;
}
extern "C" [[gnu::visibility("default")]] pijit::Transport* pijit_make_transport() {
  return new pijit::Failing;
}
