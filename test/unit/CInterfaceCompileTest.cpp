//===- CInterfaceCompileTest.cpp ----------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Failures of the compiler and of its assembler: error values that name the
// stage, after which the next kernel compiles.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"
#include "FakePtxas.h"

#include "llvm/Support/FormatVariadic.h"

#include <csignal>

using namespace mla_test;

/// An engine for the host, or for sm_90a.
static mla::Engine engineFor(const std::string &target,
                             uint32_t milliseconds = 0,
                             const char *ptxas = nullptr) {
  return makeEngine([&](mla_engine_options &options) {
    options.target = target.c_str();
    options.compile_timeout_ms = milliseconds;
    options.ptxas = ptxas;
  });
}

/// Compiles; for a GPU as that is done where there is none.
static mla::Status compile(mla::Engine &engine, const mla_spec &spec) {
  if (spec.h_q == 16) {
    TemporaryDirectory directory;
    return engine.buildArchive({spec}, (directory / "archive").c_str());
  }
  auto kernel = engine.prepare(spec);
  return kernel ? mla::Status() : kernel.status();
}

static void expectFailure(const mla::Status &status, const char *stage,
                          const char *words) {
  EXPECT_EQ(status.code(), MLA_E_COMPILE) << status.message();
  EXPECT_STREQ(status->stage, stage) << status.message();
  EXPECT_NE(std::string(status.message()).find(words), std::string::npos)
      << status.message();
}

//===----------------------------------------------------------------------===//
// The compiler
//===----------------------------------------------------------------------===//

struct BadCode {
  const char *code; ///< on scores
  const char *stage, *words;
};

static const char *const kNotMLIR = "%y = no.such.op";
// Not even in the text of a problem: it may have any effect.
static const char *const kAssembly =
    "%y = llvm.inline_asm \"no such instruction\", \"=Z,x\" %score : (f32) -> "
    "f32\nmla.yield %y : f32";
// There is no conversion to types of 8 bits.
static const char *const kEightBits =
    "%x = arith.truncf %score : f32 to f8E4M3FN\n"
    "%y = arith.extf %x : f8E4M3FN to f32\n"
    "mla.yield %y : f32";
static const char *const kPower =
    "%y = math.fpowi %score, %h : f32, i32\nmla.yield %y : f32";

static void expectFailures(mla::Engine engine, const mla_spec &good,
                           std::initializer_list<BadCode> cases) {
  for (const BadCode &bad : cases) {
    SCOPED_TRACE(bad.code);
    mla_spec spec = good;
    spec.score_mod = bad.code;
    for (int time = 0; time < 2; ++time) // a failure is not kept
      expectFailure(compile(engine, spec), bad.stage, bad.words);
  }
  mla_spec spec = good;
  spec.schedule = "#mla.schedule<nonsense>";
  expectFailure(compile(engine, spec), "parse", "expected");
  mla::Status status = compile(engine, good);
  EXPECT_TRUE(status) << status.message();
  EXPECT_EQ(countersOf(engine).compile_failures, 2 * cases.size() + 1);
  EXPECT_EQ(countersOf(engine).compiles, 1u);
}

TEST(CInterfaceCompileTest, TextThatQuotesAnArgumentNamesNone) {
  mla::Engine engine = engineFor("host");
  std::string text = "argument 'q' spec 'h_q' option 'target'";
  std::string code =
      "\"arith." + text + "\"() : () -> ()\nmla.yield %score : f32";
  mla_spec spec = smallSpec();
  spec.score_mod = code.c_str();
  auto kernel = engine.prepare(spec);
  auto file = engine.compile("func.func @f(", text.c_str(), "tile");
  auto archive = engine.openArchive(("/" + text).c_str());
  ASSERT_FALSE(kernel || file || archive);
  for (const mla::Status &status :
       {kernel.status(), file.status(), archive.status()}) {
    EXPECT_NE(std::string(status.message()).find("argument 'q'"),
              std::string::npos)
        << status.message();
    EXPECT_STREQ(status->argument, "") << status.message();
  }
  EXPECT_STREQ(kernel.status()->stage, "parse");
  EXPECT_STREQ(archive.status()->stage, "");
}

