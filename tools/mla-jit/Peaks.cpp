//===- Peaks.cpp ----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Peaks.h"
#include "LaunchArgs.h"
#include "mla/Inputs/TensorSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace mla_jit {

/// A module at the host level of one entry `name` over a buffer of f32, as the
/// decode of one request, since launches of none do nothing. `body`
/// computes `%result` of type `vector` from %data, %begin and %end: the
/// worker's part of [0, %count).
static std::string moduleText(llvm::StringRef name, llvm::StringRef vector,
                              llvm::StringRef body) {
  static constexpr const char *kText = R"(
module attributes {{mla.kernel = #mla.kernel<
    arguments = [#mla.argument<"seq_lens", memref<?xi32>>, #mla.argument<"data", memref<?xf32>>, #mla.argument<"sums", memref<?xf32>>, #mla.argument<"count", i64>],
    entries = [#mla.entry<"{0}", [
      #mla.param<"data", pointer>, #mla.param<"data", pointer>, #mla.param<"data", offset>, #mla.param<"data", size, 0>, #mla.param<"data", stride, 0>,
      #mla.param<"sums", pointer>, #mla.param<"sums", pointer>, #mla.param<"sums", offset>, #mla.param<"sums", size, 0>, #mla.param<"sums", stride, 0>,
      #mla.param<"count", scalar>, #mla.param<"worker", scalar>, #mla.param<"num_workers", scalar>]>],
    workspace = [#mla.buffer<"scratch", worker, memref<?x64xi8>>],
    schedule = #mla.schedule<host_blocks, block_m = 1, block_n = 16, split = whole, split_tiles = 1, qk = 1x1, pv = 1x1, kv = direct>,
    mask = #mla.none, kv_heads = 1, group = 1>} {{
  func.func @{0}(%data: memref<?xf32>, %sums: memref<?xf32>, %total: i64, %worker: index, %num_workers: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : {1}
    %count = arith.index_cast %total : i64 to index
    %share = arith.divui %count, %num_workers : index
    %begin = arith.muli %worker, %share : index
    %end = arith.addi %begin, %share : index
{2}
    %sum = vector.reduction <add>, %result : {1} into f32
    memref.store %sum, %sums[%worker] : memref<?xf32>
    return
  }
})";
  return llvm::formatv(kText, name, vector, body);
}

/// A loop whose step applies `op` to `n` independent accumulators.
static std::string loopText(int n, int64_t step, llvm::StringRef vector,
                            llvm::function_ref<std::string(int)> op) {
  std::string inits, types, yields, ops, sums;
  for (int i = 0; i < n; ++i) {
    inits += llvm::formatv("{0}%a{1} = %zero", i ? ", " : "", i).str();
    types += llvm::formatv("{0}{1}", i ? ", " : "", vector).str();
    yields += llvm::formatv("{0}%b{1}", i ? ", " : "", i).str();
    ops += op(i);
    if (i)
      sums +=
          llvm::formatv("    %{0} = arith.addf %{1}, %r#{2} : {3}\n",
                        i + 1 == n ? "result" : "s" + std::to_string(i),
                        i == 1 ? "r#0" : "s" + std::to_string(i - 1), i, vector)
              .str();
  }
  return llvm::formatv("    %step = arith.constant {0} : index\n"
                       "    %r:{1} = scf.for %i = %begin to %end step %step "
                       "iter_args({2}) -> ({3}) {{\n"
                       "{4}      scf.yield {5} : {3}\n    }\n{6}",
                       step, n, inits, types, ops, yields, sums);
}

/// Runs the module over `count` items (elements of `data`, where it is given)
/// and returns items a second.
static llvm::Expected<double> rate(PublicEngine &engine,
                                   const std::string &text, Tensor data,
                                   int64_t count) {
  auto kernel = engine.prepare(text, "peak");
  if (!kernel)
    return kernel.takeError();
  TensorSet memory;
  auto sums = memory.add("sums", DType::F32, {engine.numWorkers()});
  if (!sums)
    return sums.takeError();
  auto lengths = memory.add("seq_lens", DType::I32, {1});
  if (!lengths)
    return lengths.takeError();
  LaunchArgs arguments(*kernel);
  for (auto [name, tensor] :
       {std::pair{"seq_lens", *lengths}, {"data", data}, {"sums", *sums}})
    if (llvm::Error error = arguments.set(name, tensor))
      return std::move(error);
  if (llvm::Error error = arguments.set("count", static_cast<double>(count)))
    return std::move(error);
  mla_args args = arguments.get();
  args.q_len = args.total_q = args.batch;
  if (llvm::Error error =
          (*kernel)->workspaceBytes(args).moveInto(args.workspace_bytes))
    return std::move(error);
  auto workspace =
      memory.add("workspace", DType::F32,
                 {static_cast<int64_t>(args.workspace_bytes / sizeof(float))});
  if (!workspace)
    return workspace.takeError();
  args.workspace = workspace->data;
  llvm::Error failure = llvm::Error::success();
  Times times = measure(0.3, [&] {
    if (failure)
      return;
    failure = (*kernel)->launch(args);
  });
  if (failure)
    return std::move(failure);
  return count / times.best;
}

llvm::Expected<Peaks> measurePeaks(PublicEngine &engine) {
  auto target = engine.target();
  if (!target)
    return target.takeError();
  int64_t lanes = target->vector_bits / 32;
  std::string vector = llvm::formatv("vector<{0}xf32>", lanes);

  // Latency 4 on 2 units wants 8 accumulators; 12 fit every register file.
  constexpr int kAccumulators = 12;
  TensorSet memory;
  int64_t floats = int64_t(1) << 28; // 1 GiB
  auto data = memory.add("data", DType::F32, {floats});
  if (!data)
    return data.takeError();
  // Touch every page: untouched ones are all the same page of zeros.
  for (int64_t i = 0; i < floats; i += 1024)
    static_cast<float *>(data->data)[i] = 1;

  std::string fma = loopText(kAccumulators, 1, vector, [&](int i) {
    return llvm::formatv(
               "      %b{0} = vector.fma %a{0}, %factor, %factor : {1}\n", i,
               vector)
        .str();
  });
  fma = llvm::formatv("    %one = memref.load %data[%c0] : memref<?xf32>\n"
                      "    %factor = vector.broadcast %one : f32 to {0}\n{1}",
                      vector, fma);
  auto steps =
      rate(engine, moduleText("fma_peak", vector, fma), *data, 40'000'000);
  if (!steps)
    return steps.takeError();

  constexpr int kLoads = 8;
  std::string read = loopText(kLoads, kLoads * lanes, vector, [&](int i) {
    return llvm::formatv(
               "      %o{0} = arith.constant {1} : index\n"
               "      %p{0} = arith.addi %i, %o{0} : index\n"
               "      %v{0} = vector.load %data[%p{0}] : memref<?xf32>, {2}\n"
               "      %b{0} = arith.addf %a{0}, %v{0} : {2}\n",
               i, i * lanes, vector)
        .str();
  });
  auto elements =
      rate(engine, moduleText("read_peak", vector, read), *data, floats);
  if (!elements)
    return elements.takeError();
  return Peaks{*steps * kAccumulators * lanes * 2 * 1e-9,
               *elements * sizeof(float) * 1e-9};
}

} // namespace mla_jit
