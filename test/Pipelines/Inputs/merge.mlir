func.func @merge(%parts: memref<?x?x16x80xbf16>, %lse_parts: memref<?x?x16xf32>, %out: memref<?x16x80xbf16>,
                 %lse: memref<?x16xf32>, %scale: f32, %empty: f32) {
  mla.merge parts(%parts, %lse_parts : memref<?x?x16x80xbf16>, memref<?x?x16xf32>)
    to(%out, %lse : memref<?x16x80xbf16>, memref<?x16xf32>) lse_scale(%scale) lse_empty(%empty)
  return
}
