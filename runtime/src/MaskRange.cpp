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

namespace {
/// A scratch module of constants and ops on them, all of which fold.
class Folding {
public:
  explicit Folding(MLIRContext *context)
      : builder(context), loc(builder.getUnknownLoc()),
        module(ModuleOp::create(builder, loc)) {
    builder.setInsertionPointToEnd(module->getBody());
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value integer(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  SmallVector<Value> integers(const std::vector<int32_t> &values) {
    return llvm::map_to_vector(values, [&](int32_t v) { return integer(v); });
  }

  /// Folds the ops in turn: each has constant operands.
  void fold() {
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
  }
  int64_t number(Value value) const {
    return cast<IntegerAttr>(known.at(value)).getValue().getSExtValue();
  }

  OpBuilder builder;
  Location loc;

private:
  OwningOpRef<ModuleOp> module;
  DenseMap<Value, Attribute> known;
};
} // namespace

MaskRange::Keys MaskRange::keys(int64_t firstQuery, int64_t lastQuery,
                                int64_t numKeys,
                                const std::vector<int32_t> &parameters) const {
  Folding f(&state->context);
  mla::KeyRange range = state->mask.buildRange(
      f.builder, f.loc, f.index(firstQuery), f.index(lastQuery),
      f.index(numKeys), f.integers(parameters));
  f.fold();
  return {f.number(range.begin), f.number(range.end),
          f.number(range.innerBegin), f.number(range.innerEnd)};
}

std::pair<int64_t, int64_t>
MaskRange::visible(int64_t firstQuery, int64_t lastQuery, int64_t numKeys,
                   const std::vector<int32_t> &parameters) const {
  Keys range = keys(firstQuery, lastQuery, numKeys, parameters);
  return {range.begin, range.end};
}

bool MaskRange::sees(int64_t query, int64_t key,
                     const std::vector<int32_t> &parameters) const {
  Folding f(&state->context);
  mla::ScorePoint point = {f.integer(0), f.integer(0), f.integer(query),
                           f.integer(key)};
  Value visible =
      state->mask.buildVisible(f.builder, f.loc, point, f.integers(parameters));
  f.fold();
  return f.number(visible) != 0;
}

} // namespace mla_jit
