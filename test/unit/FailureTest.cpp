//===- FailureTest.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/src/Failure.h"
#include "mla/Target/Contained.h"

#include "gtest/gtest.h"

using namespace mla_jit;
using llvm::createStringError;

TEST(FailureTest, SubjectsAreNamedInMessageAndField) {
  struct {
    Subject subject;
    const char *begin, *name;
  } const kCases[] = {{ofArgument("q"), "argument 'q' ", "q"},
                      {ofSpec("h_q"), "spec 'h_q' ", "h_q"},
                      {ofOption("cpu"), "option 'cpu' ", "cpu"}};
  for (const auto &[subject, begin, name] : kCases) {
    Failure failure =
        describeFailure(invalid(subject, "requires {0}, but got {1}", 1, 2));
    EXPECT_EQ(failure.kind, FailureKind::Invalid);
    EXPECT_EQ(failure.message, std::string(begin) + "requires 1, but got 2");
    EXPECT_EQ(failure.argument, name);
  }
  Failure failure = describeFailure(
      invalid(ofOption("chip"), createStringError("no such chip")));
  EXPECT_EQ(failure.message, "option 'chip': no such chip");
  EXPECT_EQ(failure.argument, "chip");
}

TEST(FailureTest, RefusalsAreUnsupportedErrors) {
  llvm::Error error = unsupported(ofSpec("mask"), "requires none");
  EXPECT_TRUE(error.isA<UnsupportedError>());
  Failure failure = describeFailure(std::move(error));
  EXPECT_EQ(failure.kind, FailureKind::Unsupported);
  llvm::Error again = toError(failure);
  EXPECT_TRUE(again.isA<UnsupportedError>());
  EXPECT_EQ(describeFailure(std::move(again)).argument, "mask");
}

TEST(FailureTest, TextThatQuotesASubjectNamesNone) {
  for (const char *text :
       {"cannot open argument 'q'", "argument 'q' is in a file's name",
        "stage 'parse': spec 'h_q' option 'cpu'"})
    EXPECT_EQ(describeFailure(createStringError(text)).argument, "") << text;
  // Nor is what is given taken for the name.
  Failure failure = describeFailure(invalid(ofArgument("path"),
                                            "requires a file, but got '{0}'",
                                            "argument 'q' stage 'parse'"));
  EXPECT_EQ(failure.argument, "path");
  EXPECT_EQ(failure.stage, "");
}

TEST(FailureTest, StagesAreWhatAMessageBeginsWith) {
  Failure failure = describeFailure(createStringError("stage 'tile': no"));
  EXPECT_EQ(failure.kind, FailureKind::Compile);
  EXPECT_EQ(failure.stage, "tile");
  failure = describeFailure(createStringError("a file of stage 'tile'"));
  EXPECT_EQ(failure.kind, FailureKind::Invalid);
  EXPECT_EQ(failure.stage, "");
}

TEST(FailureTest, SurvivesTheThreadOfACompilation) {
  Failure failure = describeFailure(mlir::mla::runContained(
      "any", [] { return unsupported(ofSpec("mask"), "requires none"); }));
  EXPECT_EQ(failure.kind, FailureKind::Unsupported);
  EXPECT_EQ(failure.argument, "mask");
}

TEST(FailureTest, OfSeveralTheFirstCountsWithTheWordsOfAll) {
  Failure failure = describeFailure(
      llvm::joinErrors(invalid(ofArgument("q"), "requires this"),
                       fail(FailureKind::Device, "and that")));
  EXPECT_EQ(failure.kind, FailureKind::Invalid);
  EXPECT_EQ(failure.argument, "q");
  EXPECT_EQ(failure.message, "argument 'q' requires this\nand that");
}
