// The CUDA driver's interface, found at run time in libcuda.so.1.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace pijit::cuda {

using Address = unsigned long long;  // CUdeviceptr
using Stream = void*;
using EventHandle = void*;
using Module = void*;
using Function = void*;
using GraphHandle = void*;
using GraphExec = void*;

// X(member, exported name, parameters)
#define PIJIT_CUDA_FUNCTIONS(X)                                                               \
  X(init, "cuInit", (unsigned))                                                               \
  X(error_name, "cuGetErrorName", (int, const char**))                                        \
  X(device_count, "cuDeviceGetCount", (int*))                                                 \
  X(device_get, "cuDeviceGet", (int*, int))                                                   \
  X(device_name, "cuDeviceGetName", (char*, int, int))                                        \
  X(attribute, "cuDeviceGetAttribute", (int*, int, int))                                      \
  X(retain_context, "cuDevicePrimaryCtxRetain", (void**, int))                                \
  X(set_context, "cuCtxSetCurrent", (void*))                                                  \
  X(memory_info, "cuMemGetInfo_v2", (size_t*, size_t*))                                       \
  X(stream_create, "cuStreamCreate", (Stream*, unsigned))                                     \
  X(stream_destroy, "cuStreamDestroy_v2", (Stream))                                           \
  X(stream_synchronize, "cuStreamSynchronize", (Stream))                                      \
  X(stream_wait, "cuStreamWaitEvent", (Stream, EventHandle, unsigned))                        \
  X(begin_capture, "cuStreamBeginCapture_v2", (Stream, int))                                  \
  X(end_capture, "cuStreamEndCapture", (Stream, GraphHandle*))                                \
  X(graph_make, "cuGraphInstantiateWithFlags", (GraphExec*, GraphHandle, unsigned long long)) \
  X(graph_launch, "cuGraphLaunch", (GraphExec, Stream))                                       \
  X(graph_exec_destroy, "cuGraphExecDestroy", (GraphExec))                                    \
  X(graph_destroy, "cuGraphDestroy", (GraphHandle))                                           \
  X(host_alloc, "cuMemHostAlloc", (void**, size_t, unsigned))                                 \
  X(event_create, "cuEventCreate", (EventHandle*, unsigned))                                  \
  X(event_record, "cuEventRecord", (EventHandle, Stream))                                     \
  X(event_query, "cuEventQuery", (EventHandle))                                               \
  X(event_synchronize, "cuEventSynchronize", (EventHandle))                                   \
  X(event_elapsed, "cuEventElapsedTime", (float*, EventHandle, EventHandle))                  \
  X(event_destroy, "cuEventDestroy_v2", (EventHandle))                                        \
  X(default_pool, "cuDeviceGetDefaultMemPool", (void**, int))                                 \
  X(pool_set, "cuMemPoolSetAttribute", (void*, int, void*))                                   \
  X(pool_get, "cuMemPoolGetAttribute", (void*, int, void*))                                   \
  X(pool_trim, "cuMemPoolTrimTo", (void*, size_t))                                            \
  X(alloc, "cuMemAllocAsync", (Address*, size_t, Stream))                                     \
  X(free, "cuMemFreeAsync", (Address, Stream))                                                \
  X(to_device, "cuMemcpyHtoDAsync_v2", (Address, const void*, size_t, Stream))                \
  X(to_host, "cuMemcpyDtoHAsync_v2", (void*, Address, size_t, Stream))                        \
  X(copy, "cuMemcpyDtoDAsync_v2", (Address, Address, size_t, Stream))                         \
  X(load, "cuModuleLoadData", (Module*, const void*))                                         \
  X(function, "cuModuleGetFunction", (Function*, Module, const char*))                        \
  X(launch, "cuLaunchKernel",                                                                 \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,  \
     void**, void**))

struct Driver {
#define X(member, name, parameters) int(*member) parameters = nullptr;
  PIJIT_CUDA_FUNCTIONS(X)
#undef X
  // Null, and why, where there is no driver or no GPU.
  static const Driver* get(std::string* why);
  std::string error(int code) const;
};

// Values of cuda.h that are used; they are part of its binary interface.
enum : int {
  kSuccess = 0,
  kOutOfMemory = 2,
  kNotReady = 600,
  kMultiprocessors = 16,  // attributes of a device
  kL2CacheSize = 38,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kPoolReleaseThreshold = 4,  // attributes of a memory pool
  kPoolReserved = 5,
  kPoolUsed = 7,
  kNonBlocking = 1,  // flag of a stream
  kRelaxed = 2,      // mode of a capture: what else the thread asks for is allowed
  kPortable = 1,     // flag of host memory: of all contexts
  kMapped = 3,       // flags of host memory: portable, and the device reads and writes it
  kNoTiming = 2,     // flag of an event
};

}  // namespace pijit::cuda
