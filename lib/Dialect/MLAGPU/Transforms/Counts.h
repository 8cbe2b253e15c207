//===- Counts.h ----------------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Integers of a kernel that may not be known: what is computed from constants
// is known, what is read from the same place is the same, and a value that is
// needed is chosen from candidates, by way of what it is computed from.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_LIB_DIALECT_MLAGPU_TRANSFORMS_COUNTS_H
#define MLA_LIB_DIALECT_MLAGPU_TRANSFORMS_COUNTS_H

#include "Protocol.h"
#include <deque>
#include <map>

namespace mlir::mla_gpu {

/// A known number, an argument, or an op on others.
struct Count {
  std::optional<int64_t> value = {};
  std::optional<Location> loc = {};
  Operation *op = nullptr;
  unsigned result = 0; ///< of the op
  SmallVector<Count *, 2> operands = {};
};

class Counts {
public:
  Counts(Choices &choices, SmallVector<Assumption> &assumptions,
         int64_t mostTrips)
      : choices(choices), assumptions(assumptions), mostTrips(mostTrips) {}

  Count *known(int64_t value);
  Count *get(Value value);
  void set(Value value, Count *count) { values[value] = count; }
  /// Makes a memory be another one: an argument of a function that is called.
  void alias(Value value, Value same) { aliases[value] = root(same); }

  /// Sets the integer results of an op.
  void compute(Operation &op);
  /// Sets a result of a branch to one of two values.
  void select(Operation &branch, unsigned result, Count *condition, Count *yes,
              Count *no);
  /// Sets them to values that equal no others.
  void setUnknown(Operation &op);

  /// The value, where it is known.
  std::optional<int64_t> resolve(Count *count);
  /// The value; if it is not known, one of the candidates, by choice.
  int64_t demand(Count *count, ArrayRef<int64_t> candidates);
  /// The same of a condition: both ways.
  bool demandCondition(Count *count);

private:
  Value root(Value value) const {
    auto it = aliases.find(value);
    return it == aliases.end() ? value : it->second;
  }
  /// The one count of an op on these operands.
  Count *intern(Operation &op, unsigned result, ArrayRef<Count *> operands);
  /// The one count that a value which is chosen is kept in.
  Count *canonical(Count *count);
  int64_t choose(Count *count, ArrayRef<int64_t> candidates, bool condition);

  Choices &choices;
  SmallVector<Assumption> &assumptions;
  int64_t mostTrips;
  std::deque<Count> all;
  llvm::DenseMap<Value, Count *> values;
  llvm::DenseMap<Value, Value> aliases;
  llvm::DenseMap<int64_t, Count *> numbers;
  std::map<SmallVector<uintptr_t>, Count *> ops;
};

} // namespace mlir::mla_gpu

#endif // MLA_LIB_DIALECT_MLAGPU_TRANSFORMS_COUNTS_H