// Of what MLIR's parser recurses on.
TEST(CInterfaceCompileTest, TextThatIsNestedTooDeeply) {
  mla::Engine engine = engineFor("host");
  auto repeat = [](const char *text) {
    std::string all;
    for (int i = 0; i < 100000; ++i)
      all += text;
    return all;
  };
  mla_spec spec = smallSpec();
  for (const std::string &text :
       {repeat("module {"), "func.func private @f(" + repeat("tuple<") + "f32)",
        "module attributes {mla.a = " + repeat("[") + "}",
        "module attributes {mla.a = affine_map<(d) -> (" + repeat("-") +
            "d)>} {}"}) {
    spec.score_mod = text.c_str();
    for (const mla::Status &status :
         {engine.compile(text.c_str(), "f", "problem").status(),
          engine.isSupported(spec)}) {
      EXPECT_EQ(status.code(), MLA_E_COMPILE) << status.message();
      EXPECT_STREQ(status->stage, "parse");
      EXPECT_NE(std::string(status.message()).find("levels of brackets"),
                std::string::npos)
          << status.message();
    }
  }
  // Text and comments are not nested.
  std::string flat =
      "// " + repeat("(") + "\nmodule @\"" + repeat("[") + "\" {}";
  auto compiled = engine.compile(flat.c_str(), "f", "problem");
  EXPECT_TRUE(compiled) << compiled.status().message();
}

// They nest as what they stand for, however they are written.
TEST(CInterfaceCompileTest, AliasesThatNestTooDeeply) {
  mla::Engine engine = engineFor("host");
  auto compile = [&](const char *alias, int count, const char *before = "") {
    std::string text = before;
    text += "#0 = loc(\"f\")\n#a0 = 1\n!a0 = f32\n";
    for (int i = 1; i < count; ++i)
      text += llvm::formatv(alias, i, i - 1).str();
    // Where it is printed, if there is one.
    std::string name = llvm::formatv("a{0}", count - 1).str();
    if (alias[0] == '!')
      text += "func.func private @f(!" + name + ")\n";
    else if (alias[1] == 'a')
      text += "func.func private @f() attributes {a = #" + name + "}\n";
    return engine.compile(text.c_str(), "f", "problem");
  };
  for (const char *alias :
       {"#a{0} = [#a{1}]\n", "#a{0} =\n\n[#a{1}]\n", "#a{0} // [\n = [#a{1}]\n",
        "#a{0} = distinct[{0}]\n // of\n<#a{1}>\n",
        "!a{0} = tuple\n // of\n<!a{1}>\n", "!a{0} = () -> !a{1}\n",
        "!a{0} = () ->\n!a{1}\n", "#{0} = loc(callsite(#{1}at #{1}))\n"}) {
    auto many = compile(alias, 100000);
    EXPECT_EQ(many.status().code(), MLA_E_COMPILE) << alias;
    EXPECT_NE(std::string(many.status().message()).find("of aliases"),
              std::string::npos)
        << many.status().message();
    auto some = compile(alias, 120);
    EXPECT_TRUE(some) << some.status().message();
  }
  // A ">" in front of a sign.
  auto behind = compile("#a{0} = [#a{1}]\n", 100000,
                        "memref.global @g : memref<2xf32>= dense<0.0>\n");
  EXPECT_EQ(behind.status().code(), MLA_E_COMPILE);
  auto doubled = compile("#a{0} = [#a{1}, #a{1}]\n", 60);
  EXPECT_NE(std::string(doubled.status().message()).find("tokens"),
            std::string::npos)
      << doubled.status().message();
  for (const char *alias : {"#a{0} = [#a0, {0}]\n", "#a{0} = -{0} : i32\n",
                            "!a{0} = memref<{0}xf32>\n"}) {
    auto flat = compile(alias, 1000);
    EXPECT_TRUE(flat) << flat.status().message();
  }
}

