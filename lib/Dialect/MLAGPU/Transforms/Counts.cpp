//===- Counts.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Counts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mla_gpu;

static bool isCount(Type type) { return type.isIntOrIndex(); }

Count *Counts::known(int64_t value) {
  Count *&count = numbers[value];
  if (!count) {
    count = &all.emplace_back(Count{value, {}});
  }
  return count;
}

Count *Counts::get(Value value) {
  Count *&count = values[value];
  if (!count)
    count = &all.emplace_back(Count{{}, value.getLoc()});
  return count;
}

void Counts::setUnknown(Operation &op) {
  for (Value result : op.getResults())
    if (isCount(result.getType()))
      values[result] = &all.emplace_back(Count{{}, op.getLoc()});
}

Count *Counts::intern(Operation &op, unsigned result,
                      ArrayRef<Count *> operands) {
  auto number = [](const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
  };
  SmallVector<uintptr_t> key{
      number(op.getName().getAsOpaquePointer()),
      number(op.getPropertiesAsAttribute().getAsOpaquePointer()),
      number(op.getDiscardableAttrDictionary().getAsOpaquePointer()),
      number(op.getResult(result).getType().getAsOpaquePointer()), result};
  // What is not a count is known by its name: a memory, mostly.
  for (Count *operand : operands)
    key.push_back(number(operand));
  for (Value operand : op.getOperands())
    if (!isCount(operand.getType()))
      key.push_back(number(root(operand).getAsOpaquePointer()));
  Count *&count = ops[key];
  if (!count)
    count = &all.emplace_back(
        Count{{}, op.getLoc(), &op, result, SmallVector<Count *, 2>(operands)});
  return count;
}

void Counts::compute(Operation &op) {
  bool any = llvm::any_of(op.getResultTypes(), isCount);
  if (!any)
    return;
  APInt constant;
  if (op.getNumResults() == 1 && matchPattern(&op, m_ConstantInt(&constant))) {
    values[op.getResult(0)] =
        known(op.getResult(0).getType().isInteger(1) ? constant.getZExtValue()
                                                     : constant.getSExtValue());
    return;
  }
  // Roles only read the memory that counts come from.
  if (!isMemoryEffectFree(&op) && !isa<memref::LoadOp, WorkItemOp>(op))
    return setUnknown(op);
  SmallVector<Count *> operands;
  for (Value operand : op.getOperands())
    if (isCount(operand.getType()))
      operands.push_back(get(operand));
  for (OpResult result : op.getResults())
    if (isCount(result.getType()))
      values[result] = intern(op, result.getResultNumber(), operands);
}

void Counts::select(Operation &branch, unsigned result, Count *condition,
                    Count *yes, Count *no) {
  values[branch.getResult(result)] =
      intern(branch, result, {condition, yes, no});
}

static bool isSelect(Operation *op) {
  return isa_and_nonnull<arith::SelectOp, scf::IfOp>(op);
}

/// What an arith op gives for known operands.
static std::optional<int64_t> evaluate(Operation *op, ArrayRef<int64_t> v) {
  using Result = std::optional<int64_t>;
  auto unsignedOf = [](int64_t x) { return static_cast<uint64_t>(x); };
  return TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::AddIOp) { return v[0] + v[1]; })
      .Case([&](arith::SubIOp) { return v[0] - v[1]; })
      .Case([&](arith::MulIOp) { return v[0] * v[1]; })
      .Case<arith::DivSIOp, arith::DivUIOp>(
          [&](auto) { return v[1] ? Result(v[0] / v[1]) : Result(); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return v[1] ? Result(v[0] % v[1]) : Result(); })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([&](auto) {
        return v[1] > 0 && v[0] >= 0 ? Result((v[0] + v[1] - 1) / v[1])
                                     : Result();
      })
      .Case([&](arith::MinSIOp) { return std::min(v[0], v[1]); })
      .Case([&](arith::MaxSIOp) { return std::max(v[0], v[1]); })
      .Case([&](arith::MinUIOp) {
        return unsignedOf(v[0]) < unsignedOf(v[1]) ? v[0] : v[1];
      })
      .Case([&](arith::MaxUIOp) {
        return unsignedOf(v[0]) > unsignedOf(v[1]) ? v[0] : v[1];
      })
      .Case([&](arith::AndIOp) { return v[0] & v[1]; })
      .Case([&](arith::OrIOp) { return v[0] | v[1]; })
      .Case([&](arith::XOrIOp) { return v[0] ^ v[1]; })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>([&](auto) { return v[0]; })
      .Case([&](arith::CmpIOp cmp) {
        unsigned width = cmp.getLhs().getType().isIndex()
                             ? 64
                             : cmp.getLhs().getType().getIntOrFloatBitWidth();
        APInt a(64, v[0], /*isSigned=*/true), b(64, v[1], /*isSigned=*/true);
        return int64_t(arith::applyCmpPredicate(
            cmp.getPredicate(), a.trunc(width), b.trunc(width)));
      })
      .Default([](Operation *) { return Result(); });
}

