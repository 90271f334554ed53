#include "capture/regions/generators.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "capture/regions/numbers.h"
#include "python/convert.h"
#include "python/names.h"

namespace pijit {

HeldGenerator::~HeldGenerator() {
  if (!lock_) return;
  try {
    lock_.attr("release")();
  } catch (py::error_already_set& e) {
    e.discard_as_unraisable("the lock of a generator of random numbers");
  }
}

namespace regions {

namespace {

// NumPy's public bitgen_t, in a capsule.
struct Bits {
  void* state;
  uint64_t (*next_uint64)(void*);
  uint32_t (*next_uint32)(void*);
  double (*next_double)(void*);
  uint64_t (*next_raw)(void*);
};

// Of NumPy's library of distributions; null: this NumPy does not give it away.
struct Distributions {
  double (*standard_normal)(Bits*);
  double (*normal)(Bits*, double, double);
  double (*uniform)(Bits*, double, double);
  double (*standard_exponential)(Bits*);
  double (*exponential)(Bits*, double);
  int64_t (*poisson)(Bits*, double);
  void (*bounded)(Bits*, uint64_t, uint64_t, Py_ssize_t, bool, uint64_t*);
};

Distributions distributions;

Bits* bits_at(int64_t generator) { return reinterpret_cast<Bits*>(generator); }

// --- functions that code calls
int64_t draw_double(int64_t generator, int64_t, int64_t) {
  const Bits* b = bits_at(generator);
  return bits_of(b->next_double(b->state));
}
template <double (*Distributions::*f)(Bits*)>
int64_t draw_plain(int64_t generator, int64_t, int64_t) {
  return bits_of((distributions.*f)(bits_at(generator)));
}
template <double (*Distributions::*f)(Bits*, double)>
int64_t draw_of_one(int64_t generator, int64_t x, int64_t) {
  return bits_of((distributions.*f)(bits_at(generator), real_of(x)));
}
template <double (*Distributions::*f)(Bits*, double, double)>
int64_t draw_of_two(int64_t generator, int64_t x, int64_t y) {
  return bits_of((distributions.*f)(bits_at(generator), real_of(x), real_of(y)));
}
int64_t draw_poisson(int64_t generator, int64_t mean, int64_t) {
  return distributions.poisson(bits_at(generator), real_of(mean));
}
template <bool masked>
int64_t draw_int(int64_t generator, int64_t low, int64_t range) {
  uint64_t drawn = 0;
  distributions.bounded(bits_at(generator), static_cast<uint64_t>(low),
                        static_cast<uint64_t>(range), 1, masked, &drawn);
  return static_cast<int64_t>(drawn);
}

// --- their code: what is looked at, before anything is drawn
Av drawn(Emitter& e, region::CallOut fn, int generator, int x, int y) {
  e.changes("draws a random number");
  return float_of(e.emit(Op::kFOfBits, e.call(fn, generator, x, y)));
}
Av drawn(Emitter& e, region::CallOut fn, int generator) {
  return drawn(e, fn, generator, generator, generator);
}
void needs_function(bool known) {
  if (!known) leave("this NumPy does not give away how it draws such numbers");
}
int bits_in(Emitter& e, int x) { return e.emit(Op::kFBits, x); }
int argument(Emitter& e, const std::vector<Av>& args, size_t k, double usual) {
  return k < args.size() ? as_float(e, num(e, args[k])) : e.d.fcon(usual);
}
// As NumPy looks: -0.0 is refused, too. Of what is no number, CPython decides.
int not_negative(Emitter& e, int x) {
  const int bits = bits_in(e, x);
  e.check(e.emit(Op::kIGe, bits, e.d.icon(0)));
  e.check(e.emit(Op::kFEq, x, x));
  return bits;
}

Av random(Emitter& e, int g, const std::vector<Av>&) { return drawn(e, draw_double, g); }
Av standard_normal(Emitter& e, int g, const std::vector<Av>&) {
  needs_function(distributions.standard_normal);
  return drawn(e, draw_plain<&Distributions::standard_normal>, g);
}
Av standard_exponential(Emitter& e, int g, const std::vector<Av>&) {
  needs_function(distributions.standard_exponential);
  return drawn(e, draw_plain<&Distributions::standard_exponential>, g);
}
Av normal(Emitter& e, int g, const std::vector<Av>& args) {
  needs_function(distributions.normal);
  const int middle = bits_in(e, argument(e, args, 0, 0.0));
  const int scale = not_negative(e, argument(e, args, 1, 1.0));
  return drawn(e, draw_of_two<&Distributions::normal>, g, middle, scale);
}
Av uniform(Emitter& e, int g, const std::vector<Av>& args) {
  needs_function(distributions.uniform);
  const int low = argument(e, args, 0, 0.0), high = argument(e, args, 1, 1.0);
  const int range = e.emit(Op::kFSub, high, low);
  e.check(e.emit(Op::kFLt, range, e.d.fcon(HUGE_VAL)));
  return drawn(e, draw_of_two<&Distributions::uniform>, g, bits_in(e, low), not_negative(e, range));
}
Av exponential(Emitter& e, int g, const std::vector<Av>& args) {
  needs_function(distributions.exponential);
  const int scale = not_negative(e, argument(e, args, 0, 1.0));
  return drawn(e, draw_of_one<&Distributions::exponential>, g, scale, scale);
}
Av poisson(Emitter& e, int g, const std::vector<Av>& args) {
  needs_function(distributions.poisson);
  constexpr double kLargest = 9e18;  // below NumPy's own limit
  const int mean = argument(e, args, 0, 1.0), bits = not_negative(e, mean);
  e.check(e.emit(Op::kFLt, mean, e.d.fcon(kLargest)));
  e.changes("draws a random number");
  return int_of(e.call(draw_poisson, g, bits, bits));
}
Av int_between(Emitter& e, int g, const std::vector<Av>& args, region::CallOut draw) {
  needs_function(distributions.bounded);
  std::vector<int> ends;
  for (const Av& a : args) {
    const Av x = num(e, a);
    if (x.kind != K::kInt) leave(str_cat("a random int is below ", a_(e.d.described(x))));
    ends.push_back(x.v[0]);
  }
  if (ends.size() == 1) ends.insert(ends.begin(), e.d.icon(0));
  e.check(e.emit(Op::kILt, ends[0], ends[1]));
  const int above = e.emit(Op::kISub, ends[1], ends[0]);  // leaves where it is more than an int64
  const int range = e.emit(Op::kISub, above, e.d.icon(1));
  e.changes("draws a random number");
  return int_of(e.call(draw, g, ends[0], range));
}
Av integers(Emitter& e, int g, const std::vector<Av>& args) {
  Av r = int_between(e, g, args, draw_int<false>);
  r.index = 'l';
  return r;
}
Av randint(Emitter& e, int g, const std::vector<Av>& args) {
  return int_between(e, g, args, draw_int<true>);
}

constexpr GeneratorMethod kOfGenerator[] = {
    {"random", 0, 0, random},
    {"standard_normal", 0, 0, standard_normal},
    {"standard_exponential", 0, 0, standard_exponential},
    {"normal", 0, 2, normal},
    {"uniform", 0, 2, uniform},
    {"exponential", 0, 1, exponential},
    {"poisson", 0, 1, poisson},
    {"integers", 1, 2, integers},
};
// NumPy keeps the other distributions of its old generator to itself.
constexpr GeneratorMethod kOfRandomState[] = {
    {"random", 0, 0, random},   {"random_sample", 0, 0, random}, {"rand", 0, 0, random},
    {"uniform", 0, 2, uniform}, {"randint", 1, 2, randint},
};

struct Known {
  std::array<PyObject*, 2> classes{};  // Generator, RandomState
  std::vector<PyObject*> bits;         // classes of bit generators
  std::map<PyObject*, const GeneratorMethod*> methods;
};

Known find_known() {
  Known k;
  try {
    const py::object generator = python_module("numpy.random._generator").attr("Generator");
    const py::object state = python_module("numpy.random.mtrand").attr("RandomState");
    const std::string path =
        py::cast<std::string>(python_module("numpy.random._generator").attr("__file__"));
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      const auto find = [&](const char* name, auto* function) {
        *function =
            reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      };
      find("random_standard_normal", &distributions.standard_normal);
      find("random_normal", &distributions.normal);
      find("random_uniform", &distributions.uniform);
      find("random_standard_exponential", &distributions.standard_exponential);
      find("random_exponential", &distributions.exponential);
      find("random_poisson", &distributions.poisson);
      find("random_bounded_uint64_fill", &distributions.bounded);
    }
    const auto note = [&](const py::object& cls, std::span<const GeneratorMethod> rows) {
      for (const GeneratorMethod& m : rows)
        k.methods[py::object(cls.attr(m.name)).release().ptr()] = &m;
    };
    note(generator, kOfGenerator);
    note(state, kOfRandomState);
    for (const char* name : {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"})
      k.bits.push_back(py::object(python_module("numpy.random").attr(name)).release().ptr());
    k.classes = {generator.inc_ref().ptr(), state.inc_ref().ptr()};
  } catch (py::error_already_set&) {
    return {};
  }
  return k;
}

constinit OnDemand<Known> known_generators;

bool is_one(PyObject* o) {
  constexpr std::string_view kFolder = "numpy.random.";
  if (!std::string_view(Py_TYPE(o)->tp_name).starts_with(kFolder)) return false;
  const Known& k = known_generators.get(find_known);
  return std::find(k.classes.begin(), k.classes.end(), reinterpret_cast<PyObject*>(Py_TYPE(o))) !=
         k.classes.end();
}

}  // namespace

bool is_generator(PyObject* o) {
  if (!PyMethod_Check(o)) return is_one(o);
  return is_one(PyMethod_GET_SELF(o)) && generator_method(PyMethod_GET_FUNCTION(o));
}

PyObject* generator_behind(PyObject* o, PyObject* known) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(o)) == known) return o;
  const bool bound = PyMethod_Check(o) && PyMethod_GET_FUNCTION(o) == known;
  return bound && is_one(PyMethod_GET_SELF(o)) ? PyMethod_GET_SELF(o) : nullptr;
}

