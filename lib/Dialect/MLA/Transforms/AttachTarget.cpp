//===- AttachTarget.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The one place that asks LLVM, or this machine, what a CPU can do, and that
// knows the memories of GPUs.
//
//===----------------------------------------------------------------------===//

#include "mla/Dialect/MLA/IR/Unsupported.h"
#include "mla/Dialect/MLA/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <unistd.h>

using namespace mlir;
using namespace mlir::mla;

namespace mlir::mla {
#define GEN_PASS_DEF_ATTACHTARGET
#include "mla/Dialect/MLA/Transforms/Passes.h.inc"
} // namespace mlir::mla

/// Size of a data cache of this machine, or `fallback` where the system does
/// not tell.
static int64_t cacheBytes(int name, int64_t fallback) {
  long bytes = sysconf(name);
  return bytes > 0 ? bytes : fallback;
}

FailureOr<TargetAttr> mla::makeHostTarget(MLIRContext *context, StringRef cpu,
                                          NoTarget &why) {
  constexpr int64_t kL1 = 32 << 10, kL2 = 1 << 20;
  bool native = cpu == "native";
  StringRef name = native ? llvm::sys::getHostCPUName() : cpu;
  SmallVector<StringRef> valid;
  llvm::X86::fillValidCPUArchList(valid, /*Only64Bit=*/true);
  if (!llvm::is_contained(valid, name)) {
    why = {("requires an x86-64 CPU that LLVM knows (native, x86-64-v3, "
            "x86-64-v4, znver4, ...), but got '" +
            name + "'")
               .str(),
           /*isKnown=*/false};
    return failure();
  }

  SmallVector<StringRef> listed;
  llvm::X86::getFeaturesForCPU(name, listed);
  llvm::StringMap<bool> features;
  for (StringRef feature : listed) {
    features[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, true, features);
  }

  // What the CPU of this name has and this machine does not (a hypervisor may
  // hide features) is taken away by name.
  std::string featureText;
  int64_t l1 = kL1, l2 = kL2;
  if (native) {
    llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    SmallVector<StringRef> hidden;
    for (auto &[feature, present] : features)
      if (auto it = host.find(feature);
          present && it != host.end() && !it->second)
        hidden.push_back(feature);
    llvm::sort(hidden);
    for (StringRef feature : hidden) {
      features[feature] = false;
      featureText += (featureText.empty() ? "-" : ",-") + feature.str();
    }
    l1 = cacheBytes(_SC_LEVEL1_DCACHE_SIZE, kL1);
    l2 = cacheBytes(_SC_LEVEL2_CACHE_SIZE, kL2);
  }

  bool avx512 = features.lookup("avx512f") && features.lookup("avx512vl");
  bool avx2 = features.lookup("avx2") && features.lookup("fma");
  if (!avx2) {
    why = {
        ("requires a CPU with AVX2 and FMA, but '" + name + "' has not").str(),
        /*isKnown=*/true};
    return failure();
  }
  return TargetAttr::get(context, StringAttr::get(context, "host"),
                         StringAttr::get(context, name),
                         StringAttr::get(context, featureText),
                         avx512 ? 512 : 256, avx512 ? 32 : 16, l1, l2);
}

namespace {
struct Chip {
  StringLiteral name;
  int64_t smemBytes; ///< of one CTA, as a launch may ask for
  int64_t l2Bytes;   ///< of the largest device with this chip
  bool lowered;      ///< has the wgmma and TMA that dataflows are made of
};
} // namespace

static constexpr Chip kChips[] = {
    {"sm_80", 166912, 40 << 20, false},
    {"sm_86", 101376, 6 << 20, false},
    {"sm_89", 101376, 96 << 20, false},
    {"sm_90", 232448, 60 << 20, false}, // without wgmma: that is sm_90a
    {"sm_90a", 232448, 60 << 20, true},
    {"sm_100a", 232448, 126 << 20, false},
    {"sm_103a", 232448, 126 << 20, false},
    {"sm_120a", 101376, 96 << 20, false},
};

static const Chip *findChip(StringRef name) {
  const Chip *found = llvm::find_if(
      kChips, [&](const Chip &known) { return known.name == name; });
  return found == std::end(kChips) ? nullptr : found;
}

std::optional<NoTarget> mla::whyNoCudaTarget(StringRef chip) {
  const Chip *found = findChip(chip);
  if (found && found->lowered)
    return std::nullopt;
  std::string lowered;
  for (const Chip &known : kChips)
    if (known.lowered)
      lowered += (lowered.empty() ? "" : ", ") + known.name.str();
  return NoTarget{("requires a GPU that kernels can be lowered to (" + lowered +
                   "), but got " + (found ? "'" : "the unknown '") + chip + "'")
                      .str(),
                  /*isKnown=*/found != nullptr};
}

FailureOr<TargetAttr> mla::makeCudaTarget(MLIRContext *context, StringRef chip,
                                          NoTarget &why) {
  if (std::optional<NoTarget> none = whyNoCudaTarget(chip)) {
    why = std::move(*none);
    return failure();
  }
  const Chip *found = findChip(chip);
  return TargetAttr::get(context, chip, found->smemBytes, found->l2Bytes);
}

namespace {
struct AttachTarget : public mla::impl::AttachTargetBase<AttachTarget> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module->hasAttr(MLADialect::kTarget))
      return;
    NoTarget why;
    bool isGPU = !chip.empty();
    FailureOr<TargetAttr> target =
        isGPU ? makeCudaTarget(&getContext(), chip, why)
              : makeHostTarget(&getContext(), cpu, why);
    if (failed(target)) {
      InFlightDiagnostic error =
          module.emitError(isGPU ? "option 'chip' " : "option 'cpu' ");
      (why.isKnown ? markUnsupported(std::move(error)) : std::move(error))
          << why.reason;
      return signalPassFailure();
    }
    module->setAttr(MLADialect::kTarget, *target);
  }
};
} // namespace
