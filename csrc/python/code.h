// Code objects: decoded instructions, and code made for continuing after a break. Everything that
// differs between CPython versions stays in this folder.
#pragma once
#include <pybind11/pybind11.h>

#include "python/convert.h"

#include <memory>
#include <string>
#include <vector>

namespace pijit {
namespace py = pybind11;

enum class Op : uint8_t {
#define I(name) name,
#include "python/isa.def"
#undef I
};
const char* op_name(Op op);

struct Instr {
  Op op;
  int a = 0;
  PyObject* obj = nullptr;  // borrowed: owned by the code object or interned
  int target = -1;          // instruction index
  int offset = 0;  // of the original instruction, in code units, extended arguments included
  int line = -1;
};

// An entry of the exception table: where an instruction in [begin, end) raises, the stack is cut to
// `depth`, the raising instruction's place is pushed (lasti) and the exception, and code goes on at
// `target`.
struct Handler {
  int begin, end, target, depth;
  bool lasti;
};

struct CodeInfo {
  PyObject* code;  // borrowed: it owns this
  std::vector<Instr> instrs;
  int num_slots = 0;  // locals, cells, free variables
  int num_locals = 0;
  int num_free = 0;  // the last slots
  std::vector<std::string> slot_names;
  std::vector<Handler> handlers;        // by instruction indices
  std::vector<std::vector<bool>> live;  // per instruction: slots that may be read later
  bool generator = false;
  std::string filename, name;
  const Handler* handler_of(int i) const {
    for (auto& h : handlers)
      if (i >= h.begin && i < h.end) return &h;
    return nullptr;
  }
};

// A code object with its decoding.
class Code {
 public:
  Code() = default;
  Code(const CodeInfo* info, PyObject* code)
      : info_(info), code_(py::reinterpret_borrow<py::object>(code)) {}
  explicit operator bool() const { return info_; }
  const CodeInfo& operator*() const { return *info_; }
  const CodeInfo* operator->() const { return info_; }

 private:
  const CodeInfo* info_ = nullptr;
  py::object code_;
};

// Decoded once per code object and kept as long as that lives; false for coroutines, code whose
// names live in dicts, and, if they are not asked for, generators.
Code code_info(PyObject* code, bool generators = false);
// Does a generator clean up when it is dropped (try, with)? What ends an inlined comprehension does
// not count.
bool cleans_up(const CodeInfo& info);
// What else is kept with a code object: one thing, of whoever asks.
std::shared_ptr<void>& attached_to_code(PyObject* code);

// The version's own decoding.
void decode_code(PyObject* code, CodeInfo* out);
// The exception table, in code units.
std::vector<Handler> exception_table(PyObject* code);

// Code that continues a function at an instruction. It takes its state from a ResumeScope: the
// listed slots, then the stack from the bottom; stack_nulls tells which stack entries are NULL. It
// takes a function's first argument as its own, where there is one: super() looks for it.
py::object make_resume_code(const CodeInfo& info, int instr, const std::vector<int>& slots,
                            const std::vector<bool>& stack_nulls);
// A function of `code` in the place of `func`, with its globals and, where asked for, its closure.
py::object function_like(PyObject* func, const py::object& code, bool closure);
// Values in the order of use, around the call of a resume function. What that did not get to,
// because the call failed as it began, is dropped.
class ResumeScope {
 public:
  explicit ResumeScope(std::vector<py::object> values);
  ~ResumeScope();
  ResumeScope(const ResumeScope&) = delete;

 private:
  size_t depth_;
};

// A function of n + 1 arguments (the callable first) that makes one call at the place of an
// instruction.
py::object make_call_stub(PyObject* func, const CodeInfo& info, int instr, int nargs,
                          PyObject* kwnames, bool ex, bool ex_kwargs);

// Adds a traceback entry for the code at a line to the current exception.
void add_traceback(const CodeInfo& info, int line);

PyObject* builtins_of(PyObject* globals);  // borrowed dict
// Has `__builtins__` of its globals been replaced since the function was made, which keeps the old?
bool has_other_builtins(PyObject* func);
PyObject** closure_of(PyObject* func, Py_ssize_t* n);
PyObject* type_dict(PyTypeObject* t);  // new reference
bool instances_have_dict(PyTypeObject* t);
// The dict of an instance, or null. New reference.
PyObject* instance_dict(PyObject* o);
// What o holds in the slot that a member descriptor of its class stands for; null: it is not set.
PyObject* slot_value(PyObject* descriptor, PyObject* o);
// A number that changes whenever the dict does.
uint64_t dict_version(PyObject* dict);
// A number that changes whenever the type or a base does; 0: none.
unsigned type_version(PyTypeObject* t);
PyObject* type_lookup(PyTypeObject* t, PyObject* name);  // borrowed, through the MRO

}  // namespace pijit
