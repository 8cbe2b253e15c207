//===- EmitRoles.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Roles as branches on the warp's number.
//
//===----------------------------------------------------------------------===//

#include "NVVMEmitter.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::mla_gpu;

/// Registers of an SM, and the most that a thread can have.
static constexpr int64_t kRegisters = 65536, kThreadRegisters = 256;

LogicalResult NVVMEmitter::emitRoles(WarpSpecializeOp op) {
  if (usedScratch)
    fenceAsync(); // what copies write next, ordinary stores wrote before
  waitForPeer();
  roleBarrier(); // also for the mbarriers, which one thread has made
  LogicalResult result = success();
  std::function<void(unsigned, int64_t, int64_t)> emitFrom =
      [&](unsigned index, int64_t firstWarp, int64_t firstBarrier) {
        Region &body = op.getBodies()[index];
        int64_t sharing = op.getSharing()[index];
        unsigned first = op.getFirstRole(body);
        int64_t end = firstWarp;
        for (int64_t warps : op.getWarps().slice(first, sharing))
          end += warps;
        auto emitThis = [&] {
          if (succeeded(result))
            result = emitRole(op, body, firstWarp, firstBarrier);
        };
        if (index + 1 == op.getBodies().size())
          return emitThis();
        emitIf(
            cmp(arith::CmpIPredicate::ult, warp(), i32(end)), {},
            [&] {
              emitThis();
              return SmallVector<Value>();
            },
            [&] {
              emitFrom(index + 1, end, firstBarrier + sharing);
              return SmallVector<Value>();
            });
      };
  emitFrom(0, 0, /*firstBarrier=*/1);
  if (failed(result))
    return failure();
  hazards = {};
  if (!isa<func::ReturnOp>(op->getNextNode()))
    roleBarrier();
  return success();
}

LogicalResult NVVMEmitter::emitRole(WarpSpecializeOp op, Region &body,
                                    int64_t firstWarp, int64_t firstBarrier) {
  unsigned first = op.getFirstRole(body);
  int64_t sharing = op.getSharing()[body.getRegionNumber()];
  int64_t warps = op.getWarps()[first];
  for (int64_t other : op.getWarps().slice(first, sharing))
    if (other != warps)
      return op.emitOpError("requires roles that share a region to have as "
                            "many warps, but got ")
             << warps << " and " << other;

  llvm::SaveAndRestore savedRole(role);
  llvm::SaveAndRestore savedHazards(hazards, Hazards());
  Role mine;
  mine.warps = warps;
  mine.barrier = firstBarrier;
  mine.hasMma =
      body.walk([](MmaOp) { return WalkResult::interrupt(); }).wasInterrupted();
  mine.countsRegisters = !op.getRegisters().empty();
  mine.warp = firstWarp ? sub(warp(), i32(firstWarp)) : warp();
  mine.thread =
      firstWarp ? sub(ctaThread, i32(firstWarp * kWarpThreads)) : ctaThread;
  if (sharing > 1) {
    mine.barrierOffset = arith::DivUIOp::create(b, loc, mine.warp, i32(warps));
    Value before = mul(mine.barrierOffset, i32(warps));
    mine.warp = sub(mine.warp, before);
    mine.thread = sub(mine.thread, shl(before, 5));
  }
  role = mine;
  if (!op.getRegisters().empty()) {
    int64_t launched =
        std::min(kThreadRegisters, kRegisters / numThreads / 8 * 8);
    int64_t registers = op.getRegisters()[first];
    if (registers != launched)
      ptx((registers > launched ? "setmaxnreg.inc" : "setmaxnreg.dec") +
              std::string(".sync.aligned.u32 ") + std::to_string(registers) +
              ";",
          "", {}, {});
  }
  if (failed(mapRoleArguments(op, body, mine.barrierOffset)))
    return failure();
  return emitBlock(body.front());
}

LogicalResult NVVMEmitter::mapRoleArguments(WarpSpecializeOp op, Region &body,
                                            Value roleNumber) {
  unsigned first = op.getFirstRole(body);
  unsigned sharing = op.getSharing()[body.getRegionNumber()];
  /// Of the values that the roles give, the one of this thread's role.
  auto choose = [&](llvm::function_ref<Value(unsigned)> of) {
    Value result = of(sharing - 1);
    for (int role = int(sharing) - 2; role >= 0; --role) {
      Value other = of(role);
      if (other != result)
        result = select(cmp(arith::CmpIPredicate::eq, roleNumber, i32(role)),
                        other, result);
    }
    return result;
  };
  for (BlockArgument argument : body.getArguments()) {
    auto given = [&](unsigned role) {
      return op.getRoleArgs(first + role)[argument.getArgNumber()];
    };
    Type type = argument.getType();
    if (type.isIntOrIndexOrFloat() || isa<TensorMapType>(type)) {
      map(argument, choose([&](unsigned role) { return scalar(given(role)); }));
      continue;
    }
    if (!isa<PipelineType>(type))
      return op.emitOpError("requires scalars, tensor maps and pipelines as "
                            "what roles give, but got ")
             << type;
    auto of = [&](unsigned role) -> PipelineState & {
      return pipelines.find(given(role))->second;
    };
    PipelineState state = of(0);
    for (unsigned role = 1; role < sharing; ++role) {
      PipelineOp mine = state.declaration, other = of(role).declaration;
      bool same =
          mine.getWriter() == other.getWriter() &&
          mine.getStorages().getTypes() == other.getStorages().getTypes() &&
          state.releasedInSameRound == of(role).releasedInSameRound;
      if (!same)
        return op.emitOpError("requires pipelines of roles that share a region "
                              "to have one kind of writer, storage and place");
    }
    state.full = choose([&](unsigned role) { return of(role).full; });
    state.empty = choose([&](unsigned role) { return of(role).empty; });
    state.released = choose([&](unsigned role) { return of(role).released; });
    for (auto [i, storage] : llvm::enumerate(state.storages))
      storage = choose([&](unsigned role) { return of(role).storages[i]; });
    pipelines[argument] = state;
  }
  return success();
}
