//===- VerifyProtocol.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-gpu-verify-protocol: what can be seen without running anything, then all
// runs of the roles up to a bound of trips (Trace.cpp, Execution.cpp).
//
//===----------------------------------------------------------------------===//

#include "Protocol.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mla/Dialect/MLAGPU/Transforms/Passes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::mla_gpu;

namespace mlir::mla_gpu {
#define GEN_PASS_DEF_VERIFYPROTOCOL
#include "mla/Dialect/MLAGPU/Transforms/Passes.h.inc"
} // namespace mlir::mla_gpu

/// Does one pipeline have its turn, directly or not, after the other?
static bool isChained(PipelineOp a, PipelineOp b) {
  for (PipelineOp earlier = a; earlier; earlier = earlier.getEarlier())
    if (earlier == b)
      return true;
  for (PipelineOp earlier = b; earlier; earlier = earlier.getEarlier())
    if (earlier == a)
      return true;
  return false;
}

/// Checks that the pipelines' roles exist, and that only chains share storage.
static LogicalResult checkPipelines(ArrayRef<PipelineOp> pipelines,
                                    WarpSpecializeOp roles) {
  llvm::SmallDenseSet<StringRef> names;
  for (unsigned i = 0; i < roles.getNumRoles(); ++i)
    names.insert(roles.getName(i));
  for (PipelineOp pipeline : pipelines) {
    SmallVector<StringRef> used =
        llvm::to_vector(pipeline.getTo().getAsValueRange<StringAttr>());
    used.push_back(pipeline.getFrom());
    for (StringRef name : used)
      if (!names.contains(name))
        return pipeline.emitOpError("(protocol_c8) requires roles that there "
                                    "are, but got '")
               << name << "'";
  }
  for (size_t i = 0; i < pipelines.size(); ++i) {
    PipelineOp a = pipelines[i];
    for (PipelineOp b : pipelines.take_front(i)) {
      if (a.getAfter() && a.getAfter() == b.getAfter())
        return (a.emitOpError("(protocol_c9) requires to be the only one that "
                              "takes the place of its pipeline")
                    .attachNote(b.getLoc())
                << "another one");
      for (auto [x, mine] : llvm::enumerate(a.getStorages()))
        for (auto [y, theirs] : llvm::enumerate(b.getStorages())) {
          bool columns = cast<SmemType>(mine.getType()).isMatrix();
          bool overlap = mine == theirs &&
                         (!columns || (a.getBegins()[x] < b.getEnds()[y] &&
                                       b.getBegins()[y] < a.getEnds()[x]));
          if (overlap && !isChained(a, b))
            return (
                a.emitOpError("(protocol_c9) shares storage with a pipeline "
                              "that it is not 'after'")
                    .attachNote(b.getLoc())
                << "the other pipeline");
        }
    }
  }
  return success();
}

/// Checks that the target has the shared memory.
static LogicalResult checkMemory(func::FuncOp func) {
  int64_t bytes = 0;
  func.walk([&](AllocOp alloc) {
    if (auto smem = dyn_cast<SmemType>(alloc.getType()))
      bytes += smem.getBytes();
    else
      bytes += cast<TileType>(alloc.getType()).getBytes();
  });
  auto module = func->getParentOfType<ModuleOp>();
  auto target =
      module ? module->getAttrOfType<mla::TargetAttr>(mla::MLADialect::kTarget)
             : mla::TargetAttr();
  if (!target || !target.isCuda() || bytes <= target.getSmemBytes())
    return success();
  return func.emitOpError("(protocol_c10) requires at most ")
         << target.getSmemBytes() << " bytes of shared memory, but got "
         << bytes;
}

static std::string quoted(const llvm::SetVector<StringRef> &roles) {
  std::string text;
  for (StringRef role : roles)
    text += (text.empty() ? "'" : ", '") + role.str() + "'";
  return text;
}

/// Says of each pipeline which waits are not implied by others.
static void remarkNeeds(ArrayRef<PipelineOp> pipelines, Needs &needs) {
  for (PipelineOp pipeline : pipelines) {
    const auto &full = needs.full[pipeline];
    const auto &empty = needs.empty[pipeline];
    auto remark = remark::analysis(
        pipeline.getLoc(),
        remark::RemarkOpts::name("barriers").category("mla_gpu"));
    remark << ("from '" + pipeline.getFrom() + "': waited for by " +
               (full.empty() ? "nobody" : quoted(full)) + "; release by " +
               (empty.empty() ? "nobody" : quoted(empty)) + " waited for")
                  .str();
  }
}

namespace {
struct VerifyProtocol
    : public mla_gpu::impl::VerifyProtocolBase<VerifyProtocol> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verify(getOperation())))
      signalPassFailure();
  }

  LogicalResult verify(func::FuncOp func) {
    SmallVector<WarpSpecializeOp> all;
    SmallVector<PipelineOp> pipelines;
    func.walk([&](Operation *op) {
      if (auto roles = dyn_cast<WarpSpecializeOp>(op))
        all.push_back(roles);
      if (auto pipeline = dyn_cast<PipelineOp>(op))
        pipelines.push_back(pipeline);
    });
    if (failed(checkMemory(func)))
      return failure();
    if (all.empty())
      return success();
    WarpSpecializeOp roles = all.front();
    if (all.size() > 1 || roles->getParentOp() != func)
      return all.back().emitOpError("(protocol_c1) requires one "
                                    "mla_gpu.warp_specialize, directly in the "
                                    "function");
    if (failed(checkPipelines(pipelines, roles)))
      return failure();

    int64_t stages = 1;
    for (PipelineOp pipeline : pipelines)
      stages = std::max<int64_t>(stages, pipeline.getType().getStages());
    Choices choices;
    Needs needs;
    unsigned count = 0;
    do {
      if (count == maxRuns)
        return func.emitOpError("(protocol_c1) requires more than ")
               << count << " runs: raise max-runs";
      ++count;
      Tracer tracer(func, 2 * stages + 2, choices);
      if (failed(tracer.run(roles)) ||
          failed(execute(tracer.traces, tracer.assumptions, needs)))
        return failure();
    } while (choices.next());
    remarkNeeds(pipelines, needs);
    remark::analysis(roles.getLoc(),
                     remark::RemarkOpts::name("runs").category("mla_gpu"))
        << llvm::formatv("{0} choices of counts, up to {1} trips", count,
                         2 * stages + 2)
               .str();
    return success();
  }
};
} // namespace
