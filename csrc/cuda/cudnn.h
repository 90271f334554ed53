// cuDNN, opened at run time: its functions, from its binary interface.
#pragma once
#include <mutex>
#include <type_traits>

#include "cuda/gpu.h"

namespace pijit::cuda {

using Handle = void*;
using Descriptor = void*;

enum : int {
  kFloat32 = 0,  // cudnnDataType_t
  kFloat64 = 1,
  kFloat16 = 2,
  kBfloat16 = 9,
};

// Alike for all three: two operands, the convolution, the result.
struct Choice;
using Choose = int(Handle, Descriptor, Descriptor, Descriptor, Descriptor, int, int*, Choice*);
using Workspace = int(Handle, Descriptor, Descriptor, Descriptor, Descriptor, int, size_t*);
using Convolve = int(Handle, const void* alpha, Descriptor, const void*, Descriptor, const void*,
                     Descriptor, int algorithm, void* workspace, size_t, const void* beta,
                     Descriptor, void*);
using Create = int(Descriptor*);
using Destroy = int(Descriptor);

// X(member, exported name, type)
#define PIJIT_CUDNN_FUNCTIONS(X)                                                                  \
  X(error_string, "cudnnGetErrorString", const char*(int status))                                 \
  X(version, "cudnnGetVersion", size_t())                                                         \
  X(create, "cudnnCreate", int(Handle*))                                                          \
  X(set_stream, "cudnnSetStream", int(Handle, Stream))                                            \
  X(tensor_create, "cudnnCreateTensorDescriptor", Create)                                         \
  X(tensor_set, "cudnnSetTensorNdDescriptor",                                                     \
    int(Descriptor, int type, int rank, const int* dims, const int* strides))                     \
  X(tensor_destroy, "cudnnDestroyTensorDescriptor", Destroy)                                      \
  X(filter_create, "cudnnCreateFilterDescriptor", Create)                                         \
  X(filter_set, "cudnnSetFilterNdDescriptor",                                                     \
    int(Descriptor, int type, int format, int rank, const int* dims))                             \
  X(filter_destroy, "cudnnDestroyFilterDescriptor", Destroy)                                      \
  X(conv_create, "cudnnCreateConvolutionDescriptor", Create)                                      \
  X(conv_set, "cudnnSetConvolutionNdDescriptor",                                                  \
    int(Descriptor, int axes, const int* pad, const int* stride, const int* dilation, int mode,   \
        int compute))                                                                             \
  X(conv_math, "cudnnSetConvolutionMathType", int(Descriptor, int))                               \
  X(conv_groups, "cudnnSetConvolutionGroupCount", int(Descriptor, int))                           \
  X(conv_destroy, "cudnnDestroyConvolutionDescriptor", Destroy)                                   \
  X(activation_create, "cudnnCreateActivationDescriptor", Create)                                 \
  X(activation_set, "cudnnSetActivationDescriptor", int(Descriptor, int mode, int nan, double))   \
  X(activation_beta, "cudnnSetActivationDescriptorSwishBeta", int(Descriptor, double))            \
  X(activation_destroy, "cudnnDestroyActivationDescriptor", Destroy)                              \
  X(choose_y, "cudnnGetConvolutionForwardAlgorithm_v7", Choose)                                   \
  X(choose_dx, "cudnnGetConvolutionBackwardDataAlgorithm_v7", Choose)                             \
  X(choose_dw, "cudnnGetConvolutionBackwardFilterAlgorithm_v7", Choose)                           \
  X(workspace_y, "cudnnGetConvolutionForwardWorkspaceSize", Workspace)                            \
  X(workspace_dx, "cudnnGetConvolutionBackwardDataWorkspaceSize", Workspace)                      \
  X(workspace_dw, "cudnnGetConvolutionBackwardFilterWorkspaceSize", Workspace)                    \
  X(convolve_y, "cudnnConvolutionForward", Convolve)                                              \
  X(convolve_dx, "cudnnConvolutionBackwardData", Convolve)                                        \
  X(convolve_dw, "cudnnConvolutionBackwardFilter", Convolve)                                      \
  X(convolve_and_add, "cudnnConvolutionBiasActivationForward",                                    \
    int(Handle, const void* alpha, Descriptor, const void* x, Descriptor, const void* w,          \
        Descriptor, int algorithm, void* workspace, size_t, const void* alpha2, Descriptor,       \
        const void* z, Descriptor, const void* bias, Descriptor activation, Descriptor, void* y)) \
  X(add, "cudnnAddTensor",                                                                        \
    int(Handle, const void* alpha, Descriptor, const void*, const void* beta, Descriptor, void*)) \
  X(activate, "cudnnActivationForward",                                                           \
    int(Handle, Descriptor, const void* alpha, Descriptor, const void*, const void* beta,         \
        Descriptor, void*))                                                                       \
  X(node_create, "cudnnBackendCreateDescriptor", int(int kind, Descriptor*))                      \
  X(node_set, "cudnnBackendSetAttribute",                                                         \
    int(Descriptor, int attribute, int type, int64_t count, const void* values))                  \
  X(node_get, "cudnnBackendGetAttribute",                                                         \
    int(Descriptor, int attribute, int type, int64_t most, int64_t* count, void* values))         \
  X(node_finalize, "cudnnBackendFinalize", int(Descriptor))                                       \
  X(node_destroy, "cudnnBackendDestroyDescriptor", Destroy)                                       \
  X(execute, "cudnnBackendExecute", int(Handle, Descriptor plan, Descriptor pack))

struct Cudnn {
#define X(member, name, type) std::add_pointer_t<type> member = nullptr;
  PIJIT_CUDNN_FUNCTIONS(X)
#undef X
  Handle handle = nullptr;
  std::mutex mu;  // the handle serves one thread at a time
};

// Null where the library is not found or does not start. The thread is in the GPU's context.
Cudnn* cudnn();

}  // namespace pijit::cuda
