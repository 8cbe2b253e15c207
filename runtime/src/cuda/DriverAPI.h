//===- DriverAPI.h ----------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What we use of the CUDA driver's C ABI: a few types and constants, and the
// functions as a table that Driver fills from the library. Written out here so
// that building needs no CUDA toolkit; CudaDriverTest compares sizes, constants
// and signatures with the toolkit's cuda.h where there is one.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_DRIVERAPI_H
#define MLA_JIT_SRC_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

namespace mla_jit::cuda {

using DeviceId = int;
using DevicePtr = unsigned long long;
using ContextHandle = struct OpaqueContext *;
using StreamHandle = struct OpaqueStream *;
using EventHandle = struct OpaqueEvent *;
using GraphHandle = struct OpaqueGraph *;
using GraphExecHandle = struct OpaqueGraphExec *;
using GraphNodeHandle = struct OpaqueGraphNode *;
using GraphEdge = struct OpaqueGraphEdge;
using LibraryHandle = struct OpaqueLibrary *;
using KernelHandle = struct OpaqueKernel *;
using FunctionHandle = struct OpaqueFunction *;
using LinkHandle = struct OpaqueLink *;

/// The driver's status codes that we tell apart; any other value is possible.
enum Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4,
  StubLibrary = 34,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGPU = 209,
  EccUncorrectable = 214,
  InvalidPTX = 218,
  NVLinkUncorrectable = 220,
  JITCompilerNotFound = 221,
  UnsupportedPTXVersion = 222,
  JITCompilationDisabled = 223,
  Contained = 226,
  InvalidSource = 300,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  ContextIsDestroyed = 709,
  DeviceAssert = 710,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidPC = 718,
  LaunchFailed = 719,
  TensorMemoryLeak = 721,
  NotSupported = 801,
  SystemDriverMismatch = 803,
  MPSClientTerminated = 810,
  CaptureUnsupported = 900,
  CaptureInvalidated = 901,
  CaptureWrongThread = 908,
  ExternalDevice = 911,
  InvalidClusterSize = 912,
  Unknown = 999,
};

enum class DeviceAttribute : int {
  ClockKilohertz = 13,
  NumSMs = 16,
  MemoryClockKilohertz = 36,
  L2Bytes = 38,
  ComputeMajor = 75,
  ComputeMinor = 76,
  SharedBytesPerSM = 81,
  SharedBytesPerBlockOptin = 97,
};

enum class FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedBytes = 1,
  LocalBytes = 3,
  NumRegisters = 4,
  PTXVersion = 5,
  BinaryVersion = 6,
  MaxDynamicSharedBytes = 8,
};

enum class LinkOption : int {
  InfoLog = 3,
  InfoLogBytes = 4,
  ErrorLog = 5,
  ErrorLogBytes = 6,
  LogVerbose = 12,
  LineInfo = 13,
};
enum class LinkInput : int { Cubin = 0, PTX = 1 };

enum class CaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };
enum class CaptureStatus : int { None = 0, Active = 1, Invalidated = 2 };

inline constexpr unsigned kStreamNonBlocking = 1;

enum class LaunchAttributeId : int {
  ClusterDimension = 4,
  ProgrammaticStreamSerialization = 6,
};

struct LaunchAttribute {
  LaunchAttributeId id;
  int reserved;
  union {
    unsigned cluster[3];
    int allowed; ///< programmatic stream serialization
    char bytes[64];
  };
};

