//===- Link.h ---------------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_LINK_H
#define MLA_JIT_SRC_CUDA_LINK_H

#include "Device.h"

namespace mla_jit::cuda {

struct LinkOptions {
  bool lineInfo = false; ///< for profilers
  /// The driver has a cache of its own on disk, and what comes from there comes
  /// without the assembler's notices. With this, such PTX is assembled again.
  bool fullLog = true;
  /// Kept of each log; what is more is cut, and said to be.
  unsigned logBytes = 1u << 18;
};

/// Code for one chip, with what the assembler said of it: registers, spills,
/// notices such as C7508 or C7510.
/// Why a driver and a device may have refused the PTX; empty if its head does
/// not tell.
std::string describeMismatch(const Context &context, llvm::StringRef ptx);

struct LinkedImage {
  std::string cubin;
  std::string infoLog, errorLog; ///< of a success too
  bool fromDriverCache = false;  ///< the log is short
};

/// Assembles PTX for the context's device with the driver's own assembler. An
/// error of kind Compile has both logs in its message, and says so where the
/// PTX is of a newer version than the driver or of another chip.
llvm::Expected<LinkedImage> linkPTX(const Context &context,
                                    const std::string &ptx,
                                    const LinkOptions &options = {});

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_LINK_H
