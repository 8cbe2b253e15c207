//===- Arguments.cpp ------------------------------------------------------===//
//
// Part of the mla-jit project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// mla_args as the arguments of a kernel: tensors by the names of their fields,
// views where a kernel wants another shape of the same memory.
//
//===----------------------------------------------------------------------===//

#include "ArgumentChecks.h"
#include "Handles.h"
#include "SpecText.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace mla_jit::capi {

namespace {
struct TensorField {
  const char *name;
  mla_tensor mla_args::*member;
};
} // namespace

#define MLA_FIELD(name) {#name, &mla_args::name}
static constexpr TensorField kTensors[] = {MLA_FIELD(q),
                                           MLA_FIELD(q_rope),
                                           MLA_FIELD(k),
                                           MLA_FIELD(k_rope),
                                           MLA_FIELD(v),
                                           MLA_FIELD(out),
                                           MLA_FIELD(lse),
                                           MLA_FIELD(q_offsets),
                                           MLA_FIELD(seq_lens),
                                           MLA_FIELD(kv_start),
                                           MLA_FIELD(table),
                                           MLA_FIELD(v_table),
                                           MLA_FIELD(table_rows),
                                           MLA_FIELD(kv_indptr),
                                           MLA_FIELD(kv_indices),
                                           MLA_FIELD(indices),
                                           MLA_FIELD(topk_lens),
                                           MLA_FIELD(extra_k),
                                           MLA_FIELD(extra_indices),
                                           MLA_FIELD(extra_topk_lens),
                                           MLA_FIELD(q_scales),
                                           MLA_FIELD(k_scales),
                                           MLA_FIELD(sink),
                                           MLA_FIELD(mask),
                                           MLA_FIELD(mask_indptr),
                                           MLA_FIELD(alibi),
                                           MLA_FIELD(cp_global_lens)};
#undef MLA_FIELD

static_assert(std::size(kTensors) == FieldMap::kNumTensors);
static constexpr const char *kScalars[] = {"softmax_scale", "num_splits",
                                           "pdl_trigger", "window"};
static_assert(std::size(kScalars) == FieldMap::kNumScalars);
/// Set by other fields of mla_args.
static constexpr const char *kFormOfLse[] = {"lse_scale", "lse_empty"};

/// The place of a field in kTensors.
static consteval size_t placeOf(std::string_view name) {
  size_t place = 0;
  while (name != kTensors[place].name)
    ++place;
  return place;
}

FieldMap::FieldMap(const KernelInfo &info) {
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i] = info.find(kTensors[i].name);
  for (size_t i = 0; i < scalars.size(); ++i)
    scalars[i] = info.find(kScalars[i]);
}

bool isField(std::string_view name) {
  return llvm::any_of(kTensors,
                      [&](const TensorField &f) { return name == f.name; }) ||
         llvm::is_contained(kScalars, name) ||
         llvm::is_contained(kFormOfLse, name);
}

