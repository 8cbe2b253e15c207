//===- PublicEngine.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PublicEngine.h"

#include "mla/Target/PtxReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <climits>

using llvm::Error;
using llvm::Expected;

namespace mla_jit {

//===----------------------------------------------------------------------===//
// Specs
//===----------------------------------------------------------------------===//

static int32_t toPublic(KVLayout layout) {
  switch (layout) {
  case KVLayout::Dense:
    return MLA_TABLE_NONE;
  case KVLayout::Paged:
    return MLA_TABLE_DENSE;
  case KVLayout::CSR:
    return MLA_TABLE_CSR;
  }
  return MLA_TABLE_NONE;
}

/// What does not fit stays out of every range.
static int32_t toPublic(int64_t number) {
  return static_cast<int32_t>(std::clamp<int64_t>(number, INT_MIN, INT_MAX));
}

PublicSpec::PublicSpec(const Spec &from) : spec(mla::make<mla_spec>()) {
  spec.q_dtype = toPublic(from.qDType);
  spec.kv_dtype = toPublic(from.kvDType);
  spec.out_dtype = toPublic(from.outDType);
  spec.h_q = toPublic(from.numHeads);
  spec.h_kv = toPublic(from.numKVHeads);
  spec.d_qk = toPublic(from.headDim);
  spec.d_v = toPublic(from.headDimV);
  spec.d_rope = toPublic(from.ropeDim);
  spec.table_kind = toPublic(from.layout);
  spec.page_size = toPublic(from.pageSize);
  spec.table_dtype = toPublic(from.tableDType);
  spec.length_dtype = toPublic(from.lengthDType);
  spec.queries = toPublic(from.queries);
  llvm::StringRef mask = from.mask;
  mask.consume_front("#mla.");
  if (mask != "none")
    spec.mask = MLA_MASK_CAUSAL;
  if (mask == "sliding_window")
    spec.mask |= MLA_MASK_WINDOW;
  auto add = [&](bool isAsked, uint32_t feature) {
    if (isAsked)
      spec.features |= feature;
  };
  add(from.raggedQ, MLA_FEATURE_RAGGED_Q);
  add(from.tableRows, MLA_FEATURE_TABLE_ROWS);
  add(from.rowLocalSplits, MLA_FEATURE_BATCH_INVARIANT);
  add(!from.alignedStrides, MLA_FEATURE_UNALIGNED);
  add(from.sharedPlan, MLA_FEATURE_SHARED_SCHEDULE);

  for (const auto &[name, type] : from.scoreArguments)
    scoreMod += (scoreMod.empty() ? "(%" : ", %") + name + ": " + type;
  if (!scoreMod.empty())
    scoreMod += ")\n";
  scoreMod += from.scoreBody;
  if (!scoreMod.empty())
    spec.score_mod = scoreMod.c_str();
  schedule = from.schedule;
  if (!schedule.empty())
    spec.schedule = schedule.c_str();
}

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

std::string findPtxas() {
  auto found = mlir::mla::findTool({"ptxas"});
  if (!found) {
    llvm::consumeError(found.takeError());
    return "";
  }
  llvm::SmallString<128> path(*found);
  if (llvm::sys::fs::make_absolute(path))
    return "";
  return path.str().str();
}

/// "host:znver4", "cuda", "cuda:sm_90a".
static std::string targetName(const Machine &machine) {
  const std::string &name = machine.onGPU ? machine.chip : machine.cpu;
  return std::string(machine.onGPU ? "cuda" : "host") +
         (name.empty() ? "" : ":" + name);
}

Expected<std::unique_ptr<PublicEngine>>
PublicEngine::create(const Machine &machine) {
  std::unique_ptr<PublicEngine> made(new PublicEngine(machine));
  std::string target = targetName(machine);
  auto options = mla::make<mla_engine_options>();
  options.target = target.c_str();
  options.device = machine.device;
  options.num_sms = machine.workers;
  options.compile_threads = machine.compileThreads;
  options.cache_dir = ""; // what is asked for is compiled
  std::string ptxas = findPtxas();
  options.ptxas = ptxas.c_str();
  options.log = keep;
  options.log_user = made.get();
  auto engine = mla::Engine::create(options);
  if (!engine)
    return toError(engine.status());
  made->engine.emplace(std::move(*engine));
  return made;
}

/// How much of a text a status has.
static constexpr size_t kStatusRoom = sizeof(mla_status::message) - 1;

void PublicEngine::keep(void *self, const mla_log *event) {
  llvm::StringRef text = event->message;
  if (event->event != MLA_EVENT_COMPILE_FAILED || text.size() <= kStatusRoom)
    return;
  auto *engine = static_cast<PublicEngine *>(self);
  std::lock_guard lock(engine->mutex);
  engine->failures.push_front({std::this_thread::get_id(), text.str()});
  if (engine->failures.size() > kMaxFailures)
    engine->failures.pop_back();
}

Error PublicEngine::explain(const mla::Status &status) {
  llvm::StringRef cut = status.message();
  if (cut.size() < kStatusRoom)
    return toError(status);
  std::lock_guard lock(mutex);
  auto isMeant = [&](const LongFailure &failure) {
    return llvm::StringRef(failure.text).starts_with(cut);
  };
  // Long texts may begin alike: what this thread compiled is its own failure.
  // If it waited for another's compilation, that is the latest.
  auto found = llvm::find_if(failures, [&](const LongFailure &failure) {
    return failure.compiledBy == std::this_thread::get_id() && isMeant(failure);
  });
  if (found == failures.end())
    found = llvm::find_if(failures, isMeant);
  if (found == failures.end())
    return toError(status);
  found->compiledBy = {};
  return toError(status, found->text);
}

int PublicEngine::numWorkers() {
  auto target = engine->target();
  if (!target || target->num_workers)
    return target ? target->num_workers : 0;
  auto device = engine->device(); // all of its SMs
  return device ? device->num_sms : 0;
}

Expected<mla_target_info> PublicEngine::target() {
  return toExpected(engine->target());
}

Expected<mla_device_info> PublicEngine::device() {
  return toExpected(engine->device());
}

Expected<std::shared_ptr<const PublicKernel>>
PublicEngine::describe(mla::Result<mla::Kernel> prepared) {
  if (!prepared)
    return explain(prepared.status());
  return PublicKernel::create(std::move(*prepared));
}

Expected<std::shared_ptr<const PublicKernel>>
PublicEngine::prepare(const Spec &spec) {
  return describe(engine->prepare(PublicSpec(spec).get()));
}

Expected<std::shared_ptr<const PublicKernel>>
PublicEngine::prepare(const std::string &mlir, const std::string &name) {
  return describe(engine->prepare(mlir.c_str(), name.c_str()));
}

Error PublicEngine::trim() { return toExpected(engine->trim()).takeError(); }

Expected<std::string> PublicEngine::compile(const Spec &spec,
                                            const char *stage) {
  return toExpected(engine->compile(PublicSpec(spec).get(), stage));
}

Expected<std::string> PublicEngine::compile(const std::string &mlir,
                                            const std::string &name,
                                            const char *stage) {
  return toExpected(engine->compile(mlir.c_str(), name.c_str(), stage));
}

} // namespace mla_jit
