//===- SelectSchedule.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dataflow/Dataflow.h"
#include "mla/Dialect/MLA/IR/Unsupported.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::mla;

namespace mlir::mla {
#define GEN_PASS_DEF_SELECTSCHEDULE
#include "mla/Dialect/MLA/Transforms/Passes.h.inc"
} // namespace mlir::mla

namespace {

struct Candidate {
  ScheduleAttr schedule;
  double cost;
};

/// The schedules that can be lowered, the best first; reasons why not of the
/// others.
SmallVector<Candidate> rank(DecodeOp op, TargetAttr target,
                            const LaunchHints &hints,
                            SmallVectorImpl<std::string> &reasons) {
  SmallVector<Candidate> candidates;
  for (const std::unique_ptr<Dataflow> &dataflow : getDataflows()) {
    if (!dataflow->supportsTarget(target))
      continue;
    for (ScheduleAttr schedule : dataflow->enumerate(op, target, hints)) {
      std::optional<std::string> reason =
          dataflow->checkProblem(op, target, schedule);
      if (!reason)
        candidates.push_back(
            {schedule, dataflow->cost(op, target, schedule, hints)});
      else if (!llvm::is_contained(reasons, *reason))
        reasons.push_back(*reason);
    }
  }
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.cost < b.cost;
  });
  return candidates;
}

/// A GPU's schedule with another plan and alignment.
ScheduleAttr with(ScheduleAttr schedule, PlanPolicy plan, int64_t alignment) {
  return ScheduleAttr::get(
      schedule.getContext(), schedule.getDataflow().getValue(),
      schedule.getBlockM(), schedule.getBlockN(), schedule.getSplit(),
      schedule.getSplitTiles(), schedule.getStages(), schedule.getRowBlocks(),
      schedule.getCopy(), plan, schedule.getCluster(), alignment);
}

struct SelectSchedule : public mla::impl::SelectScheduleBase<SelectSchedule> {
  using Base::Base;

  void runOnOperation() override {
    auto target =
        getOperation()->getParentOfType<ModuleOp>()->getAttrOfType<TargetAttr>(
            MLADialect::kTarget);
    std::optional<SplitPolicy> policy = symbolizeSplitPolicy(split);
    if (!policy) {
      getOperation().emitError("option 'split' requires whole, balanced or "
                               "row_local, but got '")
          << split << "'";
      return signalPassFailure();
    }
    if (queries < 1) {
      getOperation().emitError("option 'queries' requires at least 1, but got ")
          << queries.getValue();
      return signalPassFailure();
    }
    WalkResult result = getOperation().walk([&](DecodeOp op) -> WalkResult {
      if (!target)
        return op.emitOpError("requires a module with 'mla.target' "
                              "(see mla-attach-target), but got none");
      bool isGiven = op.getSchedule().has_value();
      if (failed(isGiven
                     ? checkGiven(op, target, *policy)
                     : select(op, target, *policy, {queries, alignedStrides})))
        return failure();
      return sharedPlan ? sharePlan(op, isGiven) : success();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  /// Has the plan of a chosen schedule shared; a given one is not changed.
  static LogicalResult sharePlan(DecodeOp op, bool isGiven) {
    ScheduleAttr schedule = *op.getSchedule();
    if (!schedule.isGPU())
      return markUnsupported(
                 op.emitOpError("requires a GPU for a shared plan, but got "))
             << schedule;
    if (schedule.getPlan() == PlanPolicy::Shared)
      return success();
    if (isGiven)
      return op.emitOpError("requires a schedule with plan = shared, as the "
                            "option 'shared-plan' says, but got ")
             << schedule;
    op.setScheduleAttr(
        with(schedule, PlanPolicy::Shared, schedule.getAlignment()));
    return success();
  }

  /// Checks a schedule that the user or a tuner wrote.
  static LogicalResult checkGiven(DecodeOp op, TargetAttr target,
                                  SplitPolicy policy) {
    ScheduleAttr schedule = *op.getSchedule();
    StringRef name = schedule.getDataflow();
    const Dataflow *dataflow = findDataflow(name);
    if (!dataflow)
      return op.emitOpError(
                 "requires a schedule with a known dataflow, but got '")
             << name << "'";
    if (!dataflow->supportsTarget(target))
      return op.emitOpError("requires a dataflow for target '")
             << target.getKind().getValue() << "', but got '" << name << "'";
    if (std::optional<std::string> reason =
            dataflow->checkProblem(op, target, schedule))
      return markUnsupported(
                 op.emitOpError("has a schedule that cannot be lowered: "))
             << *reason;
    // Row-local splits are a promise; the other policies are a preference.
    if (policy == SplitPolicy::RowLocal && schedule.getSplit() != policy &&
        schedule.getSplit() != SplitPolicy::Whole)
      return op.emitOpError(
                 "requires a schedule with split = row_local, as the "
                 "option 'split' says, but got ")
             << schedule;
    return success();
  }

  static LogicalResult select(DecodeOp op, TargetAttr target,
                              SplitPolicy policy, const LaunchHints &hints) {
    SmallVector<std::string> reasons;
    SmallVector<Candidate> candidates = rank(op, target, hints, reasons);
    if (candidates.empty()) {
      InFlightDiagnostic diag =
          markUnsupported(op.emitOpError("has no schedule for target '"))
          << target.getKind().getValue() << "'";
      if (!reasons.empty())
        diag << ": " << llvm::join(reasons, "; ");
      return diag;
    }
    ScheduleAttr best = candidates.front().schedule.withSplit(policy);
    if (hints.alignedStrides && best.isGPU())
      best = with(best, best.getPlan(), kRowAlignment);
    op.setScheduleAttr(best);

    auto remark = remark::analysis(
        op.getLoc(), remark::RemarkOpts::name("schedule").category("mla"));
    remark << llvm::formatv("of {0} schedules, cycles a key:",
                            candidates.size())
                  .str();
    for (const Candidate &candidate : ArrayRef(candidates).take_front(4)) {
      std::string text;
      llvm::raw_string_ostream(text) << candidate.schedule;
      remark << llvm::formatv(" {0:f1} {1};", candidate.cost, text).str();
    }
    return success();
  }
};

} // namespace

int64_t mla::fewestQueriesAlike(DecodeOp op, TargetAttr target,
                                const LaunchHints &hints) {
  auto choose = [&](int64_t queries) {
    SmallVector<std::string> reasons;
    auto ranked = rank(op, target, {queries, hints.alignedStrides}, reasons);
    return ranked.empty() ? ScheduleAttr() : ranked.front().schedule;
  };
  ScheduleAttr chosen = choose(hints.queries);
  int64_t queries = 1;
  while (queries < hints.queries && choose(queries) != chosen)
    ++queries;
  return queries;
}
