"""What an operator is in simpler ones, for those that the frontend lacks. ONNX to ONNX.

======================  ======================================================================
module                  what it does
======================  ======================================================================
``simpler_nodes``       operators that the frontend lacks, in simpler ones              (onnx)
``standard_forms``      what each of the standard's is                                  (onnx)
``scaled_blocks``       the same of quantisation by blocks, and to few bits             (onnx)
``pool_indices``        the same of where maxima of windows are                         (onnx)
``contributed_forms``   the same of onnxruntime's own                                   (onnx)
``contributed_heads``   the same of its attention                                       (onnx)
``contributed_groups``  the same of one with several heads for each of keys and values  (onnx)
``contributed_turns``   the same of values turned by their token's place                (onnx)
``experimental_forms``  the same of what the standard withdrew                          (onnx)
``classical_forms``     the same of `ai.onnx.ml`'s that are arithmetic                  (onnx)
======================  ======================================================================
"""
