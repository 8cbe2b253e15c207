//===- SpecText.h -----------------------------------------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla_spec as a value: its canonical text, and the engine's Spec.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CAPI_SPECTEXT_H
#define MLA_JIT_SRC_CAPI_SPECTEXT_H

#include "Status.h"
#include "mla/Problem/Spec.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mla_jit::capi {

/// One "field = value" a line, every field that is not a default of 0.
std::string writeSpecText(const mla_spec &spec);
/// The inverse; `keep` gives a string its place.
llvm::Expected<mla_spec>
readSpecText(std::string_view text,
             llvm::function_ref<const char *(std::string)> keep);

/// What the engine compiles. An error names the field that is wrong, or that
/// asks for what no kernel does yet. `target`: the engine's.
llvm::Expected<Spec> toSpec(const mla_spec &spec, std::string_view target);
/// Text of a spec whose inverse by toSpec is this one.
std::string writeSpecText(const Spec &spec);
/// "bf16" of MLA_BF16; DType::None of what the engine has no tensors of.
DType toDType(int32_t dtype);
/// The inverse.
int32_t fromDType(DType dtype);

/// Takes "(%name: type, ...) body" apart.
llvm::Error readScoreMod(std::string_view text, Spec &spec);
/// The inverse.
std::string writeScoreMod(const Spec &spec);

} // namespace mla_jit::capi

#endif // MLA_JIT_SRC_CAPI_SPECTEXT_H
