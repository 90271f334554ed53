// What people are told about captured functions.
#pragma once
#include "dispatch/run.h"

namespace pijit {

// What is known of a function, as pijit.explain takes it.
py::dict report(const State& s, const py::object& func);
py::dict described(const Subject& s);
py::list described_breaks(const State& s);
// Keeps why a call needs another capture: the guards of the point's entries that do not hold.
void note_misses(State* s, const Point& p, PyObject* func, PyObject* const* state,
                 const CodeInfo& code);

// Subjects of events: a call of a function; a piece that CPython runs, from an instruction on.
SubjectRef call_subject(State* s, const CodeInfo& code);
SubjectRef piece_subject(const CodeInfo& code, int instr, std::string why);
std::string why_broken(const Entry& e);

}  // namespace pijit
