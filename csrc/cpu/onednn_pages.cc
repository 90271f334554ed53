// oneDNN writes a kernel's code into pages of its own and has them made executable, once, when it
// is done: but it asks for pages that stay writable. Its call is led to a function that leaves that
// out, so that no page is both; before it frees or reuses one, it asks for writing alone.
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "base/log.h"
#include "cpu/onednn.h"

namespace pijit {
namespace {

int protect(void* p, size_t n, int how) {
  if ((how & PROT_WRITE) && (how & PROT_EXEC)) how &= ~PROT_WRITE;
  return mprotect(p, n, how);
}

// The place of the address by which a loaded library calls the function; null: it does not.
void** place_of_call(const dl_phdr_info& library, std::string_view function) {
  const ElfW(Dyn)* d = nullptr;
  for (int k = 0; k < library.dlpi_phnum; ++k)
    if (library.dlpi_phdr[k].p_type == PT_DYNAMIC)
      d = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + library.dlpi_phdr[k].p_vaddr);
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela)* calls = nullptr;
  size_t bytes = 0;
  for (; d && d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_JMPREL) calls = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_PLTRELSZ) bytes = d->d_un.d_val;
  }
  if (!symbols || !names) return nullptr;
  for (size_t k = 0; calls && k < bytes / sizeof *calls; ++k)
    if (names + symbols[ELF64_R_SYM(calls[k].r_info)].st_name == function)
      return reinterpret_cast<void**>(library.dlpi_addr + calls[k].r_offset);
  return nullptr;
}

int lead_over(dl_phdr_info* library, size_t, void* done) {
  if (!std::strstr(library->dlpi_name, "libdnnl.so")) return 0;
  void** place = place_of_call(*library, "mprotect");
  if (!place) return 0;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const start = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(place) / page * page);
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return 0;
  __atomic_store_n(place, reinterpret_cast<void*>(&protect), __ATOMIC_RELEASE);
  for (int k = 0; k < library->dlpi_phnum; ++k) {
    const auto& part = library->dlpi_phdr[k];
    const uintptr_t at = reinterpret_cast<uintptr_t>(place) - library->dlpi_addr - part.p_vaddr;
    if (part.p_type == PT_GNU_RELRO && at < part.p_memsz) mprotect(start, page, PROT_READ);
  }
  *static_cast<bool*>(done) = true;
  return 0;
}

}  // namespace

void onednn::keep_code_read_only() {
  bool done = false;
  dl_iterate_phdr(lead_over, &done);
  if (!done) PIJIT_LOG("compile", "oneDNN's code stays writable: its call was not found");
}

}  // namespace pijit
