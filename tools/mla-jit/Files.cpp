//===- Files.cpp ----------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mla_jit {

Expected<std::string> readText(StringRef path) {
  auto buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return createStringError("cannot read '" + path +
                             "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

static Error cannotWrite(StringRef path, const Twine &reason) {
  return createStringError("cannot write '" + path + "': " + reason);
}

Error checkWritable(StringRef flag, StringRef path, bool replaced) {
  StringRef directory = sys::path::parent_path(path);
  if (!directory.empty() && !sys::fs::is_directory(directory))
    return createStringError(
        flag + " requires a file in a directory that exists, but got '" + path +
        "'");
  if (sys::fs::is_directory(path))
    return createStringError(flag + " requires a file, but '" + path +
                             "' is a directory");
  // What replaces a file must not replace a device.
  if (replaced && sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return createStringError(flag + " requires a regular file, but '" + path +
                             "' is none");
  return Error::success();
}

static Error writeStream(raw_fd_ostream &stream, StringRef path,
                         StringRef bytes) {
  stream << bytes;
  stream.flush();
  std::error_code code = stream.error();
  if (!code)
    return Error::success();
  stream.clear_error(); // reported here; the destructor would abort
  return cannotWrite(path, code.message());
}

Error writeBytes(StringRef path, StringRef bytes) {
  if (path == "-")
    return writeStream(outs(), "<stdout>", bytes);
  // A device or a pipe is written in place: renaming would replace it.
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) && sys::fs::exists(status) &&
      !sys::fs::is_regular_file(status)) {
    std::error_code code;
    raw_fd_ostream stream(path, code);
    return code ? cannotWrite(path, code.message())
                : writeStream(stream, path, bytes);
  }
  auto temporary = sys::fs::TempFile::create(path + ".tmp-%%%%%%");
  if (!temporary)
    return cannotWrite(path, toString(temporary.takeError()));
  raw_fd_ostream stream(temporary->FD, /*shouldClose=*/false);
  if (Error error = writeStream(stream, path, bytes)) {
    consumeError(temporary->discard());
    return error;
  }
  if (Error error = temporary->keep(path))
    return cannotWrite(path, toString(std::move(error)));
  return Error::success();
}

std::string formatBytes(uint64_t bytes) {
  if (bytes < 10000)
    return formatv("{0} bytes", bytes);
  double value = bytes;
  const char *units[] = {"bytes", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; value >= 1000 && unit < 4; ++unit)
    value /= 1000;
  return formatv("{0:F1} {1}", value, units[unit]);
}

std::string formatSeconds(double seconds) {
  if (seconds < 1e-3)
    return formatv("{0:F0} us", seconds * 1e6);
  if (seconds < 1)
    return formatv("{0:F2} ms", seconds * 1e3);
  return formatv("{0:F2} s", seconds);
}

Progress::Progress(std::string text) : what(std::move(text)) {
  speaker = std::thread([this] {
    auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, std::chrono::seconds(1), [&] { return done; }))
      return;
    errs() << "mla-jit: " << what << "...\n";
    changed.wait(lock, [&] { return done; });
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    errs() << "mla-jit: " << what << ": " << formatSeconds(elapsed.count())
           << "\n";
  });
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  changed.notify_all();
  speaker.join();
}

} // namespace mla_jit
