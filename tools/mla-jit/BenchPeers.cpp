//===- BenchPeers.cpp -----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchPeers.h"
#include "Files.h"
#include "PeerConfigs.h"
#include "PeerTiming.h"
#include "ResultFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <map>

using namespace llvm;

namespace mla_jit {

namespace {

/// What the machine did in this run.
struct Ceilings {
  DeviceCeilings most;
  double copyGBytes = 0; ///< GB/s, read and written, of a large copy
};

struct PeerRow {
  const PeerConfig *config;
  LaunchTimes times = {};
  int copies = 0;
  std::string schedule = {}, error = {};

  double ratio() const { return config->bestMicroseconds / times.burst.median; }
  double gbytesPerSecond() const {
    return 1e6 * config->gbytes() / times.burst.median;
  }
  double tflopsPerSecond() const {
    return 1e6 * config->tflop() / times.burst.median;
  }
};

/// Configurations that differ in what is compiled in have kernels of their own.
class PeerKernels {
public:
  using KernelPtr = std::shared_ptr<const PublicKernel>;
  explicit PeerKernels(PublicEngine &engine) : engine(engine) {}

  /// The kernel of a configuration; prints what its compilation took.
  Expected<KernelPtr> get(const PeerConfig &config);
  json::Array take() { return std::move(report); }

private:
  struct Compiled {
    KernelPtr kernel;
    std::string error;
  };
  Compiled compile(const PeerConfig &config);

