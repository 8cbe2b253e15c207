// RUN: not mla-opt %s --mla-attach-target='cpu=pdp-11' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mla-opt %s --mla-attach-target='cpu=pentium' 2>&1 | FileCheck %s --check-prefix=OLD32
// RUN: not mla-opt %s --mla-attach-target='cpu=x86-64-v2' 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not mla-opt %s --mla-attach-target='cpu=' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not mla-opt %s --mla-attach-target='chip=sm_80' 2>&1 | FileCheck %s --check-prefix=OLDER
// RUN: not mla-opt %s --mla-attach-target='chip=gfx942' 2>&1 | FileCheck %s --check-prefix=OTHER

// OLDER:   error: option 'chip' requires a GPU that kernels can be lowered to (sm_90a), but got 'sm_80'
// OTHER:   error: option 'chip' requires a GPU that kernels can be lowered to (sm_90a), but got the unknown 'gfx942'
// UNKNOWN: error: option 'cpu' requires an x86-64 CPU that LLVM knows (native, x86-64-v3, x86-64-v4, znver4, ...), but got 'pdp-11'
// OLD32:   error: option 'cpu' requires an x86-64 CPU that LLVM knows ({{.*}}), but got 'pentium'
// NARROW:  error: option 'cpu' requires a CPU with AVX2 and FMA, but 'x86-64-v2' has not
// EMPTY:   error: option 'cpu' requires an x86-64 CPU that LLVM knows ({{.*}}), but got ''
module {
}
