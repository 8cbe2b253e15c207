//===- ProblemText.cpp ----------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A Spec as MLIR text at the problem level.
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"
#include "TextNesting.h"
#include "mla/Dialect/MLA/IR/MLA.h"
#include "mla/Target/Contained.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::formatv;

namespace mla_jit {

static llvm::Error checkSymbol(llvm::StringRef symbol) {
  constexpr size_t kMaxLength = 64;
  bool isName =
      llvm::all_of(symbol, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (isName && symbol.size() <= kMaxLength &&
      (symbol.empty() || !llvm::isDigit(symbol.front())))
    return llvm::Error::success();
  return invalid(ofSpec("symbol"),
                 "requires at most {0} letters, digits and '_', no digit "
                 "first, but got '{1}'",
                 kMaxLength, symbol);
}

static bool isFloat(DType t) {
  return t == DType::F32 || t == DType::F16 || t == DType::BF16;
}

/// Checks what the text cannot say or would say badly; the op's verifier does
/// the rest.
static llvm::Error checkSpec(const Spec &spec) {
  if (llvm::Error error = checkSymbol(spec.symbol))
    return error;
  auto isInt = [](DType t) { return t == DType::I32 || t == DType::I64; };
  for (auto [name, dtype] : {std::pair{"q_dtype", spec.qDType},
                             {"kv_dtype", spec.kvDType},
                             {"out_dtype", spec.outDType}})
    if (!isFloat(dtype))
      return invalid(ofSpec(name), "requires bf16, f16 or f32, but got {0}",
                     toString(dtype));
  for (auto [name, dtype] : {std::pair{"table_dtype", spec.tableDType},
                             {"length_dtype", spec.lengthDType}})
    if (!isInt(dtype))
      return invalid(ofSpec(name), "requires i32 or i64, but got {0}",
                     toString(dtype));
  for (auto [name, value] : {std::pair{"h_q", spec.numHeads},
                             {"h_kv", spec.numKVHeads},
                             {"d_qk", spec.headDim},
                             {"d_v", spec.headDimV},
                             {"page_size", spec.pageSize},
                             {"queries", spec.queries}})
    if (value <= 0)
      return invalid(ofSpec(name), "requires a positive number, but got {0}",
                     value);
  if (spec.numHeads % spec.numKVHeads)
    return invalid(ofSpec("h_q"),
                   "requires a multiple of h_kv = {0}, but got {1}",
                   spec.numKVHeads, spec.numHeads);
  for (auto [name, value] : {std::pair{"d_qk", spec.headDim},
                             {"d_v", spec.headDimV},
                             {"d_rope", spec.ropeDim}})
    if (value % 8)
      return invalid(ofSpec(name), "requires a multiple of 8, but got {0}",
                     value);
  if (spec.ropeDim < 0 || spec.ropeDim >= spec.headDim)
    return invalid(ofSpec("d_rope"),
                   "requires 0 <= d_rope < d_qk = {0}, but got {1}",
                   spec.headDim, spec.ropeDim);
  if (spec.headDimV > spec.headDim - spec.ropeDim)
    return invalid(ofSpec("d_v"),
                   "requires at most {0} (d_qk without the rope part), but got "
                   "{1}: V is the first columns of K",
                   spec.headDim - spec.ropeDim, spec.headDimV);
  if (spec.tableRows && spec.layout == KVLayout::Dense)
    return invalid(ofSpec("table_rows"),
                   "requires layout paged or csr, but got dense");
  return llvm::Error::success();
}

namespace {

/// Builds the function: arguments in order, and the clauses that use them.
class Writer {
public:
  /// Declares an argument and a clause of it alone.
  void clause(llvm::StringRef keyword, llvm::StringRef name, std::string type) {
    clauses += formatv("    {0}({1})\n", keyword, argument(name, type)).str();
  }

  /// Declares an argument; returns "%name : type".
  std::string argument(llvm::StringRef name, std::string type) {
    arguments += formatv("{0}\n    %{1}: {2} {{mla.name = \"{1}\"}",
                         arguments.empty() ? "" : ",", name, type)
                     .str();
    return formatv("%{0} : {1}", name, type).str();
  }

  std::string arguments, clauses;
};

} // namespace

/// A memref with free strides but the last.
static std::string strided(std::string shape, DType dtype, int rank) {
  std::string strides;
  for (int i = 0; i < rank; ++i)
    strides += i + 1 == rank ? "1" : "?, ";
  return formatv("memref<{0}x{1}, strided<[{2}]>>", shape, toString(dtype),
                 strides);
}

/// The attribute of a mask that may be given by its name alone.
static std::string maskText(std::string_view mask) {
  bool isFull = mask.rfind("#mla.", 0) == 0;
  return (isFull ? "" : "#mla.") + std::string(mask);
}

using Names = std::vector<std::string>;

static llvm::Expected<Names> readMaskParameters(const std::string &mask) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::mla::MLADialect>();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
  std::string text = maskText(mask);
  auto attr = llvm::dyn_cast_or_null<mlir::mla::MaskAttrInterface>(
      mlir::parseAttribute(text, &context));
  // The parser overlooks what is no token after the attribute.
  if (!attr || text.find('"') != std::string::npos)
    return invalid(ofSpec("mask"), "requires the name of a mask, but got '{0}'",
                   mask);
  Names names;
  for (llvm::StringRef name : attr.getParameterNames())
    names.push_back(name.str());
  return names;
}

llvm::Expected<Names> maskParameters(std::string_view mask) {
  return mlir::mla::runContainedFor<Names>(
      "mask", [mask = std::string(mask)] { return readMaskParameters(mask); });
}

/// A schedule that is given must not rely on what the spec does not promise:
/// launches would refuse the tensors that the kernel was asked for.
static llvm::Error checkSchedule(const Spec &spec) {
  if (spec.schedule.empty() || spec.alignedStrides)
    return llvm::Error::success();
  return mlir::mla::runContained(
      "schedule", [text = spec.schedule]() -> llvm::Error {
        if (llvm::Error error = checkNesting(text))
          return invalid(ofSpec("schedule"), std::move(error));
        mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
        context.loadDialect<mlir::mla::MLADialect>();
        mlir::ScopedDiagnosticHandler quiet(&context,
                                            [](mlir::Diagnostic &) {});
        auto schedule = llvm::dyn_cast_or_null<mlir::mla::ScheduleAttr>(
            mlir::parseAttribute(text, &context));
        // What is none, or none of a GPU, is the compiler's to refuse.
        if (!schedule || !schedule.isGPU() ||
            (schedule.getCopy() == mlir::mla::CopyKind::Gather &&
             schedule.getAlignment() == 1))
          return llvm::Error::success();
        return invalid(ofSpec("schedule"),
                       "requires copy = gather and alignment = 1 with "
                       "MLA_FEATURE_UNALIGNED, but got {0}",
                       text);
      });
}

/// A merge, whose checks are few: out_dtype, h_q, d_v.
static llvm::Expected<std::string> buildMergeText(const Spec &spec) {
  if (llvm::Error error = checkSymbol(spec.symbol))
    return std::move(error);
  if (!isFloat(spec.outDType))
    return invalid(ofSpec("out_dtype"),
                   "requires bf16, f16 or f32, but got {0}",
                   toString(spec.outDType));
  if (spec.numHeads <= 0)
    return invalid(ofSpec("h_q"), "requires a positive number, but got {0}",
                   spec.numHeads);
  if (spec.headDimV <= 0 || spec.headDimV % 8)
    return invalid(ofSpec("d_v"),
                   "requires a positive multiple of 8, but got {0}",
                   spec.headDimV);
  Writer w;
  auto rows = [&](const char *parts, int rank) {
    return strided(formatv("{0}?x{1}x{2}", parts, spec.numHeads, spec.headDimV),
                   spec.outDType, rank);
  };
  auto sums = [&](const char *parts, const char *strides) {
    return formatv("memref<{0}?x{1}xf32, strided<[{2}]>>", parts, spec.numHeads,
                   strides)
        .str();
  };
  w.argument("parts", rows("?x", 4));
  w.argument("lse_parts", sums("?x", "?, ?, ?"));
  w.argument("out", rows("", 3));
  w.argument("lse", sums("", "?, ?"));
  w.argument("lse_scale", "f32");
  w.argument("lse_empty", "f32");
  return formatv("func.func @merge({0}) {{\n"
                 "  mla.merge parts(%parts, %lse_parts : {1}, {2})\n"
                 "    to(%out, %lse : {3}, {4})\n"
                 "    lse_scale(%lse_scale) lse_empty(%lse_empty)\n"
                 "  return\n}\n",
                 w.arguments, rows("?x", 4), sums("?x", "?, ?, ?"), rows("", 3),
                 sums("", "?, ?"))
      .str();
}

/// A decode that was checked, with a mask of these parameters.
static std::string writeDecode(const Spec &spec, const Names &maskParameters) {
  Writer w;
  int64_t latent = spec.headDim - spec.ropeDim;
  std::string tokens = spec.raggedQ ? "?x" : "?x?x";
  int qRank = spec.raggedQ ? 3 : 4;
  auto queries = [&](int64_t width, DType dtype) {
    return strided(formatv("{0}{1}x{2}", tokens, spec.numHeads, width), dtype,
                   qRank);
  };
  auto keys = [&](int64_t width) {
    std::string page =
        spec.layout == KVLayout::Dense ? "?" : std::to_string(spec.pageSize);
    return strided(formatv("?x{0}x{1}x{2}", page, spec.numKVHeads, width),
                   spec.kvDType, 4);
  };
  std::string q = w.argument("q", queries(latent, spec.qDType));
  if (spec.ropeDim)
    q += ", " + w.argument("q_rope", queries(spec.ropeDim, spec.qDType));
  w.clauses += "    q(" + q + ")\n";
  std::string k = w.argument("k", keys(latent));
  if (spec.ropeDim)
    k += ", " + w.argument("k_rope", keys(spec.ropeDim));
  w.clauses += "    k(" + k + ")\n";

  std::string ints = formatv("memref<?x{0}>", toString(spec.tableDType));
  if (spec.layout == KVLayout::Paged) {
    w.clause("table", "table", strided("?x?", spec.tableDType, 2));
  } else if (spec.layout == KVLayout::CSR) {
    std::string indptr = w.argument("kv_indptr", ints);
    w.clauses +=
        "    csr(" + indptr + ", " + w.argument("kv_indices", ints) + ")\n";
  }
  if (spec.tableRows)
    w.clause("table_rows", "table_rows", ints);
  std::string lengths = formatv("memref<?x{0}>", toString(spec.lengthDType));
  w.clause("seq_lens", "seq_lens", lengths);
  if (spec.raggedQ)
    w.clause("q_offsets", "q_offsets", lengths);
  w.clause("scale", "softmax_scale", "f32");
  w.clause("num_splits", "num_splits", "i32");
  std::string maskClause = maskText(spec.mask);
  for (const std::string &name : maskParameters)
    maskClause += ", " + w.argument(name, "i32");
  w.clauses += "    mask(" + maskClause + ")\n";
  w.clause("out", "out", queries(spec.headDimV, spec.outDType));
  std::string lseStrides = spec.raggedQ ? "?, ?" : "?, ?, ?";
  std::string lse =
      w.argument("lse", formatv("memref<{0}{1}xf32, strided<[{2}]>>", tokens,
                                spec.numHeads, lseStrides));
  for (const char *name : {"lse_scale", "lse_empty"})
    lse += ", " + w.argument(name, "f32");
  w.clauses += "    lse(" + lse + ")\n";
  w.clauses += formatv("    head_dim_v = {0}\n", spec.headDimV).str();
  if (!spec.schedule.empty())
    w.clauses += "    schedule = " + spec.schedule + "\n";
  if (!spec.scoreBody.empty()) {
    w.clauses += "    score {\n    ^bb0(%b: i32, %h: i32, %qpos: i32, %kpos: "
                 "i32, %score: f32):\n" +
                 spec.scoreBody + "\n    }\n";
    for (auto [name, type] : spec.scoreArguments)
      w.argument(name, type);
  }
  return formatv("func.func @decode({0}) {{\n  mla.decode\n{1}  return\n}\n",
                 w.arguments, w.clauses)
      .str();
}

llvm::Expected<std::string> buildProblemText(const Spec &spec) {
  if (spec.operation == Operation::Merge)
    return buildMergeText(spec);
  if (llvm::Error error = checkSpec(spec))
    return std::move(error);
  if (llvm::Error error = checkSchedule(spec))
    return std::move(error);
  auto parameters = maskParameters(spec.mask);
  if (!parameters)
    return parameters.takeError();
  return writeDecode(spec, *parameters);
}

llvm::Expected<std::string> buildShapeText(const Spec &spec) {
  if (llvm::Error error = checkSpec(spec))
    return std::move(error);
  Spec shape = spec;
  shape.mask = "none";
  shape.scoreArguments.clear();
  shape.scoreBody.clear();
  return writeDecode(shape, /*maskParameters=*/{});
}

} // namespace mla_jit
