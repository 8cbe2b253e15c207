//===- VerifyTargets.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Code for CPUs other than the engine's, as far as this machine runs it.
//
//===----------------------------------------------------------------------===//

#include "VerifySuite.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace mla_jit::verify {

static Case targetCase(const std::string &cpu, const char *name) {
  Case c;
  c.name = "cpu." + cpu + "-" + name;
  c.cpu = cpu;
  c.spec.numHeads = 16;
  c.shapes = {lengths({17, 0, 300, 64}), lengths({65, 130, 1}, 3)};
  c.splits = {0, 1, 4};
  c.note = "for " + cpu;
  return c;
}

void addTargetCases(std::vector<Case> &cases, PublicEngine &engine) {
  if (engine.machine().onGPU)
    return;
  auto target = engine.target();
  if (!target) {
    llvm::consumeError(target.takeError()); // compiling will say it
    return;
  }
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<const char *> names) {
    return llvm::all_of(
        names, [&](const char *name) { return features.lookup(name); });
  };
  std::vector<std::string> cpus;
  if (hasAll({"avx2", "fma", "f16c", "bmi2"}))
    cpus.push_back("x86-64-v3");
  if (hasAll({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}))
    cpus.push_back("x86-64-v4");

  for (const std::string &cpu : cpus) {
    if (cpu == target->name)
      continue;
    cases.push_back(targetCase(cpu, "h16"));

    Case c = targetCase(cpu, "h128");
    c.spec.numHeads = 128;
    cases.push_back(c);

    c = targetCase(cpu, "h3-f16-rope");
    c.spec.numHeads = 3;
    c.spec.ropeDim = 64;
    c.spec.qDType = c.spec.kvDType = c.spec.outDType = DType::F16;
    c.spec.mask = "sliding_window";
    c.maskParameters = {{"window", 77}};
    cases.push_back(c);

    c = targetCase(cpu, "gqa-f32-alibi");
    c.spec.numHeads = 10;
    c.spec.numKVHeads = 2;
    c.spec.headDim = 72;
    c.spec.headDimV = 40;
    c.spec.qDType = c.spec.kvDType = c.spec.outDType = DType::F32;
    c.spec.layout = KVLayout::CSR;
    c.spec.rowLocalSplits = true;
    c.score = "alibi";
    cases.push_back(c);

    c = targetCase(cpu, "softcap-page1");
    c.spec.pageSize = 1;
    c.spec.raggedQ = true;
    c.spec.headDim = 192;
    c.spec.headDimV = 128;
    c.score = "softcap:20";
    c.shapes[0].qStd = 100;
    cases.push_back(c);
  }
}

} // namespace mla_jit::verify
