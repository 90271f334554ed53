// cuFFT on the host, as its documentation has it: lines one after the other, unscaled, on the fake
// driver's stream. A transform to real values overwrites its operand. PIJIT_FAKE_CUFFT: "refuses".
#include <math.h>

#include <complex>
#include <map>
#include <vector>

#include "fake.h"

namespace {
constexpr size_t kWorkspace = 80;
int calls;

struct Plan {
  bool allocates = true, made = false;
  long long n, lines;
  int in, out;  // 0, 1: float32, float64; 4, 5: complex ones
  void *workspace = nullptr, *stream = nullptr;
};
std::map<int, Plan> plans;

template <class T>
void transform(const Plan p, void* in, void* out, int direction) {
  const bool from_real = p.in < 2, to_real = p.out < 2;
  const long long half = p.n / 2 + 1, ins = to_real ? half : p.n, outs = from_real ? half : p.n;
  for (long long l = 0; l < p.lines; ++l) {
    std::vector<std::complex<double>> x(p.n);
    for (long long j = 0; j < p.n; ++j) {
      const long long at = l * ins + (to_real && j >= half ? p.n - j : j);
      x[j] = from_real ? static_cast<T*>(in)[at]
                       : std::complex<double>(static_cast<std::complex<T>*>(in)[at]);
      if (to_real && j >= half) x[j] = std::conj(x[j]);
      if (to_real && (j == 0 || 2 * j == p.n) && x[j].imag() != 0)
        abort();  // what comes out is not said
    }
    for (long long k = 0; k < outs; ++k) {
      std::complex<double> sum;
      for (long long j = 0; j < p.n; ++j)
        sum += x[j] * std::polar(1.0, direction * 2 * M_PI * (j * k % p.n) / p.n);
      if (to_real)
        static_cast<T*>(out)[l * outs + k] = sum.real();
      else
        static_cast<std::complex<T>*>(out)[l * outs + k] = std::complex<T>(sum);
    }
  }
  if (to_real) memset(in, 0x77, p.lines * ins * 2 * sizeof(T));
}
}  // namespace

extern "C" {
// For tests: how many transforms were started.
EXPORT pijit_fake_cufft() { return calls; }
EXPORT cufftCreate(int* plan) {
  *plan = plans.empty() ? 0 : plans.rbegin()->first + 1;
  return plans[*plan] = Plan{}, 0;
}
EXPORT cufftDestroy(int plan) { return plans.erase(plan) ? 0 : 1; }
EXPORT cufftSetAutoAllocation(int plan, int v) { return plans.at(plan).allocates = v, 0; }
EXPORT cufftSetWorkArea(int plan, void* p) { return plans.at(plan).workspace = p, 0; }
EXPORT cufftSetStream(int plan, void* s) { return plans.at(plan).stream = s, 0; }
EXPORT cufftXtMakePlanMany(int plan, int rank, long long* n, long long* in_embed,
                           long long in_stride, long long in_dist, int in, long long* out_embed,
                           long long out_stride, long long out_dist, int out, long long lines,
                           size_t* workspace, int type) {
  Plan& p = plans.at(plan);
  if (mode("PIJIT_FAKE_CUFFT", "refuses") || p.allocates || p.made) return 5;
  const bool types = type == 4 || type == 5;
  if (!types || (in != type && in != type - 4) || (out != type && out != type - 4) ||
      in + out < type)
    return 5;
  const long long half = *n / 2 + 1;
  if (rank != 1 || *n < 1 || lines < 1) return 8;
  // Without embedded sizes, lines stand one after the other whatever the rest says.
  if (!in_embed && in_dist != (out < 2 ? half : *n)) return 8;
  if (!out_embed && out_dist != (in < 2 ? half : *n)) return 8;
  p.made = true, p.n = *n, p.lines = lines, p.in = in, p.out = out;
  return *workspace = kWorkspace, 0;
}
EXPORT cufftXtExec(int plan, void* in, void* out, int direction) {
  const Plan& p = plans.at(plan);
  if (!p.made || !p.workspace || !p.stream || (direction != 1 && direction != -1)) return 1;
  const bool real = p.in < 2 || p.out < 2;
  if (real && in == out) return 1;
  ++calls;
  later([=] {
    memset(p.workspace, 0x77, kWorkspace);
    const int d = p.in < 2 ? -1 : p.out < 2 ? 1 : direction;
    if (p.in % 4)
      transform<double>(p, in, out, d);
    else
      transform<float>(p, in, out, d);
  });
  return 0;
}
}
