//===- ExpandMath.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Conversion/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace mlir::mla {
#define GEN_PASS_DEF_EXPANDMATH
#include "mla/Conversion/Passes.h.inc"
} // namespace mlir::mla

namespace {

/// 2^x = 2^n p(f) with n = round(x), f in [-1/2, 1/2]. The coefficients are the
/// minimax polynomial of degree 6 in relative error (Remez; 2.6e-9, and 8.4e-8
/// evaluated in f32).
struct ExpandExp2 : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32() || isa<TensorType>(type))
      return rewriter.notifyMatchFailure(op, "not f32 scalars or vectors");
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    auto vectorType = dyn_cast<VectorType>(type);
    Type intType = vectorType ? Type(vectorType.clone(i32)) : i32;
    auto constant = [&](float value) -> Value {
      TypedAttr attr = rewriter.getF32FloatAttr(value);
      if (vectorType)
        attr = DenseElementsAttr::get(vectorType, value);
      return arith::ConstantOp::create(rewriter, loc, attr);
    };
    auto intConstant = [&](int32_t value) -> Value {
      TypedAttr attr = rewriter.getI32IntegerAttr(value);
      if (vectorType)
        attr = DenseElementsAttr::get(cast<VectorType>(intType), value);
      return arith::ConstantOp::create(rewriter, loc, attr);
    };

    // Below -150 the result is 0 even as a subnormal; above 128 it is infinite.
    // Comparisons are false for NaN, which so goes through.
    Value x = op.getOperand();
    auto clamp = [&](arith::CmpFPredicate beyond, float limit) {
      Value out =
          arith::CmpFOp::create(rewriter, loc, beyond, x, constant(limit));
      x = arith::SelectOp::create(rewriter, loc, out, constant(limit), x);
    };
    clamp(arith::CmpFPredicate::OLT, -151.0f);
    clamp(arith::CmpFPredicate::OGT, 129.0f);

    Value n = math::RoundEvenOp::create(rewriter, loc, x);
    Value f = arith::SubFOp::create(rewriter, loc, x, n);
    static constexpr float kCoefficients[] = {1.55946778e-4f,
                                              1.34066434e-3f,
                                              9.61769279e-3f,
                                              5.55031039e-2f,
                                              2.40226522e-1f,
                                              6.93147242e-1f,
                                              1.0f};
    Value p = constant(kCoefficients[0]);
    for (float c : ArrayRef(kCoefficients).drop_front())
      p = math::FmaOp::create(rewriter, loc, p, f, constant(c));

    // 2^n in two factors, each a normal number, so that subnormal and infinite
    // results come out of the multiplication.
    Value exponent = arith::FPToSIOp::create(rewriter, loc, intType, n);
    Value half =
        arith::ShRSIOp::create(rewriter, loc, exponent, intConstant(1));
    Value rest = arith::SubIOp::create(rewriter, loc, exponent, half);
    auto power = [&](Value e) -> Value {
      Value biased = arith::AddIOp::create(rewriter, loc, e, intConstant(127));
      Value bits =
          arith::ShLIOp::create(rewriter, loc, biased, intConstant(23));
      return arith::BitcastOp::create(rewriter, loc, type, bits);
    };
    p = arith::MulFOp::create(rewriter, loc, p, power(half));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, p, power(rest));
    return success();
  }
};

struct ExpandMath : public mla::impl::ExpandMathBase<ExpandMath> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp2>(&getContext());
    math::populateExpansionPatterns(
        patterns, {"tan", "sinh", "cosh", "asinh", "acosh", "atanh"});
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.tanh", "math.exp", "math.log",
                                 "math.log2", "math.log1p", "math.expm1",
                                 "math.erf", "math.sin", "math.cos",
                                 "math.atan", "math.cbrt"},
                                name);
    });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