// Where brackets are not what they look like.
TEST(CInterfaceCompileTest, TextThatHidesHowDeeplyItIsNested) {
  mla::Engine engine = engineFor("host");
  auto compile = [&](const std::string &text) {
    return engine.compile((text + "\nmodule {}").c_str(), "f", "problem");
  };
  auto repeated = [](const std::string &what, int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += what;
    return text;
  };
  std::string set = "affine_set<(d0) : (d0 >= 0" +
                    repeated(", d0 > = 0, d0 <= 9", 250) + ")>";
  auto one = compile("#a = " + set);
  EXPECT_TRUE(one) << one.status().message();
  std::string deep = repeated("[", 100000);
  for (const std::string &text :
       {"#a = " + repeated(repeated("[", 200) + set + ", ", 500),
        "#a = affine_map<(d0) -> (d0" + repeated(" mod 3", 100000) + ")>",
        // Read again behind the first ">>".
        "#a = [#arith<fastmath<none //>>, " + deep + "\n>",
        "#a = [#arith.fastmath<none //>, " + deep + "\n>"})
    EXPECT_EQ(compile(text).status().code(), MLA_E_COMPILE);
  auto commented =
      compile("#a = [#arith.fastmath<none // all - of it\n>] // <[");
  EXPECT_TRUE(commented) << commented.status().message();
}

TEST(CInterfaceCompileTest, UnalignedKernelsTakeNoScheduleThatNeedsAlignment) {
  mla::Engine engine = engineFor("cuda:sm_90a");
  auto withEnd = [](const std::string &end) {
    return "#mla.schedule<keys_as_m, block_m = 16, block_n = 64, split = "
           "balanced, split_tiles = 1, stages = 2, row_blocks = 1, " +
           end + ">";
  };
  std::string gather = withEnd("copy = gather");
  mla_spec spec = gpuSpec();
  spec.features = MLA_FEATURE_UNALIGNED;
  spec.schedule = gather.c_str();
  mla::Status taken = engine.isSupported(spec);
  EXPECT_TRUE(taken) << taken.message();
  for (const char *end : {"copy = gather, alignment = 16", "copy = tma"}) {
    std::string text = withEnd(end);
    spec.schedule = text.c_str();
    spec.features = 0;
    EXPECT_TRUE(engine.isSupported(spec)) << end;
    spec.features = MLA_FEATURE_UNALIGNED;
    for (const mla::Status &status :
         {engine.isSupported(spec), compile(engine, spec),
          engine.compile(spec, "tile").status()}) {
      EXPECT_EQ(status.code(), MLA_E_INVALID) << status.message();
      EXPECT_STREQ(status->argument, "schedule");
      EXPECT_NE(std::string(status.message()).find("but got " + text),
                std::string::npos)
          << status.message();
    }
  }
}

TEST(CInterfaceCompileTest, FailuresOfTheHostsCompiler) {
  expectFailures(engineFor("host"), smallSpec(),
                 {{kNotMLIR, "parse", "no.such.op"},
                  {kAssembly, "parse", "elementwise"},
                  {kPower, "llvm", "signless integer"},
                  {kEightBits, "translate", "arith.truncf"}});
}

TEST(CInterfaceCompileTest, FailuresOfTheGPUsCompiler) {
  expectFailures(engineFor("cuda:sm_90a"), gpuSpec(),
                 {{kNotMLIR, "parse", "no.such.op"},
                  {kPower, "nvvm", "approximation"},
                  {kEightBits, "translate", "arith.truncf"}});
}

namespace {
/// A change to the text of a good kernel at a level.
struct BadText {
  const char *level, *text, *change;
  const char *stage, *words; ///< of the failure
};
} // namespace

// Between levels no spec fails, but text that was edited may.
static const BadText kOneNameTwice = {"problem", "(%arg0",
                                      "(%other: f32 {mla.name = \"q\"}, %arg0",
                                      "tile", "both 'q'"};
static const char *const kNoSchedule = "requires an 'mla.schedule'";

static mla::Status compileText(mla::Engine &engine, const std::string &text,
                               bool isGPU) {
  if (isGPU) {
    auto cubin = engine.compile(text.c_str(), "edited", "cubin");
    return cubin ? mla::Status() : cubin.status();
  }
  auto kernel = engine.prepare(text.c_str(), "edited");
  return kernel ? mla::Status() : kernel.status();
}

