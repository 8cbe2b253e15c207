//===- MLAMaskInterface.td ------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_MASK_INTERFACE_TD
#define MLA_MASK_INTERFACE_TD

include "mlir/IR/OpBase.td"

def MLA_MaskAttrInterface : AttrInterface<"MaskAttrInterface"> {
  let cppNamespace = "::mlir::mla";
  let description = [{
    A mask says which keys a query sees. All positions count keys of the
    request from 0; a query's position is `kv_len - q_len + i` for the i-th of
    its request's queries (bottom-right alignment), which is negative when there
    are more queries than keys. Keys at or past `kv_len` are never visible, so
    a mask need not say so.

    A new mask is one attribute with this interface: one .td file, one .cpp
    file, a line in MLAMasks.td and one in the CMake list.
  }];
  let methods = [
    InterfaceMethod<[{
        Names of the launch-time parameters (each an i32), in the order in which
        the other methods take their values.
      }],
      "::llvm::SmallVector<::llvm::StringRef>", "getParameterNames", (ins)>,
    InterfaceMethod<[{
        Builds an i1: is key `point.k` visible to query `point.q`? Built of
        elementwise speculatable ops only: a target clones them per vector.
      }],
      "::mlir::Value", "buildVisible",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "const ::mlir::mla::ScorePoint &":$point,
           "::mlir::ValueRange":$parameters)>,
    InterfaceMethod<[{
        Whether no query sees a key behind itself, `point.k > point.q`: what
        buildVisible says then holds for keys past `kv_len` too.
      }],
      "bool", "isCausal", (ins)>,
    InterfaceMethod<[{
        Builds the keys that queries at positions firstQ..lastQ (inclusive,
        index typed, firstQ <= lastQ) see of `kvLen` keys: [begin, end) is a hull
        of the keys that some of them sees, [innerBegin, innerEnd) lies in it and
        holds only keys that all of them see. Both within [0, kvLen], and
        begin <= end, innerBegin <= innerEnd always. O(1): it sets loop bounds and
        split counts.
      }],
      "::mlir::mla::KeyRange", "buildRange",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$firstQ, "::mlir::Value":$lastQ,
           "::mlir::Value":$kvLen, "::mlir::ValueRange":$parameters)>
  ];
}

#endif // MLA_MASK_INTERFACE_TD
