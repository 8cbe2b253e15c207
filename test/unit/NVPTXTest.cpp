//===- NVPTXTest.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mla/Target/NVPTX.h"
#include "mla/Target/Contained.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include "gtest/gtest.h"

#include <atomic>
#include <thread>

using namespace mlir;
using namespace mlir::mla;
using namespace std::chrono_literals;

/// The text of an error, "" of success.
template <typename T> static std::string errorOf(llvm::Expected<T> value) {
  return value ? "" : llvm::toString(value.takeError());
}

static llvm::Expected<std::string> compileUncontained(const std::string &text,
                                                      const GPUChip &chip,
                                                      unsigned ptxVersion) {
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return llvm::createStringError("cannot parse");
  llvm::LLVMContext llvmContext;
  auto llvmModule = translateToNVVM(*module, llvmContext, chip);
  if (!llvmModule)
    return llvmModule.takeError();
  auto machine = createNVPTXMachine(chip, ptxVersion);
  if (!machine)
    return machine.takeError();
  if (llvm::Error error = optimizeForNVPTX(**llvmModule, **machine))
    return std::move(error);
  return emitPTX(**llvmModule, **machine);
}

static llvm::Expected<std::string>
compile(std::string text, const GPUChip &chip, unsigned ptxVersion) {
  return runContainedFor<std::string>(
      "compile", [=] { return compileUncontained(text, chip, ptxVersion); });
}

/// PTX of a module that consists of `text`, made on a contained thread.
static llvm::Expected<std::string>
compile(std::string text, StringRef chip = "sm_90a", unsigned ptxVersion = 80) {
  return compile(std::move(text), llvm::cantFail(findGPUChip(chip)),
                 ptxVersion);
}

/// A kernel around `body`, with arguments %out, %x (f32) and %n (i32).
static std::string kernel(const char *body) {
  return std::string("llvm.func @k(%out: !llvm.ptr<1>, %x: f32, %n: i32) "
                     "attributes {nvvm.kernel} {\n") +
         body + "\nllvm.return\n}\n";
}

static const char *const kGood = "%y = llvm.fadd %x, %x : f32\n"
                                 "llvm.store %y, %out : f32, !llvm.ptr<1>";
// NVPTX has no instruction for log, nor a library to call.
static const char *const kCannotSelect =
    "%y = llvm.intr.log(%x) : (f32) -> f32\n"
    "llvm.store %y, %out : f32, !llvm.ptr<1>";
static const char *const kBadConstraint =
    "%y = llvm.inline_asm has_side_effects \"mov.b32 $0, $1;\", \"=Z,r\" %n : "
    "(i32) -> i32\n"
    "llvm.store %y, %out : i32, !llvm.ptr<1>";
static const char *const kBadType = "%y = llvm.fpext %x : f32 to f128\n"
                                    "%z = llvm.fmul %y, %y : f128\n"
                                    "llvm.store %z, %out : f128, !llvm.ptr<1>";
static const char *const kWgmma =
    "llvm.inline_asm has_side_effects \"wgmma.fence.sync.aligned;\", \"\" : () "
    "-> ()";

//===----------------------------------------------------------------------===//
// Chips and versions
//===----------------------------------------------------------------------===//

TEST(GPUChips, AreKnownToLLVMAtTheirOldestVersion) {
  for (const GPUChip &chip : getGPUChips()) {
    auto ptx = compile(kernel(kGood), chip.name, chip.minPTXVersion);
    ASSERT_TRUE(bool(ptx)) << llvm::toString(ptx.takeError());
    EXPECT_NE(ptx->find(".target " + chip.name.str()), std::string::npos);
    EXPECT_NE(
        ptx->find(".version " + formatPTXVersion(chip.minPTXVersion) + "\n"),
        std::string::npos);
  }
}

TEST(GPUChips, UnknownIsAnErrorThatListsTheKnown) {
  std::string error = errorOf(findGPUChip("sm_75"));
  EXPECT_NE(error.find("'sm_75'"), std::string::npos) << error;
  EXPECT_NE(error.find("sm_90a"), std::string::npos) << error;
}

TEST(PTXVersion, IsTheOldestThatHasEverything) {
  GPUChip old = llvm::cantFail(findGPUChip("sm_80"));
  GPUChip hopper = llvm::cantFail(findGPUChip("sm_90a"));
  GPUFeature newer = {"newer", 80, ~0u, false, 83};
  EXPECT_EQ(llvm::cantFail(ptxVersionFor(old, {})), 70u);
  EXPECT_EQ(llvm::cantFail(ptxVersionFor(hopper, {}, 90)), 80u);
  EXPECT_EQ(llvm::cantFail(ptxVersionFor(hopper, {&newer}, 83)), 83u);
  EXPECT_EQ(errorOf(ptxVersionFor(hopper, {&newer}, 82)),
            "newer requires PTX 8.3, but what reads it supports up to PTX 8.2");
  EXPECT_EQ(errorOf(createNVPTXMachine(hopper, 78)),
            "stage 'machine': sm_90a requires a PTX version from 8.0 to 9.0, "
            "but got 7.8");
}

