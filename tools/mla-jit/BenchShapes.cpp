//===- BenchShapes.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchShapes.h"
#include "Command.h"
#include "Execution.h"
#include "Files.h"
#include "Peaks.h"

#include "mla/Inputs/Models.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mla_jit {

namespace {

/// A shape by its name in the field: b4q1h16s4096 is 4 requests of 1 query, 16
/// heads and 4096 keys.
struct Shape {
  std::string name;
  int64_t batch = 0, queries = 0, heads = 0, keys = 0;
};

struct Row {
  Shape shape;
  std::string cpu, schedule;
  Times launch;
  double compileSeconds, gbytes, gflop;
  Peaks peaks;

  double gbytesPerSecond() const { return gbytes / launch.median; }
  double gflopsPerSecond() const { return gflop / launch.median; }
  /// Of the peak, which is itself the best of its runs.
  double bestShareOfFMA() const { return gflop / launch.best / peaks.gflops; }
  double shareOfRead() const {
    return gbytesPerSecond() / peaks.gbytesPerSecond;
  }
  double shareOfFMA() const { return gflopsPerSecond() / peaks.gflops; }
};

} // namespace

static Expected<Shape> parseShape(StringRef text) {
  Shape shape;
  shape.name = text.str();
  StringRef rest = text;
  for (auto [letter, value] : {std::pair{"b", &shape.batch},
                               {"q", &shape.queries},
                               {"h", &shape.heads},
                               {"s", &shape.keys}})
    if (!rest.consume_front(letter) || rest.consumeInteger(10, *value) ||
        *value <= 0)
      return usageError("--shapes requires names like b4q1h16s4096 (requests, "
                        "queries, heads, "
                        "keys), but got '" +
                        text + "'");
  if (!rest.empty())
    return usageError("--shapes has '" + rest + "' behind the shape in '" +
                      text + "'");
  return shape;
}

static Expected<Peaks> printPeaks(PublicEngine &engine,
                                  const std::string &cpu) {
  auto peaks = measurePeaks(engine);
  if (peaks)
    outs() << formatv(
        "{0}, {1} workers: {2:F1} GFLOP/s of f32 FMA, {3:F1} GB/s of reads\n",
        cpu, engine.numWorkers(), peaks->gflops, peaks->gbytesPerSecond);
  return peaks;
}

static Expected<Row> measureShape(PublicEngine &engine, const Shape &shape,
                                  const std::string &cpu, const Peaks &peaks,
                                  const ShapesOptions &options) {
  const ModelPreset &model = *findModel("deepseek-v3");
  Problem problem;
  problem.spec.numHeads = shape.heads;
  problem.softmaxScale = model.softmaxScale();
  problem.spec.kvDType = problem.spec.qDType = problem.spec.outDType =
      parseDType(options.dtype);
  GenOptions gen;
  gen.seqLens.assign(shape.batch, shape.keys);
  gen.sQ = shape.queries;
  auto inputs = generateInputs(problem.spec, gen);
  if (!inputs)
    return inputs.takeError();
  problem.inputs = std::move(*inputs);
  auto execution = Execution::create(engine, problem);
  if (!execution)
    return execution.takeError();

  Error failure = Error::success();
  Times times = measure(options.seconds, [&] {
    if (!failure)
      failure = execution->launch();
  });
  if (failure)
    return std::move(failure);
  const PublicKernel &kernel = execution->getKernel();
  Row row{shape, cpu,  kernel.info().schedule, times, kernel.seconds(), 0,
          0,     peaks};
  // Causal: query i of n sees n - 1 - i keys less than the last one.
  double pairs = shape.batch * (double(shape.queries) * shape.keys -
                                shape.queries * (shape.queries - 1) / 2.0);
  row.gflop = 2e-9 * pairs * shape.heads *
              (problem.spec.headDim + problem.spec.headDimV);
  row.gbytes = 1e-9 * shape.batch * shape.keys * problem.spec.headDim *
               byteSize(problem.spec.kvDType);
  return row;
}

static void printHeader() {
  outs() << formatv("{0,-16}{1,12}{2,10}{3,10}{4,8}{5,8}{6,8}{7,9}{8,12}\n",
                    "shape", "median us", "best us", "GFLOP/s", "of FMA",
                    "(best)", "GB/s", "of read", "compile ms");
}

static void print(const Row &row) {
  auto percent = [](double share) { return formatv("{0:P0}", share).str(); };
  outs() << formatv(
      "{0,-16}{1,12:F1}{2,10:F1}{3,10:F1}{4,8}{5,8}{6,8:F1}{7,9}{8,12:F0}\n",
      row.shape.name, row.launch.median * 1e6, row.launch.best * 1e6,
      row.gflopsPerSecond(), percent(row.shareOfFMA()),
      percent(row.bestShareOfFMA()), row.gbytesPerSecond(),
      percent(row.shareOfRead()), row.compileSeconds * 1e3);
  outs().flush();
}

static Error writeJSON(ArrayRef<Row> rows, const ShapesOptions &options) {
  json::Array array;
  for (const Row &row : rows)
    array.push_back(
        json::Object{{"shape", row.shape.name},
                     {"host_cpu", row.cpu},
                     {"dtype", options.dtype},
                     {"schedule", row.schedule},
                     {"median_us", row.launch.median * 1e6},
                     {"best_us", row.launch.best * 1e6},
                     {"gflops", row.gflopsPerSecond()},
                     {"share_of_fma_peak", row.shareOfFMA()},
                     {"best_share_of_fma_peak", row.bestShareOfFMA()},
                     {"gbytes_per_second", row.gbytesPerSecond()},
                     {"share_of_read_peak", row.shareOfRead()},
                     {"fma_peak_gflops", row.peaks.gflops},
                     {"read_peak_gbytes_per_second", row.peaks.gbytesPerSecond},
                     {"compile_ms", row.compileSeconds * 1e3}});
  return writeBytes(options.json,
                    formatv("{0:2}\n", json::Value(std::move(array))).str());
}

Error benchShapes(Machine machine, const ShapesOptions &options) {
  std::vector<Shape> parsed;
  std::vector<std::string> names = options.shapes;
  if (names.empty())
    names = {"b4q1h16s4096", "b4q1h128s4096", "b1q1h16s4096", "b1q4h128s4096",
             "b32q1h16s512"};
  for (const std::string &name : names) {
    auto shape = parseShape(name);
    if (!shape)
      return shape.takeError();
    parsed.push_back(*shape);
  }
  std::vector<std::string> cpus = options.cpus;
  if (cpus.empty())
    cpus = {machine.cpu};

  std::vector<Row> rows;
  for (const std::string &cpu : cpus) {
    machine.cpu = cpu;
    auto made = PublicEngine::create(machine);
    if (!made)
      return made.takeError();
    PublicEngine &engine = **made;
    auto peaks = printPeaks(engine, cpu);
    if (!peaks)
      return peaks.takeError();
    printHeader();
    for (const Shape &shape : parsed) {
      auto row = measureShape(engine, shape, cpu, *peaks, options);
      if (!row)
        return row.takeError();
      print(*row);
      rows.push_back(*row);
    }
  }
  return options.json.empty() ? Error::success() : writeJSON(rows, options);
}

} // namespace mla_jit
