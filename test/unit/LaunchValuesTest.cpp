//===- LaunchValuesTest.cpp -----------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a launch makes of its arguments: the workspace, and numbers of items.
//
//===----------------------------------------------------------------------===//

#include "FakeKernel.h"

using namespace mla_jit;
using Info = KernelInfo;

TEST(LaunchValuesTest, CountsOfTheWorkspace) {
  auto info = std::make_shared<Info>(fakeInfo());
  Arguments arguments = fakeArguments(info); // 3 requests x 2 row blocks
  constexpr uintptr_t kBase = 0x1000000;
  auto layOut = [&] {
    return layOutWorkspace(*info, arguments, 132, 256,
                           reinterpret_cast<void *>(kBase));
  };
  Workspace automatic = layOut();
  EXPECT_EQ(countIn(automatic, 0), 2 * 132);
  EXPECT_EQ(countIn(automatic, 1), 6 + 132);
  EXPECT_EQ(countIn(automatic, 2), 132);
  EXPECT_EQ(automatic.bytes, 264u * 32768 + (138 * 32 + 255) / 256 * 256 +
                                 (132 * 8 + 255) / 256 * 256);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(automatic.tensors[1].data),
            kBase + 264u * 32768);

  llvm::cantFail(arguments.set("num_splits", 5));
  EXPECT_EQ(countIn(layOut(), 0), 6 * 5);
  EXPECT_EQ(countIn(layOut(), 1), 6 * 5 + 132);

  // Row blocks of a request as a multiple of those that are done together.
  info->rowBlocks = 4;
  EXPECT_EQ(countIn(layOut(), 0), 12 * 5);
  EXPECT_EQ(countIn(layOut(), 1), 12 * 5 + 132);

  llvm::cantFail(arguments.set("num_splits", 0));
  info->defaultSplits = 32;
  EXPECT_EQ(countIn(layOut(), 0), 12 * 32);
}

TEST(LaunchValuesTest, RaggedQueries) {
  auto info = std::make_shared<Info>(fakeInfo());
  info->arguments[0] = tensorArgument("q", DType::BF16, {-1, 16, 576});
  info->rowBlocks = 2;
  Arguments arguments(info);
  auto *somewhere = reinterpret_cast<void *>(0x1000);
  llvm::cantFail(
      arguments.set("q", Tensor(somewhere, DType::BF16, {7, 16, 576})));
  llvm::cantFail(arguments.set("seq_lens", Tensor(somewhere, DType::I32, {3})));
  // 7 row blocks: 3 whole pairs, and one that is broken for each request.
  EXPECT_EQ(arguments.maxItems(), (3 + 3) * 2);
}

// Numbers that no machine has do not wrap.
TEST(LaunchValuesTest, BoundsGrow) {
  KernelInfo info = fakeInfo();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  size_t last = 0;
  for (int64_t batch : {int64_t(1), int64_t(1000), kMost})
    for (int64_t splits : {int64_t(0), int64_t(3), kMost / 2, kMost}) {
      size_t bytes = workspaceBound(info, WorkspacePart::All, batch,
                                    batch * kMost, splits, 132, 256);
      EXPECT_GE(bytes, splits ? last : 0) << batch << " x " << splits;
      last = bytes;
    }
  EXPECT_EQ(last, kBeyondMemory);
  EXPECT_LT(
      workspaceBound(info, WorkspacePart::All, 1000, 1000, 1000, 132, 256),
      kBeyondMemory);
}
