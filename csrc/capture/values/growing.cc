#include "capture/values/growing.h"

#include <algorithm>

#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values/iterator.h"
#include "capture/values/scalar.h"
#include "capture/values/sequence.h"
#include "capture/values/slice.h"

namespace pijit {

int64_t OutsideSequence::size() const { return PySequence_Size(of_.obj.ptr()); }

// Of C code, which gives no error but that there is no such item.
py::object OutsideSequence::object(PyObject* index) const {
  auto o = py::reinterpret_steal<py::object>(PyObject_GetItem(of_.obj.ptr(), index));
  if (!o) PyErr_Clear();
  return o;
}

V OutsideSequence::item(Context& c, int64_t i) {
  if (const V known = known_item(i)) return known;
  const auto o =
      py::reinterpret_steal<py::object>(PySequence_GetItem(of_.obj.ptr(), i < 0 ? size() + i : i));
  if (!o) throw py::error_already_set();
  return read_[i] =
             c.wrap(o.ptr(), c.add_source({Source::kItem, of_.src, static_cast<int>(i), {}}));
}

V OutsideSequence::known_item(int64_t i) const {
  const auto it = read_.find(i);
  return it != read_.end() ? it->second : nullptr;
}

Source OutsideSequence::at(int sequence, int index) {
  return {Source::kComputed, -1, 0, share(original("getitem")), -1, {sequence, index}};
}

// What is not read yet is where it was: all items are read before one changes its place.
V GrowingSequence::read_item(Context& c, size_t i) {
  return outside.item(c, static_cast<int64_t>(i));
}

void GrowingSequence::settle(Context& c) {
  if (!open_) return;
  tighten(c);
  if (!open_) return;  // an item in its middle was among the loose ones
  const int64_t n = outside.size(), end = n - drop;
  if (c.unstable(src))
    c.give_up(Reason::kUnstable, describe_source(c.sources_, src, *c.start_.code));
  c.guard(Guard::kLength, src, share(reinterpret_cast<PyObject*>(type())),
          static_cast<uint64_t>(n));
  c.undoable([this, items = items, head = head, skip = skip, drop = drop] {
    set_open(true);
    this->items = items, this->head = head, this->skip = skip, this->drop = drop;
  });
  std::vector<V> all = head;
  const bool moved = static_cast<int64_t>(head.size()) != skip;
  for (int64_t i = skip; i < end; ++i) {
    V known = outside.known_item(i);
    if (!known) known = outside.known_item(i - n);
    all.push_back(known || !moved ? known : outside.item(c, i));
  }
  all.insert(all.end(), items.begin(), items.end());
  items = std::move(all);
  head.clear();
  skip = drop = 0;
  set_open(false);
  whole = false;
}

std::optional<bool> GrowingSequence::truth(Context& c) {
  if (bounded()) settle(c);
  if (open_) {
    if (!head.empty() || !items.empty()) return true;
    if (outside.size() >= skip + drop + 1) {
      c.guard(Guard::kAtLeast, src, {}, static_cast<uint64_t>(skip + drop + 1));
      return true;
    }
    settle(c);
    return false;
  }
  return !items.empty();
}

V GrowingSequence::length(Context& c) {
  if (bounded()) settle(c);
  if (!open_) return c.constant_int(static_cast<int64_t>(items.size()));
  const int64_t more = static_cast<int64_t>(head.size() + items.size()) - skip - drop;
  const V base = source_length(c, this);
  return more ? protocol::binary(c, BinaryOp::kAdd, base, c.constant_int(more)) : base;
}

void GrowingSequence::setitem(Context& c, const V& index, const V& value) {
  if (!set_place(c, index, value)) Value::setitem(c, index, value);
}

void GrowingSequence::delitem(Context& c, const V& index) {
  const auto i = as_int(c, index);
  if (!i) return Value::delitem(c, index);
  erase(c, *i);
}

V GrowingSequence::iter(Context& c) {
  settle(c);
  return c.make<SequenceIterator>(this);
}

std::optional<V> GrowingSequence::getattr(Context& c, PyObject* name) {
  return protocol::builtin_attribute(c, this, name);
}

void GrowingSequence::traverse(Visit visit) const {
  Container::traverse(visit);
  for (auto& x : head) visit(x);
  for (auto& [place, x] : loose) visit(x);
}

std::vector<V> GrowingSequence::parts(Context& c) {
  settle(c);
  std::vector<V> all;
  for (size_t k = 0; k < items.size(); ++k) all.push_back(item(c, k));
  return all;
}

// Before items change their places.
void GrowingSequence::read_all(Context& c) {
  if (src < 0 || whole) return;
  for (size_t k = 0; k < items.size(); ++k) item(c, k);
  whole = true;
}

// Fixes the places of loose items.
void GrowingSequence::tighten(Context& c) {
  if (loose.empty()) return;
  const auto all = loose;
  c.undoable([this, all] { loose = all; });
  loose.clear();
  const size_t notes = c.journal_.size();  // they are noted already
  for (auto& [i, v] : all) {
    fix(c, i);
    set(c, *as_int(c, i), v);
  }
  c.journal_.resize(notes);
}

// An item of one from outside at a place that varies; null where other things are known of it.
V GrowingSequence::computed_item(Context& c, const V& index) {
  if (!is_input(index) || !PyLong_CheckExact(index->obj.ptr())) return nullptr;
  if (!loose.empty() && loose.back().first == index) return loose.back().second;
  if (!open_ || !loose.empty() || !items.empty() || !head.empty() || skip || drop) return nullptr;
  const py::object held = outside.object(index->obj.ptr());
  return held ? c.wrap(held.ptr(), c.add_source(OutsideSequence::at(src, index->src))) : V();
}

V GrowingSequence::at(Context& c, int64_t i) {
  tighten(c);
  if (open_) {
    const int64_t n = outside.size(), tail = static_cast<int64_t>(items.size()),
                  front = static_cast<int64_t>(head.size());
    if (i < 0 && i >= -tail) return items[static_cast<size_t>(tail + i)];
    if (bounded()) {
      settle(c);
      return at(c, i);
    }
    if (i >= 0 && i < front) return head[static_cast<size_t>(i)];
    const int64_t most = n + tail + front;  // so that what follows does not overflow
    i = std::clamp(i, -most - 1, most);
    const int64_t at = i < 0 ? i + tail - drop : i - front + skip;
    if (at < 0 ? at >= skip - n : at < n - drop) {
      if (at < 0 ? skip : drop)
        c.guard(Guard::kAtLeast, src, {},
                static_cast<uint64_t>(at < 0 ? skip - at : at + 1 + drop));
      return outside.item(c, at);
    }
    settle(c);
  }
  const int64_t n = static_cast<int64_t>(items.size());
  if (i < -n || i >= n) return nullptr;
  return item(c, static_cast<size_t>(i < 0 ? i + n : i));
}

void GrowingSequence::log_call(Context& c, const char* method, std::vector<V> args) {
  if (src >= 0)
    c.log({Context::Note::kCall,
           this,
           share(reinterpret_cast<PyObject*>(type())).attr(method),
           {},
           std::move(args)});
}

void GrowingSequence::log_extend(Context& c, const std::vector<V>& values) {
  for (auto& v : values) log_call(c, "append", {v});
}

void GrowingSequence::extend(Context& c, std::vector<V> values) {
  c.check_effect(this);
  if (values.empty()) return;
  std::vector<V> held;
  for (auto& v : values) held.push_back(coerced(c, v));
  if (open_) {
    c.undoable([this, n = items.size()] { items.resize(n); });
    items.insert(items.end(), held.begin(), held.end());
  } else {
    splice(c, items.size(), 0, held);
  }
  if (src >= 0) log_extend(c, values);
}

// As CPython goes: what a list or tuple holds at once, else item by item. Code that gives them sees
// those before, which stay where it raises.
void GrowingSequence::extend_by(Context& c, const V& from) {
  if (takes_at_once(from)) return extend(c, protocol::items_of(c, from));
  protocol::each(c, from, [&](const V& x) { extend(c, {x}); });
}

bool GrowingSequence::takes_at_once(const V& from) const {
  return as<GrowingSequence>(from) || as<TupleValue>(from);
}

void GrowingSequence::insert(Context& c, int64_t i, V value) {
  put(c, i, value);
  log_call(c, "insert", {c.constant_int(i), value});
}

void GrowingSequence::put(Context& c, int64_t i, V value) {
  tighten(c);
  const V held = coerced(c, value);
  if (open_ && (i != 0 || bounded())) settle(c);
  if (open_) {
    c.check_effect(this);
    head.insert(head.begin(), held);
    c.undoable([this] { head.erase(head.begin()); });
    return;
  }
  read_all(c);
  const int64_t n = static_cast<int64_t>(items.size());
  splice(c, static_cast<size_t>(std::clamp<int64_t>(i < 0 ? i + n : i, 0, n)), 0, {held});
}

void GrowingSequence::set(Context& c, int64_t i, V value) {
  tighten(c);
  const V held = coerced(c, value);
  if (open_ && bounded()) settle(c);
  if (open_) {
    const int64_t tail = static_cast<int64_t>(items.size()),
                  front = static_cast<int64_t>(head.size());
    const int64_t rest = outside.size() - skip - drop;
    auto has = [&] { c.guard(Guard::kAtLeast, src, {}, static_cast<uint64_t>(skip + drop + 1)); };
    if ((i < 0 && i >= -tail) || (i >= 0 && i < front)) {
      c.check_effect(this);
      auto& list = i < 0 ? items : head;
      const size_t k = static_cast<size_t>(i < 0 ? tail + i : i);
      c.undoable([&list, k, old = list[k]] { list[k] = old; });
      list[k] = held;
    } else if (i == -tail - 1 && rest > 0) {
      c.check_effect(this);
      has();
      c.undoable([this] { --drop, items.erase(items.begin()); });
      ++drop;
      items.insert(items.begin(), held);
    } else if (i >= 0 && i == front && rest > 0) {
      c.check_effect(this);
      has();
      c.undoable([this] { --skip, head.pop_back(); });
      ++skip;
      head.push_back(held);
    } else {
      settle(c);
    }
  }
  if (!open_) {
    const int64_t n = static_cast<int64_t>(items.size());
    if (i < -n || i >= n) c.raise(PyExc_IndexError, "assignment index out of range");
    splice(c, static_cast<size_t>(i < 0 ? i + n : i), 1, {held});
  }
  if (src >= 0) c.log({Context::Note::kSetItem, this, {}, {}, {c.constant_int(i), value}});
}

void GrowingSequence::erase(Context& c, int64_t i) {
  tighten(c);
  if (open_ && bounded()) settle(c);
  if (open_) {
    auto& list = i < 0 ? items : head;
    if ((i != 0 && i != -1) || (list.empty() && outside.size() - skip - drop <= 0)) {
      settle(c);
    } else {
      c.check_effect(this);
      if (!list.empty()) {
        c.undoable([&list, i, old = i ? list.back() : list.front()] {
          list.insert(i ? list.end() : list.begin(), old);
        });
        list.erase(i ? list.end() - 1 : list.begin());
      } else {
        int64_t& gone = i ? drop : skip;
        c.guard(Guard::kAtLeast, src, {}, static_cast<uint64_t>(skip + drop + 1));
        c.undoable([&gone] { --gone; });
        ++gone;
      }
    }
  }
  if (!open_) {
    const int64_t n = static_cast<int64_t>(items.size());
    if (i < -n || i >= n) c.raise(PyExc_IndexError, "index out of range");
    read_all(c);
    splice(c, static_cast<size_t>(i < 0 ? i + n : i), 1, {});
  }
  if (src >= 0) c.log({Context::Note::kDelItem, this, {}, {}, {c.constant_int(i)}});
}

void GrowingSequence::clear(Context& c) {
  if (open_) {
    c.check_effect(this);
    c.undoable([this, items = items, head = head, skip = skip, drop = drop, loose = loose] {
      set_open(true);
      this->loose = loose;
      this->items = items, this->head = head, this->skip = skip, this->drop = drop;
    });
    set_open(false);
    items.clear();
    head.clear();
    skip = drop = 0;
    loose.clear();
  } else {
    splice(c, 0, items.size(), {});
  }
  log_call(c, "clear", {});
}

void GrowingSequence::reverse(Context& c) {
  std::vector<V> all = parts(c);
  std::reverse(all.begin(), all.end());
  splice(c, 0, all.size(), all);
  log_call(c, "reverse", {});
}

void GrowingSequence::replace(Context& c, std::vector<V> all) {
  splice(c, 0, items.size(), std::move(all));
}

// By an index that need not be a constant. False: it is none.
bool GrowingSequence::set_place(Context& c, const V& index, const V& value) {
  if (open_ && is_input(index) && head.empty() && items.empty() && !skip && !drop &&
      loose.empty() && !bounded() && PyLong_CheckExact(index->obj.ptr()) &&
      scalar_relation(c, CompareOp::kGe, index, c.constant_int(0)).value_or(false)) {
    if (outside.object(index->obj.ptr())) {
      c.guard(Guard::kThere, c.add_source(OutsideSequence::at(src, index->src)));
      c.check_effect(this);
      c.undoable([this] { loose.clear(); });
      loose.push_back({index, coerced(c, value)});
      c.log({Context::Note::kSetItem, this, {}, {}, {index, value}});
      return true;
    }
  }
  const auto i = as_int(c, index);
  if (i) set(c, *i, value);
  return i.has_value();
}

std::optional<std::vector<V>> GrowingSequence::end(Context& c, const V& v) {
  auto none = [](const V& v) { return is_none(v); };
  const auto* s = as<SliceValue>(v);
  if (!open_ || !none(s->step)) return std::nullopt;
  const bool back = none(s->stop) && is_known(s->start),
             front = none(s->start) && is_known(s->stop);
  const auto bound = back && !none(s->start) ? as_int(c, s->start)
                     : front                 ? as_int(c, s->stop)
                                             : std::nullopt;
  const int64_t n = static_cast<int64_t>(head.size() + items.size()) - skip - drop + outside.size();
  constexpr int64_t kMost = 256;
  if (!bound || (back ? *bound >= 0 : *bound < 0) || std::abs(*bound) > std::min(n, kMost))
    return std::nullopt;
  std::vector<V> out;
  for (int64_t k = back ? *bound : 0, end = back ? 0 : *bound; k < end; ++k) {
    out.push_back(at(c, k));
    if (!open_) return std::nullopt;  // across its middle
  }
  return out;
}

// The items from `at` on, `removed` of them, give way to `added`; undoes no more than itself.
void GrowingSequence::splice(Context& c, size_t at, size_t removed, std::vector<V> added) {
  auto replace = [](std::vector<V>& items, size_t at, size_t removed, const std::vector<V>& by) {
    const size_t common = std::min(removed, by.size());
    const auto place = items.begin() + static_cast<std::ptrdiff_t>(at);
    const auto behind = std::copy_n(by.begin(), common, place);
    if (removed > common)
      items.erase(behind, place + static_cast<std::ptrdiff_t>(removed));
    else
      items.insert(behind, by.begin() + static_cast<std::ptrdiff_t>(common), by.end());
  };
  c.touch(this);
  if (!removed && added.empty()) return;
  ++edits;
  const bool grows = removed != added.size();
  changes += grows;
  const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
  c.undoable([this, at, n = added.size(), replace, grows,
              old = std::vector<V>(begin, begin + static_cast<std::ptrdiff_t>(removed))] {
    replace(items, at, n, old);
    --edits;
    changes -= grows;
  });
  replace(items, at, removed, added);
}

// --- methods

namespace {
using Args = const std::vector<V>&;

int64_t index_of(Context& c, const V& v) {
  const auto i = as_int(c, v);
  if (!i) c.give_up(Reason::kUnsupportedOperand, "an index that is no int");
  return *i;
}

V append(Context& c, GrowingSequence& s, Args a) {
  s.extend(c, {a[0]});
  return c.constant(py::none());
}
V extend(Context& c, GrowingSequence& s, Args a) {
  s.extend_by(c, a[0]);
  return c.constant(py::none());
}
V add_in_place(Context& c, GrowingSequence& s, Args a) {
  s.extend_by(c, a[0]);
  return &s;
}
V insert(Context& c, GrowingSequence& s, Args a) {
  s.insert(c, index_of(c, a[0]), a[1]);
  return c.constant(py::none());
}
V pop(Context& c, GrowingSequence& s, Args a) {
  const int64_t i = a.empty() ? -1 : index_of(c, a[0]);
  const V v = s.at(c, i);
  if (!v) c.raise(PyExc_IndexError, "pop of what is not there");
  s.erase(c, i);
  return v;
}
// Does an item of s count as x?
bool counts_as(Context& c, GrowingSequence& s, const V& item, const V& x) {
  const uint64_t before = s.edits;
  const auto same = protocol::same_or_equal(c, item, x);
  if (!same) c.give_up(Reason::kTensorValue, "whether an item is equal");
  if (s.edits != before) c.give_up(Reason::kUnsupportedCall, "a comparison that changes its list");
  return *same;
}
// The first place of an item that counts as x; -1: there is none.
int64_t place_of(Context& c, GrowingSequence& s, const V& x) {
  const std::vector<V> all = s.parts(c);
  for (size_t k = 0; k < all.size(); ++k)
    if (counts_as(c, s, all[k], x)) return static_cast<int64_t>(k);
  return -1;
}
V remove(Context& c, GrowingSequence& s, Args a) {
  const int64_t i = place_of(c, s, a[0]);
  if (i < 0) c.raise(PyExc_ValueError, "remove of what is not there");
  s.erase(c, i);
  return c.constant(py::none());
}
V index(Context& c, GrowingSequence& s, Args a) {
  const int64_t i = place_of(c, s, a[0]);
  if (i < 0) c.raise(PyExc_ValueError, "index of what is not there");
  return c.constant_int(i);
}
V count(Context& c, GrowingSequence& s, Args a) {
  int64_t n = 0;
  for (auto& x : s.parts(c)) n += counts_as(c, s, x, a[0]);
  return c.constant_int(n);
}
V clear(Context& c, GrowingSequence& s, Args) {
  s.clear(c);
  return c.constant(py::none());
}
V reverse(Context& c, GrowingSequence& s, Args) {
  s.reverse(c);
  return c.constant(py::none());
}
V copy(Context& c, GrowingSequence& s, Args) { return s.with_parts(c, s.parts(c)); }
V size(Context& c, GrowingSequence& s, Args) { return s.length(c); }
V getitem(Context& c, GrowingSequence& s, Args a) { return s.getitem(c, a[0]); }
V setitem(Context& c, GrowingSequence& s, Args a) {
  s.setitem(c, a[0], a[1]);
  return c.constant(py::none());
}
V delitem(Context& c, GrowingSequence& s, Args a) {
  s.delitem(c, a[0]);
  return c.constant(py::none());
}

constexpr Method<GrowingSequence> kGrowingMethods[] = {
    {"append", 1, 1, append},
    {"extend", 1, 1, extend},
    {"__iadd__", 1, 1, add_in_place},
    {"insert", 2, 2, insert},
    {"pop", 0, 1, pop},
    {"remove", 1, 1, remove},
    {"index", 1, 1, index},
    {"count", 1, 1, count},
    {"clear", 0, 0, clear},
    {"reverse", 0, 0, reverse},
    {"copy", 0, 0, copy},
    {"__len__", 0, 0, size},
    {"__getitem__", 1, 1, getitem},
    {"__setitem__", 2, 2, setitem},
    {"__delitem__", 1, 1, delitem},
};
}  // namespace

std::optional<V> GrowingSequence::method(Context& c, const std::string& name, std::vector<V>& args,
                                         Kwargs& kwargs) {
  return run_method(kGrowingMethods, *this, c, name, args, kwargs);
}

}  // namespace pijit
