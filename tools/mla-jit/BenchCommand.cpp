//===- BenchCommand.cpp ---------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// mla-jit bench: times of decode shapes against what the machine can do.
//
//===----------------------------------------------------------------------===//

#include "BenchCompile.h"
#include "BenchPeers.h"
#include "Execution.h"
#include "Files.h"
#include "Flags.h"
#include "Peaks.h"

#include "mla/Inputs/Models.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

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

Expected<Shape> parseShape(StringRef text) {
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

class BenchCommand : public Command {
public:
  BenchCommand()
      : Command(
            "bench",
            "times decode shapes against the machine's own peaks\n\n"
            "The peaks are measured first, by code from the same JIT: "
            "independent\n"
            "vector.fma for arithmetic, reads of 1 GiB for memory. Times are\n"
            "medians of whole launches on random data, all workers "
            "together.\n\n"
            "On a GPU (--target cuda): the configurations of a file of others' "
            "times,\n"
            "each as a graph of launches that go through more KV than the L2 "
            "holds,\n"
            "against reads and products that are measured first.\n\n"
            "With --compile: how long it takes to make a kernel, by stage, "
            "without the\n"
            "driver's cache.") {}

  StringRef examples() const override {
    return "\nExamples:\n"
           "  mla-jit bench\n"
           "  mla-jit bench --shapes b1q1h16s65536 --json bench.json\n"
           "  mla-jit bench --host-cpus native,x86-64-v3 --workers 1\n"
           "  mla-jit bench --target cuda --configs bench/peers.json --only "
           "h128\n"
           "  mla-jit bench --target cuda --compile\n";
  }

  Error run() override {
    if (!json.empty())
      if (Error error = checkWritable("--json", json))
        return error;
    auto options = machine.options();
    if (!options)
      return options.takeError();
    if (compile)
      return runCompile(*options);
    if (options->target == TargetKind::CUDA)
      return runPeers();
    return runShapes(*options);
  }

private:
  Error runCompile(EngineOptions options) {
    BenchCompileOptions asked{{16, 64, 128}, runs};
    if (!heads.empty())
      asked.heads.assign(heads.begin(), heads.end());
    if (runs < 1)
      return usageError("--runs requires a number from 1 on, but got " +
                        Twine(runs));
    disableDriverCache();
    options.compileThreads = static_cast<int>(compileThreads);
    Engine engine(options);
    return benchCompile(engine, asked);
  }

  Error runPeers() {
    if (configs.empty())
      return usageError("--configs is required with --target cuda: a file as "
                        "bench/peers.json");
    if (sustained < 0)
      return usageError("--sustained requires 0 or more seconds, but got " +
                        formatv("{0}", sustained.getValue()));
    auto engine = machine.makeEngine();
    if (!engine)
      return engine.takeError();
    return benchPeers(**engine, {configs, only, json, sustained});
  }

  Error runShapes(EngineOptions options) {
    for (const cl::Option *option :
         {static_cast<cl::Option *>(&configs), static_cast<cl::Option *>(&only),
          static_cast<cl::Option *>(&sustained)})
      if (option->getNumOccurrences())
        return usageError("--" + option->ArgStr +
                          " requires --target cuda, but got host");
    std::vector<Shape> parsed;
    std::vector<std::string> names(shapes.begin(), shapes.end());
    if (names.empty())
      names = {"b4q1h16s4096", "b4q1h128s4096", "b1q1h16s4096", "b1q4h128s4096",
               "b32q1h16s512"};
    for (const std::string &name : names) {
      auto shape = parseShape(name);
      if (!shape)
        return shape.takeError();
      parsed.push_back(*shape);
    }
    std::vector<std::string> cpus(hostCPUs.begin(), hostCPUs.end());
    if (cpus.empty())
      cpus = {options.cpu};

    std::vector<Row> rows;
    for (const std::string &cpu : cpus) {
      options.cpu = cpu;
      Engine engine(options);
      auto peaks = measure(engine, cpu);
      if (!peaks)
        return peaks.takeError();
      printHeader();
      for (const Shape &shape : parsed) {
        auto row = measureShape(engine, shape, cpu, *peaks);
        if (!row)
          return row.takeError();
        print(*row);
        rows.push_back(*row);
      }
    }
    return json.empty() ? Error::success() : writeJSON(rows);
  }

  static Expected<Peaks> measure(Engine &engine, const std::string &cpu) {
    auto peaks = measurePeaks(engine);
    if (peaks)
      outs() << formatv(
          "{0}, {1} workers: {2:F1} GFLOP/s of f32 FMA, {3:F1} GB/s of reads\n",
          cpu, engine.numWorkers(), peaks->gflops, peaks->gbytesPerSecond);
    return peaks;
  }

  Expected<Row> measureShape(Engine &engine, const Shape &shape,
                             const std::string &cpu, const Peaks &peaks) const {
    const ModelPreset &model = *findModel("deepseek-v3");
    Problem problem;
    problem.spec.numHeads = shape.heads;
    problem.softmaxScale = model.softmaxScale();
    problem.spec.kvDType = problem.spec.qDType = problem.spec.outDType =
        parseDType(dtype);
    GenOptions options;
    options.seqLens.assign(shape.batch, shape.keys);
    options.sQ = shape.queries;
    auto inputs = generateInputs(problem.spec, options);
    if (!inputs)
      return inputs.takeError();
    problem.inputs = std::move(*inputs);
    auto execution = Execution::create(engine, problem);
    if (!execution)
      return execution.takeError();

    Error failure = Error::success();
    Times times = mla_jit::measure(seconds, [&] {
      if (!failure)
        failure = execution->launch();
    });
    if (failure)
      return std::move(failure);
    Row row{shape, cpu,  execution->getKernel().info()->schedule, times, 0, 0,
            0,     peaks};
    for (const StageTime &stage : execution->getKernel().compileTimes())
      row.compileSeconds += stage.seconds;
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

  Error writeJSON(ArrayRef<Row> rows) const {
    json::Array array;
    for (const Row &row : rows)
      array.push_back(json::Object{
          {"shape", row.shape.name},
          {"host_cpu", row.cpu},
          {"dtype", std::string(dtype)},
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
    return writeBytes(json,
                      formatv("{0:2}\n", json::Value(std::move(array))).str());
  }

  EngineFlags machine{sub};
  cl::OptionCategory category{"Measurement"};
  cl::opt<std::string> configs{
      "configs",
      cl::desc("GPU: the configurations, a file as bench/peers.json"),
      cl::value_desc("file"), cl::cat(category), cl::sub(sub)};
  cl::opt<std::string> only{
      "only", cl::desc("GPU: configurations whose names have this part"),
      cl::value_desc("text"), cl::cat(category), cl::sub(sub)};
  cl::opt<double> sustained{
      "sustained",
      cl::desc("GPU: repeat each also for this time, until power bounds the "
               "clock (default 0: not)"),
      cl::value_desc("s"),
      cl::init(0),
      cl::cat(category),
      cl::sub(sub)};
  cl::opt<bool> compile{"compile", cl::desc("Time compilation alone"),
                        cl::cat(category), cl::sub(sub)};
  NumberListFlag<int64_t> heads{
      "heads",
      cl::desc("Of the kernels that --compile makes (default 16,64,128)"),
      cl::value_desc("16,..."),
      cl::CommaSeparated,
      cl::cat(category),
      cl::sub(sub)};
  NumberFlag<int64_t> runs{"runs",
                           cl::desc("Of --compile (default 5)"),
                           cl::value_desc("N"),
                           cl::init(5),
                           cl::cat(category),
                           cl::sub(sub)};
  NumberFlag<int64_t> compileThreads{
      "compile-threads",
      cl::desc("GPU: entries that --compile does at once; 0: one for each\n"
               "core (default 0)"),
      cl::value_desc("N"),
      cl::init(0),
      cl::cat(category),
      cl::sub(sub)};
  cl::list<std::string> shapes{
      "shapes",
      cl::desc("Shapes of DeepSeek-V3's decode, requests, queries, heads, keys "
               "(default "
               "b4q1h16s4096 and four more)"),
      cl::value_desc("b4q1h16s4096,..."),
      cl::CommaSeparated,
      cl::cat(category),
      cl::sub(sub)};
  cl::list<std::string> hostCPUs{
      "host-cpus",
      cl::desc("CPUs to compile for, one after another (default native)"),
      cl::value_desc("name,..."),
      cl::CommaSeparated,
      cl::cat(category),
      cl::sub(sub)};
  cl::opt<std::string> dtype{"dtype",
                             cl::desc("Type of q, k and out: bf16, f16 or f32"),
                             cl::value_desc("type"),
                             cl::init("bf16"),
                             cl::cat(category),
                             cl::sub(sub)};
  cl::opt<double> seconds{
      "seconds",           cl::desc("Time spent on each shape (default 1)"),
      cl::value_desc("s"), cl::init(1),
      cl::cat(category),   cl::sub(sub)};
  cl::opt<std::string> json{"json", cl::desc("Write all figures to this file"),
                            cl::value_desc("file"), cl::cat(category),
                            cl::sub(sub)};
};

} // namespace

std::unique_ptr<Command> makeBenchCommand() {
  return std::make_unique<BenchCommand>();
}

} // namespace mla_jit
