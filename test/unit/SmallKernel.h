//===- SmallKernel.h - A kernel and inputs for tests -------------*- C++
//-*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TEST_UNIT_SMALLKERNEL_H
#define MLA_TEST_UNIT_SMALLKERNEL_H

#include "../../runtime/src/Engine.h"
#include "mla/Inputs/Generate.h"

#include "gtest/gtest.h"

#include <map>

namespace mla_jit {

/// 4 heads of 72/64, pages of 16: quick to compile, and no power of two.
inline Spec smallSpec(KVLayout layout = KVLayout::Paged) {
  Spec spec;
  spec.numHeads = 4;
  spec.headDim = 72;
  spec.headDimV = 64;
  spec.pageSize = 16;
  spec.layout = layout;
  return spec;
}

/// An engine of 3 workers for all tests of a binary.
inline Engine &smallEngine() {
  static Engine engine({.cpu = "native", .numWorkers = 3});
  return engine;
}

/// Inputs, outputs and arguments of one launch.
struct SmallLaunch {
  SmallLaunch(const std::shared_ptr<Kernel> &kernel, const Spec &spec,
              const GenOptions &shape)
      : kernel(kernel), arguments(kernel->info()),
        tensors(llvm::cantFail(generateInputs(spec, shape))) {
    Tensor q = tensors.view("q");
    std::vector<int64_t> out(q.shape.begin(), q.shape.begin() + q.rank);
    out.back() = spec.headDimV;
    llvm::cantFail(tensors.add("out", spec.outDType, out).takeError());
    out.pop_back();
    llvm::cantFail(tensors.add("lse", DType::F32, out).takeError());
    for (const TensorSet::Entry &entry : tensors.entries())
      llvm::cantFail(arguments.set(entry.name, entry.tensor));
    llvm::cantFail(arguments.set("softmax_scale", 0.1));
    if (arguments.has("window"))
      llvm::cantFail(arguments.set("window", 20));
  }

  /// Launches with a workspace of its own.
  llvm::Error launch() {
    size_t bytes = kernel->workspaceBytes(arguments);
    void *workspace = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
    llvm::Error error = kernel->launch(arguments, workspace, bytes);
    std::free(workspace);
    return error;
  }

  std::shared_ptr<Kernel> kernel;
  Arguments arguments;
  TensorSet tensors;
};

/// The text of an error; "" for none.
inline std::string textOf(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "";
}

/// Checks that a message has each of these parts.
inline void expectParts(const std::string &message,
                        std::initializer_list<const char *> parts) {
  EXPECT_FALSE(message.empty()) << "no error";
  for (const char *part : parts)
    EXPECT_NE(message.find(part), std::string::npos)
        << "'" << message << "' has no '" << part << "'";
}

} // namespace mla_jit

#endif // MLA_TEST_UNIT_SMALLKERNEL_H
