// What people are told about captured functions.
#pragma once
#include "dispatch/run.h"

namespace pijit {

// What is known of a function, as pijit.explain takes it.
py::dict report(const FunctionCache& s, const py::object& func);
py::dict described(const Metadata& s);
py::list described_breaks(const FunctionCache& s);
// Keeps why a call needs another capture: the guards of the point's entries that do not hold.
void note_misses(FunctionCache* s, const ResumePoint& p, PyObject* func, PyObject* const* state,
                 const CodeInfo& code);

// Metadata of events: a call of a function; a piece that CPython runs, from an instruction on.
MetadataRef call_metadata(FunctionCache* s, const CodeInfo& code);
MetadataRef piece_metadata(const CodeInfo& code, int instr, std::string why);
std::string why_broken(const Entry& e);

}  // namespace pijit
