//===- Assemble.h --------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// PTX to machine code that is looked at, by ptxas or by the driver of a device.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_ASSEMBLE_H
#define MLA_JIT_SRC_ASSEMBLE_H

#include "Compiler.h"
#include "cuda/Library.h"
#include "mla/Target/PtxReport.h"

namespace mla_jit {

/// What assembles a kernel: the driver, as it loads PTX; else ptxas, whose
/// cubin can be kept; or nothing that is known yet.
struct AssemblerChoice {
  std::string name;        ///< "driver 13.0", "ptxas 12.8", "none"
  unsigned ptxVersion = 0; ///< 10 x the newest that it reads; 0: not known
  bool makesCubin = false;
};
AssemblerChoice chooseAssembler(const cuda::Context *context);

/// With all that is known of its version: "driver 580.159.04", or "driver of
/// CUDA 13.0" where no more is known.
std::string nameDriversAssembler(const cuda::Driver &driver);
/// "ptxas 13.0.88"; empty where there is none.
std::string namePtxas();

/// Adds what functions are known to take as they are loaded, whose log may be
/// empty: the driver keeps code in a cache of its own.
using FunctionPtr = std::shared_ptr<const cuda::Function>;
void addLoaded(mlir::mla::PtxReport &report,
               llvm::ArrayRef<FunctionPtr> functions);

/// By the driver of the context: a cubin only of kernels without setmaxnreg,
/// else an error; where none is needed, a report on the code as it is loaded.
llvm::Expected<mlir::mla::PtxReport>
assembleByDriver(const std::string &ptx, const KernelInfo &info,
                 bool needsCubin,
                 const std::shared_ptr<const cuda::Context> &context);

/// For people, who want to see machine code: by ptxas where there is one, else
/// by the driver if there is a context (of the chip), else an error that says
/// how to get either. The time limit is of ptxas.
llvm::Expected<mlir::mla::PtxReport>
assemble(const std::string &ptx, const KernelInfo &info, bool needsCubin,
         const std::shared_ptr<const cuda::Context> &context,
         std::chrono::milliseconds timeLimit);

/// What the driver's assembler says, without the code.
mlir::mla::PtxReport reportOfDriver(const cuda::Context &context,
                                    std::string log);

/// Registers, spills, shared memory, barriers, instructions and launch of each
/// entry, for people. Instructions are counted by a program of the CUDA
/// toolkit, where there is one.
llvm::Expected<std::string> describeCode(const mlir::mla::PtxReport &report,
                                         const KernelInfo &info,
                                         bool withInstructions = true);

} // namespace mla_jit

#endif // MLA_JIT_SRC_ASSEMBLE_H
