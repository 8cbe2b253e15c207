//===- SpecializeTiles.cpp ------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   scf.for %t = %first to %end { ... mla.mask ... }
//
// becomes
//
//   %begin, %stop = mla.full_tiles %plan[%item] from %first to %end
//   scf.for %t = %begin to %stop { ... }           every key visible: no mask
//   scf.for %i = 0 to (%begin - %first) + (%end - %stop) {
//     %t = %i-th tile of [%first, %begin) and [%stop, %end)
//     ... mla.mask ...
//   }
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::mla;

namespace mlir::mla {
#define GEN_PASS_DEF_SPECIALIZETILES
#include "mla/Dialect/MLA/Transforms/Passes.h.inc"
} // namespace mlir::mla

/// Clones the body of `loop` for tile `tile`, and yields its results.
static void cloneBody(OpBuilder &builder, scf::ForOp loop, Value tile,
                      ValueRange state, bool masked) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), tile);
  mapping.map(loop.getRegionIterArgs(), state);
  for (Operation &op : *loop.getBody()) {
    auto mask = dyn_cast<MaskOp>(op);
    if (mask && !masked)
      mapping.map(mask.getResult(), mapping.lookup(mask.getScores()));
    else
      builder.clone(op, mapping);
  }
}

static void specialize(scf::ForOp loop, MaskOp mask) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value first = loop.getLowerBound(), end = loop.getUpperBound();
  auto full = FullTilesOp::create(builder, loc, builder.getIndexType(),
                                  builder.getIndexType(), mask.getPlan(),
                                  mask.getItem(), first, end);
  auto fullLoop = scf::ForOp::create(
      builder, loc, full.getBegin(), full.getEnd(), loop.getStep(),
      loop.getInitArgs(),
      [&](OpBuilder &inner, Location, Value tile, ValueRange state) {
        cloneBody(inner, loop, tile, state, /*masked=*/false);
      });

  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value head = arith::SubIOp::create(builder, loc, full.getBegin(), first);
  Value tail = arith::SubIOp::create(builder, loc, end, full.getEnd());
  Value count = arith::AddIOp::create(builder, loc, head, tail);
  auto maskedLoop = scf::ForOp::create(
      builder, loc, zero, count, loop.getStep(), fullLoop.getResults(),
      [&](OpBuilder &inner, Location, Value i, ValueRange state) {
        Value inHead = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::ult, i, head);
        Value before = arith::AddIOp::create(inner, loc, first, i);
        Value past = arith::SubIOp::create(inner, loc, i, head);
        Value behind = arith::AddIOp::create(inner, loc, full.getEnd(), past);
        Value tile =
            arith::SelectOp::create(inner, loc, inHead, before, behind);
        cloneBody(inner, loop, tile, state, /*masked=*/true);
      });
  loop.replaceAllUsesWith(maskedLoop.getResults());
  loop.erase();
}

namespace {
struct SpecializeTiles
    : public mla::impl::SpecializeTilesBase<SpecializeTiles> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<std::pair<scf::ForOp, MaskOp>> loops;
    getOperation().walk([&](ForWorkOp work) {
      for (scf::ForOp loop : work.getBody().getOps<scf::ForOp>()) {
        // A loop over the whole piece: what was specialised is not again.
        if (loop.getLowerBound() != work.getFirst() ||
            loop.getUpperBound() != work.getEnd())
          continue;
        auto masks = loop.getBody()->getOps<MaskOp>();
        if (!masks.empty())
          loops.emplace_back(loop, *masks.begin());
      }
    });
    for (auto [loop, mask] : loops)
      specialize(loop, mask);
  }
};
} // namespace
