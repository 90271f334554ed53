// Machine code: where it lives, and how errors of its generators are reported.
#pragma once
#include <asmjit/x86.h>

#include <utility>

#include "base/error.h"

namespace pijit {

namespace x86 = asmjit::x86;

// Code pages are mapped twice, one mapping writable, one executable.
asmjit::JitRuntime& jit_runtime();

// A function of generated code, freed with its owner.
template <class Fn>
class Code {
 public:
  Code() = default;
  // `emit` writes the function with an emitter for `code` and finishes it.
  template <class F>
  explicit Code(F emit) {
    asmjit::CodeHolder code;
    code.init(jit_runtime().environment());
    struct Handler : asmjit::ErrorHandler {
      void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override {
        throw InternalError(message);
      }
    } handler;
    code.setErrorHandler(&handler);
    emit(code);
    const asmjit::Error err = jit_runtime().add(&fn_, &code);
    PIJIT_CHECK(err == asmjit::kErrorOk, asmjit::DebugUtils::errorAsString(err));
  }
  Code(Code&& o) noexcept : fn_(std::exchange(o.fn_, nullptr)) {}
  Code& operator=(Code&& o) noexcept {
    std::swap(fn_, o.fn_);
    return *this;
  }
  ~Code() {
    if (fn_) jit_runtime().release(fn_);
  }
  Fn get() const { return fn_; }

 private:
  Fn fn_ = nullptr;
};

}  // namespace pijit
