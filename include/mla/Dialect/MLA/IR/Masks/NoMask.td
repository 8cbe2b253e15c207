//===- NoMask.td ----------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Included by MLAMasks.td.

def MLA_NoMask : MLA_Mask<"NoMask", "none"> {
  let summary = "every key of the request is visible";
  let description = [{
    Every query sees all `kv_len` keys.

    Example: `mask(#mla.none)`
  }];
}
