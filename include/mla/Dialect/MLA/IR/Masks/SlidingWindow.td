//===- SlidingWindow.td ---------------------------------- -*- tablegen -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Included by MLAMasks.td.

def MLA_SlidingWindow : MLA_Mask<"SlidingWindow", "sliding_window"> {
  let summary = "key k is visible to query q when 0 <= q - k < window";
  let description = [{
    A causal window: every query sees itself and the `window - 1` keys before it.
    `window` is a launch-time parameter; of 0 or less, nothing is visible.

    Example: `mask(#mla.sliding_window, %window : i32)`
  }];
}
