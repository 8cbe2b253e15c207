//===- MaskRange.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskRange.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace mla_jit {

struct MaskRange::State {
  State() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<mla::MLADialect, arith::ArithDialect>();
  }
  MLIRContext context;
  mla::MaskAttrInterface mask;
  std::vector<std::string> parameterNames;
};

MaskRange::MaskRange(std::unique_ptr<State> state) : state(std::move(state)) {}
MaskRange::MaskRange(MaskRange &&) = default;
MaskRange::~MaskRange() = default;

llvm::Expected<MaskRange> MaskRange::create(const std::string &mask) {
  auto state = std::make_unique<State>();
  ScopedDiagnosticHandler quiet(&state->context, [](Diagnostic &) {});
  state->mask = dyn_cast_or_null<mla::MaskAttrInterface>(
      parseAttribute(mask, &state->context));
  if (!state->mask)
    return llvm::createStringError("'" + mask + "' is not a mask");
  for (StringRef name : state->mask.getParameterNames())
    state->parameterNames.push_back(name.str());
  return MaskRange(std::move(state));
}

const std::vector<std::string> &MaskRange::parameterNames() const {
  return state->parameterNames;
}

std::pair<int64_t, int64_t>
MaskRange::visible(int64_t firstQuery, int64_t lastQuery, int64_t numKeys,
                   const std::vector<int32_t> &parameters) const {
  OpBuilder builder(&state->context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<Value> values;
  for (int32_t parameter : parameters)
    values.push_back(arith::ConstantIntOp::create(builder, loc, parameter, 32));
  mla::KeyRange range =
      state->mask.buildRange(builder, loc, constant(firstQuery),
                             constant(lastQuery), constant(numKeys), values);

  // Every op has constant operands, so each folds in turn.
  DenseMap<Value, Attribute> known;
  for (Operation &op : *module->getBody()) {
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    SmallVector<OpFoldResult> folded;
    if (failed(op.fold(operands, folded)) || folded.empty())
      continue;
    auto attribute = dyn_cast<Attribute>(folded.front());
    known[op.getResult(0)] =
        attribute ? attribute : known.lookup(cast<Value>(folded.front()));
  }
  auto number = [&](Value value) {
    return cast<IntegerAttr>(known.at(value)).getInt();
  };
  return {number(range.begin), number(range.end)};
}

} // namespace mla_jit
