#include "dispatch/figures.h"

#include <algorithm>

#include "base/error.h"

namespace pijit {

namespace {

constexpr const char* kName = "pijit.figures";
constexpr double kShare = 0.1;  // of the time, for plain calls
constexpr uint64_t kOneIn = 7;

py::dict described(const Times& t) {
  py::dict d;
  py::list kept;
  for (int64_t ns : t.kept()) kept.append(static_cast<double>(ns) / 1e9);
  d["count"] = t.count();
  d["sum"] = static_cast<double>(t.sum()) / 1e9;
  d["samples"] = kept;
  return d;
}

py::dict described(const Figures::Calls& c) {
  py::dict d;
  d["plain"] = described(c.plain);
  d["chosen"] = c.chosen;
  d["captured"] = described(c.captured);
  d["anew"] = described(c.anew);
  return d;
}

}  // namespace

void Times::add(int64_t ns) {
  sum_ += ns;
  if (count_++ % every_ != 0) return;
  kept_.push_back(ns);
  if (kept_.size() < kMost) return;
  for (size_t k = 0; k < kMost / 2; ++k) kept_[k] = kept_[2 * k];
  kept_.resize(kMost / 2);
  every_ *= 2;
}

int64_t Figures::without_fronts(int64_t ns, uint64_t fronts) const {
  const double without = static_cast<double>(ns) - static_cast<double>(fronts) * front_ns;
  return std::max<int64_t>(static_cast<int64_t>(without), 1);
}

bool Figures::plain_is_due() {
  const uint64_t turn = ++turns;
  if (turn <= 8) return turn % 2 == 0;
  if (turn == 12 || turn == 16) return true;
  const auto others = static_cast<double>(top.captured.sum() + top.anew.sum());
  return turn % kOneIn == 0 && static_cast<double>(top.plain.sum()) < kShare * others;
}

py::object figures_object(FiguresRef figures) {
  auto kept = std::make_unique<FiguresRef>(std::move(figures));
  PyObject* o = PyCapsule_New(kept.get(), kName, [](PyObject* c) {
    delete static_cast<FiguresRef*>(PyCapsule_GetPointer(c, kName));
  });
  if (!o) throw py::error_already_set();
  static_cast<void>(kept.release());  // the capsule's
  return py::reinterpret_steal<py::object>(o);
}

FiguresRef figures_of(const py::object& o) {
  if (o.is_none()) return nullptr;
  OP_CHECK(PyCapsule_IsValid(o.ptr(), kName), kType,
           "[figures] expected what new_figures gives, got ", Py_TYPE(o.ptr())->tp_name);
  return *static_cast<FiguresRef*>(PyCapsule_GetPointer(o.ptr(), kName));
}

py::dict described(const Figures& f) {
  py::dict d;
  d["all"] = described(f.all);
  d["top"] = described(f.top);
  d["recursive"] = f.recursive;
  d["rested"] = described(f.rested);
  d["fronted"] = static_cast<double>(f.fronted) * f.front_ns / 1e9;
  d["uncaptured"] = f.uncaptured;
  d["first"] = static_cast<double>(f.first_ns) / 1e9;
  d["compiled"] = static_cast<double>(f.compiled_ns) / 1e9;
  d["cold"] = f.cold;
  return d;
}

}  // namespace pijit
