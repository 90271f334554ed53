#include "cpu/code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "base/log.h"

namespace pijit {
namespace {

// Blocks that hold many functions, each mapped twice. They are anonymous files, which limits of
// the process may forbid.
asmjit::JitRuntime& runtime() {
  static asmjit::JitRuntime* rt = [] {
    asmjit::JitAllocator::CreateParams p{};
    p.options = asmjit::JitAllocatorOptions::kUseDualMapping;
    return new asmjit::JitRuntime(&p);
  }();
  return *rt;
}

size_t in_pages(size_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// Pages of the function's own, which are no longer writable once they can be executed. Null where
// there are none.
void* on_pages(asmjit::CodeHolder& code, size_t* bytes) {
  *bytes = in_pages(code.codeSize());
  void* p = mmap(nullptr, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  const bool written = code.relocateToBase(reinterpret_cast<uint64_t>(p)) == asmjit::kErrorOk &&
                       code.copyFlattenedData(p, *bytes) == asmjit::kErrorOk &&
                       mprotect(p, *bytes, PROT_READ | PROT_EXEC) == 0;
  if (written) return p;
  munmap(p, *bytes);
  return nullptr;
}

}  // namespace

const asmjit::Environment& code_environment() { return runtime().environment(); }

void* place_code(asmjit::CodeHolder& code, size_t* bytes) {
  void* fn = nullptr;
  *bytes = 0;
  const asmjit::Error err = runtime().add(&fn, &code);
  if (err == asmjit::kErrorOk) return fn;
  PIJIT_LOG("compile", "code in blocks: ", asmjit::DebugUtils::errorAsString(err));
  // What else can be wrong with the code shows here, too.
  PIJIT_CHECK(code.flatten() == asmjit::kErrorOk &&
                  code.resolveUnresolvedLinks() == asmjit::kErrorOk && code.codeSize() > 0,
              asmjit::DebugUtils::errorAsString(err));
  fn = on_pages(code, bytes);
  if (!fn) throw std::bad_alloc();
  return fn;
}

void release_code(void* fn, size_t bytes) {
  if (bytes)
    munmap(fn, bytes);
  else
    runtime().release(fn);
}

bool executable_memory() {
  static const bool there = [] {
    try {
      const Code<void (*)()> nothing([](asmjit::CodeHolder& code) { x86::Assembler(&code).ret(); });
      nothing.get()();
      return true;
    } catch (const std::bad_alloc&) {
      PIJIT_LOG("compile", "no memory can be executed: loops are interpreted");
      return false;
    }
  }();
  return there;
}

}  // namespace pijit
