// CUDA C on the host: the threads of a block are fibers that run in turn, each up to the next
// shuffle or barrier. Included in front of generated kernels, which a host compiler then takes for
// C++.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static  // blocks run one after the other

template <class T>
T atomicCAS(T* p, T expected, T value) {
  const T old = *p;
  if (old == expected) *p = value;
  return old;
}

// Functions that the core has of its own and a GPU from its toolkit: the core's, where a test says
// so.
extern "C" {
__attribute__((visibility("default"))) double (*pj_far_sin)(double) = sin;
__attribute__((visibility("default"))) double (*pj_far_cos)(double) = cos;
__attribute__((visibility("default"))) double (*pj_far_tan)(double) = tan;
}
#define PJ_FAR(f, x) pj_far_##f(x)

struct pj_index {
  unsigned x;
};
static pj_index threadIdx, blockIdx, blockDim, gridDim;

constexpr unsigned pj_warp = 32, pj_most_threads = 384;
constexpr unsigned pj_stack = 1 << 16;

struct pj_fiber {
  void* at;  // where its stack is, with the registers that a call keeps
  bool running;
  unsigned shuffles;           // and barriers, passed so far
  unsigned long long lane[2];  // what it shows to the others, in turns
  unsigned fragment[2][6];     // of the operands of a product, likewise
};
static pj_fiber pj_fibers[pj_most_threads];
static void* pj_scheduler;
static void (*pj_body)(const void*);
static const void* pj_arguments;
static bool pj_fibers_run;

[[noreturn]] static void pj_fail(const char* what) {
  fprintf(stderr, "host shim: %s (block %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
  abort();
}

// Goes on at another stack. (swapcontext would ask the kernel for the mask of signals, each time.)
__attribute__((naked, noinline)) static void pj_switch(void** from, void* to) {
  asm volatile(
      "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
      "mov %rsp, (%rdi)\n"
      "mov %rsi, %rsp\n"
      "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
      "ret");
}
static void pj_wait(pj_fiber& f) { pj_switch(&f.at, pj_scheduler); }  // until all have come here

static void pj_start() {
  pj_body(pj_arguments);
  pj_fiber& f = pj_fibers[threadIdx.x];
  f.running = false;
  pj_wait(f);
}
// What pj_switch takes from a stack, and nothing that pj_start could return to.
static void* pj_new_stack(char* end) {
  void** p = (void**)end;
  *--p = nullptr;
  *--p = (void*)pj_start;
  for (int k = 0; k < 6; ++k) *--p = nullptr;
  return p;
}

// Shows a value to the others of the warp, and gives that of thread `from` of the block.
template <class T>
T pj_exchange(unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  if (!pj_fibers_run) pj_fail("a shuffle where none was expected");
  if (mask != ~0u) pj_fail("a shuffle of a part of a warp");
  pj_fiber& f = pj_fibers[threadIdx.x];
  const unsigned turn = f.shuffles++;
  memcpy(&f.lane[turn & 1], &value, sizeof value);
  pj_wait(f);
  if (pj_fibers[from].shuffles < f.shuffles) pj_fail("threads of a warp went different ways");
  T got;
  memcpy(&got, &pj_fibers[from].lane[turn & 1], sizeof got);
  return got;
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width) {
  const unsigned self = threadIdx.x, lane = self % width;
  return pj_exchange(mask, value, lane + by < (unsigned)width ? self + by : self);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, unsigned by) {
  if (by >= pj_warp) pj_fail("a shuffle beyond the warp");
  return pj_exchange(mask, value, threadIdx.x ^ by);
}
// mma.sync.m16n8k8: the threads of a warp hold parts of the operands, rounded to TF32, and of the
// result.
static void pj_mma(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  if (!pj_fibers_run) pj_fail("a product where none was expected");
  const unsigned self = threadIdx.x, lane = self % pj_warp, warp = self - lane;
  pj_fiber& f = pj_fibers[self];
  const unsigned turn = f.shuffles++;
  unsigned* const own = f.fragment[turn & 1];
  memcpy(own, a, 16);
  own[4] = b0;
  own[5] = b1;
  for (int k = 0; k < 6; ++k)
    if (own[k] & 0x1fff && (own[k] & 0x7f800000) != 0x7f800000) pj_fail("an operand is no TF32");
  pj_wait(f);
  auto part = [&](unsigned from, int k) {
    const pj_fiber& other = pj_fibers[warp + from];
    if (other.shuffles < f.shuffles) pj_fail("threads of a warp went different ways");
    float x;
    memcpy(&x, &other.fragment[turn & 1][k], sizeof x);
    return x;
  };
  for (int j = 0; j < 4; ++j) {
    const unsigned row = lane / 4, column = lane % 4 * 2 + j % 2;
    for (unsigned k = 0; k < 8; ++k)
      c[j] += part(row * 4 + k % 4, (k / 4) * 2 + j / 2) * part(column * 4 + k % 4, 4 + k / 4);
  }
}

static void __syncthreads() {
  if (!pj_fibers_run) pj_fail("a barrier where none was expected");
  pj_fiber& f = pj_fibers[threadIdx.x];
  ++f.shuffles;
  pj_wait(f);
  for (unsigned t = 0; t < blockDim.x; ++t)
    if (pj_fibers[t].shuffles < f.shuffles) pj_fail("a barrier that a thread does not come to");
}
static int __syncthreads_or(int value) {
  pj_fiber& f = pj_fibers[threadIdx.x];
  const unsigned turn = f.shuffles;
  f.lane[turn & 1] = value != 0;
  __syncthreads();
  int any = 0;
  for (unsigned t = 0; t < blockDim.x; ++t) any |= (int)pj_fibers[t].lane[turn & 1];
  return any;
}

static void pj_run(void (*body)(const void*), const void* arguments, unsigned blocks,
                   unsigned threads, bool shuffles) {
  alignas(16) static char stacks[(size_t)pj_most_threads * pj_stack];
  if (threads > pj_most_threads || threads % pj_warp) pj_fail("a block of an odd size");
  pj_body = body;
  pj_arguments = arguments;
  pj_fibers_run = shuffles;
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    if (!shuffles) {
      for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) body(arguments);
      continue;
    }
    for (unsigned t = 0; t < threads; ++t) {
      pj_fiber& f = pj_fibers[t];
      f.running = true;
      f.shuffles = 0;
      f.at = pj_new_stack(stacks + (size_t)(t + 1) * pj_stack);
    }
    for (bool any = true; any;) {
      any = false;
      for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
        if (pj_fibers[threadIdx.x].running)
          pj_switch(&pj_scheduler, pj_fibers[threadIdx.x].at);
      unsigned done = 0;
      for (unsigned t = 0; t < threads; ++t) done += !pj_fibers[t].running;
      if (done && done != threads) pj_fail("a thread ended while others wait for it");
      any = done == 0;
    }
  }
}
