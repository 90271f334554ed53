#include "runtime/code_names.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"

// gdb stops in the first and reads what the second leads to; it finds both by their names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
struct jit_code_entry {
  jit_code_entry *next_entry, *prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version, action_flag;
  jit_code_entry *relevant_entry, *first_entry;
};
__attribute__((visibility("default"), used, noinline)) void __jit_debug_register_code() {
  __asm__ volatile("" ::: "memory");
}
__attribute__((visibility("default"), used))
jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
}
// NOLINTEND(bugprone-reserved-identifier)

namespace pijit {

thread_local const std::string* CodeName::current_ = nullptr;

namespace {

// An object file without contents of its own: where the code lies, and what it is called.
std::string object_file(uint64_t begin, uint64_t bytes, const std::string& name) {
  enum : uint16_t { kNone, kText, kSymbols, kNames, kSections };
  constexpr char kSectionNames[] = "\0.text\0.symtab\0.strtab";
  constexpr uint32_t kTextAt = 1, kSymbolsAt = 7, kNamesAt = 15;
  struct {
    Elf64_Ehdr head{};
    Elf64_Shdr section[kSections]{};
    Elf64_Sym symbol[2]{};
  } file;
  std::memcpy(file.head.e_ident, ELFMAG, SELFMAG);
  file.head.e_ident[EI_CLASS] = ELFCLASS64;
  file.head.e_ident[EI_DATA] = ELFDATA2LSB;
  file.head.e_ident[EI_VERSION] = EV_CURRENT;
  file.head.e_type = ET_REL;
  file.head.e_machine = EM_X86_64;
  file.head.e_version = EV_CURRENT;
  file.head.e_ehsize = sizeof(Elf64_Ehdr);
  file.head.e_shoff = offsetof(decltype(file), section);
  file.head.e_shentsize = sizeof(Elf64_Shdr);
  file.head.e_shnum = kSections;
  file.head.e_shstrndx = kNames;
  std::string names(kSectionNames, sizeof kSectionNames);
  const auto name_at = static_cast<uint32_t>(names.size());
  names += name;
  names += '\0';
  Elf64_Shdr& text = file.section[kText];
  text.sh_name = kTextAt;
  text.sh_type = SHT_NOBITS;
  text.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  text.sh_addr = begin;
  text.sh_offset = sizeof file;
  text.sh_size = bytes;
  text.sh_addralign = 1;
  Elf64_Shdr& symbols = file.section[kSymbols];
  symbols.sh_name = kSymbolsAt;
  symbols.sh_type = SHT_SYMTAB;
  symbols.sh_offset = offsetof(decltype(file), symbol);
  symbols.sh_size = sizeof file.symbol;
  symbols.sh_link = kNames;
  symbols.sh_info = 1;
  symbols.sh_addralign = alignof(Elf64_Sym);
  symbols.sh_entsize = sizeof(Elf64_Sym);
  Elf64_Shdr& strings = file.section[kNames];
  strings.sh_name = kNamesAt;
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof file;
  strings.sh_size = names.size();
  strings.sh_addralign = 1;
  file.symbol[1].st_name = name_at;
  file.symbol[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  file.symbol[1].st_shndx = kText;
  file.symbol[1].st_size = bytes;
  return std::string(reinterpret_cast<const char*>(&file), sizeof file) + names;
}

struct Known {
  size_t bytes;
  std::string name;
  std::string object;
  jit_code_entry entry{};
};

void tell_gdb(uint32_t action, jit_code_entry* entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_register_code();
}

void link(Known* k, uint64_t begin) {
  k->object = object_file(begin, k->bytes, k->name);
  k->entry.symfile_addr = k->object.data();
  k->entry.symfile_size = k->object.size();
  k->entry.next_entry = __jit_debug_descriptor.first_entry;
  if (k->entry.next_entry) k->entry.next_entry->prev_entry = &k->entry;
  __jit_debug_descriptor.first_entry = &k->entry;
  tell_gdb(1, &k->entry);
}

void unlink(Known* k) {
  if (k->entry.prev_entry)
    k->entry.prev_entry->next_entry = k->entry.next_entry;
  else
    __jit_debug_descriptor.first_entry = k->entry.next_entry;
  if (k->entry.next_entry) k->entry.next_entry->prev_entry = k->entry.prev_entry;
  tell_gdb(2, &k->entry);
}

// What perf reads, of one process: /tmp/perf-PID.map, and jit-PID.dump beside it, which `perf
// inject --jit` takes (its format stands in the kernel's tools/perf/Documentation).
class Files {
 public:
  void add(const void* begin, const Known& k) {
    if (getpid() != pid_) begin_files();
    char line[40];
    std::snprintf(line, sizeof line, "%lx %zx ", reinterpret_cast<unsigned long>(begin), k.bytes);
    if (!append_to_file(map_, line + k.name + "\n"))
      PIJIT_LOG("compile", map_, ": ", std::strerror(errno));
    if (dump_ < 0) return;
    struct {
      uint32_t id = 0, size = 0;
      uint64_t time = 0;
      uint32_t pid = 0, thread = 0;
      uint64_t address = 0, same_address = 0, bytes = 0, number = 0;
    } load;
    load.size = static_cast<uint32_t>(sizeof load + k.name.size() + 1 + k.bytes);
    load.time = monotonic_ns();
    load.pid = static_cast<uint32_t>(pid_);
    load.thread = static_cast<uint32_t>(syscall(SYS_gettid));
    load.address = load.same_address = reinterpret_cast<uint64_t>(begin);
    load.bytes = k.bytes;
    load.number = number_++;
    std::string record(reinterpret_cast<const char*>(&load), sizeof load);
    record.append(k.name.c_str(), k.name.size() + 1);
    record.append(static_cast<const char*>(begin), k.bytes);
    write_all(record);
  }
  // Whether files of this process have been begun.
  bool of_this_process() const { return pid_ == getpid(); }

 private:
  static uint64_t monotonic_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
  }
  void write_all(const std::string& text) {
    if (write(dump_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
    PIJIT_LOG("compile", "jitdump: ", std::strerror(errno));
    close(dump_);
    dump_ = -1;
  }
  void begin_files() {
    if (dump_ >= 0) close(dump_);  // of the process that forked this one
    pid_ = getpid();
    map_ = str_cat("/tmp/perf-", pid_, ".map");
    number_ = 0;
    dump_ = -1;
    const std::string path = str_cat("/tmp/jit-", pid_, ".dump");
    // New files, never those of a former process with this number.
    if (!replace_file(map_, "") || !replace_file(path, "") ||
        (dump_ = open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_APPEND)) < 0) {
      PIJIT_LOG("compile", path, ": ", std::strerror(errno));
      return;
    }
    struct {
      uint32_t magic = 0x4a695444, version = 1, size = 40, machine = EM_X86_64, unused = 0, pid = 0;
      uint64_t time = 0, flags = 0;
    } head;
    static_assert(sizeof head == 40);
    head.pid = static_cast<uint32_t>(pid_);
    head.time = monotonic_ns();
    write_all(std::string(reinterpret_cast<const char*>(&head), sizeof head));
    // By this mapping perf learns of the file. It stays until the process ends.
    if (dump_ >= 0)
      (void)mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_EXEC,
                 MAP_PRIVATE, dump_, 0);
  }

  pid_t pid_ = 0;
  int dump_ = -1;
  uint64_t number_ = 0;
  std::string map_;
};

struct Announced {
  std::mutex mu;
  Files files;
  std::map<const void*, std::unique_ptr<Known>> known;
};
Announced& announced() {
  static Announced* all = [] {
    auto* made = new Announced;
    pthread_atfork([] { announced().mu.lock(); }, [] { announced().mu.unlock(); },
                   [] { announced().mu.unlock(); });
    return made;
  }();
  return *all;
}

}  // namespace

void announce_code(const void* begin, size_t bytes) {
  if (!config().perf) return;
  auto k = std::make_unique<Known>();
  k->bytes = bytes;
  k->name = str_cat("pijit::", CodeName::current_ ? *CodeName::current_ : "loop");
  Announced& all = announced();
  const std::lock_guard lock(all.mu);
  // A forked child tells of what it has from its parent, too.
  if (!all.known.empty() && !all.files.of_this_process())
    for (auto& [at, older] : all.known) all.files.add(at, *older);
  all.files.add(begin, *k);
  link(k.get(), reinterpret_cast<uint64_t>(begin));
  all.known[begin] = std::move(k);
}

void forget_code(const void* begin) {
  if (!config().perf) return;
  Announced& all = announced();
  const std::lock_guard lock(all.mu);
  const auto it = all.known.find(begin);
  if (it == all.known.end()) return;
  unlink(it->second.get());
  all.known.erase(it);
}

}  // namespace pijit
