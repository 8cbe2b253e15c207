//===- DoctorCommand.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla-jit doctor: what this machine is and whether kernels work on it.
//
//===----------------------------------------------------------------------===//

#include "Execution.h"
#include "Files.h"
#include "Flags.h"

#include "mla/Target/AssemblerDefects.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <thread>
#include <unistd.h>

using namespace llvm;

namespace mla_jit {

namespace {

/// A small problem that shows that one path works.
struct Probe {
  const char *name;
  DType dtype;
  KVLayout layout;
  const char *mask;
  int64_t numSplits;
  int64_t numHeads = 4, headDim = 64, headDimV = 48, pageSize = 16;
};

class DoctorCommand : public Command {
public:
  DoctorCommand()
      : Command("doctor", "describes this machine and checks that kernels "
                          "compile, run and are "
                          "right on it\n\nExits 1 if the self-check fails.") {}
  Error run() override;

private:
  Error selfCheck(PublicEngine &engine, const Probe &probe) const;

  EngineFlags machine{sub};
};

} // namespace

/// Prints one line of the description.
template <typename... Ts>
static void line(StringRef name, const char *format, Ts &&...values) {
  outs() << left_justify(name, 12)
         << formatv(format, std::forward<Ts>(values)...) << "\n";
}

/// The first GPU, or why there is none.
static void describeGPU() {
  Machine machine;
  machine.onGPU = true;
  auto engine = PublicEngine::create(machine);
  auto device = engine ? (*engine)->device()
                       : Expected<mla_device_info>(engine.takeError());
  if (device)
    line("GPU",
         "{0}, {1}, {2} SMs, {3} of shared memory a CTA, L2 {4}, {5}, {6}",
         device->name, device->chip, device->num_sms,
         formatBytes(device->shared_bytes), formatBytes(device->l2_bytes),
         formatBytes(device->memory_bytes), device->driver);
  else
    line("GPU", "none: {0}", toString(device.takeError()));
}

/// The assembler of kernels for a GPU, and what is known of it.
static void describeAssembler(PublicEngine &engine) {
  auto device = engine.device();
  if (!device) {
    consumeError(device.takeError());
    return;
  }
  line("assembler", "the driver's, {0}, {1}", device->driver,
       device->is_verified ? "which this release was verified with"
                           : "which this release was not verified with");
  auto version = mlir::mla::parseAssemblerVersion(device->driver);
  for (const mlir::mla::AssemblerDefect &defect :
       mlir::mla::findDefects(version))
    line("", "{0}: {1}",
         defect.denied ? "not to be used" : "of others' kernels", defect.text);
}

Error DoctorCommand::selfCheck(PublicEngine &engine, const Probe &probe) const {
  Problem problem;
  Spec &spec = problem.spec;
  spec.numHeads = probe.numHeads;
  spec.headDim = probe.headDim;
  spec.headDimV = probe.headDimV;
  spec.pageSize = probe.pageSize;
  spec.qDType = spec.kvDType = spec.outDType = probe.dtype;
  spec.layout = probe.layout;
  spec.mask = probe.mask;
  problem.softmaxScale = 0.125;
  problem.numSplits = probe.numSplits;
  GenOptions gen;
  gen.seqLens = {150, 0, 37};
  gen.sQ = 2;
  if (Error error = generateInputs(spec, gen).moveInto(problem.inputs))
    return error;
  auto execution = Execution::create(engine, problem);
  if (!execution)
    return execution.takeError();
  if (Error error = execution->checkInputs())
    return error;
  if (Error error = execution->launch())
    return error;
  auto comparison = execution->compare();
  if (!comparison)
    return comparison.takeError();
  if (!comparison->passed)
    return createStringError("wrong result: " + comparison->firstMismatch);
  const PublicKernel &kernel = execution->getKernel();
  StringRef schedule = kernel.info().schedule;
  line("self-check", "{0}: ok ({1}, compiled in {2}, error {3:E2})", probe.name,
       schedule.split('<').second.split(',').first,
       formatSeconds(kernel.seconds()), comparison->maxOutError);
  return Error::success();
}

Error DoctorCommand::run() {
  line("mla-jit", "{0}, LLVM {1}", MLA_JIT_VERSION, LLVM_VERSION_STRING);
  line("CPU", "{0}, {1} hardware threads", sys::getHostCPUName(),
       std::thread::hardware_concurrency());
  std::string extensions;
  StringMap<bool> features = sys::getHostCPUFeatures();
  for (StringRef name : {"avx2", "fma", "avx512f", "avx512bf16", "amx-bf16"})
    if (features.lookup(name))
      extensions += (extensions.empty() ? "" : ", ") + name.str();
  line("vectors", "{0}",
       extensions.empty() ? "none of avx2, fma, avx512f" : extensions);
  line("caches", "L1 {0}, L2 {1}, L3 {2}",
       formatBytes(sysconf(_SC_LEVEL1_DCACHE_SIZE)),
       formatBytes(sysconf(_SC_LEVEL2_CACHE_SIZE)),
       formatBytes(sysconf(_SC_LEVEL3_CACHE_SIZE)));
  line("memory", "{0}",
       formatBytes(uint64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)));

  auto made = machine.makeEngine();
  if (!made)
    return made.takeError();
  PublicEngine &engine = **made;
  auto target = engine.target();
  if (!target)
    return target.takeError();
  bool onGPU = engine.machine().onGPU;
  if (onGPU)
    line("target", "cuda: {0}, {1} workers", target->name, engine.numWorkers());
  else
    line("target",
         "host: {0}, vectors of {1} bits, {2} registers, L1 {3}, L2 {4}, {5} "
         "workers",
         target->name, target->vector_bits, target->vector_registers,
         formatBytes(target->l1_bytes), formatBytes(target->l2_bytes),
         target->num_workers);
  describeGPU();
  if (onGPU)
    describeAssembler(engine);

  const Probe ofHost[] = {
      {"bf16, paged, causal", DType::BF16, KVLayout::Paged, "causal", 0},
      {"f16, csr, causal, 3 splits", DType::F16, KVLayout::CSR, "causal", 3},
      {"f32, dense, no mask", DType::F32, KVLayout::Dense, "none", 0}};
  const Probe ofGPU[] = {{"bf16, 16 heads", DType::BF16, KVLayout::Paged,
                          "causal", 0, 16, 576, 512, 64},
                         {"bf16, 128 heads", DType::BF16, KVLayout::Paged,
                          "causal", 0, 128, 576, 512, 64},
                         {"f16, 16 heads, 3 splits", DType::F16,
                          KVLayout::Paged, "none", 3, 16, 576, 512, 64}};
  ArrayRef<Probe> probes = onGPU ? ArrayRef(ofGPU) : ArrayRef(ofHost);
  bool ok = true;
  for (const Probe &probe : probes) {
    if (Error error = selfCheck(engine, probe)) {
      line("self-check", "{0}: FAILED: {1}", probe.name,
           toString(std::move(error)));
      ok = false;
    }
  }
  outs() << (ok ? "Decode works on this machine.\n" : "");
  return ok ? Error::success() : createStringError("the self-check failed");
}

std::unique_ptr<Command> makeDoctorCommand() {
  return std::make_unique<DoctorCommand>();
}

} // namespace mla_jit
