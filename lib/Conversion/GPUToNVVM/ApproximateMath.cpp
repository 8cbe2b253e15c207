//===- ApproximateMath.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApproximateMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace {
/// f(x) = after * instruction(before * x).
struct Approximation {
  StringLiteral op, instruction;
  float before = 1.0f, after = 1.0f;
};
} // namespace

static constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147182f,
                       kLog10Of2 = 0.301029995f;

static constexpr Approximation kApproximations[] = {
    {"math.exp2", "ex2.approx.ftz.f32"},
    {"math.exp", "ex2.approx.ftz.f32", kLog2E},
    {"math.log2", "lg2.approx.ftz.f32"},
    {"math.log", "lg2.approx.ftz.f32", 1.0f, kLn2},
    {"math.log10", "lg2.approx.ftz.f32", 1.0f, kLog10Of2},
    {"math.sin", "sin.approx.ftz.f32"},
    {"math.cos", "cos.approx.ftz.f32"},
    {"math.rsqrt", "rsqrt.approx.ftz.f32"},
    {"math.sqrt", "sqrt.approx.ftz.f32"},
};

/// What NVPTX selects, or what arithmetic is made of.
static constexpr StringLiteral kSelected[] = {
    "math.absf",  "math.absi",      "math.ceil",  "math.floor",
    "math.fma",   "math.roundeven", "math.trunc", "math.copysign",
    "math.ctpop", "math.ctlz",      "math.cttz"};

static Value instruction(OpBuilder &b, Location loc, StringRef text,
                         ValueRange inputs) {
  std::string asmText = text.str() + " $0";
  std::string constraints = "=f";
  for (size_t i = 0; i < inputs.size(); ++i) {
    asmText += ", $" + std::to_string(i + 1);
    constraints += ",f";
  }
  return LLVM::InlineAsmOp::create(
             b, loc, TypeRange(b.getF32Type()), inputs, asmText + ";",
             constraints, /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None, /*asm_dialect=*/nullptr,
             /*operand_attrs=*/nullptr)
      .getRes();
}

static Value scale(OpBuilder &b, Location loc, Value x, float factor) {
  if (factor == 1.0f)
    return x;
  Value constant = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(factor));
  return arith::MulFOp::create(b, loc, x, constant);
}

/// 1 - 2 / (e^2x + 1), with an absolute error of 1e-7; that of tanh.approx is
/// 5e-4, which soft caps would make 1e-2 of a score.
static Value emitTanh(OpBuilder &b, Location loc, Value x) {
  Value power = instruction(b, loc, "ex2.approx.ftz.f32",
                            scale(b, loc, x, 2.0f * kLog2E));
  Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1.0f));
  Value sum = arith::AddFOp::create(b, loc, power, one);
  Value inverse = instruction(b, loc, "rcp.approx.ftz.f32", sum);
  Value two = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(-2.0f));
  return math::FmaOp::create(b, loc, inverse, two, one);
}

/// What an op becomes; null if it stays.
static Value approximate(Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isF32())
    return {};
  OpBuilder b(op);
  Location loc = op->getLoc();
  ValueRange operands = op->getOperands();
  if (isa<arith::DivFOp>(op))
    return instruction(b, loc, "div.full.f32", operands);
  // Before arith's own expansion of them to comparisons.
  if (isa<arith::MaximumFOp>(op))
    return LLVM::MaximumOp::create(b, loc, operands[0], operands[1]);
  if (isa<arith::MinimumFOp>(op))
    return LLVM::MinimumOp::create(b, loc, operands[0], operands[1]);
  if (isa<math::TanhOp>(op))
    return emitTanh(b, loc, operands[0]);
  const Approximation *known =
      llvm::find_if(kApproximations, [&](const Approximation &entry) {
        return entry.op == op->getName().getStringRef();
      });
  if (known == std::end(kApproximations))
    return {};
  Value x = scale(b, loc, operands[0], known->before);
  return scale(b, loc, instruction(b, loc, known->instruction, x),
               known->after);
}

LogicalResult mla_gpu::approximateMath(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    if (Value value = approximate(op)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    } else if (isa<math::MathDialect>(op->getDialect()) &&
               !llvm::is_contained(kSelected, op->getName().getStringRef())) {
      op->emitOpError("requires an approximation on a GPU, but has none for ")
          << op->getResult(0).getType();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
