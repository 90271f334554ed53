// Arithmetic of whole arrays and of parts of them as a region's code: a statement is computed in
// one loop, where its result is stored.
#pragma once
#include <optional>

#include "base/operators.h"
#include "capture/regions/parts.h"

namespace pijit::regions {

inline bool is_arrays(Emitter& e, const Av& a) { return a.kind == K::kArray || is_part(e, a); }

const Dtype& array_dtype(Emitter& e, const Av& a);

// --- words that code writes for what it calls
void store_word(Emitter& e, int memory, size_t k, Op op, int value);
// What describes a view, from word `first` on.
void describe(Emitter& e, int memory, size_t first, const Av& part);
// The MadeArray that a call gave; 0: CPython is to do it.
Av new_array(Emitter& e, int made, const Dtype& d, int rank);

// What is computed, as an array.
Av made_array(Emitter& e, const Av& a);
Av array_binary(Emitter& e, BinaryOp op, bool in_place, const Av& a, const Av& b);
Av array_compare(Emitter& e, CompareOp op, const Av& a, const Av& b);
Av array_abs(Emitter& e, const Av& a);
Av array_unary(Emitter& e, UnaryOp op, const Av& a);
// A function of arrays that code has itself; nothing: it is another one, or is called with other
// arguments. `names`: of the last of them; null: none has one.
std::optional<Av> array_function(Emitter& e, PyObject* fn, const std::vector<Av>& args,
                                 PyObject* names);
// What a ufunc gives for each element of a vector with each of another; nothing: they are none.
std::optional<Av> outer(Emitter& e, PyObject* ufunc, const Av& a, const Av& b);
// of[index], where the index has arrays.
Av gathered(Emitter& e, const Av& of, const Av& index);
// of[index] = value, where either is of arrays.
void store_part(Emitter& e, const Av& value, const Av& of, const Av& index);

}  // namespace pijit::regions
