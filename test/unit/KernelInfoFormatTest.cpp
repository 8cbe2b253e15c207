//===- KernelInfoFormatTest.cpp -------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/KernelInfoFormat.h"
#include "../../runtime/src/Processors.h"
#include "SmallKernel.h"

#include <filesystem>
#include <fstream>

using namespace mla_jit;

TEST(KernelInfoFormatTest, SurvivesEveryCut) {
  auto kernel = llvm::cantFail(smallEngine().prepare(smallSpec()));
  KernelInfo info = *kernel->info();
  info.chip = "sm_90a";
  info.warnings = {"C7510", ""};
  info.hasPlanEntry = info.entries.size() > 1;
  info.workspace[0].ofPlan = true;
  info.arguments[0].alignment = 16;
  info.entries[0].launch = {192, 1 << 17, 2, true, 2};
  info.entries[0].params[0].map = {3, {0, 2, 1, 0}, 64, 576, 128};
  std::string bytes = writeKernelInfo(info);
  auto read = readKernelInfo(bytes);
  ASSERT_TRUE(bool(read)) << textOf(read.takeError());
  EXPECT_EQ(writeKernelInfo(**read), bytes);
  EXPECT_EQ((*read)->arguments.size(), info.arguments.size());
  EXPECT_EQ((*read)->entries[0].launch.sharedBytes, 1 << 17);
  EXPECT_EQ((*read)->entries[0].launch.cluster, 2);
  EXPECT_EQ((*read)->entries[0].params[0].map.swizzle, 128);
  EXPECT_EQ((*read)->schedule, info.schedule);
  EXPECT_TRUE((*read)->hasPlanEntry);
  EXPECT_TRUE((*read)->workspace[0].ofPlan);
  EXPECT_EQ((*read)->arguments[0].alignment, 16);

  for (size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_NE(textOf(readKernelInfo(bytes.substr(0, cut)).takeError()), "");
  EXPECT_NE(textOf(readKernelInfo(bytes + "x").takeError()), "");
  // Any other byte is an error or another kernel, never a crash.
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(~changed[i]);
    llvm::consumeError(readKernelInfo(changed).takeError());
  }
}

TEST(ProcessorsTest, Quotas) {
  EXPECT_EQ(processorsOfQuota("max 100000\n"), 0);
  EXPECT_EQ(processorsOfQuota("150000 100000\n"), 2);
  EXPECT_EQ(processorsOfQuota("50000 100000\n"), 1);
  EXPECT_EQ(processorsOfQuota(""), 0);
  EXPECT_EQ(processorsOfQuota("-1 100000"), 0);
  EXPECT_GE(usableProcessors(), 1);
}

TEST(ProcessorsTest, GroupsOfEitherVersion) {
  std::string name = testing::TempDir() + "mla-groups-XXXXXX";
  std::string root = ::mkdtemp(name.data());
  auto write = [&](const std::string &file, const char *text) {
    std::filesystem::path path = root + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  };
  write("a/cpu.max", "300000 100000");
  write("a/b/cpu.max", "max 100000");
  write("cpu/c/cpu.cfs_quota_us", "200000");
  write("cpu/c/cpu.cfs_period_us", "100000");
  write("cpu/cpu.cfs_quota_us", "-1");
  write("cpu/cpu.cfs_period_us", "100000");
  write("unified/e/cpu.max", "500000 100000");
  write("cpuset/c/cpu.max", "100000 100000");
  EXPECT_EQ(processorsOfGroups("0::/a/b\n", root), 3); // of the group around
  EXPECT_EQ(processorsOfGroups("0::/\n", root), 0);
  EXPECT_EQ(processorsOfGroups("3:cpuset:/c\n1:cpu:/c\n0::/\n", root), 2);
  EXPECT_EQ(processorsOfGroups("1:cpu:/elsewhere\n0::/e\n", root), 5);
  // In a container whose own group is what is mounted.
  write("cpu,cpuacct/cpu.cfs_quota_us", "400000");
  write("cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(processorsOfGroups("4:cpu,cpuacct:/docker/0123\n", root), 4);
  EXPECT_EQ(processorsOfGroups("nonsense", root), 0);
  std::filesystem::remove_all(root);
}
