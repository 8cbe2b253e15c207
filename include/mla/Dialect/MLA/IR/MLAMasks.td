//===- MLAMasks.td --------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_MASKS_TD
#define MLA_MASKS_TD

include "mla/Dialect/MLA/IR/MLADialect.td"
include "mla/Dialect/MLA/IR/MLAMaskInterface.td"
include "mlir/IR/AttrTypeBase.td"

class MLA_Mask<string name, string keyword>
    : AttrDef<MLA_Dialect, name, [
        DeclareAttrInterfaceMethods<MLA_MaskAttrInterface>]> {
  let mnemonic = keyword;
}

// The masks that exist, a file each.
include "mla/Dialect/MLA/IR/Masks/NoMask.td"
include "mla/Dialect/MLA/IR/Masks/Causal.td"
include "mla/Dialect/MLA/IR/Masks/SlidingWindow.td"

#endif // MLA_MASKS_TD