/// The launch as the driver reads it; see LaunchConfig for ours.
struct DriverLaunchConfig {
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

/// A kernel in a graph as the driver reads it.
struct KernelNodeParams {
  FunctionHandle function;
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  void **parameters, **extra;
  KernelHandle kernel; ///< null: `function` says which
  ContextHandle context;
};

/// The numbers are the driver's.
enum class ElementType : int {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  I32 = 3,
  U64 = 4,
  I64 = 5,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  BF16 = 9,
};
enum class Swizzle : int { None = 0, B32 = 1, B64 = 2, B128 = 3 };
enum class Interleave : int { None = 0 };
enum class L2Promotion : int { None = 0 };
enum class OutOfBoundsFill : int { Zero = 0 };

/// A TMA descriptor: passed to kernels by value, hence its alignment.
struct alignas(64) TensorMap {
  uint64_t opaque[16] = {};
};

/// Looks up a function by its unversioned name and the CUDA version whose ABI
/// is wanted; `status` is 0 if found.
using GetProcAddressFn = Result (*)(const char *symbol, void **function,
                                    int version, uint64_t flags, int *status);

/// X(field, driver's name, CUDA version of the ABI, parameters): the functions
/// that any call may rely on. The lowest driver that has all is
/// kRequiredDriver.
#define MLA_CUDA_REQUIRED_FUNCTIONS(X)                                         \
  X(init, cuInit, 2000, (unsigned flags))                                      \
  X(getErrorName, cuGetErrorName, 6000, (Result, const char **name))           \
  X(getErrorString, cuGetErrorString, 6000, (Result, const char **text))       \
  X(deviceGetCount, cuDeviceGetCount, 2000, (int *count))                      \
  X(deviceGet, cuDeviceGet, 2000, (DeviceId *, int ordinal))                   \
  X(deviceGetName, cuDeviceGetName, 2000, (char *, int bytes, DeviceId))       \
  X(deviceTotalMem, cuDeviceTotalMem, 3020, (size_t *bytes, DeviceId))         \
  X(deviceGetAttribute, cuDeviceGetAttribute, 2000,                            \
    (int *value, DeviceAttribute, DeviceId))                                   \
  X(primaryCtxRetain, cuDevicePrimaryCtxRetain, 7000,                          \
    (ContextHandle *, DeviceId))                                               \
  X(primaryCtxRelease, cuDevicePrimaryCtxRelease, 11000, (DeviceId))           \
  X(ctxPushCurrent, cuCtxPushCurrent, 4000, (ContextHandle))                   \
  X(ctxPopCurrent, cuCtxPopCurrent, 4000, (ContextHandle *))                   \
  X(ctxGetCurrent, cuCtxGetCurrent, 4000, (ContextHandle *))                   \
  X(ctxSynchronize, cuCtxSynchronize, 2000, ())                                \
  X(linkCreate, cuLinkCreate, 6050,                                            \
    (unsigned count, LinkOption *, void **values, LinkHandle *))               \
  X(linkAddData, cuLinkAddData, 6050,                                          \
    (LinkHandle, LinkInput, void *data, size_t bytes, const char *name,        \
     unsigned count, LinkOption *, void **values))                             \
  X(linkComplete, cuLinkComplete, 5050,                                        \
    (LinkHandle, void **cubin, size_t *bytes))                                 \
  X(linkDestroy, cuLinkDestroy, 5050, (LinkHandle))                            \
  X(libraryLoadData, cuLibraryLoadData, 12000,                                 \
    (LibraryHandle *, const void *image, LinkOption *, void **values,          \
     unsigned count, int *options, void **optionValues, unsigned numOptions))  \
  X(libraryUnload, cuLibraryUnload, 12000, (LibraryHandle))                    \
  X(libraryGetKernel, cuLibraryGetKernel, 12000,                               \
    (KernelHandle *, LibraryHandle, const char *name))                         \
  X(kernelGetFunction, cuKernelGetFunction, 12000,                             \
    (FunctionHandle *, KernelHandle))                                          \
  X(funcGetAttribute, cuFuncGetAttribute, 2020,                                \
    (int *value, FunctionAttribute, FunctionHandle))                           \
  X(funcSetAttribute, cuFuncSetAttribute, 9000,                                \
    (FunctionHandle, FunctionAttribute, int value))                            \
  X(launchKernelEx, cuLaunchKernelEx, 11060,                                   \
    (const DriverLaunchConfig *, FunctionHandle, void **params, void **extra)) \
  X(tensorMapEncodeTiled, cuTensorMapEncodeTiled, 12000,                       \
    (TensorMap *, ElementType, uint32_t rank, void *base,                      \
     const uint64_t *dims, const uint64_t *strides, const uint32_t *box,       \
     const uint32_t *elementStrides, Interleave, Swizzle, L2Promotion,         \
     OutOfBoundsFill))                                                         \
  X(memAlloc, cuMemAlloc, 3020, (DevicePtr *, size_t bytes))                   \
  X(memFree, cuMemFree, 3020, (DevicePtr))                                     \
  X(memGetInfo, cuMemGetInfo, 3020, (size_t *free, size_t *total))             \
  X(memcpyHtoDAsync, cuMemcpyHtoDAsync, 3020,                                  \
    (DevicePtr, const void *, size_t bytes, StreamHandle))                     \
  X(memcpyDtoHAsync, cuMemcpyDtoHAsync, 3020,                                  \
    (void *, DevicePtr, size_t bytes, StreamHandle))                           \
  X(memcpyDtoDAsync, cuMemcpyDtoDAsync, 3020,                                  \
    (DevicePtr, DevicePtr, size_t bytes, StreamHandle))                        \
  X(memsetD8Async, cuMemsetD8Async, 3020,                                      \
    (DevicePtr, unsigned char, size_t count, StreamHandle))                    \
  X(streamCreate, cuStreamCreate, 2000, (StreamHandle *, unsigned flags))      \
  X(streamDestroy, cuStreamDestroy, 4000, (StreamHandle))                      \
  X(streamSynchronize, cuStreamSynchronize, 2000, (StreamHandle))              \
  X(streamQuery, cuStreamQuery, 2000, (StreamHandle))                          \
  X(streamIsCapturing, cuStreamIsCapturing, 10000,                             \
    (StreamHandle, CaptureStatus *))                                           \
  X(streamBeginCapture, cuStreamBeginCapture, 10010,                           \
    (StreamHandle, CaptureMode))                                               \
  X(streamEndCapture, cuStreamEndCapture, 10000,                               \
    (StreamHandle, GraphHandle *))                                             \
  X(exchangeCaptureMode, cuThreadExchangeStreamCaptureMode, 10010,             \
    (CaptureMode *))                                                           \
  X(graphInstantiate, cuGraphInstantiateWithFlags, 11040,                      \
    (GraphExecHandle *, GraphHandle, unsigned long long flags))                \
  X(graphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 12000,       \
    (GraphExecHandle, GraphNodeHandle, const KernelNodeParams *))              \
  X(graphUpload, cuGraphUpload, 11010, (GraphExecHandle, StreamHandle))        \
  X(graphLaunch, cuGraphLaunch, 10000, (GraphExecHandle, StreamHandle))        \
  X(graphExecDestroy, cuGraphExecDestroy, 10000, (GraphExecHandle))            \
  X(graphDestroy, cuGraphDestroy, 10000, (GraphHandle))                        \
  X(eventCreate, cuEventCreate, 2000, (EventHandle *, unsigned flags))         \
  X(eventDestroy, cuEventDestroy, 4000, (EventHandle))                         \
  X(eventRecord, cuEventRecord, 2000, (EventHandle, StreamHandle))             \
  X(eventSynchronize, cuEventSynchronize, 2000, (EventHandle))                 \
  X(eventElapsedTime, cuEventElapsedTime, 2000,                                \
    (float *milliseconds, EventHandle start, EventHandle end))

/// The same for functions that may be null in a driver that is new enough.
#define MLA_CUDA_OPTIONAL_FUNCTIONS(X)                                         \
  X(funcLoad, cuFuncLoad, 12040, (FunctionHandle))                             \
  X(streamGetCaptureInfo, cuStreamGetCaptureInfo, 12030,                       \
    (StreamHandle, CaptureStatus *, uint64_t *id, GraphHandle *,               \
     const GraphNodeHandle **newest, const GraphEdge **, size_t *numNewest))   \
  X(kernelGetParamInfo, cuKernelGetParamInfo, 12040,                           \
    (KernelHandle, size_t index, size_t *offset, size_t *bytes))

inline constexpr int kRequiredDriver = 12000; ///< CUDA 12.0

struct DriverTable {
#define MLA_CUDA_FIELD(field, name, version, parameters)                       \
  Result(*field) parameters = nullptr;
  MLA_CUDA_REQUIRED_FUNCTIONS(MLA_CUDA_FIELD)
  MLA_CUDA_OPTIONAL_FUNCTIONS(MLA_CUDA_FIELD)
#undef MLA_CUDA_FIELD
};

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_DRIVERAPI_H