//===----------------------------------------------------------------------===//
// What is left to the assembler
//===----------------------------------------------------------------------===//

/// Of a kernel around `body`.
static std::string ptxOf(const char *body) {
  auto ptx = compile(kernel(body));
  EXPECT_TRUE(bool(ptx)) << llvm::toString(ptx.takeError());
  return ptx ? *ptx : std::string();
}

static size_t count(StringRef text, StringRef part) { return text.count(part); }

// LLVM's would make it one of two words.
TEST(Backend, PassesThatFindNothingAreLeftOut) {
  std::string ptx = ptxOf(
      "%q = llvm.getelementptr %out[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8\n"
      "llvm.store %n, %out {alignment = 8 : i64} : i32, !llvm.ptr<1>\n"
      "llvm.store %n, %q {alignment = 4 : i64} : i32, !llvm.ptr<1>");
  EXPECT_EQ(count(ptx, "st.global.b32"), 2u) << ptx;
}

// Neither of two blocks comes after the other.
TEST(Backend, ComparisonsAreDoneWhereTheyAreUsed) {
  std::string ptx = ptxOf("%one = llvm.mlir.constant(1.0 : f32) : f32\n"
                          "%limit = llvm.mlir.constant(7 : i32) : i32\n"
                          "%less = llvm.icmp \"slt\" %n, %limit : i32\n"
                          "%above = llvm.fcmp \"ogt\" %x, %one : f32\n"
                          "llvm.cond_br %above, ^first, ^second\n"
                          "^first:\n"
                          "llvm.cond_br %less, ^third, ^last\n"
                          "^second:\n"
                          "llvm.store volatile %n, %out : i32, !llvm.ptr<1>\n"
                          "llvm.cond_br %less, ^last, ^third\n"
                          "^third:\n"
                          "llvm.store volatile %x, %out : f32, !llvm.ptr<1>\n"
                          "llvm.br ^last\n"
                          "^last:");
  EXPECT_EQ(count(ptx, "setp.") - count(ptx, "setp.leu.f32"), 2u) << ptx;
}

// The block with the extension does not follow from the load's alone.
TEST(Backend, LoadsExtendWhatTheyLoad) {
  std::string ptx =
      ptxOf("%one = llvm.mlir.constant(1.0 : f32) : f32\n"
            "%loaded = llvm.load volatile %out : !llvm.ptr<1> -> i32\n"
            "%above = llvm.fcmp \"ogt\" %x, %one : f32\n"
            "llvm.cond_br %above, ^first, ^second\n"
            "^first:\n"
            "llvm.store volatile %x, %out : f32, !llvm.ptr<1>\n"
            "llvm.br ^second\n"
            "^second:\n"
            "%wide = llvm.sext %loaded : i32 to i64\n"
            "llvm.store volatile %wide, %out : i64, !llvm.ptr<1>\n");
  EXPECT_EQ(count(ptx, "ld.volatile.global.s32"), 1u) << ptx;
  EXPECT_EQ(count(ptx, "cvt."), 0u) << ptx;
}

//===----------------------------------------------------------------------===//
// Contained failures
//===----------------------------------------------------------------------===//

TEST(Contained, FailuresAreErrorsAndTheNextCompileWorks) {
  unsigned abandoned = numAbandonedThreads();
  for (int i = 0; i < 10; ++i) {
    auto contains = [](const std::string &error, const char *text) {
      EXPECT_NE(error.find(text), std::string::npos) << error;
    };
    contains(errorOf(compile(kernel(kCannotSelect))),
             "stage 'codegen': Cannot select");
    contains(errorOf(compile(kernel(kBadConstraint))),
             "stage 'codegen': couldn't allocate output register");
    contains(errorOf(compile(kernel(kBadType))), "stage 'codegen': ");
    contains(errorOf(compile(kernel(kWgmma), "sm_90", 78)),
             "stage 'translate': wgmma requires sm_90a, but the chip is sm_90");
    EXPECT_EQ(errorOf(compile(kernel(kGood))), "");
  }
  // The two kinds that LLVM would have ended the process for.
  EXPECT_EQ(numAbandonedThreads(), abandoned + 20);
}

TEST(Contained, ManyAtOnce) {
  std::atomic<int> failed = 0, succeeded = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 4; ++j) {
        failed += !errorOf(compile(kernel(kCannotSelect))).empty();
        succeeded += errorOf(compile(kernel(kGood))).empty();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failed, 16);
  EXPECT_EQ(succeeded, 16);
}

TEST(Contained, VersionThatTheChipDoesNotKnow) {
  // Past our own check, LLVM itself refuses.
  GPUChip chip = llvm::cantFail(findGPUChip("sm_100a"));
  GPUChip lying{chip.name, chip.smVersion, chip.archSpecific, 80};
  std::string text = errorOf(compile(kernel(kGood), lying, 80));
  EXPECT_NE(text.find("stage 'machine': "), std::string::npos) << text;
  EXPECT_NE(text.find("sm_100a"), std::string::npos) << text;
  EXPECT_EQ(errorOf(compile(kernel(kGood))), "");
}

