//===- KeyLock.cpp - One process at a time works on a key -----------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyLock.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace mla_jit::cache;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

static constexpr char kLockFile[] = "locks";
static constexpr milliseconds kFirstPause(1), kLongestPause(20);

KeyLock KeyLock::acquire(int directory, Trust trust, const Digest &key,
                         milliseconds limit,
                         const std::function<bool()> &stop) {
  File file(::openat(directory, kLockFile,
                     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file)
    return KeyLock(State::Unavailable, false, {});
  // Only who made it may, and the umask must not have its say.
  if (trust == Trust::Group)
    ::fchmod(file.get(), 0660);
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(key.prefix() >> 2);
  range.l_len = 1;

  auto deadline = steady_clock::now() + limit;
  milliseconds pause = kFirstPause;
  bool waited = false;
  while (::fcntl(file.get(), F_OFD_SETLK, &range)) {
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN)
      return KeyLock(State::Unavailable, waited, {});
    waited = true;
    if (stop())
      return KeyLock(State::NotNeeded, waited, {});
    if (steady_clock::now() >= deadline)
      return KeyLock(State::TimedOut, waited, {});
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  return KeyLock(State::Held, waited, std::move(file));
}
