#include "runtime/packed.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <vector>

#include "base/config.h"
#include "runtime/guard.h"
#include "runtime/prologue.h"

namespace pijit {
inline namespace packed {  // named, as Forms is known elsewhere

struct Form {
  std::string layout;
  std::shared_ptr<const Block> data;  // null: it was asked for once
  uint64_t used;                      // when
  std::optional<Layout> order;        // where it has the memory's elements, if all
  bool only = false;                  // the memory's own pages are away
};
// Kept ones, those that were used last at the end.
using Kept = std::list<Form>;

struct AllForms {
  std::mutex mu;
  Kept kept, seen;
  size_t bytes = 0, instead = 0;  // the latter: of those whose memory is away
  uint64_t now = 0;               // counts what is asked for

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
  (f->only ? a.instead : a.bytes) -= f->data->bytes;
  gone->push_back(std::move(f->data));
  a.kept.erase(f);
}

// Is there room? What is no longer asked for, while all others could have been asked for some
// times, goes for it; else a set of forms that are used in turns would drop each other.
bool make_room(AllForms& a, size_t bytes, Gone* gone) {
  const size_t most = static_cast<size_t>(config().packed_bytes);
  while (a.bytes + bytes > most) {
    const auto f = std::find_if(a.kept.begin(), a.kept.end(), [](auto& k) { return !k.only; });
    if (f == a.kept.end() || a.now - f->used < 4 * a.size() + 64) return false;
    a.bytes -= f->data->bytes;
    gone->push_back(std::move(f->data));
    a.seen.splice(a.seen.end(), a.kept, f);
  }
  return true;
}

// Smaller memory has too few pages of its own; where faults are looked for, one is enough.
size_t least_away() { return guarded() ? 4 << 10 : 64 << 10; }

// Does the form have all that the memory holds, which nobody else needs now? Then its pages go.
// With the lock.
void give_back_what(Storage& s, Form* form, AllForms* a) {
  if (!form->order || s.stays || s.lent || s.bytes < least_away()) return;
  const std::optional<Layout>& order = form->order;
  const auto elements = static_cast<size_t>(order->shape.numel());
  if (s.away.load(std::memory_order_relaxed) || s.bytes % elements != 0) return;
  // What kernels say of their layouts is not trusted: a weight must not change.
  s.stays = !has_all(form->data->p, *order, s.bytes / elements, s.data);
  if (s.stays) return;
  const size_t n = give_pages_back(s.data, s.bytes);
  if (n == 0) return;
  form->only = true;
  a->bytes -= form->data->bytes;
  a->instead += form->data->bytes;
  s.away.store(n, std::memory_order_release);
}

}  // namespace

void give_back_what_forms_have(Storage& s) {
  if (s.away.load(std::memory_order_relaxed) || !s.forms.load(std::memory_order_acquire)) return;
  AllForms& a = all();
  const std::lock_guard lock(a.mu);
  const Forms* forms = s.forms.load(std::memory_order_relaxed);
  if (!forms) return;
  for (auto& f : forms->own)
    if (f->data) give_back_what(s, &*f, &a);
}

void bring_back(Storage& s) {
  static std::mutex mu;  // one after the other; taken before that of all forms
  const std::lock_guard one(mu);
  if (!s.away.load(std::memory_order_acquire)) return;
  AllForms& a = all();
  Kept::iterator form;  // stays while the memory is away
  {
    const std::lock_guard lock(a.mu);
    auto& own = s.forms.load(std::memory_order_relaxed)->own;
    form = *std::find_if(own.begin(), own.end(), [](auto& f) { return f->only; });
  }
  take_pages_back(s.data, s.bytes);
  const auto elements = static_cast<size_t>(form->order->shape.numel());
  gather(form->data->p, *form->order, s.bytes / elements, s.data);
  const std::lock_guard lock(a.mu);
  form->only = false;
  a.bytes += form->data->bytes;
  a.instead -= form->data->bytes;
  s.stays = true;
  s.away.store(0, std::memory_order_release);
}

namespace {
std::shared_ptr<const Block> kept_or_made(const OperandMemory& memory, const std::string& layout,
                                          size_t bytes, absl::FunctionRef<void(void*)> pack,
                                          const std::optional<Layout>& order) {
  Storage& of = memory.storage;
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
        if (memory.alone) give_back_what(of, &form, &a);
        return form.data;
      }
      if (!make_room(a, bytes, &gone)) full = true;
    } else {
      auto& own = of.forms.load(std::memory_order_relaxed)->own;
      if (own.size() == kMostLayouts) {
        const auto last = std::find_if(own.begin(), own.end(), [](auto& k) { return !k->only; });
        forget(a, *last, &gone);
        own.erase(last);
      }
      own.push_back(a.seen.insert(a.seen.end(), Form{layout, nullptr, a.now}));
      return nullptr;
    }
  }
  if (full) {
    Prologue::drop_idle();  // for the next call
    return nullptr;
  }
  if (of.away.load(std::memory_order_acquire)) bring_back(of);
  // Others run meanwhile. The memory is held by this call, so nobody writes it.
  auto made = std::make_shared<const Block>(bytes);
  pack(made->p);
  const std::lock_guard lock(a.mu);
  auto* f = of.lent || !of.forms.load(std::memory_order_relaxed) ? nullptr : find();
  if (!f || (*f)->data || !make_room(a, bytes, &gone)) return made;  // for this call
  (*f)->data = made;
  a.bytes += bytes;
  a.kept.splice(a.kept.end(), a.seen, *f);
  (*f)->order = order;
  if (memory.alone) give_back_what(of, &**f, &a);
  return made;
}

}  // namespace

std::shared_ptr<const Block> packed_form(const OperandMemory& memory, const std::string& layout,
                                         size_t bytes, absl::FunctionRef<void(void*)> pack,
                                         const std::optional<Layout>& order) {
  auto r = kept_or_made(memory, layout, bytes, pack, order);
  if (!r && memory.storage.away.load(std::memory_order_acquire)) bring_back(memory.storage);
  return r;
}

void drop_forms_of(Storage& s) {
  if (s.away.load(std::memory_order_acquire) && s.refs.load(std::memory_order_relaxed) > 0)
    bring_back(s);
  AllForms& a = all();
  Gone gone;
  const std::lock_guard lock(a.mu);
  const std::unique_ptr<Forms> forms(s.forms.exchange(nullptr));
  if (!forms) return;
  for (auto& f : forms->own) forget(a, f, &gone);
  s.stays = false;
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
  return a.bytes + a.instead;
}

void drop_all_forms() {
  AllForms& a = all();
  Gone gone;
  const std::lock_guard lock(a.mu);
  for (auto f = a.kept.begin(); f != a.kept.end();) {
    const auto next = std::next(f);
    if (!f->only) {
      a.bytes -= f->data->bytes;
      gone.push_back(std::move(f->data));
      a.seen.splice(a.seen.end(), a.kept, f);
    }
    f = next;
  }
}

}  // namespace pijit
