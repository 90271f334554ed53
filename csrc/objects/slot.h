// A function as an entry of PyType_Slot.
#pragma once
#include <Python.h>

#define SLOT(id, f) \
  { id, reinterpret_cast<void*>(f) }
