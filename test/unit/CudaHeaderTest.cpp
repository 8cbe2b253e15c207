//===- CudaHeaderTest.cpp - Our declarations against cuda.h ---------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Everything here is checked while compiling, where the toolkit's header is.
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/cuda/DriverAPI.h"

#include "gtest/gtest.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <cstddef>
#include <tuple>
#include <type_traits>

using namespace mla_jit::cuda;

namespace {
/// Types that are passed alike: pointers, or numbers of one size.
template <typename Ours, typename Theirs>
constexpr bool sameType = sizeof(Ours) == sizeof(Theirs) &&
                          std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;

template <typename Ours, typename Theirs> struct SameSignature {
  static constexpr bool value = false;
};
template <typename R, typename... A, typename S, typename... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameSignature<R (*)(A...), S (*)(B...)> {
  static constexpr bool value = sameType<R, S> && (sameType<A, B> && ...);
};
} // namespace

// The header's macros put the suffix of its own ABI version behind a name.
#define MLA_CHECK_SIGNATURE(field, name, version, parameters)                  \
  static_assert(                                                               \
      SameSignature<decltype(DriverTable::field), decltype(&::name)>::value,   \
      #name);
MLA_CUDA_REQUIRED_FUNCTIONS(MLA_CHECK_SIGNATURE)
#if CUDA_VERSION >= 12040
MLA_CUDA_OPTIONAL_FUNCTIONS(MLA_CHECK_SIGNATURE)
#endif
static_assert(
    SameSignature<GetProcAddressFn, decltype(&::cuGetProcAddress)>::value);

static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS));
static_assert(offsetof(KernelNodeParams, block) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
static_assert(offsetof(KernelNodeParams, sharedBytes) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
static_assert(offsetof(KernelNodeParams, parameters) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams));
static_assert(offsetof(KernelNodeParams, kernel) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, cluster) ==
              offsetof(CUlaunchAttribute, value));
