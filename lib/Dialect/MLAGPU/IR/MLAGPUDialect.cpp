//===- MLAGPUDialect.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLAGPU/IR/MLAGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::mla_gpu;

#include "mla/Dialect/MLAGPU/IR/MLAGPUDialect.cpp.inc"

namespace {
/// Long types and layouts are printed by a short name.
struct Aliases : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (auto mma = dyn_cast<MmaLayoutAttr>(attr))
      os << stringifyMDim(mma.getM());
    else if (isa<SliceLayoutAttr>(attr))
      os << "slice";
    else if (isa<LanesLayoutAttr>(attr))
      os << "lanes";
    else
      return AliasResult::NoAlias;
    return AliasResult::FinalAlias;
  }

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (isa<SmemType>(type))
      os << "smem";
    else if (isa<TileType>(type))
      os << "tile";
    else if (isa<PipelineType>(type))
      os << "pipeline";
    else if (isa<TensorMapType>(type))
      os << "tensor_map";
    else if (isa<LLVM::LLVMStructType>(type))
      os << "registers"; // what inline PTX returns
    else
      return AliasResult::NoAlias;
    return AliasResult::FinalAlias;
  }
};

/// Roles may call functions, and these may be of ops of this dialect.
struct Inliner : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }
};
} // namespace

void MLAGPUDialect::initialize() {
  addInterfaces<Aliases, Inliner>();
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "mla/Dialect/MLAGPU/IR/MLAGPUOps.cpp.inc"
      >();
}
