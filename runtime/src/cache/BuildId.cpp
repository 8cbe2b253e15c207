//===- BuildId.cpp - Which build of a library this is ---------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildId.h"
#include "Format.h"

#include <elf.h>
#include <link.h>

using namespace mla_jit::cache;
using namespace std::string_view_literals;

namespace {
struct Search {
  uintptr_t address;
  bool found = false; // the library
  std::string id = {};
};
} // namespace

static size_t roundUp(size_t size) { return (size + 3) & ~size_t(3); }

/// The build id among the notes, as it is, or "".
static std::string_view findBuildId(std::string_view notes) {
  FormatReader reader(notes);
  while (!reader.atEnd() && reader.ok()) {
    uint32_t nameBytes = reader.u32(), idBytes = reader.u32();
    uint32_t type = reader.u32();
    std::string_view name = reader.raw(roundUp(nameBytes));
    std::string_view id = reader.raw(roundUp(idBytes));
    if (reader.ok() && type == NT_GNU_BUILD_ID && name == "GNU\0"sv)
      return id.substr(0, idBytes);
  }
  return {};
}

static int visit(dl_phdr_info *object, size_t, void *context) {
  auto &search = *static_cast<Search *>(context);
  std::string_view id;
  bool holdsAddress = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &part = object->dlpi_phdr[i];
    uintptr_t start = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD)
      holdsAddress |=
          search.address >= start && search.address - start < part.p_memsz;
    if (part.p_type == PT_NOTE && id.empty())
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives integers.
      id = findBuildId({reinterpret_cast<const char *>(start), part.p_memsz});
  }
  if (!holdsAddress)
    return 0;
  search.found = true;
  for (char byte : id) {
    constexpr char kDigits[] = "0123456789abcdef";
    search.id += kDigits[static_cast<uint8_t>(byte) >> 4];
    search.id += kDigits[byte & 15];
  }
  return 1;
}

Result<std::string> mla_jit::cache::buildIdOf(const void *address) {
  Search search = {reinterpret_cast<uintptr_t>(address)};
  ::dl_iterate_phdr(visit, &search);
  if (!search.found)
    return Error{ErrorKind::Absent, "the address is in no loaded library"};
  if (search.id.empty())
    return Error{ErrorKind::Absent, "the library has no build-id note: it must "
                                    "be linked with --build-id"};
  return search.id;
}
