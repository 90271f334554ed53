#include "runtime/prologue.h"

#include <set>

#include "runtime/program.h"

namespace pijit {
namespace {

struct AllPrologues {
  std::mutex mu;
  std::set<const Prologue*> prologues;
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
  const std::lock_guard lock(all_prologues().mu);
  all_prologues().prologues.erase(this);
}

void Prologue::drop_all() {
  std::vector<std::shared_ptr<const Values>> gone;  // released behind the locks
  const std::lock_guard lock(all_prologues().mu);
  for (const Prologue* p : all_prologues().prologues) {
    const std::lock_guard own(p->mu_);
    gone.push_back(std::move(p->kept_));
  }
}

size_t Prologue::count() const { return program_->outputs.size(); }

bool Prologue::fits(std::span<Array* const> inputs) const {
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const Array& a = *inputs[inputs_[k]];
    if (a.storage->unwritten.load(std::memory_order_acquire) != seen_[k].written ||
        a.data != seen_[k].data)
      return false;
  }
  return true;
}

std::shared_ptr<const Prologue::Values> Prologue::values(std::span<Array* const> inputs) const {
  bool looks, keeps = false;
  {
    const std::lock_guard lock(mu_);
    if (kept_ && fits(inputs)) return kept_;
    kept_ = nullptr;
    // Where they change in each call, as training has it, few calls look.
    looks = changes_ < 16 || calls_ % 16 < 2;
    ++calls_;
  }
  std::vector<Stamp> now;
  std::vector<Array*> own;
  bool lasting = looks;
  for (const int i : inputs_) {
    own.push_back(inputs[i]);
    if (!lasting) continue;
    now.push_back({watch(*inputs[i]->storage), inputs[i]->data});
    lasting = now.back().written != 0;
  }
  if (lasting) {
    const std::lock_guard lock(mu_);
    keeps = now == seen_;
    changes_ = keeps ? 0 : changes_ + 1;
    seen_ = now;
  }
  auto made = std::make_shared<Values>();
  made->arrays.resize(program_->outputs.size());
  program_->run(own, nullptr, made->arrays.data());
  if (!keeps) return made;
  size_t bytes = 0;
  for (auto& a : made->arrays) bytes += a->type.bytes();
  made->bytes = PackedBytes::claim(bytes);
  if (!made->bytes) return made;
  const std::lock_guard lock(mu_);
  if (seen_ == now) kept_ = made;
  return made;
}

}  // namespace pijit
