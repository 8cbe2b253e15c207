//===- Library.cpp --------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A library needs a source of its own; the C interface comes whole from the
// archive MLAJitC.
//
//===----------------------------------------------------------------------===//