  PublicEngine &engine;
  std::map<std::string, Compiled> kernels;
  json::Array report;
};

} // namespace

PeerKernels::Compiled PeerKernels::compile(const PeerConfig &config) {
  std::string name = formatv("h{0} q{1}", config.spec.numHeads, config.queries);
  auto kernel = engine.prepare(config.spec);
  if (!kernel) {
    std::string error = toString(kernel.takeError());
    outs() << formatv("compile {0}: FAILED: {1}\n", name, error);
    outs().flush();
    return {nullptr, error};
  }
  std::string stages;
  json::Object times;
  for (const mla_stage_time &time : (*kernel)->times()) {
    stages += formatv(" {0} {1:F0}", time.stage, time.seconds * 1e3);
    times[time.stage] = time.seconds * 1e3;
  }
  double milliseconds = (*kernel)->seconds() * 1e3;
  outs() << formatv("compile {0}: {1:F0} ms:{2}\n", name, milliseconds, stages);
  for (const std::string &warning : (*kernel)->warnings())
    outs() << "  warning: " << warning << "\n";
  outs().flush();
  json::Array warnings((*kernel)->warnings());
  report.push_back(
      json::Object{{"kernel", name},
                   {"schedule", std::string((*kernel)->info().schedule)},
                   {"compile_ms", milliseconds},
                   {"stages_ms", std::move(times)},
                   {"warnings", std::move(warnings)}});
  return {std::move(*kernel), ""};
}

Expected<PeerKernels::KernelPtr> PeerKernels::get(const PeerConfig &config) {
  const Spec &s = config.spec;
  std::string key =
      formatv("{0} {1} {2} {3} {4} {5} {6} {7} {8}", s.numHeads, s.headDim,
              s.headDimV, s.pageSize, toString(s.kvDType), s.mask, s.queries,
              s.schedule, s.sharedPlan);
  auto [known, isNew] = kernels.try_emplace(key);
  if (isNew)
    known->second = compile(config);
  if (known->second.kernel)
    return known->second.kernel;
  return createStringError(known->second.error);
}

static void printHeader(bool sustained) {
  outs() << formatv("{0,-24}{1,9}{2,9}{3,7}{4,8}{5,8}{6,9}{7,8}{8}\n", "config",
                    "us", "best us", "ratio", "GB/s", "of read", "TFLOP/s",
                    "of mma", sustained ? " sustained us" : "");
}

/// A share of what was measured, or of nothing.
static std::string percent(double rate, double most) {
  return most ? formatv("{0:P0}", rate / most).str() : "-";
}

static void print(const PeerRow &row, const DeviceCeilings &most) {
  if (!row.error.empty()) {
    outs() << formatv("{0,-24} FAILED: {1}\n", row.config->name, row.error);
  } else {
    outs() << formatv(
        "{0,-24}{1,9:F1}{2,9:F1}{3,7:F2}{4,8:F0}{5,8}{6,9:F0}"
        "{7,8}",
        row.config->name, row.times.burst.median, row.config->bestMicroseconds,
        row.ratio(), row.gbytesPerSecond(),
        percent(row.gbytesPerSecond(), most.readGBytes), row.tflopsPerSecond(),
        percent(row.tflopsPerSecond(), most.mmaTFlops));
    if (row.times.sustained)
      outs() << formatv("{0,13:F1}", *row.times.sustained);
    outs() << "\n";
  }
  outs().flush();
}

static void print(const Ceilings &ceilings) {
  outs() << formatv("ceilings: {0:F0} GB/s read ({1} CTAs), {2:F0} GB/s copied "
                    "(read and written)",
                    ceilings.most.readGBytes, ceilings.most.readCTAs,
                    ceilings.copyGBytes);
  if (ceilings.most.mmaTFlops)
    outs() << formatv(", {0:F0} TFLOP/s of bf16 multiplied",
                      ceilings.most.mmaTFlops);
  outs() << "\n";
  outs().flush();
}

namespace {
/// Over the rows that were measured.
struct Summary {
  int measured = 0;
  double geomean = 0, worst = 0, mostGBytesPerSecond = 0;
  std::string worstName;
};
} // namespace

static Summary summarize(ArrayRef<PeerRow> rows) {
  Summary summary;
  double logs = 0;
  for (const PeerRow &row : rows) {
    if (!row.error.empty())
      continue;
    logs += std::log(row.ratio());
    if (!summary.measured++ || row.ratio() < summary.worst) {
      summary.worst = row.ratio();
      summary.worstName = row.config->name;
    }
    summary.mostGBytesPerSecond =
        std::max(summary.mostGBytesPerSecond, row.gbytesPerSecond());
  }
  if (summary.measured)
    summary.geomean = std::exp(logs / summary.measured);
  return summary;
}

static Error writeJSON(PublicEngine &engine, const PeersOptions &options,
                       ArrayRef<PeerRow> rows, const Summary &summary,
                       const Ceilings &ceilings, json::Array kernels) {
  json::Array array;
  for (const PeerRow &row : rows) {
    json::Object object{{"name", row.config->name},
                        {"best_us", row.config->bestMicroseconds}};
    if (row.error.empty()) {
      object["us"] = row.times.burst.median;
      object["least_us"] = row.times.burst.least;
      object["most_us"] = row.times.burst.most;
      if (row.times.sustained)
        object["sustained_us"] = *row.times.sustained;
      object["ratio"] = row.ratio();
      object["gbytes_per_second"] = row.gbytesPerSecond();
      object["share_of_read"] =
          row.gbytesPerSecond() / ceilings.most.readGBytes;
      object["tflops_per_second"] = row.tflopsPerSecond();
      if (ceilings.most.mmaTFlops)
        object["share_of_mma"] =
            row.tflopsPerSecond() / ceilings.most.mmaTFlops;
      object["copies"] = row.copies;
      object["replays"] = row.times.burst.replays;
      object["schedule"] = row.schedule;
    } else {
      object["error"] = row.error;
    }
    array.push_back(std::move(object));
  }
  json::Object document = describeRun(engine);
  document["configs"] = std::move(array);
  document["kernels"] = std::move(kernels);
  document["geomean_ratio"] = summary.geomean;
  document["worst_ratio"] = summary.worst;
  document["read_gbytes_per_second"] = ceilings.most.readGBytes;
  document["read_ctas"] = ceilings.most.readCTAs;
  document["copy_gbytes_per_second"] = ceilings.copyGBytes;
  if (ceilings.most.mmaTFlops)
    document["mma_tflops_per_second"] = ceilings.most.mmaTFlops;
  return writeBytes(options.json,
                    formatv("{0:2}\n", json::Value(std::move(document))).str());
}

Error benchPeers(PublicEngine &engine, const PeersOptions &options) {
  auto configs = readPeerConfigs(options.configs, options.only);
  if (!configs)
    return configs.takeError();
  auto device = engine.device();
  if (!device)
    return device.takeError();
  outs() << formatv("{0}, {1}, {2} SMs, {3}\n", device->name, device->chip,
                    device->num_sms, device->driver);

  // All kernels first, so that the table is in one piece.
  PeerKernels kernels(engine);
  for (const PeerConfig &config : *configs)
    consumeError(kernels.get(config).takeError());
  auto bench = PeerTiming::create(engine.machine().device, *configs);
  if (!bench)
    return bench.takeError();
  Ceilings ceilings;
  if (Error error = (*bench)->measureCeilings().moveInto(ceilings.most))
    return error;
  if (Error error = (*bench)->measureCopy().moveInto(ceilings.copyGBytes))
    return error;
  print(ceilings);

  printHeader(options.sustained > 0);
  std::vector<PeerRow> rows;
  for (const PeerConfig &config : *configs) {
    PeerRow &row = rows.emplace_back(PeerRow{&config});
    auto kernel = kernels.get(config);
    auto times = kernel ? (*bench)->measure(config, *kernel, options.sustained)
                        : Expected<LaunchTimes>(kernel.takeError());
    if (times) {
      row.times = *times;
      row.copies = (*bench)->copiesOf(config);
      row.schedule = (*kernel)->info().schedule;
    } else {
      row.error = toString(times.takeError());
    }
    print(row, ceilings.most);
  }
  Summary summary = summarize(rows);
  outs() << formatv("{0} of {1} measured: geometric mean {2:F3}, worst {3:F2} "
                    "({4})\n",
                    summary.measured, rows.size(), summary.geomean,
                    summary.worst, summary.worstName);
  outs() << formatv("most KV {0:F0} GB/s\n", summary.mostGBytesPerSecond);
  outs().flush();
  if (!options.json.empty())
    if (Error error =
            writeJSON(engine, options, rows, summary, ceilings, kernels.take()))
      return error;
  if (summary.measured == static_cast<int>(rows.size()))
    return Error::success();
  return createStringError("some configurations could not be measured");
}

} // namespace mla_jit
