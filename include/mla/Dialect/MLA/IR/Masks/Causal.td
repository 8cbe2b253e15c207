//===- Causal.td ----------------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Included by MLAMasks.td.

def MLA_Causal : MLA_Mask<"Causal", "causal"> {
  let summary = "key k is visible to query q when k <= q";
  let description = [{
    Bottom-right aligned: the last query of a request sees all of its keys, the
    one before all but the last, and so on.

    Example: `mask(#mla.causal)`
  }];
}
