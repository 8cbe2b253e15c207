//===- Engine.cpp ---------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../cache/Archive.h"
#include "EngineOptions.h"
#include "Handles.h"
#include "ReadSpec.h"
#include "SpecText.h"

using namespace mla_jit;
using namespace mla_jit::capi;

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

mla_code mla_engine_create(const mla_engine_options *given, mla_engine **engine,
                           mla_status *status) try {
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  *engine = nullptr;
  mla_engine_options defaults;
  MLA_INIT(&defaults);
  auto read = readStruct(given ? given : &defaults, "options");
  if (!read)
    return report(status, read.takeError());
  auto options = toOptions(*read);
  if (!options)
    return report(status, options.takeError());
  *engine =
      new mla_engine(std::move(*options), read->target ? read->target : "host");
  return succeed(status);
} catch (...) {
  return reportException(status);
}

void mla_engine_destroy(mla_engine *engine) { delete engine; }

mla_code mla_engine_set_policy(mla_engine *engine, int32_t policy,
                               mla_status *status) try {
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  auto read = toPolicy(policy);
  if (!read)
    return report(status, read.takeError());
  engine->engine.setPolicy(*read);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

mla_code mla_engine_counters(mla_engine *engine, mla_counters *counters,
                             mla_status *status) try {
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  if (llvm::Error error = checkStruct(counters, "counters"))
    return report(status, std::move(error));
  EngineCounters counts = engine->engine.counters();
  mla_counters told = {};
  told.memory_hits = counts.memoryHits;
  told.memory_misses = counts.memoryMisses;
  told.evictions = counts.evictions;
  told.archive_hits = counts.archiveHits;
  told.disk_hits = counts.diskHits;
  told.compiles = counts.compiles;
  told.compile_failures = counts.compileFailures;
  told.compile_ns = counts.compileNanoseconds;
  told.forbidden = counts.forbidden;
  told.stored = counts.stored;
  told.store_failures = counts.storeFailures;
  told.damaged = counts.damaged;
  told.peer_waits = counts.peerWaits;
  told.peer_timeouts = counts.peerTimeouts;
  told.kernels_in_memory = counts.kernelsInMemory;
  const auto &launches = engine->shared->launches;
  told.launches = launches.get(LaunchEvent::Done);
  told.launch_failures = launches.get(LaunchEvent::Failed);
  writeStruct(counters, told);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

mla_code mla_engine_trim(mla_engine *engine, uint64_t *unloaded,
                         mla_status *status) try {
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  uint64_t count = engine->engine.trim();
  if (unloaded)
    *unloaded = count;
  return succeed(status);
} catch (...) {
  return reportException(status);
}

//===----------------------------------------------------------------------===//
// Specs
//===----------------------------------------------------------------------===//

mla_code mla_spec_to_text(const mla_spec *spec, char *text, size_t *bytes,
                          mla_status *status) try {
  auto given = readStruct(spec, "spec");
  if (!given)
    return report(status, given.takeError());
  return report(status, copyText(writeSpecText(*given), text, bytes));
} catch (...) {
  return reportException(status);
}

mla_code mla_spec_from_text(mla_engine *engine, const char *text,
                            mla_spec *spec, mla_status *status) try {
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  if (llvm::Error error = require(text, "text"))
    return report(status, std::move(error));
  if (llvm::Error error = checkStruct(spec, "spec"))
    return report(status, std::move(error));
  auto read = readSpecText(text, [&](std::string kept) {
    std::lock_guard lock(engine->mutex);
    return engine->strings.insert(std::move(kept)).first->c_str();
  });
  if (!read)
    return report(status, read.takeError());
  writeStruct(spec, *read);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

mla_code mla_is_supported(mla_engine *engine, const mla_spec *spec,
                          mla_status *status) try {
  auto read = readSpec(engine, spec);
  if (!read)
    return report(status, read.takeError());
  return report(status, engine->engine.isSupported(read->spec));
} catch (...) {
  return reportException(status);
}

mla_code mla_sizes_for(mla_engine *engine, const mla_spec *spec, int32_t batch,
                       int32_t totalQ, mla_sizes *sizes,
                       mla_status *status) try {
  auto read = readSpec(engine, spec);
  if (!read)
    return report(status, read.takeError());
  if (llvm::Error error = checkStruct(sizes, "sizes"))
    return report(status, std::move(error));
  const mla_spec &given = read->given;
  if (llvm::Error error =
          requireCounts({{"batch", batch}, {"total_q", totalQ}}))
    return report(status, std::move(error));
  int64_t requests = batch ? batch : given.max_batch;
  int64_t queries = totalQ ? totalQ : given.max_total_q;
  if (!queries) // all requests are as long as one can be
    queries = requests * std::max(given.max_q_len, 1);
  mla_sizes told = {};
  told.alignment = engine->engine.workspaceAlignment();
  for (auto [part, toldBytes] :
       {std::pair{WorkspacePart::All, &told.workspace_bytes},
        {WorkspacePart::Plan, &told.schedule_bytes}}) {
    auto bytes = engine->engine.workspaceBound(read->spec, requests, queries,
                                               given.max_splits, part);
    if (!bytes)
      return report(status, bytes.takeError());
    *toldBytes = *bytes;
  }
  writeStruct(sizes, told);
  return succeed(status);
} catch (...) {
  return reportException(status);
}

//===----------------------------------------------------------------------===//
// Archives
//===----------------------------------------------------------------------===//

mla_code mla_archive_build(mla_engine *engine, const mla_spec *specs,
                           int32_t count, const char *path,
                           mla_status *status) try {
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  if (llvm::Error error = require(path, "path"))
    return report(status, std::move(error));
  auto read = readSpecs(engine, specs, count);
  if (!read)
    return report(status, read.takeError());
  return report(status, engine->engine.buildArchive(specsOf(*read), path));
} catch (...) {
  return reportException(status);
}

mla_code mla_archive_open(mla_engine *engine, const char *path,
                          const uint8_t sha256[32], mla_archive **archive,
                          mla_status *status) try {
  if (llvm::Error error = require(archive, "archive"))
    return report(status, std::move(error));
  *archive = nullptr;
  if (llvm::Error error = require(engine, "engine"))
    return report(status, std::move(error));
  if (llvm::Error error = require(path, "path"))
    return report(status, std::move(error));
  cache::Digest pin;
  if (sha256)
    std::copy_n(sha256, pin.bytes.size(), pin.bytes.begin());
  auto opened = engine->engine.openArchive(path, sha256 ? &pin : nullptr);
  if (!opened)
    return report(status, opened.takeError());
  *archive = new mla_archive{engine, std::move(*opened)};
  return succeed(status);
} catch (...) {
  return reportException(status);
}

void mla_archive_close(mla_archive *archive) {
  if (!archive)
    return;
  archive->engine->engine.closeArchive(archive->archive);
  delete archive;
}
