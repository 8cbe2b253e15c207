//===- NVPTXEntries.cpp -------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A module of kernels as a PTX module for each: kernels share no code, so the
// time of all is that of the slowest.
//
//===----------------------------------------------------------------------===//

#include "mla/Target/Contained.h"
#include "mla/Target/NVPTX.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace mlir::mla;

static bool isKernel(const llvm::GlobalValue &value) {
  auto *function = dyn_cast<llvm::Function>(&value);
  return function && !function->isDeclaration() &&
         function->getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

/// The module without the kernels but one. Functions that it does not call are
/// dropped by the first pass.
static std::unique_ptr<llvm::Module> cloneEntry(const llvm::Module &module,
                                                const llvm::Function &entry) {
  llvm::ValueToValueMapTy values;
  return llvm::CloneModule(module, values, [&](const llvm::GlobalValue *value) {
    return value == &entry || !isKernel(*value);
  });
}

static llvm::Expected<EntryPTX>
emitEntry(llvm::Module &module, const GPUChip &chip, unsigned ptxVersion) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  EntryPTX result;
  auto machine = createNVPTXMachine(chip, ptxVersion);
  if (!machine)
    return machine.takeError();
  auto start = Clock::now();
  if (llvm::Error error = optimizeForNVPTX(module, **machine))
    return std::move(error);
  result.optimizeSeconds = since(start);
  start = Clock::now();
  auto ptx = emitPTX(module, **machine);
  if (!ptx)
    return ptx.takeError();
  result.codegenSeconds = since(start);
  result.ptx = std::move(*ptx);
  return result;
}

/// The same for bitcode, in a context of its own.
static llvm::Expected<EntryPTX>
emitEntry(StringRef bitcode, const GPUChip &chip, unsigned ptxVersion) {
  llvm::LLVMContext context;
  prepareContext(context);
  auto module = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bitcode, "mla_kernel"), context);
  if (!module)
    return module.takeError();
  return emitEntry(**module, chip, ptxVersion);
}

namespace {
/// An entry that another thread emits. What it makes outlives whoever does not
/// wait for it.
struct Started {
  size_t index;
  std::shared_ptr<EntryPTX> result;
  ContainedCall call;
};
} // namespace

static llvm::Expected<Started> startEntry(size_t index,
                                          const llvm::Module &module,
                                          const GPUChip &chip,
                                          unsigned ptxVersion) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  auto result = std::make_shared<EntryPTX>();
  auto call = ContainedCall::start("optimize",
                                   [result, bitcode = std::move(bitcode), chip,
                                    ptxVersion]() -> llvm::Error {
                                     auto made =
                                         emitEntry(bitcode, chip, ptxVersion);
                                     if (!made)
                                       return made.takeError();
                                     *result = std::move(*made);
                                     return llvm::Error::success();
                                   });
  if (!call)
    return call.takeError();
  return Started{index, std::move(result), std::move(*call)};
}

llvm::Expected<std::vector<EntryPTX>>
mla::emitEntries(std::unique_ptr<llvm::Module> module, const GPUChip &chip,
                 unsigned ptxVersion, unsigned threads) {
  SmallVector<llvm::Function *> entries;
  for (llvm::Function &function : *module)
    if (isKernel(function))
      entries.push_back(&function);
  std::vector<EntryPTX> results(entries.size());
  if (entries.empty())
    return results;
  // The first entry, which is the largest, is done by this thread.
  std::vector<Started> started;
  SmallVector<std::pair<size_t, std::unique_ptr<llvm::Module>>> own(1);
  for (size_t index = 1; index < entries.size(); ++index) {
    std::unique_ptr<llvm::Module> clone = cloneEntry(*module, *entries[index]);
    if (started.size() + 1 >= threads) {
      own.emplace_back(index, std::move(clone));
      continue;
    }
    auto other = startEntry(index, *clone, chip, ptxVersion);
    if (!other)
      return other.takeError();
    started.push_back(std::move(*other));
  }
  // What is left of the module is the first entry's.
  for (llvm::Function *entry : llvm::drop_begin(entries))
    entry->eraseFromParent();
  own.front() = {0, std::move(module)};
  // Nobody leaves before all are done: the others use LLVM.
  llvm::Error failure = llvm::Error::success();
  for (auto &[index, clone] : own) {
    auto made = emitEntry(*clone, chip, ptxVersion);
    if (made)
      results[index] = std::move(*made);
    else
      failure = llvm::joinErrors(std::move(failure), made.takeError());
  }
  for (Started &other : started) {
    failure = llvm::joinErrors(std::move(failure), other.call.wait());
    results[other.index] = std::move(*other.result);
  }
  if (failure)
    return std::move(failure);
  return results;
}
