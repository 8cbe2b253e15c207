//===- Protocol.h --------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The pipeline ops of a kernel's roles as sequences of steps, for one choice of
// the counts that are not known, and their execution side by side.
//
//   Trace.cpp     runs each role by itself: what it does, in order. Control
//   flow
//                 depends on counts only, never on other roles, so this is
//                 exact.
//   Execution.cpp runs the sequences together.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_LIB_DIALECT_MLAGPU_TRANSFORMS_PROTOCOL_H
#define MLA_LIB_DIALECT_MLAGPU_TRANSFORMS_PROTOCOL_H

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mla_gpu {

/// Part of a storage: columns [begin, end) of a stage. Vectors have column 0.
struct Place {
  Operation *storage = nullptr;
  int64_t stage = 0, begin = 0, end = 0;

  bool overlaps(const Place &other) const {
    return storage == other.storage && stage == other.stage &&
           begin < other.end && other.begin < end;
  }
};

/// A slot of a pipeline that a role holds, to write or to read.
struct Hold {
  PipelineOp pipeline;
  int64_t number = 0;
  bool writes = false;
};

struct Step {
  enum Kind { Acquire, Commit, Wait, Release, Read, Write, Drain };
  Step(Kind kind, Operation *op) : kind(kind), op(op) {}

  Kind kind;
  Operation *op;
  /// Of the verbs.
  PipelineOp pipeline = {};
  int64_t number = 0;
  /// Of Read and Write: where, and by which hold.
  Place place;
  std::optional<Hold> hold;
  /// Of Read: the MMA that reads, counted by role from 1; 0 if it is none.
  /// Of Drain: the last MMA that is waited for.
  int64_t mma = 0;
};

/// What one role does.
struct Trace {
  StringRef role;
  SmallVector<Step> steps;
};

/// A choice that was made for a value that is not known.
struct Assumption {
  Location loc;
  int64_t value;
  bool condition;
};

/// Which values were chosen from, to go on to the next choice.
class Choices {
public:
  /// One of `count` alternatives.
  unsigned choose(unsigned count);
  /// Begins the next run. False after the last one.
  bool next();

private:
  SmallVector<std::pair<unsigned, unsigned>> taken;
  unsigned used = 0;
};

/// Runs a function's roles one by one. Failures are reported, with `notes` of
/// what was assumed.
class Tracer {
public:
  Tracer(func::FuncOp func, int64_t mostTrips, Choices &choices);
  ~Tracer();

  LogicalResult run(WarpSpecializeOp roles);

  SmallVector<Trace> traces;
  SmallVector<Assumption> assumptions;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Which hand-overs must wait: not ordered already by others.
struct Needs {
  /// Roles whose wait for a pipeline's slots is needed.
  llvm::MapVector<Operation *, llvm::SetVector<StringRef>> full;
  /// Roles whose release an acquire of a pipeline needs to wait for.
  llvm::MapVector<Operation *, llvm::SetVector<StringRef>> empty;
};

/// Runs the sequences together, as one interleaving: every other one ends in
/// the same state. Reports deadlocks, slots that are not read and accesses that
/// nothing orders.
LogicalResult execute(ArrayRef<Trace> traces, ArrayRef<Assumption> assumptions,
                      Needs &needs);

/// Adds notes of what was assumed to a diagnostic.
void addNotes(InFlightDiagnostic &diag, ArrayRef<Assumption> assumptions);

} // namespace mlir::mla_gpu

#endif // MLA_LIB_DIALECT_MLAGPU_TRANSFORMS_PROTOCOL_H
