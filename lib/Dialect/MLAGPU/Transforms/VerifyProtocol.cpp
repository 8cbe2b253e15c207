#include "mla/Dialect/MLAGPU/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::mla_gpu;

namespace mlir::mla_gpu {
#define GEN_PASS_DEF_VERIFYPROTOCOL
#include "mla/Dialect/MLAGPU/Transforms/Passes.h.inc"
} // namespace mlir::mla_gpu

namespace {
struct VerifyProtocol
    : public mla_gpu::impl::VerifyProtocolBase<VerifyProtocol> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
