#include "python/interpreter.h"

#include "python/lifetime.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "python/code.h"
#include "python/names.h"

namespace pijit {

bool has_finalizer(PyTypeObject* t) {
  return PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE) && type_lookup(t, names.del);
}

namespace {
// The first weak reference to it.
PyWeakReference* references_to(PyObject* o) {
  if (!o || !PyType_SUPPORTS_WEAKREFS(Py_TYPE(o))) return nullptr;
  auto** list = reinterpret_cast<PyWeakReference**>(PyObject_GET_WEAKREFS_LISTPTR(o));
  return list ? *list : nullptr;
}
// Will a weak reference call somebody when it dies?
bool is_watched(PyObject* o) {
  for (PyWeakReference* r = references_to(o); r; r = r->wr_next)
    if (r->wr_callback) return true;
  return false;
}
}  // namespace

bool is_referred_to(PyObject* o) { return !PyType_Check(o) && references_to(o); }

bool is_mourned(PyObject* o) {
  if (PyType_Check(o)) return false;
  return PyGen_Check(o) || PyCoro_CheckExact(o) || PyAsyncGen_CheckExact(o) ||
         has_finalizer(Py_TYPE(o)) || is_watched(o);
}

bool seems_mourned(PyObject* o) {
  constexpr Py_ssize_t kFew = 16;
  auto itself = [](PyObject* x) {
    PyTypeObject* t = Py_TYPE(x);
    if (PyType_Check(x)) return false;
    return (t->tp_finalize && (PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE) || PyGen_Check(x))) ||
           is_watched(x);
  };
  if (itself(o)) return true;
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
    for (Py_ssize_t k = 0; k < std::min(kFew, PySequence_Fast_GET_SIZE(o)); ++k)
      if (itself(PySequence_Fast_GET_ITEM(o, k))) return true;
  } else if (PyExceptionInstance_Check(o)) {
    PyObject* args = reinterpret_cast<PyBaseExceptionObject*>(o)->args;
    return args && seems_mourned(args);
  } else if (PyDict_CheckExact(o) && PyDict_GET_SIZE(o) <= kFew) {
    Py_ssize_t pos = 0;
    PyObject *key, *x;
    while (PyDict_Next(o, &pos, &key, &x))
      if (itself(x)) return true;
  }
  return false;
}

namespace {

// The objects around some, as the garbage collector sees them.
class Surroundings {
 public:
  explicit Surroundings(OurReferences ours) : ours_(ours) {}
  // Given up are the roots, each held by the reference that it is here. False: there are too many
  // objects around them.
  bool add(std::span<PyObject* const> roots) {
    for (PyObject* o : roots) {
      if (!o) continue;
      enter(o);
      if (const auto it = seen_.find(o); it != seen_.end()) it->second.root = true;
    }
    while (!todo_.empty()) {
      if (seen_.size() > kMost) return false;
      references(take(), [](PyObject* x, void* self) {
        static_cast<Surroundings*>(self)->enter(x);
        return 0;
      });
    }
    spare();
    return true;
  }
  bool any_mourned() const {
    return std::any_of(seen_.begin(), seen_.end(),
                       [](auto& s) { return !s.second.lives && is_mourned(s.first); });
  }
  // Does the root take one with it?
  bool takes_mourned(PyObject* root) {
    if (!seen_.contains(root)) return false;
    std::set<PyObject*> visited;
    todo_ = {root};
    while (!todo_.empty()) {
      PyObject* o = take();
      if (seen_.at(o).lives || !visited.insert(o).second) continue;
      if (is_mourned(o)) return todo_.clear(), true;
      references(o, again);
    }
    return false;
  }

 private:
  static constexpr size_t kMost = 1 << 15;
  struct Seen {
    Py_ssize_t references = 0;  // from those seen
    bool root = false, lives = false;
  };

  void enter(PyObject* o) {
    // Modules, classes and code live on. What holds nothing is asked whether it is mourned.
    if (PyModule_Check(o) || PyType_Check(o) || PyCode_Check(o)) return;
    if (std::find(lasting_.begin(), lasting_.end(), o) != lasting_.end()) return;
    if (!PyObject_IS_GC(o) && !PyType_SUPPORTS_WEAKREFS(Py_TYPE(o))) return;
    const auto [it, fresh] = seen_.try_emplace(o);
    ++it->second.references;
    if (fresh) todo_.push_back(o);
  }
  // What is held from elsewhere, and what that holds, lives on.
  void spare() {
    for (auto& [o, s] : seen_)
      if (!s.root && Py_REFCNT(o) - ours_(o) > s.references) todo_.push_back(o);
    while (!todo_.empty()) {
      PyObject* o = take();
      Seen& s = seen_.at(o);
      if (s.lives || s.root) continue;
      s.lives = true;
      references(o, again);
    }
  }
  PyObject* take() {
    PyObject* o = todo_.back();
    todo_.pop_back();
    return o;
  }
  static int again(PyObject* x, void* self) {
    auto* all = static_cast<Surroundings*>(self);
    if (all->seen_.contains(x)) all->todo_.push_back(x);
    return 0;
  }
  void references(PyObject* o, visitproc visit) {
    if (!PyFunction_Check(o)) {
      lasting_ = lasting_of(o);
      if (PyObject_IS_GC(o) && Py_TYPE(o)->tp_traverse) Py_TYPE(o)->tp_traverse(o, visit, this);
      lasting_ = {};
      return;
    }
    const auto* f = reinterpret_cast<PyFunctionObject*>(o);  // not its globals
    for (PyObject* x :
         {f->func_closure, f->func_defaults, f->func_kwdefaults, f->func_dict, f->func_annotations})
      if (x) visit(x, this);
  }

  using Lasting = std::array<PyObject*, 3>;
  // What a frame refers to that outlives it: as a function's, its globals; and who waits for it.
  static Lasting lasting_of([[maybe_unused]] PyObject* o) {
#if PY_VERSION_HEX < 0x030B0000
    if (PyFrame_Check(o)) {
      const auto* f = reinterpret_cast<PyFrameObject*>(o);
      auto* back = f->f_back && frames::runs(f->f_back) ? f->f_back : nullptr;
      return {f->f_globals, f->f_builtins, reinterpret_cast<PyObject*>(back)};
    }
#endif
    return {};
  }

  const OurReferences ours_;
  Lasting lasting_{};
  std::unordered_map<PyObject*, Seen> seen_;  // under tsan, CPython's headers and Abseil's disagree
  std::vector<PyObject*> todo_;
};

}  // namespace

std::vector<bool> takes_mourned(std::span<PyObject* const> roots, bool otherwise,
                                OurReferences ours) {
  std::vector<bool> result(roots.size());
  Surroundings around(ours);
  const bool whole = around.add(roots);
  if (whole && !around.any_mourned()) return result;
  for (size_t k = 0; k < roots.size(); ++k)
    if (roots[k]) result[k] = whole ? around.takes_mourned(roots[k]) : otherwise;
  return result;
}

}  // namespace pijit
