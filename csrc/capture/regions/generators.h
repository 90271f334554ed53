// NumPy's generators of random numbers. A region's code draws as their methods do, by their C
// interface: the stream is the same.
#pragma once
#include <vector>

#include "capture/regions/emitter.h"

namespace pijit::regions {

// A Generator or RandomState, or a method of one that code knows.
bool is_generator(PyObject* o);
// The generator, where the object is of the class, or a method of one with this function
// (borrowed).
PyObject* generator_behind(PyObject* o, PyObject* known);
// Takes its lock, if that is not among those which are held. False: others have it, or its bits are
// not NumPy's own. `interface` becomes the address of its C interface.
bool hold_generator(PyObject* generator, int64_t* interface, std::vector<HeldGenerator>* held);

struct GeneratorMethod {
  const char* name;
  size_t least, most;  // arguments
  Av (*code)(Emitter& e, int generator, const std::vector<Av>& args);
};
// By its function; null: none that code knows.
const GeneratorMethod* generator_method(PyObject* function);

}  // namespace pijit::regions
