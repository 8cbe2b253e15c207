//===- KernelEntry.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEntry.h"
#include "KernelInfoFormat.h"
#include "cache/Format.h"

#include <bit>

using llvm::createStringError;

namespace mla_jit {

static constexpr std::string_view kInfoSection = "info";
static constexpr std::string_view kCompilationSection = "compilation";

/// What is known of the compilation apart from KernelInfo.
static std::string writeCompilation(const CompileResult &compiled) {
  cache::FormatWriter writer;
  writer.text(compiled.cpu);
  writer.text(compiled.missingFeature);
  writer.text(compiled.assembler);
  writer.u32(static_cast<uint32_t>(compiled.times.size()));
  for (const StageTime &time : compiled.times) {
    writer.text(time.stage);
    writer.u64(std::bit_cast<uint64_t>(time.seconds));
  }
  return std::move(writer.out);
}

static bool readCompilation(std::string_view bytes, CompileResult &compiled) {
  cache::FormatReader reader(bytes);
  compiled.cpu = reader.text();
  compiled.missingFeature = reader.text();
  compiled.assembler = reader.text();
  for (uint32_t left = reader.u32(); left && reader.ok(); --left) {
    std::string stage(reader.text());
    compiled.times.push_back(
        {std::move(stage), std::bit_cast<double>(reader.u64())});
  }
  return reader.atEnd();
}

/// The section of `CompileResult::text`.
static std::string_view codeSection(const KernelInfo &info) {
  return toString(info.chip.empty() ? Stage::Object : Stage::PTX);
}

cache::Result<cache::Entry> makeEntry(const CompileResult &compiled,
                                      const cache::CacheKey &key,
                                      std::string_view buildId) {
  std::string info = writeKernelInfo(*compiled.info);
  std::string compilation = writeCompilation(compiled);
  std::vector<cache::Section> sections;
  for (const auto &[stage, text] : compiled.stages)
    sections.push_back({stage, text});
  sections.push_back({codeSection(*compiled.info), compiled.text});
  if (!compiled.cubin.empty())
    sections.push_back({toString(Stage::Cubin), compiled.cubin});
  sections.push_back({kInfoSection, info});
  sections.push_back({kCompilationSection, compilation});
  return cache::Entry::make(key, buildId, sections);
}

llvm::Expected<CompileResult> readEntry(const cache::Entry &entry) {
  auto described = entry.section(kInfoSection);
  auto compilation = entry.section(kCompilationSection);
  if (!described || !compilation)
    return createStringError("the entry of the cache is of no kernel");
  CompileResult compiled;
  auto info = readKernelInfo(*described);
  if (!info)
    return info.takeError();
  compiled.info = std::move(*info);
  auto code = entry.section(codeSection(*compiled.info));
  if (!code || !readCompilation(*compilation, compiled))
    return createStringError("the entry of the cache is of no kernel");
  compiled.text = std::string(*code);
  if (auto cubin = entry.section(toString(Stage::Cubin)))
    compiled.cubin = std::string(*cubin);
  return compiled;
}

} // namespace mla_jit
