//===- Launch.cpp - Starting kernels --------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

using namespace mla_jit::cuda;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

static std::string str(const Dim3 &dim) {
  return std::to_string(dim[0]) + " x " + std::to_string(dim[1]) + " x " +
         std::to_string(dim[2]);
}

static uint64_t product(const Dim3 &dim) {
  return uint64_t(dim[0]) * dim[1] * dim[2];
}

/// What the driver would refuse with one number for all.
static Error check(const Function &function, const LaunchConfig &config,
                   size_t numParameters) {
  const FunctionInfo &info = function.info();
  auto bad = [&](const Twine &required, const Twine &given) {
    return refuse(ErrorKind::Invalid,
                  "the launch of kernel '" + info.symbol + "'", required,
                  given);
  };
  // Bounds of the single sizes first, so that the products cannot overflow.
  if (!config.grid[0] || !config.grid[1] || !config.grid[2] ||
      config.grid[0] > 0x7fffffff || config.grid[1] > 65535 ||
      config.grid[2] > 65535)
    return bad("a grid of 1 to 2^31 - 1 by 65535 by 65535 blocks",
               str(config.grid));
  if (!product(config.block) || config.block[0] > 1024 ||
      config.block[1] > 1024 || config.block[2] > 64 ||
      product(config.block) > static_cast<uint64_t>(info.maxThreads))
    return bad("a block of 1 to " + Twine(info.maxThreads) + " threads",
               str(config.block));
  bool whole = true;
  for (int i = 0; i < 3; ++i)
    whole &= config.cluster[i] >= 1 && config.cluster[i] <= 8 &&
             config.grid[i] % config.cluster[i] == 0;
  if (!whole || product(config.cluster) > 8)
    return bad("a grid of whole clusters of at most 8 blocks",
               "a grid of " + str(config.grid) + " and clusters of " +
                   str(config.cluster));
  if (config.dynamicShared > function.dynamicSharedAllowed())
    return bad("at most the " + Twine(function.dynamicSharedAllowed()) +
                   " bytes of dynamic shared memory that were allowed for it",
               Twine(config.dynamicShared));
  if (info.parameters >= 0 &&
      numParameters != static_cast<size_t>(info.parameters))
    return bad(Twine(info.parameters) + " parameters", Twine(numParameters));
  return Error::success();
}

Error mla_jit::cuda::launch(const Function &function,
                            const LaunchConfig &config,
                            llvm::ArrayRef<void *> parameters) {
  if (Error error = check(function, config, parameters.size()))
    return error;
  Expected<ContextScope> scope = function.context().enter();
  if (!scope)
    return scope.takeError();

  LaunchAttribute attributes[2] = {};
  DriverLaunchConfig raw = {};
  for (int i = 0; i < 3; ++i) {
    raw.grid[i] = config.grid[i];
    raw.block[i] = config.block[i];
  }
  raw.sharedBytes = config.dynamicShared;
  raw.stream = config.stream;
  raw.attributes = attributes;
  if (product(config.cluster) > 1) {
    LaunchAttribute &attribute = attributes[raw.numAttributes++];
    attribute.id = LaunchAttributeId::ClusterDimension;
    for (int i = 0; i < 3; ++i)
      attribute.cluster[i] = config.cluster[i];
  }
  if (config.programmaticDependent) {
    LaunchAttribute &attribute = attributes[raw.numAttributes++];
    attribute.id = LaunchAttributeId::ProgrammaticStreamSerialization;
    attribute.allowed = 1;
  }
  const Driver &driver = function.context().driver();
  Result result = driver.call().launchKernelEx(
      &raw, function.handle(), const_cast<void **>(parameters.data()), nullptr);
  // The text of the purpose costs more than a launch.
  if (result == Success)
    return Error::success();
  return driver.check(result, "cuLaunchKernelEx",
                      "kernel '" + function.info().symbol + "', grid " +
                          str(config.grid) + ", block " + str(config.block) +
                          ", cluster " + str(config.cluster) + ", " +
                          Twine(config.dynamicShared) +
                          " bytes of dynamic shared memory");
}

Expected<bool> mla_jit::cuda::isCapturing(const Context &context,
                                          StreamHandle stream) {
  Expected<ContextScope> scope = context.enter();
  if (!scope)
    return scope.takeError();
  return isCapturing(*scope, context, stream);
}

Expected<bool> mla_jit::cuda::isCapturing(const ContextScope &,
                                          const Context &context,
                                          StreamHandle stream) {
  const Driver &driver = context.driver();
  CaptureStatus status = CaptureStatus::None;
  if (Error error =
          driver.check(driver.call().streamIsCapturing(stream, &status),
                       "cuStreamIsCapturing"))
    return std::move(error);
  return status != CaptureStatus::None;
}