static_assert(sizeof(DriverLaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(DriverLaunchConfig, block) ==
              offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(DriverLaunchConfig, sharedBytes) ==
              offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(DriverLaunchConfig, stream) ==
              offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(DriverLaunchConfig, attributes) ==
              offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(DriverLaunchConfig, numAttributes) ==
              offsetof(CUlaunchConfig, numAttrs));

#define MLA_SAME(ours, theirs)                                                 \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs));
MLA_SAME(InvalidValue, CUDA_ERROR_INVALID_VALUE)
MLA_SAME(OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)
MLA_SAME(NotInitialized, CUDA_ERROR_NOT_INITIALIZED)
MLA_SAME(Deinitialized, CUDA_ERROR_DEINITIALIZED)
MLA_SAME(StubLibrary, CUDA_ERROR_STUB_LIBRARY)
MLA_SAME(NoDevice, CUDA_ERROR_NO_DEVICE)
MLA_SAME(InvalidDevice, CUDA_ERROR_INVALID_DEVICE)
MLA_SAME(InvalidImage, CUDA_ERROR_INVALID_IMAGE)
MLA_SAME(InvalidContext, CUDA_ERROR_INVALID_CONTEXT)
MLA_SAME(NoBinaryForGPU, CUDA_ERROR_NO_BINARY_FOR_GPU)
MLA_SAME(EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE)
MLA_SAME(InvalidPTX, CUDA_ERROR_INVALID_PTX)
MLA_SAME(NVLinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE)
MLA_SAME(JITCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
MLA_SAME(UnsupportedPTXVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
MLA_SAME(JITCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED)
MLA_SAME(InvalidSource, CUDA_ERROR_INVALID_SOURCE)
MLA_SAME(InvalidHandle, CUDA_ERROR_INVALID_HANDLE)
MLA_SAME(NotFound, CUDA_ERROR_NOT_FOUND)
MLA_SAME(NotReady, CUDA_ERROR_NOT_READY)
MLA_SAME(IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS)
MLA_SAME(LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
MLA_SAME(LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT)
MLA_SAME(ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED)
MLA_SAME(DeviceAssert, CUDA_ERROR_ASSERT)
MLA_SAME(HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR)
MLA_SAME(IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION)
MLA_SAME(MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS)
MLA_SAME(InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE)
MLA_SAME(InvalidPC, CUDA_ERROR_INVALID_PC)
MLA_SAME(LaunchFailed, CUDA_ERROR_LAUNCH_FAILED)
MLA_SAME(NotSupported, CUDA_ERROR_NOT_SUPPORTED)
MLA_SAME(SystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
MLA_SAME(MPSClientTerminated, CUDA_ERROR_MPS_CLIENT_TERMINATED)
MLA_SAME(CaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
MLA_SAME(CaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
MLA_SAME(CaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
MLA_SAME(ExternalDevice, CUDA_ERROR_EXTERNAL_DEVICE)
MLA_SAME(InvalidClusterSize, CUDA_ERROR_INVALID_CLUSTER_SIZE)
MLA_SAME(Unknown, CUDA_ERROR_UNKNOWN)
#if CUDA_VERSION >= 13000
MLA_SAME(Contained, CUDA_ERROR_CONTAINED)
MLA_SAME(TensorMemoryLeak, CUDA_ERROR_TENSOR_MEMORY_LEAK)
#endif

MLA_SAME(DeviceAttribute::ClockKilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
MLA_SAME(DeviceAttribute::NumSMs, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
MLA_SAME(DeviceAttribute::MemoryClockKilohertz,
         CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
MLA_SAME(DeviceAttribute::L2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
MLA_SAME(DeviceAttribute::ComputeMajor,
         CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
MLA_SAME(DeviceAttribute::ComputeMinor,
         CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
MLA_SAME(DeviceAttribute::SharedBytesPerSM,
         CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
MLA_SAME(DeviceAttribute::SharedBytesPerBlockOptin,
         CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)

MLA_SAME(FunctionAttribute::MaxThreadsPerBlock,
         CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
MLA_SAME(FunctionAttribute::SharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
MLA_SAME(FunctionAttribute::LocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
MLA_SAME(FunctionAttribute::NumRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS)
MLA_SAME(FunctionAttribute::PTXVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION)
MLA_SAME(FunctionAttribute::BinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION)
MLA_SAME(FunctionAttribute::MaxDynamicSharedBytes,
         CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)

MLA_SAME(LinkOption::InfoLog, CU_JIT_INFO_LOG_BUFFER)
MLA_SAME(LinkOption::InfoLogBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
MLA_SAME(LinkOption::ErrorLog, CU_JIT_ERROR_LOG_BUFFER)
MLA_SAME(LinkOption::ErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
MLA_SAME(LinkOption::LogVerbose, CU_JIT_LOG_VERBOSE)
MLA_SAME(LinkOption::LineInfo, CU_JIT_GENERATE_LINE_INFO)
MLA_SAME(LinkInput::Cubin, CU_JIT_INPUT_CUBIN)
MLA_SAME(LinkInput::PTX, CU_JIT_INPUT_PTX)

MLA_SAME(CaptureMode::ThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
MLA_SAME(CaptureMode::Relaxed, CU_STREAM_CAPTURE_MODE_RELAXED)
MLA_SAME(CaptureStatus::Active, CU_STREAM_CAPTURE_STATUS_ACTIVE)
MLA_SAME(CaptureStatus::Invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED)
MLA_SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING)
MLA_SAME(LaunchAttributeId::ClusterDimension,
         CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
MLA_SAME(LaunchAttributeId::ProgrammaticStreamSerialization,
         CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)

MLA_SAME(ElementType::U8, CU_TENSOR_MAP_DATA_TYPE_UINT8)
MLA_SAME(ElementType::U16, CU_TENSOR_MAP_DATA_TYPE_UINT16)
MLA_SAME(ElementType::U32, CU_TENSOR_MAP_DATA_TYPE_UINT32)
MLA_SAME(ElementType::I32, CU_TENSOR_MAP_DATA_TYPE_INT32)
MLA_SAME(ElementType::U64, CU_TENSOR_MAP_DATA_TYPE_UINT64)
MLA_SAME(ElementType::I64, CU_TENSOR_MAP_DATA_TYPE_INT64)
MLA_SAME(ElementType::F16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16)
MLA_SAME(ElementType::F32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32)
MLA_SAME(ElementType::F64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64)
MLA_SAME(ElementType::BF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16)
MLA_SAME(Swizzle::B32, CU_TENSOR_MAP_SWIZZLE_32B)
MLA_SAME(Swizzle::B64, CU_TENSOR_MAP_SWIZZLE_64B)
MLA_SAME(Swizzle::B128, CU_TENSOR_MAP_SWIZZLE_128B)
MLA_SAME(L2Promotion::None, CU_TENSOR_MAP_L2_PROMOTION_NONE)
MLA_SAME(Interleave::None, CU_TENSOR_MAP_INTERLEAVE_NONE)
MLA_SAME(OutOfBoundsFill::Zero, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)

TEST(CudaHeaderTest, DeclarationsAgree) {}
#else
TEST(CudaHeaderTest, DeclarationsAgree) {
  GTEST_SKIP() << "cuda.h was not found when this was compiled";
}
#endif
