//===- NVPTXChips.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What chips and PTX versions have. From the PTX ISA's release notes and
// "Target ISA Notes" of each instruction.
//
//===----------------------------------------------------------------------===//

#include "mla/Target/NVPTX.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using llvm::createStringError;
using mla::GPUChip;
using mla::GPUFeature;

static constexpr GPUChip kChips[] = {
    {"sm_80", 80, false, 70},   {"sm_86", 86, false, 71},
    {"sm_89", 89, false, 78},   {"sm_90", 90, false, 78},
    {"sm_90a", 90, true, 80},   {"sm_100a", 100, true, 86},
    {"sm_103a", 103, true, 88}, {"sm_120a", 120, true, 87},
};

static constexpr unsigned kAnySM = ~0u;

namespace {
/// A feature and how it is recognised in the name of an intrinsic after
/// `llvm.nvvm.`, and in inline assembly.
struct Spelling {
  llvm::StringLiteral intrinsic;
  llvm::StringLiteral assembly;
  GPUFeature feature;
};
} // namespace

static constexpr Spelling kSpellings[] = {
    {"cp.async.", "cp.async.", {"cp.async", 80, kAnySM, false, 70}},
    {"mbarrier.", "mbarrier.", {"mbarrier", 80, kAnySM, false, 70}},
    {"mbarrier.try.wait",
     "mbarrier.try_wait",
     {"mbarrier.try_wait", 90, kAnySM, false, 78}},
    {"cp.async.bulk",
     "cp.async.bulk",
     {"cp.async.bulk (TMA)", 90, kAnySM, false, 80}},
    {"fence.proxy.async",
     "fence.proxy.async",
     {"fence.proxy.async", 90, kAnySM, false, 80}},
    {"fence.mbarrier_init",
     "fence.mbarrier_init",
     {"fence.mbarrier_init", 90, kAnySM, false, 80}},
    {"elect.sync", "elect.sync", {"elect.sync", 90, kAnySM, false, 80}},
    {"barrier.cluster",
     "barrier.cluster",
     {"barrier.cluster", 90, kAnySM, false, 78}},
    {"mapa", "mapa.", {"mapa", 90, kAnySM, false, 78}},
    {"griddepcontrol",
     "griddepcontrol",
     {"griddepcontrol", 90, kAnySM, false, 78}},
    {"stmatrix", "stmatrix", {"stmatrix", 90, kAnySM, false, 78}},
    {"setmaxnreg", "setmaxnreg", {"setmaxnreg", 90, kAnySM, true, 80}},
    {"wgmma.", "wgmma.", {"wgmma", 90, 90, true, 80}},
    {"tcgen05.", "tcgen05.", {"tcgen05", 100, 110, true, 86}},
    {"e4m3x2", "e4m3x2", {"fp8 conversion", 89, kAnySM, false, 81}},
    {"e5m2x2", "e5m2x2", {"fp8 conversion", 89, kAnySM, false, 81}},
};

static constexpr GPUFeature kGridConstant = {"grid_constant", 70, kAnySM, false,
                                             77};

ArrayRef<GPUChip> mla::getGPUChips() { return kChips; }

llvm::Expected<GPUChip> mla::findGPUChip(StringRef name) {
  std::string names;
  for (const GPUChip &chip : kChips) {
    if (chip.name == name)
      return chip;
    names += (names.empty() ? "" : ", ") + chip.name.str();
  }
  return createStringError("the chip is required to be one of " + names +
                           ", but is '" + name + "'");
}

std::string mla::formatPTXVersion(unsigned version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

SmallVector<const GPUFeature *> mla::findFeatures(const llvm::Module &module) {
  SmallVector<const GPUFeature *> features;
  auto add = [&](const GPUFeature &feature) {
    if (!llvm::is_contained(features, &feature))
      features.push_back(&feature);
  };
  for (const llvm::Function &function : module) {
    StringRef name = function.getName();
    if (name.consume_front("llvm.nvvm.")) {
      if (!function.use_empty())
        for (const Spelling &spelling : kSpellings)
          if (name.contains(spelling.intrinsic))
            add(spelling.feature);
      continue;
    }
    for (const llvm::Argument &argument : function.args())
      if (function.getAttributes().hasParamAttr(argument.getArgNo(),
                                                "nvvm.grid_constant"))
        add(kGridConstant);
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = dyn_cast<llvm::CallBase>(&instruction);
      if (!call || !call->isInlineAsm())
        continue;
      StringRef text =
          cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString();
      for (const Spelling &spelling : kSpellings)
        if (text.contains(spelling.assembly))
          add(spelling.feature);
    }
  }
  return features;
}

/// "sm_90a", "sm_90 or newer".
static std::string describeRequirement(const GPUFeature &feature) {
  std::string sm = "sm_" + std::to_string(feature.minSMVersion);
  if (feature.archSpecific)
    sm += "a";
  if (feature.maxSMVersion == feature.minSMVersion)
    return sm;
  if (feature.maxSMVersion != kAnySM)
    return sm + " to sm_" + std::to_string(feature.maxSMVersion) +
           (feature.archSpecific ? "a" : "");
  return sm + (feature.archSpecific ? " or a newer chip with the suffix 'a'"
                                    : " or newer");
}

llvm::Expected<unsigned>
mla::ptxVersionFor(const GPUChip &chip, ArrayRef<const GPUFeature *> features,
                   unsigned supported) {
  unsigned needed = chip.minPTXVersion;
  StringRef needer = chip.name;
  for (const GPUFeature *feature : features) {
    if (chip.smVersion < feature->minSMVersion ||
        chip.smVersion > feature->maxSMVersion ||
        (feature->archSpecific && !chip.archSpecific))
      return createStringError(feature->name + " requires " +
                               describeRequirement(*feature) +
                               ", but the chip is " + chip.name);
    if (feature->minPTXVersion > needed) {
      needed = feature->minPTXVersion;
      needer = feature->name;
    }
  }
  if (needed > supported)
    return createStringError(needer + " requires PTX " +
                             formatPTXVersion(needed) +
                             ", but what reads it supports up to PTX " +
                             formatPTXVersion(supported));
  return needed;
}
