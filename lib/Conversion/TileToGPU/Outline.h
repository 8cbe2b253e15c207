//===- Outline.h ---------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Code of roles as private functions, so that a role reads as what it does:
// what several places do, and what is done for some tiles only. The next
// lowering inlines them.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_CONVERSION_TILETOGPU_OUTLINE_H
#define MLA_CONVERSION_TILETOGPU_OUTLINE_H

#include "RoleBuilder.h"

namespace mlir::mla {

class Outline {
public:
  struct Param {
    StringRef name;
    Type type;
  };
  /// Gives the function's results.
  using Body = llvm::function_ref<SmallVector<Value>(ValueRange params)>;

  /// Makes a function that is called `name`, if that is free. What `emit` uses
  /// from outside are further parameters, and has to be there wherever it is
  /// called; constants are copied.
  Outline(mla_gpu::RoleBuilder &b, StringRef name, ArrayRef<Param> params,
          Body emit);

  /// Makes what `later` uses from this function's body be results of this one,
  /// which calls of `later` are given.
  void giveTo(Outline &later);

  SmallVector<Value> call(mla_gpu::RoleBuilder &b, ValueRange params,
                          ValueRange given = {}) const;

private:
  func::FuncOp func;
  llvm::DenseSet<Value> defined; ///< by its body
  SmallVector<Value> captured;   ///< parameters behind the named ones
  llvm::SmallDenseMap<Value, unsigned> given; ///< those that calls are given
};

} // namespace mlir::mla

#endif // MLA_CONVERSION_TILETOGPU_OUTLINE_H
