//===- CInterfaceEnvironmentTest.cpp --------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The environment belongs to the host: all who ask for it in this process do so
// here, LLVM included, and what the library asks for is counted.
//
//===----------------------------------------------------------------------===//

#include "CInterface.h"
#include "FakePtxas.h"
#include "llvm/Support/Program.h"

#include <cstring>
#include <mutex>
#include <set>
#include <unistd.h>

using namespace mla_test;

namespace {
struct Watch {
  std::mutex mutex;
  bool isOn = false;
  std::set<std::string> names;
};
} // namespace

/// From the first call on, which may come before any constructor.
static Watch &watch() {
  static Watch &watch = *new Watch;
  return watch;
}

extern "C" char *getenv(const char *name) {
  {
    std::lock_guard lock(watch().mutex);
    if (watch().isOn)
      watch().names.insert(name);
  }
  size_t length = std::strlen(name);
  for (char **entry = environ; entry && *entry; ++entry)
    if (!std::strncmp(*entry, name, length) && (*entry)[length] == '=')
      return *entry + length + 1;
  return nullptr;
}
extern "C" char *secure_getenv(const char *name) { return getenv(name); }

/// What is asked for meanwhile.
template <typename F> static std::set<std::string> namesAsked(F body) {
  watch().names.clear();
  watch().isOn = true;
  body();
  watch().isOn = false;
  return watch().names;
}

using Names = std::set<std::string>;

TEST(CInterfaceEnvironmentTest, WhatLLVMAsksForIsSeen) {
  EXPECT_EQ(namesAsked([] { (void)llvm::sys::findProgramByName("ptxas"); }),
            Names{"PATH"});
}

TEST(CInterfaceEnvironmentTest, TheCachesPathIsAskedForWhereNoneIsGiven) {
  EXPECT_EQ(namesAsked([] {
              auto options = mla::make<mla_engine_options>();
              EXPECT_TRUE(mla::Engine::create(options));
            }),
            Names{"MLA_JIT_CACHE_DIR"});
  EXPECT_EQ(namesAsked([] { makeEngine(); }), Names{});
}

TEST(CInterfaceEnvironmentTest, KernelsAskForNothing) {
  Scratch scratch;
  EXPECT_EQ(namesAsked([&] {
              for (int time = 0; time < 2; ++time) { // cold, and from disk
                mla::Engine engine = makeEngine([&](mla_engine_options &given) {
                  given.cache_dir = scratch.path.c_str();
                });
                auto kernel = engine.prepare(smallSpec());
                ASSERT_TRUE(kernel) << kernel.status().message();
                EXPECT_EQ(countersOf(engine).disk_hits, unsigned(time));
                EXPECT_TRUE(givesTheMeans(engine, *kernel));
                mla_spec wrong = smallSpec(); // what failed is kept
                wrong.score_mod = "%y = no.such.op";
                EXPECT_FALSE(engine.prepare(wrong));
              }
            }),
            Names{});
}

// Neither which program runs nor where its files are.
TEST(CInterfaceEnvironmentTest, ArchivesAskForNothing) {
  Scratch scratch;
  std::string path = scratch.path + "/archive";
  FakePtxas ptxas(kMakesCubin), other("exit 1");
  std::string programs =
      std::filesystem::path(other.path()).parent_path().string() + ":" +
      getenv("PATH");
  ::setenv("PATH", programs.c_str(), 1);
  for (const char *name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
    ::setenv(name, "/nowhere", 1);
  auto spec = mla::make<mla_spec>();
  spec.operation = MLA_MERGE; // compiles in a moment
  spec.out_dtype = MLA_BF16;
  spec.h_q = 16;
  spec.d_v = 512;
  EXPECT_EQ(namesAsked([&] {
              mla::Engine engine = makeEngine([&](mla_engine_options &given) {
                given.target = "cuda:sm_90a";
                given.ptxas = ptxas.path().c_str();
              });
              mla::Status built = engine.buildArchive({spec}, path.c_str());
              EXPECT_TRUE(built) << built.message();
              EXPECT_TRUE(engine.openArchive(path.c_str()));
              auto cubin = engine.compile(spec, "cubin");
              EXPECT_TRUE(cubin) << cubin.status().message();
              EXPECT_TRUE(engine.compile(spec, "report"));
              EXPECT_FALSE(engine.prepare(spec)); // looks for a driver
            }),
            Names{});
}