bool hold_generator(PyObject* generator, int64_t* interface, std::vector<HeldGenerator>* held) {
  const Known& k = known_generators.get(find_known);
  const bool old = reinterpret_cast<PyObject*>(Py_TYPE(generator)) == k.classes[1];
  try {
    const py::object bits = py::handle(generator).attr(old ? "_bit_generator" : "bit_generator");
    if (std::find(k.bits.begin(), k.bits.end(), reinterpret_cast<PyObject*>(Py_TYPE(bits.ptr()))) ==
        k.bits.end())
      return false;
    void* at = PyCapsule_GetPointer(py::object(bits.attr("capsule")).ptr(), "BitGenerator");
    if (!at) throw py::error_already_set();
    *interface = reinterpret_cast<int64_t>(at);
    py::object lock = bits.attr("lock");
    for (const HeldGenerator& h : *held)
      if (h.has(lock)) return true;
    if (!py::object(lock.attr("acquire")(false)).is(py::bool_(true))) return false;
    held->emplace_back(bits, std::move(lock));
    return true;
  } catch (py::error_already_set&) {
    return false;
  }
}

const GeneratorMethod* generator_method(PyObject* function) {
  const Known& k = known_generators.get(find_known);
  const auto it = k.methods.find(function);
  return it == k.methods.end() ? nullptr : it->second;
}

}  // namespace regions

}  // namespace pijit
