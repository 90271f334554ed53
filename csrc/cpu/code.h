// Machine code: where it lives, and how errors of its generators are reported.
#pragma once
#include <asmjit/x86.h>

#include <utility>

#include "base/error.h"
#include "runtime/hidden_bytes.h"

namespace pijit {

namespace x86 = asmjit::x86;

// No page is writable and executable at once: code lies in blocks that are mapped twice, or where
// the process may have none of those, on pages of its own that are written first.
const asmjit::Environment& code_environment();
// Throws std::bad_alloc where memory cannot be had.
struct CodeBlocks;
struct CodePlace {
  CodeBlocks* blocks = nullptr;  // null: on pages of its own
  size_t bytes = 0;              // of these
};
void* place_code(asmjit::CodeHolder& code, CodePlace* place);
void release_code(void* fn, const CodePlace& place);
// Whether code can be made at all: a system may forbid it.
bool executable_memory();

// Lets a function of asmjit's compiler save all registers of its caller: its allocator may move a
// value to a free one that it does not note as used.
inline void save_registers(asmjit::FuncNode* f) {
  for (const x86::Gp& r : {x86::rbx, x86::rbp, x86::r12, x86::r13, x86::r14, x86::r15})
    f->frame().addDirtyRegs(r);
}

// A function of generated code, freed with its owner.
template <class Fn>
class Code {
 public:
  Code() = default;
  // `emit` writes the function with an emitter for `code` and finishes it.
  template <class F>
  explicit Code(F emit) {
    asmjit::CodeHolder code;
    code.init(code_environment());
    struct Handler : asmjit::ErrorHandler {
      void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override {
        throw InternalError(message);
      }
    } handler;
    code.setErrorHandler(&handler);
    emit(code);
    fn_ = reinterpret_cast<Fn>(place_code(code, &place_));
    bytes_ = HiddenBytes(code.codeSize());
  }
  Code(Code&& o) noexcept
      : fn_(std::exchange(o.fn_, nullptr)), place_(o.place_), bytes_(std::move(o.bytes_)) {}
  Code& operator=(Code&& o) noexcept {
    std::swap(fn_, o.fn_);
    std::swap(place_, o.place_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~Code() {
    if (fn_) release_code(reinterpret_cast<void*>(fn_), place_);
  }
  Fn get() const { return fn_; }

 private:
  Fn fn_ = nullptr;
  CodePlace place_;
  HiddenBytes bytes_;
};

}  // namespace pijit
