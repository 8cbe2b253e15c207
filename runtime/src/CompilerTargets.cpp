//===- CompilerTargets.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What the compiler knows of targets, and chooses for them, without compiling.
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"
#include "mla/Dataflow/Dataflow.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mla/Target/Contained.h"
#include "mla/Target/NVPTX.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace mla_jit {

static llvm::Error refuse(const mla::NoTarget &why) {
  return fail(why.isKnown ? FailureKind::Unsupported : FailureKind::Invalid,
              ofOption("target"), "{0}", why.reason);
}

static llvm::Expected<TargetInfo> makeTargetInfo(const std::string &cpu) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<mla::MLADialect>();
  mla::NoTarget why;
  FailureOr<mla::TargetAttr> target = mla::makeHostTarget(&context, cpu, why);
  if (failed(target))
    return refuse(why);
  return TargetInfo{target->getCpu().str(),  target->getFeatures().str(),
                    target->getVectorBits(), target->getVectorRegisters(),
                    target->getL1Bytes(),    target->getL2Bytes()};
}

llvm::Expected<TargetInfo> describeTarget(const std::string &cpu) {
  return mla::runContainedFor<TargetInfo>(
      "target", [cpu] { return makeTargetInfo(cpu); });
}

llvm::Error checkChip(const std::string &chip) {
  if (auto known = mla::findGPUChip(chip); !known)
    return invalid(ofOption("target"), known.takeError());
  auto why = mla::whyNoCudaTarget(chip);
  return why ? refuse(*why) : llvm::Error::success();
}

/// Before a kernel is found on disk, so no more is loaded than it takes.
static int64_t findFewestQueries(const std::string &text, const Spec &spec,
                                 const std::string &chip) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<mla::MLADialect, func::FuncDialect>();
  // What is wrong is told when it is compiled.
  ScopedDiagnosticHandler silence(&context,
                                  [](Diagnostic &) { return success(); });
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  mla::NoTarget why;
  auto target = mla::makeCudaTarget(&context, chip, why);
  int64_t queries = spec.queries;
  if (module && succeeded(target))
    module->walk([&](mla::DecodeOp op) {
      queries =
          mla::fewestQueriesAlike(op, *target, {queries, spec.alignedStrides});
    });
  return queries;
}

llvm::Expected<int64_t> fewestQueriesAlike(const Spec &spec,
                                           const std::string &chip) {
  auto text = buildShapeText(spec);
  if (!text)
    return text.takeError();
  return mla::runContainedFor<int64_t>(
      "schedule", [&]() -> llvm::Expected<int64_t> {
        return findFewestQueries(*text, spec, chip);
      });
}

} // namespace mla_jit
