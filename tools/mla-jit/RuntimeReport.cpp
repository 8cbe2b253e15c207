//===- RuntimeReport.cpp --------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeReport.h"
#include "Files.h"
#include "ResultFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mla_jit {

/// libmla_jit.so of this build or of the place of installation, or nothing.
static std::string findLibrary() {
  std::string program = sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&findLibrary));
  StringRef root = sys::path::parent_path(sys::path::parent_path(program));
  for (const char *directory : {"runtime", "lib"}) {
    SmallString<128> path(root);
    sys::path::append(path, directory, "libmla_jit.so");
    if (sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}

static std::string timeText(double seconds, int digits) {
  const char *unit = seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";
  double scale = seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
  std::string text;
  raw_string_ostream(text) << format("%.*f %s", digits, seconds * scale, unit);
  return text;
}

Error reportRuntime(RuntimeBenchOptions options, const std::string &json) {
  if (options.library.empty())
    options.library = findLibrary();
  auto figures = benchRuntime(options);
  if (!figures)
    return figures.takeError();
  outs() << formatv("{0,-31}{1,12}{2,12}\n", "", "median", "goal");
  json::Array rows;
  for (const RuntimeFigure &figure : *figures) {
    std::string goal =
        figure.goal ? "< " + timeText(figure.goal, 0) : std::string();
    outs() << formatv("{0,-31}{1,12}{2,12}  {3}{4}\n", figure.name,
                      timeText(figure.seconds, 2), goal,
                      figure.isMet() ? "" : "MISSED; ", figure.note);
    rows.push_back(json::Object{{"name", figure.name},
                                {"seconds", figure.seconds},
                                {"goal_seconds", figure.goal},
                                {"met", figure.isMet()},
                                {"note", figure.note}});
  }
  if (json.empty())
    return Error::success();
  json::Object all = describeBuild();
  all["target"] = options.onGPU ? "cuda" : "host";
  all["figures"] = std::move(rows);
  return writeBytes(json,
                    formatv("{0:2}\n", json::Value(std::move(all))).str());
}

} // namespace mla_jit
