//===- Assemble.h --------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// PTX to machine code, by the driver of a device or by ptxas.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_ASSEMBLE_H
#define MLA_JIT_SRC_ASSEMBLE_H

#include "Compiler.h"
#include "cuda/Device.h"
#include "mla/Target/PtxReport.h"

namespace mla_jit {

/// What the driver's assembler made of PTX for the context's device.
llvm::Expected<mlir::mla::PtxReport>
assembleByDriver(const cuda::Context &context, const std::string &ptx);

/// What `assemble` takes: "driver 13.0", "ptxas 12.8" or "none"; and 10 x the
/// newest PTX that it reads, 0 if that is not known.
struct AssemblerChoice {
  std::string name;
  unsigned ptxVersion;
};
AssemblerChoice chooseAssembler(const cuda::Context *context);

/// By the driver where there is a context (of the chip), else by ptxas; an
/// error that says how to get either where there is neither.
llvm::Expected<mlir::mla::PtxReport> assemble(const std::string &ptx,
                                              const std::string &chip,
                                              const cuda::Context *context);

/// Registers, spills, shared memory, barriers, instructions and launch of each
/// entry, for people. Instructions are counted by a program of the CUDA
/// toolkit, where there is one.
llvm::Expected<std::string> describeCode(const mlir::mla::PtxReport &report,
                                         const KernelInfo &info,
                                         bool withInstructions = true);

} // namespace mla_jit

#endif // MLA_JIT_SRC_ASSEMBLE_H
