// Look-ups in dicts, sets and classes that run no Python code. A key may be of a class whose __eq__
// is Python's: what that does, it must do once, where the program asks, and what was found before
// it need not be there afterwards. So neither capture nor guards ever ask it.
#pragma once
#include <Python.h>

#include <cstdint>

namespace pijit {

// What the dict has under the key (borrowed). Null: nothing; or only Python code can tell, which
// `unsure` says then.
PyObject* quiet_item(PyObject* dict, PyObject* key, bool* unsure = nullptr);
// Whether the set has the key; false where only Python code can tell.
bool quiet_contains(PyObject* set, PyObject* key, bool* unsure = nullptr);
// A copy of a set with the same table: all that is done to it, and made of it, has the order that
// it has with the set itself (new reference).
PyObject* copy_of_table(PyObject* set);
// The places of a set's elements in its table.
uint64_t places_of_elements(PyObject* set);
// Are all names in the class and its bases plain texts?
bool names_are_texts(PyTypeObject* t);

}  // namespace pijit
