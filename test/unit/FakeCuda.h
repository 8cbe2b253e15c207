//===- FakeCuda.h -----------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A CUDA driver for tests without a GPU: a shared library that a test loads
// through Driver::load. "Devices" remember what they were asked for, memory is
// host memory, and any call can be made to fail. Its PTX is any text; text with
// the word "bad" is refused, and a kernel exists if its name is in the text.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TEST_UNIT_FAKECUDA_H
#define MLA_JIT_TEST_UNIT_FAKECUDA_H

#include "../../runtime/src/cuda/DriverAPI.h"

#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <vector>

/// The library's state. A test sets and reads it between calls.
struct FakeCuda {
  using Result = mla_jit::cuda::Result;

  // What the driver is.
  /// FAKE_CUDA_VERSION is for hosts that load the fake as their driver.
  int version = std::getenv("FAKE_CUDA_VERSION")
                    ? std::atoi(std::getenv("FAKE_CUDA_VERSION"))
                    : 12080;
  int deviceCount = 1;
  bool initNeedsDevice = true;
  int major = 9, minor = 0;
  int sharedBytesOptin = 232448;
  int staticSharedBytes = 0;
  int maxThreads = 1024;
  /// Half of it is free.
  size_t memoryBytes = size_t(1) << 30;
  std::string infoLog = "ptxas info : Used 8 registers";
  std::string errorLog;
  std::set<std::string> missing;          ///< symbols
  std::map<std::string, Result> failures; ///< by the driver's name of the call
  /// Of each kernel; none where a host's own kernels are launched.
  std::vector<size_t> parameterBytes = std::getenv("FAKE_CUDA_VERSION")
                                           ? std::vector<size_t>()
                                           : std::vector<size_t>{8, 8, 4};
  /// By a kernel's name: how many it has, of 8 bytes or more, instead.
  std::map<std::string, size_t> parameterCounts;
  std::vector<float> milliseconds; ///< of the next timings
  /// What a copy from the device is to be changed into.
  std::function<void(void *to, size_t bytes)> onRead;
  /// Called as a call begins and ends, in its thread.
  void (*onCall)(bool begins) = nullptr;

  bool cacheHits = false; ///< linked before: without the assembler's words

  // What it was asked.
  std::set<std::string> linked;
  std::map<std::string, int> calls;
  size_t usedBytes = 0; ///< by buffers, libraries and executable graphs
  int contexts = 0, links = 0, libraries = 0, buffers = 0, streams = 0,
      events = 0, graphs = 0;
  bool isLost = false;     ///< a kernel named "stop" was launched
  bool terminated = false; ///< PTX came with its final zero
  bool verbose = false, lineInfo = false;
  int dynamicShared = -1; ///< last value set
  int loadsNotRelaxed = 0;
  struct Launch {
    mla_jit::cuda::DriverLaunchConfig config;
    std::vector<mla_jit::cuda::LaunchAttribute> attributes;
    std::vector<uint64_t> parameters; ///< first bytes of each
    mla_jit::cuda::ContextHandle context;
  };
  std::vector<Launch> launches;
  struct Map {
    mla_jit::cuda::ElementType type;
    uint64_t base;
    std::vector<uint64_t> dims, strides;
    std::vector<uint32_t> box, elementStrides;
    int swizzle, promotion, interleave, fill;
  };
  std::vector<Map> maps;

  std::mutex mutex;
};

/// An image that the driver layer takes: an ELF header and nothing to it, then
/// a text in which the fake looks for the names of kernels.
inline std::string fakeCubin(const std::string &text) {
  std::string image(64, '\0');
  image.replace(0, 5,
                "\x7f"
                "ELF"
                "\x02");
  image[18] = static_cast<char>(190); // NVIDIA
  return image + text;
}

/// The symbol "mlaFakeCuda" of the library.
using FakeCudaFn = FakeCuda *(*)();

/// That of an open library, as it is at the start of a test of the C interface.
inline FakeCuda *freshFakeCuda(void *library) {
  FakeCuda *fake =
      reinterpret_cast<FakeCudaFn>(dlsym(library, "mlaFakeCuda"))();
  fake->~FakeCuda();
  new (fake) FakeCuda;
  fake->version = 12030; // cannot be asked for the parameters of a kernel
  return fake;
}

#endif // MLA_JIT_TEST_UNIT_FAKECUDA_H