static void expectFailures(mla::Engine engine, const mla_spec &good,
                           std::initializer_list<BadText> cases) {
  for (const auto &[level, text, change, stage, words] : cases) {
    SCOPED_TRACE(change);
    std::string edited = *engine.compile(good, level);
    size_t begin = edited.find(text);
    ASSERT_NE(begin, std::string::npos) << edited;
    edited.replace(begin, std::strlen(text), change);
    expectFailure(compileText(engine, edited, good.h_q == 16), stage, words);
  }
  mla::Status status = compile(engine, good);
  EXPECT_TRUE(status) << status.message();
}

TEST(CInterfaceCompileTest, EditedTextFailsAtEachStageOfTheHost) {
  auto assembly = [](const std::string &code) {
    return "llvm.inline_asm has_side_effects \"" + code +
           "\", \"\" : () -> ()\n    return";
  };
  std::string wrong = assembly("no such"), missing = assembly("call missing");
  expectFailures(
      engineFor("host"), smallSpec(),
      {kOneNameTwice,
       {"tile", "mla.schedule = ", "schedule = ", "host", kNoSchedule},
       {"host", "return", wrong.c_str(), "codegen", "no such"},
       {"host", "return", missing.c_str(), "link", "missing"}});
}

TEST(CInterfaceCompileTest, EditedTextFailsAtEachStageOfAGPU) {
  auto assembly = [](const std::string &code, const std::string &constraint) {
    return "%bad = llvm.inline_asm has_side_effects \"" + code + "\", \"" +
           constraint + "\" : () -> i32\n    llvm.return";
  };
  std::string noRegister = assembly("mov.u32 $0, 0;", "=Z"),
              wrong = assembly("no such $0;", "=r");
  expectFailures(
      engineFor("cuda:sm_90a"), gpuSpec(),
      {kOneNameTwice,
       {"tile", "mla.schedule = ", "schedule = ", "gpu", kNoSchedule},
       {"nvvm", "llvm.return", noRegister.c_str(), "codegen",
        "constraint 'Z'"}});
  if (!engineFor("cuda:sm_90a").compile(gpuSpec(), "cubin"))
    GTEST_SKIP() << "requires ptxas, for what it refuses";
  expectFailures(
      engineFor("cuda:sm_90a"), gpuSpec(),
      {{"nvvm", "llvm.return", wrong.c_str(), "assemble", "refused"}});
}

//===----------------------------------------------------------------------===//
// What failed is kept
//===----------------------------------------------------------------------===//

static std::vector<std::string> filesIn(const std::string &path) {
  std::vector<std::string> files;
  if (std::filesystem::exists(path))
    for (const auto &file : std::filesystem::directory_iterator(path))
      files.push_back(file.path());
  return files;
}

