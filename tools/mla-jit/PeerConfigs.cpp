//===- PeerConfigs.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeerConfigs.h"
#include "Files.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mla_jit {

int64_t PeerConfig::numPages() const {
  int64_t pages = 0;
  for (int64_t length : seqLens)
    pages += divideCeil(length, spec.pageSize);
  return pages;
}

int64_t PeerConfig::poolBytes() const {
  return numPages() * spec.pageSize * spec.headDim *
         static_cast<int64_t>(byteSize(spec.kvDType));
}

double PeerConfig::gbytes() const {
  double keys = 0;
  for (int64_t length : seqLens)
    keys += static_cast<double>(length);
  return 1e-9 * keys * spec.headDim * byteSize(spec.kvDType);
}

double PeerConfig::tflop() const {
  bool causal = spec.mask == "causal";
  double pairs = 0;
  for (int64_t length : seqLens)
    for (int64_t i = 0; i < queries; ++i)
      pairs += std::max<int64_t>(0, causal ? length - queries + i + 1 : length);
  return 2e-12 * pairs * spec.numHeads * (spec.headDim + spec.headDimV);
}

static bool readConfig(const json::Value &value, PeerConfig &config,
                       json::Path path) {
  json::ObjectMapper map(value, path);
  bool causal = false;
  std::string dtype;
  Spec &spec = config.spec;
  if (!map || !map.map("name", config.name) ||
      !map.map("s_q", config.queries) || !map.map("h_q", spec.numHeads) ||
      !map.map("d_qk", spec.headDim) || !map.map("d_v", spec.headDimV) ||
      !map.map("page_size", spec.pageSize) || !map.map("causal", causal) ||
      !map.map("dtype", dtype) || !map.map("seq_lens", config.seqLens) ||
      !map.map("best_us", config.bestMicroseconds) ||
      !map.mapOptional("schedule", spec.schedule) ||
      !map.mapOptional("shared_schedule", spec.sharedPlan))
    return false;
  spec.qDType = spec.kvDType = spec.outDType = parseDType(dtype);
  spec.mask = causal ? "causal" : "none";
  spec.queries = config.queries;
  if (config.seqLens.empty() || spec.pageSize <= 0 || config.queries <= 0 ||
      spec.kvDType != DType::BF16) {
    path.report("requires lengths, a page size, queries and dtype bf16");
    return false;
  }
  return true;
}

Expected<std::vector<PeerConfig>> readPeerConfigs(StringRef path,
                                                  StringRef only) {
  auto text = readText(path);
  if (!text)
    return text.takeError();
  auto document = json::parse(*text);
  if (!document)
    return createStringError(
        "'" + path + "' is not JSON: " + toString(document.takeError()));
  json::Path::Root root("peers");
  const json::Object *object = document->getAsObject();
  const json::Array *array = object ? object->getArray("configs") : nullptr;
  if (!array)
    return createStringError("'" + path + "' requires an array 'configs'");
  std::vector<PeerConfig> configs;
  for (const auto &[i, value] : enumerate(*array)) {
    PeerConfig config;
    if (!readConfig(value, config, json::Path(root).field("configs").index(i)))
      return createStringError("'" + path + "': " + toString(root.getError()));
    if (StringRef(config.name).contains(only))
      configs.push_back(std::move(config));
  }
  if (configs.empty())
    return createStringError("--only: no configuration of '" + path +
                             "' has '" + only + "' in its name");
  return configs;
}

} // namespace mla_jit
