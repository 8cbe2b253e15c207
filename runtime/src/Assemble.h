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
  std::string name = "none"; ///< "driver 13.0", "ptxas 12.8.93"
  unsigned ptxVersion = 0;   ///< 10 x the newest that it reads; 0: not known
  std::optional<mlir::mla::Assembler> ptxas = std::nullopt;
};
/// The driver of the context, if there is one; else the ptxas of the options,
/// if it is there. An error if it is and does not say its version, or if it is
/// not and was asked for by name.
llvm::Expected<AssemblerChoice> chooseAssembler(const cuda::Context *context,
                                                const EngineOptions &options);
/// Limits and places of ptxas.
mlir::mla::AssembleOptions assembleOptions(const EngineOptions &options);

/// With all that is known of its version: "driver 580.159.04", or "driver of
/// CUDA 13.0" where no more is known.
std::string nameDriversAssembler(const cuda::Driver &driver);

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

llvm::Expected<mlir::mla::PtxReport>
assembleByPtxas(const std::string &ptx, const KernelInfo &info,
                const mlir::mla::Assembler &ptxas,
                const EngineOptions &options);
/// For people, who want to see machine code: by ptxas if that was chosen, else
/// by the driver if there is a context (of the chip), else an error that says
/// how to get either.
llvm::Expected<mlir::mla::PtxReport>
assemble(const std::string &ptx, const KernelInfo &info, bool needsCubin,
         const AssemblerChoice &assembler,
         const std::shared_ptr<const cuda::Context> &context,
         const EngineOptions &options);

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
