// Each failure is an error that says stage and reason, and exit status 1.

// RUN: split-file %s %t
// RUN: not mla-translate %t/select.mlir 2>&1 | FileCheck %s --check-prefix=SELECT
// RUN: not mla-translate %t/constraint.mlir 2>&1 | FileCheck %s --check-prefix=CONSTRAINT
// RUN: not mla-translate %t/dialect.mlir 2>&1 | FileCheck %s --check-prefix=DIALECT
// RUN: not mla-translate %t/budget.mlir 2>&1 | FileCheck %s --check-prefix=REQNTID
// RUN: sed 's/nvvm.kernel/nvvm.kernel, nvvm.reqntid = array<i32: 128>/' %t/budget.mlir > %t/budget-2.mlir
// RUN: not mla-translate %t/budget-2.mlir 2>&1 | FileCheck %s --check-prefix=MINCTASM
// RUN: not mla-translate %t/budget.mlir --chip sm_90 2>&1 | FileCheck %s --check-prefix=SUFFIX
// RUN: not mla-translate %t/copy.mlir --chip sm_89 2>&1 | FileCheck %s --check-prefix=NEWER
// RUN: not mla-translate %t/copy.mlir --chip sm_90 --supported-ptx 78 2>&1 | FileCheck %s --check-prefix=PTX
// RUN: not mla-translate %t/copy.mlir --chip sm_77 2>&1 | FileCheck %s --check-prefix=CHIP

// SELECT: error: stage 'codegen': Cannot select: {{.*}}
// CONSTRAINT: error: stage 'codegen': couldn't allocate output register for constraint 'Z'
// DIALECT: error: stage 'parse'
// REQNTID: error: stage 'translate': kernel 'k' uses setmaxnreg, which requires nvvm.reqntid, but has none
// MINCTASM: error: stage 'translate': kernel 'k' uses setmaxnreg, which requires nvvm.minctasm, but has none
// SUFFIX: error: stage 'translate': setmaxnreg requires sm_90a or a newer chip with the suffix 'a', but the chip is sm_90
// NEWER: error: stage 'translate': cp.async.bulk (TMA) requires sm_90 or newer, but the chip is sm_89
// PTX: error: cp.async.bulk (TMA) requires PTX 8.0, but what reads it supports up to PTX 7.8
// CHIP: error: the chip is required to be one of sm_80, {{.*}}sm_90a, {{.*}}, but is 'sm_77'

//--- select.mlir
llvm.func @k(%out: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
  %y = llvm.intr.log(%x) : (f32) -> f32
  llvm.store %y, %out : f32, !llvm.ptr<1>
  llvm.return
}

//--- constraint.mlir
llvm.func @k(%out: !llvm.ptr<1>, %x: i32) attributes {nvvm.kernel} {
  %y = llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=Z,r" %x : (i32) -> i32
  llvm.store %y, %out : i32, !llvm.ptr<1>
  llvm.return
}

//--- dialect.mlir
func.func @k() { return }

//--- budget.mlir
llvm.func internal @enter() {
  nvvm.setmaxregister decrease 40
  llvm.return
}
llvm.func @k() attributes {nvvm.kernel} {
  llvm.call @enter() : () -> ()
  llvm.return
}

//--- copy.mlir
llvm.func @k() attributes {nvvm.kernel} {
  nvvm.cp.async.bulk.commit.group
  llvm.return
}
