//===- DeviceContents.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceContents.h"
#include "Failure.h"
#include "Kernel.h"
#include "cuda/Launch.h"

#include <vector>

namespace mla_jit {

using cuda::Context;
using cuda::StreamHandle;

/// From the first byte of an element to the last; 0 of no element.
static size_t spannedBytes(const Tensor &tensor) {
  int64_t last = 0;
  for (int dim = 0; dim < tensor.rank; ++dim) {
    if (tensor.shape[dim] == 0)
      return 0;
    last += (tensor.shape[dim] - 1) * tensor.stride[dim];
  }
  return (last + 1) * byteSize(tensor.dtype);
}

llvm::Error checkDeviceContents(const Arguments &arguments,
                                const Context &context, StreamHandle stream) {
  auto scope = context.enter();
  if (!scope)
    return scope.takeError();
  auto capturing = cuda::isCapturing(*scope, context, stream);
  if (!capturing)
    return capturing.takeError();
  if (*capturing)
    return unsupported(ofArgument("flags"),
                       "requires no MLA_LAUNCH_CHECK in a stream that is being "
                       "captured: the check waits for the stream");
  const cuda::Driver &driver = context.driver();
  cuda::RelaxedCaptureScope relaxed(driver);
  Arguments onHost = arguments;
  std::vector<std::vector<char>> copies;
  llvm::Error failure = llvm::Error::success();
  for (const char *name : Arguments::kTrusted) {
    Tensor tensor = arguments.tensor(name);
    size_t bytes = tensor.given() ? spannedBytes(tensor) : 0;
    if (!bytes)
      continue;
    std::vector<char> &copy = copies.emplace_back(bytes);
    failure = driver.check(
        driver.call().memcpyDtoHAsync(
            copy.data(), reinterpret_cast<cuda::DevicePtr>(tensor.data), bytes,
            stream),
        "cuMemcpyDtoHAsync", "of argument '" + llvm::Twine(name) + "'");
    if (failure)
      break;
    onHost.draftAt(arguments.kernelInfo()->find(name)).data = copy.data();
  }
  // Also before the copies that were begun lose their memory.
  llvm::Error ended = driver.check(driver.call().streamSynchronize(stream),
                                   "cuStreamSynchronize");
  if (failure) { // tells enough
    llvm::consumeError(std::move(ended));
    return failure;
  }
  if (ended)
    return ended;
  return onHost.checkContents();
}

} // namespace mla_jit
