//===- AsanOptions.cpp - What AddressSanitizer must not check -------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// LLVM's allocators are templates: compiled here they poison what they have not
// handed out, while the same allocator, compiled into libLLVM without the
// sanitizer, hands that out again and unpoisons nothing.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
