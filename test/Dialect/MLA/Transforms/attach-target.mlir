// RUN: mla-opt %s --split-input-file --mla-attach-target='cpu=x86-64-v3' | FileCheck %s --check-prefixes=CHECK,V3
// RUN: mla-opt %s --split-input-file --mla-attach-target='cpu=x86-64-v4' | FileCheck %s --check-prefixes=CHECK,V4
// RUN: mla-opt %s --split-input-file --mla-attach-target='cpu=znver4' | FileCheck %s --check-prefixes=CHECK,ZNVER4
// RUN: mla-opt %s --split-input-file --mla-attach-target='cpu=haswell' | FileCheck %s --check-prefixes=CHECK,HASWELL
// RUN: mla-opt %s --split-input-file --mla-attach-target='chip=sm_90a' | FileCheck %s --check-prefixes=CHECK,HOPPER
//
// The default describes this machine, whichever that is.
// RUN: mla-opt %s --split-input-file --mla-attach-target | FileCheck %s --check-prefixes=CHECK,NATIVE

// A CPU that is named has all features of its name, so none is listed, and
// cache sizes that do not depend on this machine.

// V3:          module attributes {mla.target = #mla.target<host, cpu = "x86-64-v3", features = "",
// V3-SAME:       vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>}
// V4:          module attributes {mla.target = #mla.target<host, cpu = "x86-64-v4", features = "",
// V4-SAME:       vector_bits = 512, vector_registers = 32, l1_bytes = 32768, l2_bytes = 1048576>}
// ZNVER4:      module attributes {mla.target = #mla.target<host, cpu = "znver4", features = "",
// ZNVER4-SAME:   vector_bits = 512, vector_registers = 32, l1_bytes = 32768, l2_bytes = 1048576>}
// HASWELL:     module attributes {mla.target = #mla.target<host, cpu = "haswell", features = "",
// HASWELL-SAME:  vector_bits = 256, vector_registers = 16, l1_bytes = 32768, l2_bytes = 1048576>}
// HOPPER:      module attributes {mla.target = #mla.target<cuda, chip = "sm_90a", smem_bytes = 232448, l2_bytes = 62914560>}
// NATIVE:      module attributes {mla.target = #mla.target<host, cpu = "{{[a-z0-9_-]+}}",
// CHECK-LABEL: func.func private @none()
module {
  func.func private @none()
}

// -----

// A target that is there is kept.

// CHECK:       module attributes {mla.target = #mla.target<host, cpu = "skylake", features = "-rtm",
// CHECK-SAME:    vector_bits = 128, vector_registers = 16, l1_bytes = 49152, l2_bytes = 524288>}
// CHECK-LABEL: func.func private @given()
module attributes {mla.target = #mla.target<host, cpu = "skylake", features = "-rtm",
    vector_bits = 128, vector_registers = 16, l1_bytes = 49152, l2_bytes = 524288>} {
  func.func private @given()
}