TEST(Contained, TimeLimitNamesTheStage) {
  auto release = std::make_shared<std::atomic<bool>>(false);
  unsigned abandoned = numAbandonedThreads();
  llvm::Error error = runContained(
      "all",
      [release]() -> llvm::Error {
        ContainedStage stage("slow");
        while (!*release)
          std::this_thread::sleep_for(1ms);
        return llvm::Error::success();
      },
      20ms);
  EXPECT_EQ(llvm::toString(std::move(error)),
            "stage 'slow': not done within the time limit of 20 ms");
  EXPECT_EQ(numAbandonedThreads(), abandoned + 1);
  // A thread that comes to its end after all is no longer counted.
  *release = true;
  for (int i = 0; i < 2000 && numAbandonedThreads() != abandoned; ++i)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(numAbandonedThreads(), abandoned);
}

TEST(Contained, AbandonedThreadsStandStillBetweenPasses) {
  auto passes = std::make_shared<std::atomic<int>>(0);
  llvm::Error error = runContained(
      "all",
      [passes]() -> llvm::Error {
        llvm::LLVMContext context;
        prepareContext(context);
        while (true) {
          ++*passes;
          context.yield(); // as pass managers do
          std::this_thread::sleep_for(1ms);
        }
      },
      20ms);
  llvm::consumeError(std::move(error));
  std::this_thread::sleep_for(20ms);
  int count = *passes;
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(*passes, count);
}

TEST(Contained, ErrorsAndValuesPassThrough) {
  EXPECT_EQ(llvm::toString(runContained(
                "any", [] { return llvm::createStringError("reason"); })),
            "reason");
  auto owned = std::make_unique<int>(7);
  auto result = runContainedFor<std::unique_ptr<int>>(
      "any",
      [owned = std::move(owned)]() mutable
          -> llvm::Expected<std::unique_ptr<int>> { return std::move(owned); });
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(**result, 7);
}

TEST(ContainedDeathTest, FatalErrorsOfOthersEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        llvm::cantFail(
            runContained("any", [] { return llvm::Error::success(); }));
        llvm::report_fatal_error("of another");
      },
      "LLVM ERROR: of another");
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// A kernel around `body` as an entry of that name.
static std::string entry(const std::string &name, const char *body) {
  std::string text = kernel(body);
  return text.replace(text.find("@k("), 2, "@" + name);
}

static llvm::Expected<std::vector<EntryPTX>> compileEntries(std::string text,
                                                            unsigned threads) {
  using Result = std::vector<EntryPTX>;
  return runContainedFor<Result>("compile", [=]() -> llvm::Expected<Result> {
    DialectRegistry registry;
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    auto module = parseSourceString<ModuleOp>(text, &context);
    llvm::LLVMContext llvmContext;
    GPUChip chip = llvm::cantFail(findGPUChip("sm_90a"));
    auto llvmModule = translateToNVVM(*module, llvmContext, chip);
    if (!llvmModule)
      return llvmModule.takeError();
    return emitEntries(std::move(*llvmModule), chip, 80, threads);
  });
}

TEST(EntriesTest, AreModulesOfTheirOwnInOrder) {
  std::string text =
      "llvm.func @twice(%x: f32) -> f32 {\n%y = llvm.fadd %x, %x : f32\n"
      "llvm.return %y : f32\n}\n" +
      entry("first", kGood) +
      entry("second", "%y = llvm.call @twice(%x) : (f32) -> f32\n"
                      "llvm.store %y, %out : f32, !llvm.ptr<1>") +
      entry("third", kGood);
  for (unsigned threads : {1, 2, 8}) {
    auto entries = compileEntries(text, threads);
    ASSERT_TRUE(bool(entries)) << llvm::toString(entries.takeError());
    ASSERT_EQ(entries->size(), 3u);
    const char *const names[] = {"first", "second", "third"};
    for (size_t i = 0; i < 3; ++i) {
      StringRef ptx = (*entries)[i].ptx;
      EXPECT_EQ(ptx.count(".version 8.0"), 1u);
      for (const char *name : names)
        EXPECT_EQ(ptx.contains(".entry " + std::string(name) + "("),
                  name == StringRef(names[i]))
            << ptx.str();
    }
    EXPECT_TRUE(StringRef((*entries)[1].ptx).contains("twice"));
  }
}

TEST(EntriesTest, FatalErrorsOfAnyAreErrorValues) {
  for (bool first : {true, false}) {
    std::string text = entry("a", first ? kCannotSelect : kGood) +
                       entry("b", first ? kGood : kCannotSelect);
    std::string error = errorOf(compileEntries(text, 2));
    EXPECT_TRUE(StringRef(error).contains("stage 'codegen'")) << error;
    EXPECT_TRUE(StringRef(error).contains("annot select")) << error;
  }
}
