//===- ChildProcess.h - Child processes of tests ----------------*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Child processes of tests, and what they share.
//
//===----------------------------------------------------------------------===//

#ifndef MLA_TEST_UNIT_CHILDPROCESS_H
#define MLA_TEST_UNIT_CHILDPROCESS_H

#include <cerrno>
#include <fstream>
#include <grp.h>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

/// Starts a child process that runs `body` and exits with what it returns.
template <typename Body> pid_t startChild(Body body) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(body());
  return child;
}

/// The exit status of a child; 128 + its signal if it was killed.
inline int waitForChild(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <typename Body> int inChild(Body body) {
  return waitForChild(startChild(body));
}

/// Waits until all have ended. Returns how many did not end well.
inline int waitForAll(const std::vector<pid_t> &children) {
  int failed = 0;
  for (pid_t child : children)
    failed += waitForChild(child) != 0;
  return failed;
}

/// Lies in memory that child processes share.
template <typename T> struct Shared {
  T *data;
  Shared() {
    void *memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    data = new (memory) T();
  }
  ~Shared() { ::munmap(data, sizeof(T)); }
  T *operator->() { return data; }
};

/// Where all processes of a round wait for each other.
struct Barrier {
  pthread_barrier_t barrier;
  void init(unsigned count) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&barrier, &attributes, count);
  }
  void wait() { pthread_barrier_wait(&barrier); }
};

/// Of this process's children that have ended.
inline double processorSecondsOfChildren() {
  struct rusage usage;
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Leaves this process one processor.
inline void useProcessor(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  ::sched_setaffinity(0, sizeof(one), &one);
}

/// A group of processes that have one processor's time together, by version 1
/// or 2 of cgroups; false where none can be made.
class ProcessorQuota {
public:
  ProcessorQuota() {
    for (std::string root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
      std::string made = root + "/mla-jit-test-" + std::to_string(::getpid());
      if (::mkdir(made.c_str(), 0755))
        continue;
      if (write(made + "/cpu.cfs_quota_us", "100000") ||
          write(made + "/cpu.max", "100000 100000")) {
        path = made;
        return;
      }
      ::rmdir(made.c_str());
    }
  }
  ~ProcessorQuota() {
    if (!path.empty())
      ::rmdir(path.c_str());
  }
  explicit operator bool() const { return !path.empty(); }
  bool enter() const {
    return write(path + "/cgroup.procs", std::to_string(::getpid()));
  }

private:
  static bool write(const std::string &file, const std::string &text) {
    std::ofstream stream(file, std::ios::in); // not made
    return bool(stream << text << std::flush);
  }
  std::string path;
};

/// What a child returns that has not the right to do the test.
inline constexpr int kCannotTest = 77;

/// Mounts a small file system that only this process sees, as root of a name
/// space of its own if need be.
inline bool mountSmall(const std::string &path, const char *size = "64k") {
  auto write = [](const char *file, const std::string &text) {
    std::ofstream(file) << text;
  };
  uid_t user = ::geteuid();
  gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNS | (user ? CLONE_NEWUSER : 0)))
    return false;
  if (user) {
    write("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    write("/proc/self/setgroups", "deny"); // or the next is refused
    write("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", path.c_str(), "tmpfs", 0,
                 (std::string("mode=0700,size=") + size).c_str()) == 0;
}

/// Lets nobody write to what was mounted so, not even root.
inline bool makeReadOnly(const std::string &path, const char *size = "64k") {
  return ::mount("none", path.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY,
                 (std::string("mode=0700,size=") + size).c_str()) == 0;
}

/// Goes on as somebody who is nobody; does nothing where we are not root.
inline void becomeNobody() {
  if (::geteuid() == 0 &&
      (::setgroups(0, nullptr) || ::setgid(65534) || ::setuid(65534)))
    ::_exit(kCannotTest);
}

#endif // MLA_TEST_UNIT_CHILDPROCESS_H
