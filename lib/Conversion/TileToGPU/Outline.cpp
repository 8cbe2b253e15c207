//===- Outline.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outline.h"

using namespace mlir;
using namespace mlir::mla;
using namespace mlir::mla_gpu;

/// What a body defines. (Ops around it may be in the making, so that there is
/// no asking for a value's region.)
static llvm::DenseSet<Value> findDefined(Region &body) {
  llvm::DenseSet<Value> defined;
  auto insert = [&](ValueRange values) {
    defined.insert(values.begin(), values.end());
  };
  insert(body.getArguments());
  body.walk([&](Operation *op) {
    insert(op->getResults());
    for (Region &region : op->getRegions())
      insert(region.getArguments());
  });
  return defined;
}

/// Where a parameter that stands for a value is: with a name, if it has one.
static Location paramLoc(Value value) {
  Location loc = value.getLoc();
  if (auto op = value.getDefiningOp<OpAsmOpInterface>())
    op.getAsmResultNames([&](Value result, StringRef name) {
      if (result == value)
        loc = nameLoc(loc, name);
    });
  return loc;
}

static void setType(func::FuncOp func) {
  Block &body = func.getBody().front();
  func.setFunctionType(
      FunctionType::get(func.getContext(), body.getArgumentTypes(),
                        TypeRange(body.getTerminator()->getOperands())));
}

Outline::Outline(RoleBuilder &b, StringRef name, ArrayRef<Param> params,
                 Body emit) {
  OpBuilder::InsertionGuard guard(b);
  auto module = b.getFunc()->getParentOfType<ModuleOp>();
  b.setInsertionPointToEnd(module.getBody());
  func = func::FuncOp::create(b, name, b.getFunctionType({}, {}));
  func.setPrivate();
  SymbolTable(module).insert(func);
  Region &region = func.getBody();
  Block *body = b.createBlock(&region);
  for (Param param : params)
    body->addArgument(param.type, nameLoc(b.getLoc(), param.name));
  SmallVector<Value> named(body->getArguments());
  func::ReturnOp::create(b, emit(named));

  b.setInsertionPointToStart(body);
  defined = findDefined(region);
  llvm::MapVector<Value, SmallVector<OpOperand *>> uses;
  region.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (!defined.contains(operand.get()))
        uses[operand.get()].push_back(&operand);
  });
  for (auto &[value, operands] : uses) {
    Operation *op = value.getDefiningOp();
    Value inside;
    if (op && op->hasTrait<OpTrait::ConstantLike>()) {
      inside = b.clone(*op)->getResult(0);
    } else {
      captured.push_back(value);
      inside = body->addArgument(value.getType(), paramLoc(value));
    }
    for (OpOperand *operand : operands)
      operand->set(inside);
  }
  setType(func);
}

void Outline::giveTo(Outline &later) {
  Operation *results = func.getBody().front().getTerminator();
  for (Value value : later.captured) {
    if (!defined.contains(value))
      continue;
    later.given[value] = results->getNumOperands();
    results->insertOperands(results->getNumOperands(), value);
  }
  setType(func);
}

SmallVector<Value> Outline::call(RoleBuilder &b, ValueRange params,
                                 ValueRange results) const {
  SmallVector<Value> operands(params);
  for (Value value : captured) {
    auto it = given.find(value);
    operands.push_back(it == given.end() ? value : results[it->second]);
  }
  return SmallVector<Value>(
      func::CallOp::create(b, func, operands).getResults());
}
