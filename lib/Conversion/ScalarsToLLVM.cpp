//===- ScalarsToLLVM.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Most of a kernel's ops at the end are arithmetic on scalars, each of which is
// one op of the LLVM dialect with the same operands:
//
//   %1 = arith.addi %0, %c : i32   ->   %1 = llvm.add %0, %c : i32
//   cf.br ^next(%1 : i32)          ->   llvm.br ^next(%1 : i32)
//
// One walk does that in a fraction of the time of a dialect conversion.
//
//===----------------------------------------------------------------------===//

#include "mla/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mlir::mla {
#define GEN_PASS_DEF_SCALARSTOLLVM
#include "mla/Conversion/Passes.h.inc"
} // namespace mlir::mla

namespace {

/// Makes the op that stands for another one; null where that says more than
/// its operands and types.
class Lowering {
public:
  explicit Lowering(Operation *op) : op(op), b(op), loc(op->getLoc()) {}

  Operation *lower() {
    if (auto branch = dyn_cast<cf::BranchOp>(op))
      return LLVM::BrOp::create(b, loc, branch.getDestOperands(),
                                branch.getDest());
    if (auto branch = dyn_cast<cf::CondBranchOp>(op))
      return lower(branch);
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return LLVM::ConstantOp::create(b, loc, constant.getType(),
                                      constant.getValue());
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return LLVM::ICmpOp::create(b, loc,
                                  LLVM::ICmpPredicate(compare.getPredicate()),
                                  compare.getLhs(), compare.getRhs());
    if (saysMore())
      return nullptr;
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      return LLVM::FCmpOp::create(b, loc,
                                  LLVM::FCmpPredicate(compare.getPredicate()),
                                  compare.getLhs(), compare.getRhs());
    return TypeSwitch<Operation *, Operation *>(op)
        .Case([&](arith::AddIOp) { return make<LLVM::AddOp>(); })
        .Case([&](arith::SubIOp) { return make<LLVM::SubOp>(); })
        .Case([&](arith::MulIOp) { return make<LLVM::MulOp>(); })
        .Case([&](arith::AndIOp) { return make<LLVM::AndOp>(); })
        .Case([&](arith::OrIOp) { return make<LLVM::OrOp>(); })
        .Case([&](arith::XOrIOp) { return make<LLVM::XOrOp>(); })
        .Case([&](arith::ShLIOp) { return make<LLVM::ShlOp>(); })
        .Case([&](arith::ShRUIOp) { return make<LLVM::LShrOp>(); })
        .Case([&](arith::ShRSIOp) { return make<LLVM::AShrOp>(); })
        .Case([&](arith::DivUIOp) { return make<LLVM::UDivOp>(); })
        .Case([&](arith::DivSIOp) { return make<LLVM::SDivOp>(); })
        .Case([&](arith::RemUIOp) { return make<LLVM::URemOp>(); })
        .Case([&](arith::RemSIOp) { return make<LLVM::SRemOp>(); })
        .Case([&](arith::MaxSIOp) { return make<LLVM::SMaxOp>(); })
        .Case([&](arith::MinSIOp) { return make<LLVM::SMinOp>(); })
        .Case([&](arith::MaxUIOp) { return make<LLVM::UMaxOp>(); })
        .Case([&](arith::MinUIOp) { return make<LLVM::UMinOp>(); })
        .Case([&](arith::SelectOp) { return make<LLVM::SelectOp>(); })
        .Case([&](arith::ExtSIOp) { return make<LLVM::SExtOp>(); })
        .Case([&](arith::ExtUIOp) { return make<LLVM::ZExtOp>(); })
        .Case([&](arith::TruncIOp) { return make<LLVM::TruncOp>(); })
        .Case([&](arith::BitcastOp) { return make<LLVM::BitcastOp>(); })
        .Case([&](arith::AddFOp) { return make<LLVM::FAddOp>(); })
        .Case([&](arith::SubFOp) { return make<LLVM::FSubOp>(); })
        .Case([&](arith::MulFOp) { return make<LLVM::FMulOp>(); })
        .Case([&](arith::NegFOp) { return make<LLVM::FNegOp>(); })
        .Default([](Operation *) { return nullptr; });
  }

private:
  Operation *lower(cf::CondBranchOp branch) {
    if (branch.getBranchWeights())
      return nullptr;
    return LLVM::CondBrOp::create(
        b, loc, branch.getCondition(), branch.getTrueDest(),
        branch.getTrueDestOperands(), branch.getFalseDest(),
        branch.getFalseDestOperands());
  }

  /// What may be assumed of its operands or done with its result.
  bool saysMore() {
    if (auto integer = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
      return integer.hasNoSignedWrap() || integer.hasNoUnsignedWrap();
    if (auto real = dyn_cast<arith::ArithFastMathInterface>(op)) {
      arith::FastMathFlagsAttr flags = real.getFastMathFlagsAttr();
      return flags && flags.getValue() != arith::FastMathFlags::none;
    }
    return TypeSwitch<Operation *, bool>(op)
        .Case<arith::ShRUIOp, arith::ShRSIOp, arith::DivUIOp, arith::DivSIOp>(
            [](auto exact) { return exact.getIsExact(); })
        .Default(false);
  }

  template <typename To> Operation *make() {
    OperationState state(loc, To::getOperationName(), op->getOperands(),
                         op->getResultTypes(), {});
    return b.create(state);
  }

  Operation *op;
  OpBuilder b;
  Location loc;
};

/// Most types are, and are known to be at a glance.
bool isLLVM(Type type) {
  return type.isSignlessInteger() ||
         isa<Float32Type, Float16Type, BFloat16Type>(type) ||
         LLVM::isCompatibleType(type);
}

struct ScalarsToLLVM : public mla::impl::ScalarsToLLVMBase<ScalarsToLLVM> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (!isa<arith::ArithDialect, cf::ControlFlowDialect>(op->getDialect()))
        return;
      if (!llvm::all_of(op->getOperandTypes(), isLLVM) ||
          !llvm::all_of(op->getResultTypes(), isLLVM))
        return;
      if (Operation *lowered = Lowering(op).lower()) {
        op->replaceAllUsesWith(lowered);
        op->erase();
      }
    });
  }
};
} // namespace
