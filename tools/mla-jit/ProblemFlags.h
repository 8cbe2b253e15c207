//===- ProblemFlags.h ----------------------------------------- -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The flags that describe a decode problem, the same for every subcommand.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_TOOLS_PROBLEMFLAGS_H
#define MLA_JIT_TOOLS_PROBLEMFLAGS_H

#include "Draft.h"
#include "Flags.h"

#include <optional>

namespace mla_jit {

/// Adds its options to a subcommand.
class ProblemFlags {
public:
  explicit ProblemFlags(llvm::cl::SubCommand &sub) : sub(sub) {}

  /// The problem of the flags. What a kernel (compiled from a file) has fixed
  /// and what tensors (read from a file) and their metadata say takes the place
  /// of defaults; flags that are given win over both. Without tensors, inputs
  /// are generated. Errors name the flag.
  llvm::Expected<Problem>
  makeProblem(const PublicKernel *kernel = nullptr,
              std::optional<TensorSet> tensors = std::nullopt) const;

  /// The problem without inputs, for compilation.
  llvm::Expected<Problem> makeSpec() const;

  /// Adds to an error of compilation the flag that is likely its cause.
  llvm::Error explain(llvm::Error error) const;

  /// Fails if a flag was given that has no effect when a kernel or tensors come
  /// from a file.
  llvm::Error checkUnused(bool hasKernel, bool hasTensors) const;

private:
  template <typename T> using Opt = llvm::cl::opt<T>;
  using desc = llvm::cl::desc;
  using value_desc = llvm::cl::value_desc;

  llvm::Expected<Draft> makeDraft(const PublicKernel *kernel,
                                  const TensorSet *tensors) const;
  llvm::Error overlay(Draft &draft) const;
  llvm::Error overlayTypes(Spec &spec) const;
  int64_t queriesExpected() const;
  void overlayInputs(Draft &draft) const;

  llvm::cl::SubCommand &sub;

  llvm::cl::OptionCategory shapes{"Problem: heads, widths and lengths"};
  llvm::cl::cat inShapes{shapes};
  llvm::cl::sub ofSub{sub};

  Opt<std::string> model{
      "model",
      desc("Heads, widths, RoPE and scale of a model:\ndeepseek-v2-lite, "
           "deepseek-v3, kimi-k2 (default deepseek-v3)"),
      value_desc("name"), inShapes, ofSub};
  NumberFlag<int64_t> batch{"batch",         desc("Requests (default 1)"),
                            value_desc("N"), llvm::cl::init(1),
                            inShapes,        ofSub};
  NumberFlag<int64_t> kvLen{
      "kv-len",        desc("Keys of each request (default 4096)"),
      value_desc("N"), llvm::cl::init(4096),
      inShapes,        ofSub};
  NumberListFlag<int64_t> seqLens{
      "seq-lens",
      desc(
          "Keys of each request, one by one:\ninstead of --batch and --kv-len"),
      value_desc("a,b,c"),
      llvm::cl::CommaSeparated,
      inShapes,
      ofSub};
  NumberFlag<int64_t> sQ{
      "s-q",           desc("Queries of each request (default 1)"),
      value_desc("N"), llvm::cl::init(1),
      inShapes,        ofSub};
  NumberListFlag<int64_t> qLens{"q-lens",
                                desc("Queries of each request, one by one:\nq "
                                     "is [total_q, h_q, d] with q_offsets"),
                                value_desc("a,b,c"),
                                llvm::cl::CommaSeparated,
                                inShapes,
                                ofSub};
  NumberFlag<int64_t> hQ{"h-q", desc("Query heads (default 128)"),
                         value_desc("N"), inShapes, ofSub};
  NumberFlag<int64_t> hKV{
      "h-kv", desc("KV heads, a divisor of the query heads (default 1)"),
      value_desc("N"), inShapes, ofSub};
  NumberFlag<int64_t> dQK{
      "d-qk", desc("Columns of q and k, a multiple of 8 (default 576)"),
      value_desc("N"), inShapes, ofSub};
  NumberFlag<int64_t> dV{
      "d-v", desc("Columns of out: V is the first columns of k (default 512)"),
      value_desc("N"), inShapes, ofSub};
  NumberFlag<int64_t> dRope{
      "d-rope",
      desc("Columns of q and k that are tensors of their own,\nq_rope and "
           "k_rope; 0: q and k are whole (default 0)"),
      value_desc("N"), inShapes, ofSub};

