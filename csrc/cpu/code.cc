#include "cpu/code.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <utility>

#include "base/log.h"
#include "runtime/code_names.h"

namespace pijit {
namespace {

asmjit::JitAllocator::CreateParams mapped_twice() {
  asmjit::JitAllocator::CreateParams p{};
  p.options = asmjit::JitAllocatorOptions::kUseDualMapping;
  return p;
}

}  // namespace

// Blocks that hold many functions, each mapped twice. They are anonymous files, which limits of
// the process may forbid, and which a forked child has in common with its parent: neither writes
// into blocks that were there at the fork.
struct CodeBlocks {
  asmjit::JitAllocator::CreateParams params = mapped_twice();
  asmjit::JitRuntime runtime{&params};
  size_t functions = 0;
};

namespace {

struct AllBlocks {
  std::mutex mu;
  CodeBlocks* current = new CodeBlocks;

  // Of those that are no longer written into; behind `mu`.
  static void drop_if_empty(CodeBlocks* blocks) {
    if (blocks->functions == 0) delete blocks;
  }
  void retire() {
    drop_if_empty(std::exchange(current, new CodeBlocks));
    mu.unlock();
  }
};
AllBlocks& all_blocks() {
  static AllBlocks* all = [] {
    auto* made = new AllBlocks;
    pthread_atfork([] { all_blocks().mu.lock(); }, [] { all_blocks().retire(); },
                   [] { all_blocks().retire(); });
    return made;
  }();
  return *all;
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

const asmjit::Environment& code_environment() {
  static const asmjit::Environment host = all_blocks().current->runtime.environment();
  return host;
}

static void* put_code(asmjit::CodeHolder& code, CodePlace* place) {
  void* fn = nullptr;
  asmjit::Error err = asmjit::kErrorOk;
  if (!config().perf) {  // perf looks for the names of anonymous memory only
    AllBlocks& all = all_blocks();
    const std::lock_guard lock(all.mu);
    err = all.current->runtime.add(&fn, &code);
    if (err == asmjit::kErrorOk) {
      ++all.current->functions;
      *place = {all.current, 0};
      return fn;
    }
  }
  if (err) PIJIT_LOG("compile", "code in blocks: ", asmjit::DebugUtils::errorAsString(err));
  // What else can be wrong with the code shows here, too.
  PIJIT_CHECK(code.flatten() == asmjit::kErrorOk &&
                  code.resolveUnresolvedLinks() == asmjit::kErrorOk && code.codeSize() > 0,
              asmjit::DebugUtils::errorAsString(err));
  *place = {};
  fn = on_pages(code, &place->bytes);
  if (!fn) throw std::bad_alloc();
  return fn;
}

void* place_code(asmjit::CodeHolder& code, CodePlace* place) {
  void* fn = put_code(code, place);
  announce_code(fn, code.codeSize());
  return fn;
}

void release_code(void* fn, const CodePlace& place) {
  forget_code(fn);
  if (!place.blocks) {
    munmap(fn, place.bytes);
    return;
  }
  AllBlocks& all = all_blocks();
  std::lock_guard lock(all.mu);
  place.blocks->runtime.release(fn);
  --place.blocks->functions;
  if (place.blocks != all.current) AllBlocks::drop_if_empty(place.blocks);
}

bool executable_memory() {
  static const bool there = [] {
    try {
      const CodeName name([] { return std::string("nothing"); });
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