/// The file that an error names has these words, and is for nobody else.
static void expectKept(const mla::Status &status, const std::string &directory,
                       const char *words) {
  std::string path = status->dump_path;
  ASSERT_EQ(path.rfind(directory + "/failed/", 0), 0u) << path;
  EXPECT_NE(std::string(status.message()).find(path), std::string::npos)
      << status.message();
  EXPECT_NE(readFile(path).find(words), std::string::npos) << path;
  struct stat file;
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

static mla::Engine keepingEngine(const std::string &directory,
                                 const char *target,
                                 int32_t mode = MLA_CACHE_RW,
                                 const char *ptxas = nullptr) {
  return makeEngine([&](mla_engine_options &options) {
    options.target = target;
    options.ptxas = ptxas;
    options.cache_dir = directory.c_str();
    options.cache_mode = mode;
  });
}

TEST(CInterfaceCompileTest, WhatFailedIsKept) {
  TemporaryDirectory directory;
  std::string path = directory / "cache";
  mla_spec spec = smallSpec();
  spec.score_mod = kPower;
  mla::Engine forgetful = engineFor("host");
  mla::Status status = compile(forgetful, spec);
  EXPECT_STREQ(status->dump_path, "");
  {
    mla::Engine engine = keepingEngine(path, "host");
    ASSERT_TRUE(engine.prepare(smallSpec()));
    for (int i = 0; i < 20; ++i) {
      spec.h_q = 1 + i;
      status = compile(engine, spec);
      EXPECT_STREQ(status->stage, "llvm");
      expectKept(status, path, "math.fpowi");
    }
    EXPECT_EQ(filesIn(path + "/failed").size(), 16u);
    // What is refused for a reason of its own is not kept.
    spec.d_qk = 7;
    EXPECT_STREQ(compile(engine, spec)->dump_path, "");
    spec.d_qk = 72;
  }
  spec.h_q = 30;
  mla::Engine reader = keepingEngine(path, "host", MLA_CACHE_RO);
  EXPECT_STREQ(compile(reader, spec)->dump_path, "");
  EXPECT_EQ(reader.prepare(smallSpec())->info()->origin, MLA_ORIGIN_DISK);
}

TEST(CInterfaceCompileTest, ACompilationHasALimitOfTime) {
  for (bool isHost : {true, false}) {
    mla_spec spec = isHost ? smallSpec() : gpuSpec();
    const char *target = isHost ? "host" : "cuda:sm_90a";
    mla::Engine impatient = engineFor(target, 1), patient = engineFor(target);
    mla::Status status = compile(impatient, spec);
    EXPECT_EQ(status.code(), MLA_E_TIMEOUT) << status.message();
    EXPECT_STRNE(status->stage, "");
    EXPECT_NE(std::string(status.message()).find("1 ms"), std::string::npos);
    EXPECT_TRUE(compile(patient, spec));
  }
}

TEST(CInterfaceCompileTest, InstallsNoSignalHandlers) {
  struct sigaction before[NSIG], after;
  for (int signal = 1; signal < NSIG; ++signal)
    ::sigaction(signal, nullptr, &before[signal]);
  mla::Engine host = engineFor("host"), gpu = engineFor("cuda:sm_90a");
  EXPECT_TRUE(compile(host, smallSpec()));
  EXPECT_TRUE(compile(gpu, gpuSpec()));
  for (int signal = 1; signal < NSIG; ++signal)
    if (::sigaction(signal, nullptr, &after) == 0)
      EXPECT_EQ(before[signal].sa_handler, after.sa_handler) << signal;
}

//===----------------------------------------------------------------------===//
// The assembler
//===----------------------------------------------------------------------===//

static mla::Engine engineWith(const FakePtxas &ptxas,
                              uint32_t milliseconds = 0) {
  return engineFor("cuda:sm_90a", milliseconds, ptxas.path().c_str());
}

TEST(CInterfaceCompileTest, FailuresOfTheAssembler) {
  struct {
    const char *does, *words;
  } const kCases[] = {
      {"echo 'line 3: unknown symbol'; exit 255", "line 3: unknown symbol"},
      {"kill -SEGV $$", "Segmentation fault"},
      {"kill -KILL $$", "Killed"},
      {"exit 0", "left no cubin"}};
  for (auto [does, words] : kCases) {
    SCOPED_TRACE(does);
    FakePtxas ptxas(does);
    mla::Engine engine = engineWith(ptxas);
    expectFailure(compile(engine, gpuSpec()), "assemble", words);
  }
  FakePtxas ptxas("exit 1");
  TemporaryDirectory directory;
  mla::Engine keeping = keepingEngine(directory.path(), "cuda:sm_90a",
                                      MLA_CACHE_RW, ptxas.path().c_str());
  expectKept(compile(keeping, gpuSpec()), directory.path(), ".version");

  FakePtxas slow("exec sleep 60");
  mla::Engine impatient = engineWith(slow, 4000);
  mla::Status status = compile(impatient, gpuSpec());
  EXPECT_EQ(status.code(), MLA_E_TIMEOUT) << status.message();
  EXPECT_NE(std::string(status.message()).find("4000 ms"), std::string::npos);

  FakePtxas right("echo cubin > \"$2\"");
  mla::Engine engine = engineWith(right);
  status = compile(engine, gpuSpec());
  EXPECT_TRUE(status) << status.message();
}

// Not as none, with which an archive has no machine code.
TEST(CInterfaceCompileTest, AnAssemblerThatIsThereAndFailsIsAnError) {
  struct {
    const char *says, *words;
  } const kCases[] = {{"echo sick; exit 3", "exit status 3\nsick"},
                      {"kill -KILL $$", "Killed"},
                      {"echo hello; exit 0", "printed 'hello'"},
                      {"echo 'release 12.8'; exit 0", "printed 'release 12.8'"},
                      {"echo 'release 6.5, V6.5.1'; exit 0", "6.5"}};
  for (auto [says, words] : kCases) {
    SCOPED_TRACE(says);
    FakePtxas ptxas(kMakesCubin, says);
    mla::Engine engine = engineWith(ptxas);
    mla::Status status = compile(engine, gpuSpec());
    expectFailure(status, "assemble", words);
    expectFailure(status, "assemble", ptxas.path().c_str());
    expectFailure(engine.compile(gpuSpec(), "cubin").status(), "assemble",
                  words);
  }
  FakePtxas ptxas(kMakesCubin);
  ::chmod(ptxas.path().c_str(), 0644);
  mla::Engine engine = engineWith(ptxas);
  expectFailure(compile(engine, gpuSpec()), "assemble", "Permission denied");
  // Nor one that was asked for and is not there.
  engine = engineFor("cuda:sm_90a", 0, "/nowhere/ptxas");
  mla::Status status = compile(engine, gpuSpec());
  EXPECT_EQ(status.code(), MLA_E_INVALID) << status.message();
  EXPECT_STREQ(status->argument, "ptxas");
  EXPECT_NE(std::string(status.message()).find("/nowhere/ptxas"),
            std::string::npos);
  engine = engineFor("cuda:sm_90a", 0, "");
  EXPECT_TRUE(compile(engine, gpuSpec()));

  auto options = mla::make<mla_engine_options>();
  options.ptxas = "ptxas";
  auto relative = mla::Engine::create(options);
  ASSERT_FALSE(relative);
  EXPECT_STREQ(relative.status()->argument, "ptxas");
}

TEST(CInterfaceCompileTest, AHostMayIgnoreItsChildren) {
  ::signal(SIGCHLD, SIG_IGN);
  FakePtxas right(kMakesCubin), silent("exit 0");
  FakePtxas killed(std::string(kMakesCubin) +
                   "\nhead -c 40 \"$2\" > \"$2.part\"; "
                   "mv \"$2.part\" \"$2\"; kill -9 $$");
  mla::Engine engine = engineWith(right);
  mla::Status status = compile(engine, gpuSpec());
  EXPECT_TRUE(status) << status.message();
  engine = engineWith(silent);
  expectFailure(compile(engine, gpuSpec()), "assemble", "left no cubin");
  engine = engineWith(killed);
  expectFailure(compile(engine, gpuSpec()), "assemble", "a part of a cubin");
  ::signal(SIGCHLD, SIG_DFL);
}

TEST(CInterfaceCompileTest, AnotherAssemblerMakesAnotherKernel) {
  TemporaryDirectory directory;
  FakePtxas ptxas("exit 1");
  auto packed = [&](const char *version) {
    std::string cubin = std::string("cubin of ") + version;
    ptxas.become("echo " + cubin + " > \"$2\"",
                 std::string("echo 'release 12.8, V") + version + "'; exit 0");
    mla::Engine engine = keepingEngine(directory / "cache", "cuda:sm_90a",
                                       MLA_CACHE_RW, ptxas.path().c_str());
    std::string archive = directory / "archive";
    mla::Status status = engine.buildArchive({gpuSpec()}, archive.c_str());
    EXPECT_TRUE(status) << status.message();
    EXPECT_NE(readFile(archive).find(cubin), std::string::npos);
    return countersOf(engine).compiles;
  };
  EXPECT_EQ(packed("12.8.61"), 1u);
  EXPECT_EQ(packed("12.8.61"), 0u);
  EXPECT_EQ(packed("12.8.93"), 1u);
  EXPECT_EQ(packed("12.8.61"), 0u);
}
