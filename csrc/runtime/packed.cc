#include "runtime/packed.h"

#include <list>
#include <mutex>
#include <vector>

#include "base/config.h"
#include "runtime/prologue.h"

namespace pijit {
inline namespace packed {  // named, as Forms is known elsewhere

struct Form {
  std::string layout;
  std::shared_ptr<const Block> data;  // null: it was asked for once
  uint64_t used;                      // when
};
// Kept ones, those that were used last at the end.
using Kept = std::list<Form>;

struct AllForms {
  std::mutex mu;
  Kept kept, seen;
  size_t bytes = 0;
  uint64_t now = 0;  // counts what is asked for

  size_t size() const { return kept.size() + seen.size(); }
};
AllForms& all() {
  static auto* a = new AllForms;  // arrays may outlive static destruction
  return *a;
}

}  // namespace packed

struct Forms {
  std::vector<Kept::iterator> own;
};

namespace {

constexpr size_t kMostLayouts = 8;  // of one memory

using Gone = std::vector<std::shared_ptr<const Block>>;  // released behind the lock

void forget(AllForms& a, Kept::iterator f, Gone* gone) {
  if (!f->data) {
    a.seen.erase(f);
    return;
  }
  a.bytes -= f->data->bytes;
  gone->push_back(std::move(f->data));
  a.kept.erase(f);
}

// Is there room? What is no longer asked for, while all others could have been asked for some
// times, goes for it; else a set of forms that are used in turns would drop each other.
bool make_room(AllForms& a, size_t bytes, Gone* gone) {
  const size_t most = static_cast<size_t>(config().packed_bytes);
  while (a.bytes + bytes > most) {
    if (a.kept.empty()) return false;
    Form& f = a.kept.front();
    if (a.now - f.used < 4 * a.size() + 64) return false;
    a.bytes -= f.data->bytes;
    gone->push_back(std::move(f.data));
    a.seen.splice(a.seen.end(), a.kept, a.kept.begin());
  }
  return true;
}

}  // namespace

std::shared_ptr<const Block> packed_form(Storage& of, const std::string& layout, size_t bytes,
                                         absl::FunctionRef<void(void*)> pack) {
  AllForms& a = all();
  Gone gone;
  const auto find = [&]() -> Kept::iterator* {
    Forms* forms = of.forms.load(std::memory_order_relaxed);
    for (auto& f : forms->own)
      if (f->layout == layout) return &f;
    return nullptr;
  };
  bool full = false;
  {
    const std::lock_guard lock(a.mu);
    if (of.lent) return nullptr;
    ++a.now;
    if (!of.forms.load(std::memory_order_relaxed))
      of.forms.store(new Forms, std::memory_order_release);
    if (auto* f = find()) {
      Form& form = **f;
      form.used = a.now;
      if (form.data) {
        a.kept.splice(a.kept.end(), a.kept, *f);
        return form.data;
      }
      if (!make_room(a, bytes, &gone)) full = true;
    } else {
      auto& own = of.forms.load(std::memory_order_relaxed)->own;
      if (own.size() == kMostLayouts) {
        forget(a, own.front(), &gone);
        own.erase(own.begin());
      }
      own.push_back(a.seen.insert(a.seen.end(), Form{layout, nullptr, a.now}));
      return nullptr;
    }
  }
  if (full) {
    Prologue::drop_idle();  // for the next call
    return nullptr;
  }
  // Others run meanwhile. The memory is held by this call, so nobody writes it.
  auto made = std::make_shared<const Block>(bytes);
  pack(made->p);
  const std::lock_guard lock(a.mu);
  auto* f = of.lent || !of.forms.load(std::memory_order_relaxed) ? nullptr : find();
  if (!f || (*f)->data || !make_room(a, bytes, &gone)) return made;  // for this call
  (*f)->data = made;
  a.bytes += bytes;
  a.kept.splice(a.kept.end(), a.seen, *f);
  return made;
}

void drop_forms_of(Storage& s) {
  AllForms& a = all();
  Gone gone;
  const std::lock_guard lock(a.mu);
  const std::unique_ptr<Forms> forms(s.forms.exchange(nullptr));
  if (!forms) return;
  for (auto& f : forms->own) forget(a, f, &gone);
}

void lend(Storage& s) {
  AllForms& a = all();
  {
    const std::lock_guard lock(a.mu);
    s.lent = true;
  }
  drop_forms(s);
}

uint64_t watch(Storage& s) {
  AllForms& a = all();
  const std::lock_guard lock(a.mu);
  if (s.lent || s.free_external) return 0;
  static uint64_t last = 0;
  uint64_t n = s.unwritten.load(std::memory_order_relaxed);
  if (n == 0) s.unwritten.store(n = ++last, std::memory_order_release);
  return n;
}

PackedBytes PackedBytes::claim(size_t bytes) {
  AllForms& a = all();
  Gone gone;
  PackedBytes r;
  const std::lock_guard lock(a.mu);
  r.claimed_ = make_room(a, bytes, &gone);
  if (r.claimed_) a.bytes += r.bytes_ = bytes;
  return r;
}
PackedBytes::~PackedBytes() {
  if (bytes_ == 0) return;
  AllForms& a = all();
  const std::lock_guard lock(a.mu);
  a.bytes -= bytes_;
}

size_t packed_bytes() {
  AllForms& a = all();
  const std::lock_guard lock(a.mu);
  return a.bytes;
}

void drop_all_forms() {
  AllForms& a = all();
  Gone gone;
  const std::lock_guard lock(a.mu);
  for (Form& f : a.kept) {
    a.bytes -= f.data->bytes;
    gone.push_back(std::move(f.data));
  }
  a.seen.splice(a.seen.end(), a.kept);
}

}  // namespace pijit
