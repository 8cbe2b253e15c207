//===- VerifyKernels.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The engines and kernels of a suite.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"

#include <chrono>

using llvm::Error;
using llvm::Expected;
using llvm::formatv;

namespace mla_jit::verify {

Suite::~Suite() {
  nextAhead = ahead.size(); // no more
  for (std::thread &thread : compilers)
    thread.join();
}

Expected<PublicEngine *> Suite::engineOf(const std::string &cpu,
                                         int numWorkers) {
  if (cpu.empty() && numWorkers == 0)
    return &engine;
  std::lock_guard lock(mutex);
  auto &made = engines[{cpu, numWorkers}];
  if (made)
    return made.get();
  Machine other = engine.machine();
  if (!cpu.empty())
    other.cpu = cpu;
  other.workers = numWorkers ? numWorkers : engine.numWorkers();
  if (Error error = PublicEngine::create(other).moveInto(made))
    return std::move(error);
  return made.get();
}

/// All that a spec says, as a key.
static std::string keyOf(const Spec &s) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  for (DType dtype :
       {s.qDType, s.kvDType, s.outDType, s.tableDType, s.lengthDType})
    stream << toString(dtype) << ' ';
  for (int64_t number : {s.numHeads, s.numKVHeads, s.headDim, s.headDimV,
                         s.ropeDim, s.pageSize, s.queries})
    stream << number << ' ';
  stream << toString(s.layout) << s.tableRows << s.raggedQ << s.rowLocalSplits
         << s.alignedStrides << s.mask << '\n'
         << s.schedule << '\n';
  for (const auto &[name, type] : s.scoreArguments)
    stream << name << ':' << type << '\n';
  stream << s.scoreBody;
  return key;
}

Suite::Compiled Suite::compile(const Spec &spec, const std::string &cpu,
                               int numWorkers) {
  auto owner = engineOf(cpu, numWorkers);
  if (!owner)
    return {nullptr, llvm::toString(owner.takeError())};
  auto start = std::chrono::steady_clock::now();
  auto prepared = (*owner)->prepare(spec);
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  {
    std::lock_guard lock(mutex);
    seconds += elapsed.count();
  }
  if (prepared) {
    ++numCompiled;
    return {std::move(*prepared), ""};
  }
  Error error = prepared.takeError();
  bool refused = error.isA<NotSupportedError>();
  return {nullptr, llvm::toString(std::move(error)), refused};
}

std::shared_future<Suite::Compiled>
Suite::find(const Spec &spec, const std::string &cpu, int numWorkers) {
  Spec key = spec;
  if (spec.layout == KVLayout::Dense)
    key.pageSize = 0;
  std::string name = formatv("{0} {1}\n{2}", cpu, numWorkers, keyOf(key)).str();
  std::promise<Compiled> promise;
  {
    std::lock_guard lock(mutex);
    auto [known, isNew] = kernels.try_emplace(name);
    if (!isNew)
      return known->second;
    known->second = promise.get_future().share();
  }
  promise.set_value(compile(spec, cpu, numWorkers));
  std::lock_guard lock(mutex);
  return kernels.at(name);
}

Expected<KernelPtr> Suite::kernel(const Spec &spec, const std::string &cpu,
                                  int numWorkers) {
  const Compiled &compiled = find(spec, cpu, numWorkers).get();
  if (compiled.kernel)
    return compiled.kernel;
  if (!compiled.refused)
    return llvm::createStringError(compiled.error);
  refusal = compiled.error;
  return llvm::make_error<NotSupportedError>(compiled.error);
}

void Suite::compileAhead(llvm::ArrayRef<Case> cases, int numThreads) {
  for (const Case &testCase : cases) {
    Spec spec = testCase.spec;
    TensorSet unused;
    auto score = addScoreMod(testCase.score, spec, unused);
    if (score)
      ahead.push_back(std::move(spec));
    else
      llvm::consumeError(score.takeError()); // the case will say it
  }
  for (int i = 0; i < numThreads; ++i)
    compilers.emplace_back([this] {
      for (size_t next; (next = nextAhead++) < ahead.size();)
        find(ahead[next], "", 0);
    });
}

Expected<std::shared_ptr<DeviceSession>> Suite::session() {
  if (!device)
    if (Error error =
            DeviceSession::open(engine.machine().device).moveInto(device))
      return std::move(error);
  return device;
}

} // namespace mla_jit::verify
