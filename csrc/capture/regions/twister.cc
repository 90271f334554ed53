#include "capture/regions/twister.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "capture/regions/numbers.h"
#include "python/code.h"
#include "python/convert.h"
#include "python/names.h"
#include "python/quiet_lookup.h"

namespace pijit::regions {

namespace {

// random.random() and that of other generators of its class.
bool draws(PyObject* fn) {
  if (!PyCFunction_CheckExact(fn)) return false;
  auto* f = reinterpret_cast<PyCFunctionObject*>(fn);
  if (!f->m_self || f->m_ml->ml_flags != METH_NOARGS ||
      std::strcmp(f->m_ml->ml_name, "random") != 0)
    return false;
  for (PyTypeObject* t = Py_TYPE(f->m_self); t; t = t->tp_base)
    if (std::strcmp(t->tp_name, "_random.Random") == 0) return true;
  return false;
}

// How CPython's generator lies in memory: a Mersenne twister.
struct Twister {
  static constexpr int kNumbers = 624;
  PyObject_HEAD;
  int next;
  uint32_t numbers[kNumbers];

  // As the algorithm says, from one that is left.
  uint32_t draw() {
    uint32_t y = numbers[next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
  }
};

// Does it lie so? One whose state is known tells.
bool find_twister() {
  try {
    const py::object type = python_module("_random").attr("Random");
    if (reinterpret_cast<PyTypeObject*>(type.ptr())->tp_basicsize !=
        static_cast<Py_ssize_t>(sizeof(Twister)))
      return false;
    const py::object one = type(1);
    one.attr("random")();
    const auto* t = reinterpret_cast<const Twister*>(one.ptr());
    const py::tuple state = one.attr("getstate")();
    if (state.size() != Twister::kNumbers + 1) return false;
    for (int k = 0; k < Twister::kNumbers; ++k)
      if (py::cast<uint32_t>(py::object(state[static_cast<size_t>(k)])) != t->numbers[k])
        return false;
    return py::cast<int>(py::object(state[Twister::kNumbers])) == t->next;
  } catch (py::error_already_set&) {
    return false;
  }
}

constinit OnDemand<bool> knows_twister;

// The bits of what it gives.
int64_t draw(int64_t fn, int64_t, int64_t) {
  PyObject* r = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(fn));
  if (!r) return PyErr_Clear(), bits_of(NAN);  // no memory
  const double x = PyFloat_AS_DOUBLE(r);
  Py_DECREF(r);
  return bits_of(x);
}

// The same where the generator's memory is known. CPython makes its next numbers.
int64_t draw_known(int64_t fn, int64_t, int64_t) {
  auto* const t = reinterpret_cast<Twister*>(PyCFunction_GET_SELF(reinterpret_cast<PyObject*>(fn)));
  if (t->next < 0 || t->next + 2 > Twister::kNumbers) return draw(fn, fn, fn);
  const uint32_t high = t->draw() >> 5, low = t->draw() >> 6;
  return bits_of((high * 67108864.0 + low) * (1.0 / 9007199254740992.0));
}

// 32 bits.
uint64_t word_of(PyObject* generator) {
  auto* const t = reinterpret_cast<Twister*>(generator);
  if (t->next >= 0 && t->next < Twister::kNumbers) return t->draw();
  PyObject* r = PyObject_CallMethod(generator, "getrandbits", "i", 32);
  if (!r) return PyErr_Clear(), 0;  // no memory
  const uint64_t word = PyLong_AsUnsignedLong(r);
  Py_DECREF(r);
  return word;
}

// Below n, which is above 0.
int64_t draw_below(int64_t generator, int64_t n, int64_t) {
  auto* const g = reinterpret_cast<PyObject*>(generator);
  const int bits = std::bit_width(static_cast<uint64_t>(n));
  for (;;) {
    uint64_t r = word_of(g);
    if (bits <= 32)
      r >>= 32 - bits;
    else
      r |= word_of(g) >> (64 - bits) << 32;
    if (static_cast<int64_t>(r) < n) return static_cast<int64_t>(r);
  }
}

// Methods in Python's own library.
struct Method {
  const char* name;
  size_t least, most;  // arguments
  PyObject* function;
};
struct Methods {
  PyTypeObject* type = nullptr;  // null: they do not draw as code does
  std::array<Method, 3> all{Method{"randint", 2, 2, nullptr}, Method{"randrange", 1, 2, nullptr},
                            Method{"uniform", 2, 2, nullptr}};
  // What they call of themselves, by name.
  std::vector<std::pair<PyObject*, PyObject*>> called;
};

// Do they draw so? Those of one generator, beside another of the same seed, tell.
Methods find_methods() {
  Methods m;
  try {
    if (!knows_twister.get(find_twister)) return m;
    const py::object type = python_module("random").attr("Random");
    const py::object one = type(3), other = type(3);
    const auto below = [&](int64_t n) {
      return draw_below(reinterpret_cast<int64_t>(other.ptr()), n, 0);
    };
    constexpr int kRounds = 20;
    for (int k = 0; k < kRounds; ++k)
      for (const int64_t n : {int64_t{1}, int64_t{6}, int64_t{1} << 31, int64_t{1} << 32,
                              (int64_t{1} << 40) + k, INT64_MAX}) {
        if (py::cast<int64_t>(one.attr("randrange")(n)) != below(n) ||
            py::cast<int64_t>(one.attr("randint")(-3, n - 4)) != below(n) - 3)
          return m;
        const double x = py::cast<double>(other.attr("random")());
        if (py::cast<double>(one.attr("uniform")(k, n)) !=
            static_cast<double>(k) + static_cast<double>(n - k) * x)
          return m;
      }
    for (Method& f : m.all) f.function = py::object(type.attr(f.name)).release().ptr();
    m.type = reinterpret_cast<PyTypeObject*>(py::object(type).release().ptr());
    for (const char* text : {"randrange", "_randbelow", "getrandbits", "random"}) {
      PyObject* const name = PyUnicode_InternFromString(text);
      m.called.emplace_back(name, Py_XNewRef(type_lookup(m.type, name)));
    }
  } catch (py::error_already_set&) {
    m.type = nullptr;
  }
  return m;
}

constinit OnDemand<Methods> known_methods;

// A method that nobody has put another one in the place of; null: it is something else.
const Method* method_of(PyObject* fn) {
  if (!PyMethod_Check(fn) || std::strcmp(Py_TYPE(PyMethod_GET_SELF(fn))->tp_name, "Random") != 0)
    return nullptr;
  const Methods& m = known_methods.get(find_methods);
  PyObject* const self = PyMethod_GET_SELF(fn);
  if (!m.type || Py_TYPE(self) != m.type) return nullptr;
  const auto it = std::find_if(m.all.begin(), m.all.end(), [&](const Method& f) {
    return f.function == PyMethod_GET_FUNCTION(fn);
  });
  if (it == m.all.end()) return nullptr;
  const py::object own = py::getattr(self, "__dict__", py::none());
  if (!PyDict_CheckExact(own.ptr())) return nullptr;
  for (const auto& [name, function] : m.called)
    if (type_lookup(m.type, name) != function || quiet_item(own.ptr(), name)) return nullptr;
  return &*it;
}

}  // namespace

bool is_draw_of_python(PyObject* fn) { return method_of(fn) != nullptr; }

static Av draw_int(Emitter& e, PyObject* generator, const std::vector<Av>& args, bool with_end) {
  std::vector<int> ends;
  for (const Av& a : args) {
    const Av x = num(e, a);
    if (x.kind != K::kInt || x.of_numpy())
      leave(str_cat("a random int is drawn with ", a_(e.d.described(x))));
    ends.push_back(x.v[0]);
  }
  int range = ends.back();
  if (ends.size() == 2) range = e.emit(Op::kISub, range, ends[0]);
  if (with_end) range = e.emit(Op::kIAdd, range, e.d.icon(1));
  e.check(e.emit(Op::kIGt, range, e.d.icon(0)));
  e.changes("draws a random number");
  const int it = e.d.icon(reinterpret_cast<int64_t>(generator));
  const int r = e.call(draw_below, it, range, range);
  // what is drawn lies between two that are known to fit
  return int_of(ends.size() == 2 ? e.add(ins(Op::kIAdd, Type::kI64, ends[0], r)) : r);
}

static int draw_float(Emitter& e, PyObject* fn) {
  e.changes("draws a random number");
  const int it = e.d.icon(reinterpret_cast<int64_t>(fn));
  return e.emit(Op::kFOfBits,
                e.call(knows_twister.get(find_twister) ? draw_known : draw, it, it, it));
}

std::optional<Av> draw_of_python(Emitter& e, PyObject* fn, const std::vector<Av>& args) {
  if (args.empty() && draws(fn)) return float_of(draw_float(e, fn));
  const Method* m = method_of(fn);
  if (!m) return std::nullopt;
  e.d.r->draws.push_back(fn);
  if (args.size() < m->least || args.size() > m->most)
    leave(str_cat("random.", m->name, "() is called with other arguments"));
  PyObject* const generator = PyMethod_GET_SELF(fn);
  if (std::strcmp(m->name, "uniform") != 0)
    return draw_int(e, generator, args, std::strcmp(m->name, "randint") == 0);
  const Av low = num(e, args[0]), high = num(e, args[1]);
  if (low.of_numpy() || high.of_numpy()) leave("random.uniform() is called with a NumPy number");
  const int from = as_float(e, low);
  const int range = as_float(e, binary(e, BinaryOp::kSub, high, low));
  const py::object random = py::handle(generator).attr("random");
  e.d.keep(random.ptr());
  return float_of(e.emit(Op::kFAdd, from, e.emit(Op::kFMul, range, draw_float(e, random.ptr()))));
}

}  // namespace pijit::regions
