// The entry points of OpenMP that oneDNN calls, over our threads: libgomp's sleep between kernels,
// or keep the cores from others, as a variable of the environment says for a process's life. A
// oneDNN that is linked in calls these by their names (tools/onednn.sh renames what it asks for);
// the library of PyPI is bound to them here. All others keep their runtime.
#include "cpu/onednn/openmp.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <dnnl.hpp>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cpu/parallel.h"
#include "cpu/thread_pool.h"

namespace pijit::onednn {
namespace {

struct Region {
  void (*f)(void*);
  void* data;
  Member before;
};
// Those that this thread began and has not ended.
std::deque<Region>& regions() {  // which stay where they are
  thread_local std::deque<Region> v;
  return v;
}

// `for` with a static schedule, of this thread.
struct Loop {
  long start = 0, step = 1, chunk = 0, count = 0, turn = 0;
};
thread_local Loop loop;

bool next_chunk(long* from, long* to) {
  const Member& m = current_member();
  long begin, end;
  if (loop.chunk == 0) {
    if (loop.turn++ > 0) return false;
    begin = loop.count * m.index / m.count;
    end = loop.count * (m.index + 1) / m.count;
  } else {
    begin = (loop.turn++ * m.count + m.index) * loop.chunk;
    end = std::min(begin + loop.chunk, loop.count);
  }
  if (begin >= end) return false;
  *from = loop.start + begin * loop.step;
  *to = loop.start + end * loop.step;
  return true;
}

}  // namespace

extern "C" {

void pijit_GOMP_parallel_start(void (*f)(void*), void* data, unsigned threads) {
  const int n = current_member().active() ? 1
                : threads > 0             ? static_cast<int>(threads)
                                          : Threads::current();
  regions().push_back({f, data, current_member()});
  if (n == 1) {
    current_member() = {.within = current_member().active()};
    return;
  }
  Team& team = Team::of_this_thread(n);
  team.begin(
      n,
      [](void* data, int) {
        const auto* r = static_cast<const Region*>(data);
        r->f(r->data);
      },
      &regions().back());
  current_member() = {0, n, &team};
}
void pijit_GOMP_parallel_end() {
  if (Team* team = current_member().team) team->end();
  current_member() = regions().back().before;
  regions().pop_back();
}
void pijit_GOMP_parallel(void (*f)(void*), void* data, unsigned threads, unsigned) {
  pijit_GOMP_parallel_start(f, data, threads);
  f(data);
  pijit_GOMP_parallel_end();
}
void pijit_GOMP_barrier() {
  if (Team* team = current_member().team) team->barrier();
}
bool pijit_GOMP_loop_static_start(long start, long end, long step, long chunk, long* from,
                                  long* to) {
  const long count = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
  loop = {start, step, chunk, count, 0};
  return next_chunk(from, to);
}
bool pijit_GOMP_loop_static_next(long* from, long* to) { return next_chunk(from, to); }
void pijit_GOMP_loop_end_nowait() {}
int pijit_omp_get_max_threads() { return Threads::current(); }
int pijit_omp_get_num_threads() { return current_member().count; }
int pijit_omp_get_thread_num() { return current_member().index; }
int pijit_omp_in_parallel() { return current_member().active(); }
}

#if PIJIT_ONEDNN_INSIDE
void use_own_threads() {}
#else
namespace {

void* entry_point(std::string_view name) {
#define ENTRY(f) \
  if (name == #f) return reinterpret_cast<void*>(&pijit_##f);
  ENTRY(GOMP_parallel_start)
  ENTRY(GOMP_parallel_end)
  ENTRY(GOMP_parallel)
  ENTRY(GOMP_barrier)
  ENTRY(GOMP_loop_static_start)
  ENTRY(GOMP_loop_static_next)
  ENTRY(GOMP_loop_end_nowait)
  ENTRY(omp_get_max_threads)
  ENTRY(omp_get_num_threads)
  ENTRY(omp_get_thread_num)
  ENTRY(omp_in_parallel)
#undef ENTRY
  return nullptr;
}

}  // namespace

// The dynamic linker wrote the addresses of the functions that the library calls into a table,
// which it then made read-only.
void use_own_threads() {
  Dl_info info;
  link_map* map = nullptr;
  const int found = dladdr1(reinterpret_cast<void*>(&dnnl_primitive_execute), &info,
                            reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
  PIJIT_CHECK(found && map, "oneDNN: its library is not found among those that are loaded");
  const ElfW(Rela)* slots = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  size_t bytes = 0;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_JMPREL) slots = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_PLTRELSZ) bytes = d->d_un.d_val;
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(d->d_un.d_ptr);
  }
  PIJIT_CHECK(slots && symbols && names, "oneDNN: its library has no table of functions");
  struct Bound {
    void** slot;
    void* f;
  };
  std::vector<Bound> bound;
  for (size_t k = 0; k < bytes / sizeof *slots; ++k) {
    const std::string_view name = names + symbols[ELF64_R_SYM(slots[k].r_info)].st_name;
    if (void* f = entry_point(name))
      bound.push_back({reinterpret_cast<void**>(map->l_addr + slots[k].r_offset), f});
    else
      PIJIT_CHECK(!name.starts_with("GOMP_") && !name.starts_with("omp_"),
                  "oneDNN: its library calls ", name, ", which is not served here");
  }
  PIJIT_CHECK(!bound.empty(), "oneDNN: its library calls nothing of OpenMP");
  const auto* header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(
      static_cast<const char*>(info.dli_fbase) + header->e_phoff);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const Bound& b : bound) {
    const auto at = reinterpret_cast<uintptr_t>(b.slot);
    const bool read_only = std::any_of(segments, segments + header->e_phnum, [&](auto& s) {
      const uintptr_t from = map->l_addr + s.p_vaddr;
      return s.p_type == PT_GNU_RELRO && at >= from && at < from + s.p_memsz;
    });
    void* const p = reinterpret_cast<void*>(at & ~(page - 1));
    PIJIT_CHECK(!read_only || mprotect(p, page, PROT_READ | PROT_WRITE) == 0,
                "oneDNN: its table of functions cannot be written");
    *b.slot = b.f;
    if (read_only) mprotect(p, page, PROT_READ);
  }
}
#endif

}  // namespace pijit::onednn
