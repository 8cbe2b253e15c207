//===- DeviceContents.h -----------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Arguments::checkContents of tensors that are in memory of a device.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_DEVICECONTENTS_H
#define MLA_JIT_SRC_DEVICECONTENTS_H

#include "cuda/DriverAPI.h"
#include "llvm/Support/Error.h"

namespace mla_jit {

class Arguments;
namespace cuda {
class Context;
}

/// Copies what is trusted to the host, behind what is in the stream, waits for
/// that, and checks it. Refused for a stream that is being captured. The
/// arguments passed Arguments::check.
llvm::Error checkDeviceContents(const Arguments &arguments,
                                const cuda::Context &context,
                                cuda::StreamHandle stream);

} // namespace mla_jit

#endif // MLA_JIT_SRC_DEVICECONTENTS_H