Count *Counts::canonical(Count *count) {
  if (!count->op || count->operands.empty())
    return count;
  SmallVector<Count *> operands;
  for (Count *operand : count->operands) {
    std::optional<int64_t> value = resolve(operand);
    operands.push_back(value ? known(*value) : operand);
  }
  // By the operands' values: the same element, however its index was computed.
  return intern(*count->op, count->result, operands);
}

std::optional<int64_t> Counts::resolve(Count *count) {
  if (count->value || !count->op)
    return count->value;
  SmallVector<int64_t> operands;
  if (isSelect(count->op))
    if (std::optional<int64_t> condition = resolve(count->operands[0]))
      return count->value = resolve(count->operands[*condition ? 1 : 2]);
  for (Count *operand : count->operands)
    if (std::optional<int64_t> value = resolve(operand))
      operands.push_back(*value);
  if (operands.size() == count->operands.size() && !operands.empty())
    if (std::optional<int64_t> value = evaluate(count->op, operands))
      return count->value = value;
  Count *same = canonical(count);
  if (same->value)
    count->value = same->value;
  return count->value;
}

int64_t Counts::choose(Count *count, ArrayRef<int64_t> candidates,
                       bool condition) {
  Count *same = canonical(count);
  unsigned choice =
      candidates.size() > 1 ? choices.choose(candidates.size()) : 0;
  count->value = same->value = candidates[choice];
  if (candidates.size() > 1)
    assumptions.push_back({*same->loc, candidates[choice], condition});
  return candidates[choice];
}

int64_t Counts::demand(Count *count, ArrayRef<int64_t> candidates) {
  if (std::optional<int64_t> value = resolve(count))
    return *value;
  // x + c and x - c: x is chosen, so that what else depends on it agrees.
  if (count->op &&
      isa<arith::AddIOp, arith::SubIOp, arith::IndexCastOp>(count->op)) {
    bool isSum = isa<arith::AddIOp>(count->op);
    for (auto [i, operand] : llvm::enumerate(count->operands)) {
      int64_t other = 0;
      if (count->operands.size() == 2) {
        std::optional<int64_t> value = resolve(count->operands[1 - i]);
        if (!value || resolve(operand))
          continue;
        other = *value;
      }
      SmallVector<int64_t> inverse;
      for (int64_t candidate : candidates)
        inverse.push_back(count->operands.size() == 1 ? candidate
                          : isSum                     ? candidate - other
                          : i == 0                    ? candidate + other
                                                      : other - candidate);
      demand(operand, inverse);
      return *resolve(count);
    }
  }
  if (isSelect(count->op)) {
    bool yes = demandCondition(count->operands[0]);
    demand(count->operands[yes ? 1 : 2], candidates);
    return *resolve(count);
  }
  // max(x, c): x is chosen, c and below c.
  if (isa_and_nonnull<arith::MaxSIOp>(count->op))
    for (auto [i, operand] : llvm::enumerate(count->operands)) {
      std::optional<int64_t> least = resolve(count->operands[1 - i]);
      if (!least || resolve(operand))
        continue;
      SmallVector<int64_t> above{*least - 1};
      llvm::copy_if(candidates, std::back_inserter(above),
                    [&](int64_t candidate) { return candidate >= *least; });
      demand(operand, above);
      return *resolve(count);
    }
  return choose(count, candidates, /*condition=*/false);
}

bool Counts::demandCondition(Count *count) {
  if (std::optional<int64_t> value = resolve(count))
    return *value;
  if (auto cmp = dyn_cast_or_null<arith::CmpIOp>(count->op)) {
    // Choose what is compared, around the boundary and as a count of trips.
    Count *lhs = count->operands[0], *rhs = count->operands[1];
    for (auto [one, other] : {std::pair{lhs, rhs}, {rhs, lhs}})
      if (std::optional<int64_t> bound = resolve(other);
          bound && !resolve(one)) {
        SmallVector<int64_t> candidates;
        for (int64_t n = 0; n <= mostTrips; ++n)
          candidates.push_back(n);
        for (int64_t n = *bound - 1; n <= *bound + 1; ++n)
          if (!llvm::is_contained(candidates, n))
            candidates.push_back(n);
        demand(one, candidates);
        return *resolve(count);
      }
  }
  return choose(count, {1, 0}, /*condition=*/true);
}