llvm::Error readTensor(const char *name, const mla_tensor &given, Tensor &to) {
  if (given.rank < 0 || given.rank > Tensor::kMaxRank)
    return invalid(ofArgument(name), "requires a rank of 0 to {0}, but got {1}",
                   +Tensor::kMaxRank, given.rank);
  to.data = given.data;
  to.dtype = toDType(given.dtype);
  to.rank = given.rank;
  // All of them, what is behind the rank too: that is less work.
  std::copy(std::begin(given.shape), std::end(given.shape), to.shape.begin());
  std::copy(std::begin(given.stride), std::end(given.stride),
            to.stride.begin());
  if (given.dtype != MLA_NONE && !to.given())
    return invalid(
        ofArgument(name),
        "requires element type f32, f16, bf16, i32 or i64, but got type {0}",
        given.dtype);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// [t, ...] as [b, s, ...], for kernels of a uniform number of queries.
static llvm::Error splitRows(const char *name, Tensor &tensor, int rank,
                             const mla_args &args) {
  if (tensor.rank != rank - 1)
    return llvm::Error::success();
  if (tensor.shape[0] != args.total_q)
    return invalid(ofArgument(name),
                   "requires dimension 0 to be total_q = {0}, but got {1}",
                   args.total_q, tensor.describe());
  for (int dim = tensor.rank++; dim > 0; --dim) {
    tensor.shape[dim] = tensor.shape[dim - 1];
    tensor.stride[dim] = tensor.stride[dim - 1];
  }
  tensor.shape[0] = args.batch;
  tensor.shape[1] = args.q_len;
  if (llvm::MulOverflow<int64_t>(tensor.stride[1], args.q_len,
                                 tensor.stride[0]))
    return invalid(ofArgument(name),
                   "requires strides of q_len = {0} rows that are 64-bit "
                   "numbers, but got {1} for one",
                   args.q_len, tensor.stride[1]);
  return llvm::Error::success();
}

/// Leaves the first columns in a tensor that has those of the rope part, too,
/// which become `rope`; whether it has.
static bool splitColumns(Tensor &whole, Tensor &rope, int64_t latent,
                         int64_t width) {
  int last = whole.rank - 1;
  if (last < 0 || whole.shape[last] != latent + width)
    return false;
  rope = whole;
  rope.shape[last] = width;
  whole.shape[last] = latent;
  if (whole.data)
    rope.data = static_cast<char *>(whole.data) +
                latent * whole.stride[last] * byteSize(whole.dtype);
  return true;
}

llvm::Error setLSEForm(int32_t base, int32_t emptyIsPositive,
                       Arguments &arguments) {
  if (base != 0 && base != 2)
    return invalid(ofArgument("lse_base"),
                   "requires 0 (base e) or 2, but got {0}", base);
  if (emptyIsPositive != 0 && emptyIsPositive != 1)
    return invalid(ofArgument("lse_empty_posinf"),
                   "requires 0 or 1, but got {0}", emptyIsPositive);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  arguments.setLSEForm(base == 2 ? 1 / std::log(2) : 1,
                       emptyIsPositive ? kInfinity : -kInfinity);
  return llvm::Error::success();
}

namespace {

/// Fills in the arguments of one launch.
class Filler {
public:
  Filler(const mla_args &args, const FieldMap &fields, Arguments &arguments)
      : args(args), fields(fields), info(*arguments.kernelInfo()),
        arguments(arguments) {}

  llvm::Error run();

private:
  /// The argument that a tensor field is; null if the kernel takes none.
  const ArgumentInfo *argument(size_t place) const {
    int index = fields.tensors[place];
    return index < 0 ? nullptr : &info.arguments[index];
  }
  bool isRagged() const { return argument(placeOf("q_offsets")); }
  llvm::Error readTensors();
  llvm::Error setTensors();
  llvm::Error setScalars();
  llvm::Error setNamed();
  void splitRope(size_t whole, size_t rope);
  /// Of a field that is an argument.
  Tensor &tensor(size_t place) {
    return arguments.draftAt(fields.tensors[place]);
  }
  bool isGiven(size_t place) const { return given >> place & 1; }
  void setGiven(size_t place) { given |= uint32_t(1) << place; }

  const mla_args &args;
  const FieldMap &fields;
  const KernelInfo &info;
  Arguments &arguments;
  uint32_t given = 0; ///< a bit for each tensor field
  static_assert(FieldMap::kNumTensors <= 32);
};

} // namespace

void Filler::splitRope(size_t whole, size_t rope) {
  const ArgumentInfo *first = argument(whole), *second = argument(rope);
  if (first && second && !isGiven(rope) &&
      splitColumns(tensor(whole), tensor(rope), first->shape[first->rank - 1],
                   second->shape[second->rank - 1]))
    setGiven(rope);
}

llvm::Error Filler::readTensors() {
  for (size_t i = 0; i < FieldMap::kNumTensors; ++i) {
    const auto &[name, member] = kTensors[i];
    const mla_tensor &from = args.*member;
    if (from.dtype == MLA_NONE && from.rank == 0)
      continue;
    Tensor unused;
    if (llvm::Error error =
            readTensor(name, from, argument(i) ? tensor(i) : unused))
      return error;
    if (from.dtype != MLA_NONE)
      setGiven(i);
  }
  if (!isRagged())
    for (size_t place :
         {placeOf("q"), placeOf("q_rope"), placeOf("out"), placeOf("lse")})
      if (const ArgumentInfo *taken = argument(place); taken && isGiven(place))
        if (llvm::Error error = splitRows(kTensors[place].name, tensor(place),
                                          taken->rank, args))
          return error;
  splitRope(placeOf("q"), placeOf("q_rope"));
  splitRope(placeOf("k"), placeOf("k_rope"));
  // An lse that is not wanted is one without memory.
  constexpr size_t kLSE = placeOf("lse"), kOut = placeOf("out");
  if (argument(kLSE) && !isGiven(kLSE) && isGiven(kOut)) {
    Tensor &lse = tensor(kLSE);
    lse = tensor(kOut);
    lse.data = nullptr;
    lse.dtype = DType::F32;
    lse.rank -= lse.rank > 0;
    if (lse.rank > 0)
      lse.stride[lse.rank - 1] = 1;
    setGiven(kLSE);
  }
  return llvm::Error::success();
}

llvm::Error Filler::setTensors() {
  for (size_t i = 0; i < FieldMap::kNumTensors; ++i) {
    const auto &[name, member] = kTensors[i];
    bool isTaken = argument(i);
    if (!isTaken && isGiven(i)) {
      Tensor refused;
      llvm::cantFail(readTensor(name, args.*member, refused));
      return invalid(
          ofArgument(name),
          "requires a spec that has it, but this kernel takes none: it got {0}",
          refused.describe());
    }
    if (!isTaken)
      continue;
    if (!isGiven(i))
      return invalid(ofArgument(name), "requires a tensor, but got none");
    if (llvm::Error error = arguments.setAt(fields.tensors[i]))
      return error;
  }
  if (arguments.batch() != args.batch)
    return invalid(ofArgument("batch"),
                   "requires that of seq_lens, {0}, but got {1}",
                   arguments.batch(), args.batch);
  if (isRagged() && arguments.totalQueries() != args.total_q)
    return invalid(ofArgument("total_q"),
                   "requires the rows of q, {0}, but got {1}",
                   arguments.totalQueries(), args.total_q);
  return llvm::Error::success();
}

llvm::Error Filler::setScalars() {
  const double values[] = {args.softmax_scale, double(args.num_splits),
                           (args.flags & MLA_LAUNCH_PDL_TRIGGER) ? 1.0 : 0.0,
                           double(args.window)};
  static_assert(std::size(values) == FieldMap::kNumScalars);
  if (args.window && fields.scalars.back() < 0)
    return invalid(ofArgument("window"),
                   "requires a spec with MLA_MASK_WINDOW, but got {0}",
                   args.window);
  if (args.window < 0)
    return invalid(ofArgument("window"), "requires at least 0, but got {0}",
                   args.window);
  for (size_t i = 0; i < std::size(values); ++i)
    if (fields.scalars[i] >= 0)
      if (llvm::Error error = arguments.setAt(fields.scalars[i], values[i]))
        return error;
  if (llvm::Error error =
          setLSEForm(args.lse_base, args.lse_empty_posinf, arguments))
    return error;
  arguments.limitWorkers(args.max_ctas);
  arguments.setDependent(args.flags & MLA_LAUNCH_PDL_WAIT);
  arguments.usePlan(args.schedule, args.schedule_bytes);
  return llvm::Error::success();
}

llvm::Error Filler::setNamed() {
  for (int32_t i = 0; i < args.num_named; ++i) {
    const mla_named_arg &given = args.named[i];
    if (!given.name || isField(given.name))
      return invalid(ofArgument("named"),
                     "requires names of arguments of score_mod, but got '{0}'",
                     given.name ? given.name : "(null)");
    Tensor tensor;
    if (llvm::Error error = readTensor(given.name, given.tensor, tensor))
      return error;
    if (llvm::Error error = tensor.given()
                                ? arguments.set(given.name, tensor)
                                : arguments.set(given.name, given.scalar))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Filler::run() {
  if (llvm::Error error = checkRefused(args, !info.chip.empty()))
    return error;
  if (llvm::Error error = checkNumbers(args, isRagged()))
    return error;
  if (llvm::Error error = readTensors())
    return error;
  if (llvm::Error error = setTensors())
    return error;
  if (llvm::Error error = setScalars())
    return error;
  return setNamed();
}

llvm::Error fillArguments(const mla_args &args, const FieldMap &fields,
                          Arguments &arguments) {
  return Filler(args, fields, arguments).run();
}

} // namespace mla_jit::capi
