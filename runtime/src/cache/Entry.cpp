//===- Entry.cpp - One compiled kernel, as it is cached -------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Entry.h"
#include "Format.h"

using namespace mla_jit::cache;

static constexpr std::string_view kMagic = "mlaentry";
/// Magic, version, bytes of the head, bytes of all.
static constexpr size_t kFixedBytes = 24;

static Error damaged(std::string what) {
  return {ErrorKind::Damaged, std::move(what)};
}

Result<Entry> Entry::make(const CacheKey &key, std::string_view buildId,
                          std::span<const Section> sections) {
  uint64_t headBytes =
      kFixedBytes + 4 + key.text().size() + 4 + buildId.size() + 4 + 8;
  uint64_t contentBytes = 0;
  for (const Section &section : sections) {
    for (const Section &other : sections)
      if (&other != &section && other.name == section.name)
        return Error{ErrorKind::Invalid,
                     "an entry requires sections of different names, but got "
                     "two of '" +
                         std::string(section.name) + "'"};
    headBytes += 4 + section.name.size() + 8 + 8;
    contentBytes += section.content.size();
  }
  if (headBytes + contentBytes > kMaxBytes)
    return Error{ErrorKind::Invalid,
                 "an entry requires at most " + std::to_string(kMaxBytes) +
                     " bytes, but got " +
                     std::to_string(headBytes + contentBytes)};

  FormatWriter writer;
  writer.out.reserve(headBytes + contentBytes);
  writer.raw(kMagic);
  writer.u32(kVersion);
  writer.u32(static_cast<uint32_t>(headBytes));
  writer.u64(headBytes + contentBytes);
  writer.text(key.text());
  writer.text(buildId);
  writer.u32(static_cast<uint32_t>(sections.size()));
  for (const Section &section : sections) {
    writer.text(section.name);
    writer.u64(section.content.size());
    writer.u64(checksum(section.content));
  }
  writer.u64(checksum(writer.out));
  for (const Section &section : sections)
    writer.raw(section.content);
  return fromBytes(SharedBytes(std::move(writer.out)));
}

Result<Entry> Entry::fromBytes(SharedBytes bytes) {
  FormatReader fixed(bytes.view);
  if (fixed.raw(kMagic.size()) != kMagic)
    return damaged("it does not begin as an entry");
  uint32_t version = fixed.u32(), headBytes = fixed.u32();
  uint64_t totalBytes = fixed.u64();
  if (!fixed.ok())
    return damaged("it ends in its head");
  if (version != kVersion)
    return damaged("requires format version " + std::to_string(kVersion) +
                   ", but got " + std::to_string(version));
  if (totalBytes != bytes.view.size())
    return damaged("requires " + std::to_string(totalBytes) +
                   " bytes, but got " + std::to_string(bytes.view.size()));
  if (headBytes > totalBytes || headBytes < kFixedBytes + 8)
    return damaged("its head has an impossible size");
  std::string_view head = bytes.view.substr(0, headBytes - 8);
  if (FormatReader(bytes.view.substr(headBytes - 8)).u64() != checksum(head))
    return damaged("the checksum of its head is wrong");

  auto data = std::make_shared<Data>();
  FormatReader reader(head.substr(kFixedBytes));
  data->key = reader.text();
  data->buildId = reader.text();
  FormatReader contents(bytes.view.substr(headBytes));
  uint32_t numSections = reader.u32();
  for (uint32_t i = 0; i < numSections && reader.ok(); ++i) {
    std::string_view name = reader.text();
    std::string_view content = contents.raw(reader.u64());
    if (checksum(content) != reader.u64())
      return damaged("the checksum of its section '" + std::string(name) +
                     "' is wrong");
    data->sections.push_back({name, content});
  }
  if (!reader.atEnd() || !contents.atEnd())
    return damaged("its head and its contents do not fit together");
  data->bytes = std::move(bytes);
  return Entry(std::move(data));
}

std::optional<std::string_view> Entry::section(std::string_view name) const {
  for (const Section &section : data->sections)
    if (section.name == name)
      return section.content;
  return std::nullopt;
}
