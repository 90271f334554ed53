// Random loops of 5 to 30 ops over all elementwise ops (so all functions with code of their own and
// all calls of libm), as every instruction set's generated code and by the block interpreter: the
// same bits. PIJIT_RANDOM_LOOPS sets how many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/config.h"
#include "random_loop.h"

namespace pijit {
namespace {

TEST(RandomLoops, GeneratedCodeAgreesWithTheInterpreter) {
  const char* wanted = std::getenv("PIJIT_RANDOM_LOOPS");
  const uint32_t count = wanted ? static_cast<uint32_t>(std::atoi(wanted)) : 500;
  const char* first = std::getenv("PIJIT_RANDOM_SEED");
  const uint32_t start = first ? static_cast<uint32_t>(std::atoi(first)) : 0;
  int generated = 0, failed = 0;
  for (uint32_t seed = start; seed < start + count && failed < 5; ++seed) {
    RandomLoop r(seed);
    const auto reference = block_inner_loop(r.spec());
    for (const char* isa : {"avx512", "avx2"}) {
      if (std::string(isa) == "avx512" && !__builtin_cpu_supports("avx512bw")) continue;
      config().isa = isa;
      const auto loop = asmjit_inner_loop(r.spec());
      config().isa = "";
      if (!loop) continue;
      ++generated;
      for (int64_t n : {1, 7, 16, 61, 700}) {
        const auto want = r.run(*reference, n), got = r.run(*loop, n);
        if (want == got) continue;
        ++failed;
        for (size_t k = 0; k < want.size(); ++k)
          if (want[k] != got[k]) {
            const size_t size = size_of(r.spec().out[k].dt);
            size_t at = 0;
            while (!std::memcmp(&want[k][at], &got[k][at], size)) at += size;
            uint64_t a = 0, b = 0;
            std::memcpy(&a, &want[k][at], size);
            std::memcpy(&b, &got[k][at], size);
            ADD_FAILURE() << isa << ", seed " << seed << ", n " << n << ", output " << k
                          << ", element " << at / size << std::hex << ": " << a << " and " << b
                          << "\n"
                          << r.text();
            break;
          }
        break;
      }
    }
  }
  EXPECT_GT(generated, 0);
  std::printf("%u random loops, %d of them as code\n", count, generated);
}

}  // namespace
}  // namespace pijit
