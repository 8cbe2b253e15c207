//===- Link.cpp - PTX to machine code by the driver -----------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Link.h"

#include "AssemblerLog.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <cstring>
#include <vector>

using namespace mla_jit::cuda;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// What follows a directive such as ".version" in the head of PTX; empty if it
/// is not there.
static StringRef directive(StringRef ptx, StringRef name) {
  while (!ptx.empty()) {
    StringRef line;
    std::tie(line, ptx) = ptx.split('\n');
    line = line.ltrim();
    if (line.consume_front(name))
      return line.split("//").first.trim();
  }
  return {};
}

std::string mla_jit::cuda::describeMismatch(const Context &context,
                                            StringRef ptx) {
  std::string reasons;
  StringRef version = directive(ptx, ".version");
  unsigned major = 0, minor = 0;
  int newest = context.driver().ptxVersion();
  auto [first, second] = version.split('.');
  if (!first.getAsInteger(10, major) && !second.getAsInteger(10, minor) &&
      static_cast<int>(major * 10 + minor) > newest)
    reasons += "\nPTX .version " + version.str() +
               " requires a newer driver: " + "this one, for CUDA " +
               versionText(context.driver().version()) + ", takes up to " +
               std::to_string(newest / 10) + "." + std::to_string(newest % 10);
  StringRef target = directive(ptx, ".target").split(',').first.trim();
  const Device &device = context.device();
  if (!target.empty() && target != device.chip)
    reasons += "\nPTX .target is " + target.str() + ", but " + device.name +
               " is " + device.chip;
  return reasons;
}

/// Assembles once, in the current context.
static Expected<LinkedImage> linkOnce(const Context &context,
                                      const std::string &ptx,
                                      const LinkOptions &options) {
  const Driver &driver = context.driver();
  const DriverTable &call = driver.call();
  // Has to live as long as the link state.
  AssemblerLog log(options.logBytes, options.lineInfo);
  auto fail = [&](Result result, StringRef name) -> Error {
    ErrorKind kind = classifyAssembly(result);
    std::string message = (name + " failed: " + driver.describe(result)).str();
    if (kind == ErrorKind::Compile)
      message += describeMismatch(context, ptx);
    for (const std::string &text : {log.errorText(), log.infoText()})
      if (!text.empty())
        message += "\n" + text;
    return llvm::make_error<DriverError>(kind, result, std::move(message));
  };

  LinkHandle link = nullptr;
  if (Result result = call.linkCreate(log.count(), log.optionNames(),
                                      log.optionValues(), &link))
    return fail(result, "cuLinkCreate");
  llvm::scope_exit destroy([&] { call.linkDestroy(link); });
  // The driver wants the final zero to be counted.
  if (Result result = call.linkAddData(
          link, LinkInput::PTX, const_cast<char *>(ptx.c_str()), ptx.size() + 1,
          "kernel.ptx", 0, nullptr, nullptr))
    return fail(result, "cuLinkAddData");
  void *image = nullptr;
  size_t bytes = 0;
  if (Result result = call.linkComplete(link, &image, &bytes))
    return fail(result, "cuLinkComplete");

  LinkedImage linked;
  linked.cubin.assign(static_cast<const char *>(image), bytes);
  linked.infoLog = log.infoText();
  linked.errorLog = log.errorText();
  // Being verbose, the assembler says something of each kernel if it was run.
  linked.fromDriverCache = !StringRef(linked.infoLog).contains("ptxas");
  return std::move(linked);
}

Expected<LinkedImage> mla_jit::cuda::linkPTX(const Context &context,
                                             const std::string &ptx,
                                             const LinkOptions &options) {
  if (ptx.empty())
    return refuse(ErrorKind::Invalid, "cuLinkAddData", "PTX", "no text");
  Expected<ContextScope> scope = context.enter();
  if (!scope)
    return scope.takeError();
  RelaxedCaptureScope relaxed(context.driver());
  Expected<LinkedImage> linked = linkOnce(context, ptx, options);
  if (!linked || !linked->fromDriverCache || !options.fullLog)
    return linked;
  // The cache goes by the text. This only happens where the driver has seen the
  // PTX before, so its cache does not fill up with copies in normal use.
  auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return linkOnce(context, ptx + "\n// " + std::to_string(now) + "\n", options);
}
