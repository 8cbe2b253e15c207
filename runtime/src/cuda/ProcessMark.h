//===- ProcessMark.h ------------------------------------------ -*- C++ -*-===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MLA_JIT_SRC_CUDA_PROCESSMARK_H
#define MLA_JIT_SRC_CUDA_PROCESSMARK_H

#include <sys/mman.h>
#include <unistd.h>

namespace mla_jit::cuda {

/// Tells the process that made it from its children: a page that the kernel
/// clears in a child, as getpid() at each launch takes longer than the rest of
/// the checks. Where there is no such page, getpid() all the same.
class ProcessMark {
public:
  ProcessMark() : process(::getpid()) {
    size_t bytes = ::sysconf(_SC_PAGESIZE);
    void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return;
    if (::madvise(memory, bytes, MADV_WIPEONFORK) != 0) {
      ::munmap(memory, bytes);
      return;
    }
    page = static_cast<volatile int *>(memory);
    *page = 1;
  }
  ~ProcessMark() {
    if (page)
      ::munmap(const_cast<int *>(page), ::sysconf(_SC_PAGESIZE));
  }
  ProcessMark(const ProcessMark &) = delete;
  ProcessMark &operator=(const ProcessMark &) = delete;

  bool isChild() const { return page ? !*page : ::getpid() != process; }

private:
  const pid_t process;
  volatile int *page = nullptr;
};

} // namespace mla_jit::cuda

#endif // MLA_JIT_SRC_CUDA_PROCESSMARK_H