  llvm::cl::OptionCategory layouts{"Problem: layout and types"};
  llvm::cl::cat inLayouts{layouts};
  Opt<std::string> layout{
      "layout",
      desc("How keys are stored: paged (a pool and a table),\ndense ([b, s, "
           "h_kv, d]) or csr (a pool, kv_indptr and\nkv_indices) (default "
           "paged)"),
      value_desc("layout"), inLayouts, ofSub};
  NumberFlag<int64_t> pageSize{"page-size", desc("Keys of a page (default 64)"),
                               value_desc("N"), inLayouts, ofSub};
  Opt<bool> tableRows{"table-rows",
                      desc("Requests find their table row through table_rows"),
                      inLayouts, ofSub};
  Opt<std::string> dtype{
      "dtype", desc("Type of q, k and out: bf16, f16 or f32 (default bf16)"),
      value_desc("type"), inLayouts, ofSub};
  Opt<std::string> qDType{"q-dtype", desc("Type of q alone"),
                          value_desc("type"), inLayouts, ofSub};
  Opt<std::string> kvDType{"kv-dtype", desc("Type of k alone"),
                           value_desc("type"), inLayouts, ofSub};
  Opt<std::string> outDType{"out-dtype", desc("Type of out alone"),
                            value_desc("type"), inLayouts, ofSub};
  Opt<std::string> lengthDType{
      "length-dtype",
      desc("Type of seq_lens and q_offsets: i32 or i64 (default i32)"),
      value_desc("type"), inLayouts, ofSub};
  Opt<std::string> tableDType{
      "table-dtype", desc("Type of the table: i32 or i64 (default i32)"),
      value_desc("type"), inLayouts, ofSub};

  llvm::cl::OptionCategory scores{"Problem: mask and scores"};
  llvm::cl::cat inScores{scores};
  Opt<std::string> mask{"mask",
                        desc("Which keys a query sees: none, causal, or "
                             "another\nmask of the dialect (default causal)"),
                        value_desc("name"), inScores, ofSub};
  llvm::cl::list<std::string> maskArgs{
      "mask-arg", desc("A launch-time parameter of the mask; may be repeated"),
      value_desc("name=N"), inScores, ofSub};
  Opt<std::string> score{
      "score",
      desc("Code on each score: none, softcap:CAP or alibi (default none)"),
      value_desc("code"), inScores, ofSub};
  NumberFlag<double> scale{
      "scale",
      desc("Softmax scale (default that of the model,\n0.135234 "
           "for deepseek-v3)"),
      value_desc("x"), inScores, ofSub};

  llvm::cl::OptionCategory inputs{"Problem: values of generated inputs"};
  llvm::cl::cat inInputs{inputs};
  NumberFlag<uint64_t> seed{"seed",
                            desc("Seed of all random values (default 0)"),
                            value_desc("N"), inInputs, ofSub};
  NumberFlag<double> qStd{
      "q-std",         desc("Standard deviation of q (default 1)"),
      value_desc("x"), llvm::cl::init(1),
      inInputs,        ofSub};

  llvm::cl::OptionCategory schedules{"Schedule"};
  llvm::cl::cat inSchedules{schedules};
  NumberFlag<int64_t> numSplits{
      "num-splits",
      desc("Pieces that each row block's keys are split "
           "into;\n0: automatic (default 0)"),
      value_desc("N"), inSchedules, ofSub};
  NumberFlag<int64_t> queries{
      "queries",
      desc("Queries of a request that the schedule of a GPU is chosen\nfor; "
           "any number is right (default those of --s-q, --q-lens)"),
      value_desc("N"), inSchedules, ofSub};
  Opt<bool> deterministic{"deterministic",
                          desc("Splits depend on each row's own length "
                               "only:\nbits do not depend on the batch"),
                          inSchedules, ofSub};
  Opt<std::string> schedule{"schedule",
                            desc("A schedule to use instead of the cost "
                                 "model's:\n'#mla.schedule<...>'"),
                            value_desc("attribute"), inSchedules, ofSub};
};

} // namespace mla_jit

#endif // MLA_JIT_TOOLS_PROBLEMFLAGS_H
