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
#include "mla/Pipelines/Registration.h"
#include "mla/Target/Contained.h"
#include "mla/Target/NVPTX.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace mla_jit {

static llvm::Error refuse(const char *option, const mla::NoTarget &why) {
  return fail(why.isKnown ? FailureKind::Unsupported : FailureKind::Invalid,
              ofOption(option), "{0}", why.reason);
}

static llvm::Expected<TargetInfo> makeTargetInfo(const std::string &cpu) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<mla::MLADialect>();
  mla::NoTarget why;
  FailureOr<mla::TargetAttr> target = mla::makeHostTarget(&context, cpu, why);
  if (failed(target))
    return refuse("cpu", why);
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
    return invalid(ofOption("chip"), known.takeError());
  auto why = mla::whyNoCudaTarget(chip);
  return why ? refuse("chip", *why) : llvm::Error::success();
}

static int64_t findFewestQueries(const CompileRequest &request) {
  DialectRegistry registry;
  mla::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // What is wrong is told when it is compiled.
  ScopedDiagnosticHandler silence(&context,
                                  [](Diagnostic &) { return success(); });
  auto module = parseSourceString<ModuleOp>(
      request.mlir, ParserConfig(&context), request.name);
  mla::NoTarget why;
  auto target = mla::makeCudaTarget(&context, request.chip, why);
  int64_t queries = request.queries;
  if (module && succeeded(target))
    module->walk([&](mla::DecodeOp op) {
      queries = mla::fewestQueriesAlike(
          op, *target, {request.queries, request.alignedStrides});
    });
  return queries;
}

llvm::Expected<int64_t> fewestQueriesAlike(const CompileRequest &request) {
  return mla::runContainedFor<int64_t>(
      "schedule",
      [request]() -> llvm::Expected<int64_t> {
        return findFewestQueries(request);
      },
      request.timeLimit);
}

} // namespace mla_jit
