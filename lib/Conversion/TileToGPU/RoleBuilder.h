//===- RoleBuilder.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Builds what roles are made of, in few words: index arithmetic, loops,
// fragments, and the verbs of pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOGPU_ROLEBUILDER_H
#define MLA_CONVERSION_TILETOGPU_ROLEBUILDER_H

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::mla_gpu {

/// A location that makes a value be printed by a name.
Location nameLoc(Location loc, const Twine &name);

/// Types of the fragments that have one `#mla_gpu.mma` layout.
struct FragmentTypes {
  FragmentTypes(MmaLayoutAttr layout, int64_t rows, int64_t columns)
      : layout(layout), rows(rows), columns(columns) {}

  /// rows x columns of an element type.
  RankedTensorType matrix(Type element) const;
  /// A value a row, in all threads that share it.
  RankedTensorType row(Type element) const;
  /// A value a row of each thread that shares it.
  RankedTensorType lanes(Type element) const;

  MmaLayoutAttr layout;
  int64_t rows, columns;
};

class RoleBuilder : public ImplicitLocOpBuilder {
public:
  /// Index constants go to the beginning of the function, once each.
  RoleBuilder(Location loc, func::FuncOp func);

  /// The entry that is built.
  func::FuncOp getFunc() const { return func; }

  /// Gives a value a name to be printed by.
  Value named(StringRef name, Value value);

  //===--- Index arithmetic -----------------------------------------------===//

  Value index(int64_t value);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  /// Of values that are not negative.
  Value floorDiv(Value x, Value y);
  Value rem(Value x, Value y);
  Value max(Value x, Value y);
  Value min(Value x, Value y);
  Value less(Value x, Value y);
  Value isSame(Value x, Value y);
  Value isNot(Value x, Value y);
  Value select(Value condition, Value x, Value y);
  /// An integer element of a list, as an index.
  Value load(Value list, ValueRange indices);

  //===--- Control flow ---------------------------------------------------===//

  using LoopBody =
      llvm::function_ref<SmallVector<Value>(Value number, ValueRange carried)>;
  using Branch = llvm::function_ref<SmallVector<Value>()>;

  /// From `begin` up to `end`, carrying values.
  SmallVector<Value> loop(Value begin, Value end, ValueRange carried,
                          LoopBody body);
  SmallVector<Value> branch(Value condition, Branch yes, Branch no);
  void when(Value condition, llvm::function_ref<void()> yes);

  //===--- Pipelines: the tiles of a slot ---------------------------------===//

  ValueRange acquire(Value pipeline, Value number) {
    return AcquireOp::create(*this, pipeline, number).getTiles();
  }
  ValueRange wait(Value pipeline, Value number) {
    return WaitOp::create(*this, pipeline, number).getTiles();
  }

  //===--- Fragments ------------------------------------------------------===//

  /// The same number everywhere in a fragment.
  Value splat(RankedTensorType type, float value);
  Value spread(Value value, RankedTensorType type);
  Value reduce(Reduction kind, Value value, RankedTensorType type);
  /// Values anew if some row needs it, else those of `old`.
  SmallVector<Value> ifAny(Value condition, ValueRange old, Branch yes);
  /// lhs * rhs (+ acc), in flight.
  Value multiply(Value lhs, Value rhs, Value acc, RankedTensorType type,
                 bool transposed = false);
  Value finish(Value inflight);
  /// Waits without taking the value.
  void drain(Value inflight);
  /// Columns [begin, end) of a tile.
  Value view(Value tile, int64_t begin, int64_t end);

private:
  func::FuncOp func;
  llvm::DenseMap<int64_t, Value> indices;
};

} // namespace mlir::mla_gpu

#endif // MLA_CONVERSION_TILETOGPU_ROLEBUILDER_H
