//===- Dataflow.h --------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A dataflow is one strategy of lowering a decode problem. Schedule selection,
// support checks, user schedules and tuners all ask it the same questions.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_DATAFLOW_DATAFLOW_H
#define MLA_DATAFLOW_DATAFLOW_H

#include "mla/Dialect/MLA/IR/MLA.h"
#include <memory>
#include <optional>
#include <string>

namespace mlir::mla {

/// What is known of launches beyond the problem; it chooses schedules.
struct LaunchHints {
  int64_t queries = 1;         ///< that a request typically has
  bool alignedStrides = false; ///< promised: free strides of q, k and out, and
                               ///< where they begin, are multiples of 16 bytes
};

class Dataflow {
public:
  virtual ~Dataflow() = default;

  /// The name that schedules give it by.
  virtual StringRef getName() const = 0;

  /// Whether it lowers to targets of this kind at all.
  virtual bool supportsTarget(TargetAttr target) const = 0;

  /// The schedules worth considering for a problem.
  virtual SmallVector<ScheduleAttr>
  enumerate(DecodeOp problem, TargetAttr target,
            const LaunchHints &hints) const = 0;

  /// Nothing if the schedule can be lowered for the target, else the reason why
  /// not.
  virtual std::optional<std::string> check(TargetAttr target,
                                           ScheduleAttr schedule) const = 0;

  /// The same for a problem: what the schedule demands of it, too.
  virtual std::optional<std::string> checkProblem(DecodeOp, TargetAttr target,
                                                  ScheduleAttr schedule) const {
    return check(target, schedule);
  }

  /// Predicted core cycles per key of one request, all heads: the number that
  /// selection minimises.
  virtual double cost(DecodeOp problem, TargetAttr target,
                      ScheduleAttr schedule,
                      const LaunchHints &hints) const = 0;
};

/// Register blocks of vectors on a CPU; rows of a tile share each key.
std::unique_ptr<Dataflow> createHostBlocksDataflow();

/// Few rows on a GPU: keys lie along M of the MMA.
std::unique_ptr<Dataflow> createKeysAsMDataflow();

/// Many rows on a GPU: rows lie along M of the MMA.
std::unique_ptr<Dataflow> createRowsAsMDataflow();

/// All dataflows, in the order in which ties are broken.
ArrayRef<std::unique_ptr<Dataflow>> getDataflows();

/// The dataflow of that name, or null.
const Dataflow *findDataflow(StringRef name);

} // namespace mlir::mla

#endif // MLA_DATAFLOW_DATAFLOW_H
