#include "runtime/prologue.h"

#include <atomic>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/program.h"

namespace pijit {
namespace {

struct AllPrologues {
  std::mutex mu;
  std::set<const Prologue*> prologues;
  // By the number of a parameter's memory, those that have kept values of it.
  absl::flat_hash_map<uint64_t, std::vector<const Prologue*>> of;
  std::atomic<uint64_t> now{0};  // counts calls
};
AllPrologues& all_prologues() {
  static auto* a = new AllPrologues;  // programs may outlive static destruction
  return *a;
}

}  // namespace

Prologue::Prologue(std::shared_ptr<const Program> program, std::vector<int> inputs)
    : program_(std::move(program)), inputs_(std::move(inputs)) {
  const std::lock_guard lock(all_prologues().mu);
  all_prologues().prologues.insert(this);
}
Prologue::~Prologue() {
  AllPrologues& all = all_prologues();
  const std::lock_guard lock(all.mu);
  all.prologues.erase(this);
  unlist();
}
// From the lists of its parameters' memory.
void Prologue::unlist() const {
  AllPrologues& all = all_prologues();
  for (const uint64_t unwritten : listed_)
    if (auto it = all.of.find(unwritten); it != all.of.end()) {
      std::erase(it->second, this);
      if (it->second.empty()) all.of.erase(it);
    }
  listed_.clear();
}

template <class Condition>
void Prologue::drop_where(Condition goes) {
  std::vector<Kept> gone;  // released behind the locks
  AllPrologues& all = all_prologues();
  const std::lock_guard lock(all.mu);
  for (const Prologue* p : all.prologues) {
    const std::lock_guard own(p->mu_);
    if (p->kept_ && goes(*p)) gone.push_back(std::move(p->kept_));
  }
}
void Prologue::drop_all() {
  drop_where([](const Prologue&) { return true; });
}
void Prologue::drop_idle() {
  const uint64_t now = all_prologues().now.load(),
                 often = 4 * all_prologues().prologues.size() + 64;
  drop_where([&](const Prologue& p) { return now - p.used_ >= often; });
}
void Prologue::drop_of(uint64_t unwritten) {
  std::vector<Kept> gone;  // released behind the locks
  AllPrologues& all = all_prologues();
  const std::lock_guard lock(all.mu);
  const auto it = all.of.find(unwritten);
  if (it == all.of.end()) return;
  for (const Prologue* p : it->second) {
    const std::lock_guard own(p->mu_);
    const auto is = [&](const Stamp& s) { return s.unwritten == unwritten; };
    if (std::any_of(p->seen_.begin(), p->seen_.end(), is)) gone.push_back(std::move(p->kept_));
  }
  all.of.erase(it);
}
void drop_kept_of(uint64_t unwritten) {
  if (unwritten) Prologue::drop_of(unwritten);
}

size_t Prologue::count() const { return program_->outputs.size(); }
bool Prologue::takes_long() const {
  const std::lock_guard lock(mu_);
  return !kept_ && calls_ > 0 && program_->takes_long();
}

bool Prologue::fits(std::span<Array* const> inputs) const {
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const Array& a = *inputs[inputs_[k]];
    if (a.storage->unwritten.load(std::memory_order_acquire) != seen_[k].unwritten ||
        a.address() != seen_[k].data)
      return false;
  }
  return true;
}

Prologue::Kept Prologue::kept(std::span<Array* const> inputs) const {
  const uint64_t now = all_prologues().now.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mu_);
  if (!kept_ || !fits(inputs)) return nullptr;
  used_ = now;
  return kept_;
}

Prologue::Kept Prologue::computed(std::span<Array* const> inputs) const {
  bool lasting, keeps = false;
  {
    const std::lock_guard lock(mu_);
    // Where they change in each call, as training has it, few calls look.
    lasting = changes_ < 16 || calls_ % 16 < 2;
    ++calls_;
  }
  std::vector<Stamp> now;
  std::vector<Array*> own;
  for (const int i : inputs_) {
    own.push_back(inputs[i]);
    if (!lasting) continue;
    now.push_back({watch(*inputs[i]->storage), inputs[i]->address()});
    lasting = now.back().unwritten != 0;
  }
  Kept gone;  // released behind the lock
  if (lasting) {
    const std::lock_guard lock(mu_);
    keeps = now == seen_;
    changes_ = keeps ? 0 : changes_ + 1;
    if (!keeps) gone = std::move(kept_);
    seen_ = now;
  }
  auto made = std::make_shared<Values>();
  made->arrays.resize(program_->outputs.size());
  program_->run(own, nullptr, made->arrays.data());
  if (!keeps) return made;
  size_t bytes = 0;
  for (auto& a : made->arrays) bytes += a->type.bytes();
  made->bytes = PackedBytes::claim(bytes);
  if (!made->bytes) {
    drop_idle();
    made->bytes = PackedBytes::claim(bytes);
    if (!made->bytes) return made;
  }
  AllPrologues& all = all_prologues();
  const std::lock_guard lock(all.mu);
  const std::lock_guard own_lock(mu_);
  // What was written meanwhile has another number, and nobody drops what is kept for the old one.
  if (seen_ != now || !fits(inputs)) return made;
  unlist();
  for (const Stamp& s : now) {
    auto& list = all.of[s.unwritten];
    if (std::find(list.begin(), list.end(), this) != list.end()) continue;  // of the same memory
    list.push_back(this);
    listed_.push_back(s.unwritten);
  }
  gone = std::exchange(kept_, made);
  used_ = all.now.load(std::memory_order_relaxed);
  return made;
}

}  // namespace pijit
