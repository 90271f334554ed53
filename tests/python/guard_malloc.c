// malloc for fuzz_memory.py (LD_PRELOAD): what pijit's extension and oneDNN ask it for by themselves, as Eigen does for its temporaries, lies
// beside pages without access, as PIJIT_GUARD says: front or back. It is never handed out again, so what is used after free is found as well.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
void __libc_free(void *);

enum { kPage = 4096, kGuard = 16 << 20, kRest = 0xa5, kFresh = 0x7f };
static const size_t kRegion = (size_t)1 << 45;

typedef struct { size_t bytes, pages; } Header;  // on a page of its own, one without access behind it

static char *region;
static atomic_size_t used;
static int back;
static struct { uintptr_t begin, end; } modules[8];
static int count;

static int look(struct dl_phdr_info *m, size_t size, void *unused) {
  (void)size, (void)unused;
  if (count == 8 || !(strstr(m->dlpi_name, "/_C.") || strstr(m->dlpi_name, "libdnnl"))) return 0;
  for (int k = 0; k < m->dlpi_phnum; ++k) {
    const ElfW(Phdr) *p = &m->dlpi_phdr[k];
    if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && count < 8) {
      modules[count].begin = m->dlpi_addr + p->p_vaddr;
      modules[count].end = modules[count].begin + p->p_memsz;
      ++count;
    }
  }
  return 0;
}

// From here on; called once these libraries are there. How many were found.
int guard_malloc_begin(void) {
  const char *side = getenv("PIJIT_GUARD");
  back = side && !strcmp(side, "back");
  region = mmap(NULL, kRegion, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) abort();
  dl_iterate_phdr(look, NULL);
  return count;
}

static int asks(void *caller) {
  for (int k = 0; k < count; ++k)
    if ((uintptr_t)caller - modules[k].begin < modules[k].end - modules[k].begin) return 1;
  return 0;
}
static int ours(const void *p) { return region && (size_t)((const char *)p - region) < kRegion; }
static char *first_page(const void *p) { return (char *)((uintptr_t)p & ~(uintptr_t)(kPage - 1)); }
static Header *header(const void *p) { return (Header *)(first_page(p) - 2 * kPage); }

static void *take(size_t bytes, size_t alignment) {
  const size_t pages = (bytes + kPage - 1) / kPage * kPage + (bytes == 0) * kPage;
  char *begin = region + atomic_fetch_add(&used, pages + kGuard) + 2 * kPage;
  if (alignment > kPage || begin + pages + kGuard > region + kRegion) return __libc_memalign(alignment, bytes);
  if (mprotect(begin - 2 * kPage, kPage, PROT_READ | PROT_WRITE) || mprotect(begin, pages, PROT_READ | PROT_WRITE)) return NULL;
  *header(begin) = (Header){bytes, pages};
  char *p = begin + (back ? (pages - bytes) & ~(alignment - 1) : 0);
  memset(begin, kRest, pages);
  memset(p, kFresh, bytes);
  return p;
}
static void give(void *p) {
  const Header h = *header(p);
  char *begin = first_page(p);
  for (char *c = begin; c < begin + h.pages; ++c)
    if ((c < (char *)p || c >= (char *)p + h.bytes) && *c != (char)kRest) {
      fprintf(stderr, "guard_malloc: byte %td of %zu bytes was written\n", c - (char *)p, h.bytes);
      abort();
    }
  mmap(begin - 2 * kPage, h.pages + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void *malloc(size_t n) { return asks(__builtin_return_address(0)) ? take(n, 16) : __libc_malloc(n); }
void free(void *p) { ours(p) ? give(p) : __libc_free(p); }
void *calloc(size_t n, size_t size) {
  if (!asks(__builtin_return_address(0)) || (size && n > SIZE_MAX / size)) return __libc_calloc(n, size);
  void *p = take(n * size, 16);
  return p ? memset(p, 0, n * size) : NULL;
}
void *realloc(void *p, size_t n) {
  if (!ours(p)) return __libc_realloc(p, n);
  void *q = take(n, 16);
  if (!q) return NULL;
  memcpy(q, p, header(p)->bytes < n ? header(p)->bytes : n);
  give(p);
  return q;
}
int posix_memalign(void **to, size_t alignment, size_t n) {
  *to = asks(__builtin_return_address(0)) ? take(n, alignment) : __libc_memalign(alignment, n);
  return *to ? 0 : ENOMEM;
}
void *aligned_alloc(size_t alignment, size_t n) { return asks(__builtin_return_address(0)) ? take(n, alignment) : __libc_memalign(alignment, n); }
