// The lock that calls come with and others wait for: CPython's. A run that takes long lets go of it
// while its kernels write memory that nobody else knows.
#pragma once

namespace pijit {

// Set by the floors that know the lock. Null functions: there is none.
struct Gil {
  bool (*wanted)() = nullptr;   // Is there anybody who could take it?
  void (*release)() = nullptr;  // of a thread that holds it
  void (*take)() = nullptr;     // back, by that thread
  // Between the turns of a loop whose length depends on data, with the lock or without: others get
  // their turn, signals their handlers. May throw.
  void (*turn)() = nullptr;
};
inline Gil gil;

inline bool others_wait() { return gil.wanted && gil.wanted(); }

// From here to the end of the scope, others have the lock.
class Unlocked {
 public:
  Unlocked() { gil.release(); }
  ~Unlocked() { gil.take(); }
  Unlocked(const Unlocked&) = delete;
};

}  // namespace pijit
