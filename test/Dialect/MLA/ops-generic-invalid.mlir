// What the tile ops' own assembly cannot say, or says too much of, is refused as well.
//
// RUN: mla-opt %s --split-input-file --verify-diagnostics

func.func @for_work_yields(%plan: !mla.plan, %w: index) {
  mla.for_work %plan worker(%w) {
  ^bb0(%item: !mla.item, %first: index, %end: index, %whole: i1):
    // expected-error @+1 {{(yield_c1) requires to yield nothing from 'mla.for_work', but got 1}}
    mla.yield %first : index
  }
  return
}

// -----

func.func @softmax_row_sum(%s: tensor<16x64xf32>, %m: tensor<16xf32>, %l: tensor<8xf32>) {
  // expected-error @+1 {{(softmax_step_c1) requires row state of shape 16, but got 'tensor<8xf32>'}}
  %0:4 = "mla.softmax_step"(%s, %m, %l) : (tensor<16x64xf32>, tensor<16xf32>, tensor<8xf32>)
    -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @softmax_alpha(%s: tensor<16x64xf32>, %m: tensor<16xf32>) {
  // expected-error @+1 {{(softmax_step_c1) requires row state of shape 16, but got 'tensor<4xf32>'}}
  %0:4 = "mla.softmax_step"(%s, %m, %m) : (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
    -> (tensor<16x64xf32>, tensor<4xf32>, tensor<16xf32>, tensor<16xf32>)
  return
}
