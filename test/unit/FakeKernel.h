//===- FakeKernel.h -------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel as the compiler describes one, its tensors at made-up addresses, and
// a fake driver that it is loaded by.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_UNITTESTS_FAKEKERNEL_H
#define MLA_UNITTESTS_FAKEKERNEL_H

#include "../../runtime/src/CudaKernel.h"
#include "../../runtime/src/CudaParameters.h"
#include "../../runtime/src/LaunchGraphBudget.h"
#include "CudaFixture.h"

namespace mla_jit {

inline ArgumentInfo tensorArgument(const char *name, DType dtype,
                                   std::initializer_list<int64_t> shape) {
  ArgumentInfo argument;
  argument.name = name;
  argument.isTensor = true;
  argument.dtype = dtype;
  argument.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), argument.shape.begin());
  argument.stride.fill(-1);
  return argument;
}

inline ArgumentInfo scalarArgument(const char *name, DType dtype) {
  ArgumentInfo argument;
  argument.name = name;
  argument.dtype = dtype;
  return argument;
}

/// Rows x columns of k as tiles of 64 columns.
inline KernelInfo::TensorMap mapOfK() {
  KernelInfo::TensorMap map;
  map.rank = 4;
  map.dims = {0, 2, 1, 3};
  map.boxRows = 64;
  map.boxColumns = 576;
  map.swizzle = 128;
  return map;
}

inline KernelInfo fakeInfo() {
  KernelInfo info;
  info.arguments = {tensorArgument("q", DType::BF16, {-1, -1, 16, 576}),
                    tensorArgument("k", DType::BF16, {-1, 64, 1, 576}),
                    tensorArgument("seq_lens", DType::I32, {-1}),
                    scalarArgument("softmax_scale", DType::F32),
                    scalarArgument("num_splits", DType::I32)};
  info.workspace = {
      {"partial_out", KernelInfo::Scope::Slot, 16 * 512 * 4, 3, {}},
      {"work_list", KernelInfo::Scope::Piece, 32, 2, {}},
      {"work_range", KernelInfo::Scope::Worker, 8, 2, {}}};
  info.workspace[0].shape = {-1, 16, 512};
  info.workspace[1].shape = {-1, 8};
  info.workspace[2].shape = {-1, 2};
  using Kind = KernelInfo::ParamKind;
  using Source = KernelInfo::Source;
  std::vector<KernelInfo::Param> params = {
      {Kind::Pointer, Source::Argument, 0, 0},
      {Kind::Size, Source::Argument, 0, 1},
      {Kind::Stride, Source::Argument, 0, 0},
      {Kind::Scalar, Source::Argument, 3, 0},
      {Kind::TensorMap, Source::Argument, 1, 0, mapOfK()},
      {Kind::Pointer, Source::Workspace, 1, 0},
      {Kind::Size, Source::Workspace, 0, 0},
      {Kind::Scalar, Source::NumWorkers, -1, 0}};
  info.entries = {{"decode_main", params, {192, 169984, 1, false}},
                  {"decode_combine", params, {128, 0, 2, true}}};
  info.blockM = 16;
  info.kvHeads = 1;
  info.group = 16;
  return info;
}

/// Arguments with made-up addresses.
inline Arguments fakeArguments(const std::shared_ptr<const KernelInfo> &info,
                               int64_t batch = 3, int64_t queries = 2) {
  auto address = [](uintptr_t value) {
    return reinterpret_cast<void *>(value);
  };
  Arguments arguments(info);
  llvm::cantFail(arguments.set(
      "q", Tensor(address(0x1000), DType::BF16, {batch, queries, 16, 576})));
  llvm::cantFail(arguments.set(
      "k", Tensor(address(0x20000), DType::BF16, {100, 64, 1, 576})));
  llvm::cantFail(
      arguments.set("seq_lens", Tensor(address(0x3000), DType::I32, {batch})));
  llvm::cantFail(arguments.set("softmax_scale", 0.5));
  return arguments;
}

/// Elements of the outermost dimension.
inline int64_t countIn(const Workspace &workspace, int buffer) {
  return workspace.tensors[buffer].shape[0];
}

/// A pool of 100 pages.
inline Tensor keys(std::initializer_list<int64_t> shape = {100, 64, 1, 576}) {
  return Tensor(reinterpret_cast<void *>(0x20000), DType::BF16, shape);
}

/// Loads and launches it on the fake driver.
class FakeKernelTest : public cuda::CudaTest {
protected:
  FakeKernelTest() {
    fake->parameterBytes = {8, 8, 8, 4, 128, 8, 8, 8};
    fake->infoLog = "ptxas info : Used 8 registers";
    openContext();
  }

  llvm::Expected<std::unique_ptr<KernelState>>
  load(int maxWorkers = 0, std::string cubin = "",
       std::optional<std::string> text = std::nullopt) {
    CompileResult compiled;
    compiled.text = text.value_or(ptx);
    compiled.cubin = std::move(cubin);
    compiled.info = std::make_shared<KernelInfo>(info);
    return loadCudaKernel(compiled, context, maxWorkers, threads, graphs);
  }

  llvm::Error run(const KernelState &state, const Arguments &arguments,
                  void *stream = nullptr) {
    workspace =
        layOutWorkspace(*state.info, arguments, state.workspaceWorkers(),
                        state.alignment(), reinterpret_cast<void *>(0x100000));
    return state.run(arguments, {*state.info, arguments, workspace},
                     LaunchPart::All, stream, key);
  }

  KernelInfo info = fakeInfo();
  std::string ptx = "\n.version 8.0\n.entry decode_main()"
                    "\n.version 8.0\n.entry decode_combine()";
  unsigned threads = 2;
  std::shared_ptr<LaunchGraphBudget> graphs =
      std::make_shared<LaunchGraphBudget>(8);
  Workspace workspace;
  LaunchKey key;
};

} // namespace mla_jit

#endif // MLA_UNITTESTS_FAKEKERNEL_H
