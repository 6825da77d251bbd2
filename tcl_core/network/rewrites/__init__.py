"""A model made simpler, in forms that fuse and that layouts move through, before TVM sees it. ONNX to ONNX.

==================  ====================================================================================
module              what it does
==================  ====================================================================================
``opsets``          networks of before opset 13 brought there                        (onnx)
``old_axes``        axes that old opsets count from behind, from the front           (onnx)
``standard_pairs``  onnxruntime's own pairs of quantisation as the standard's        (onnx)
``pools``           pools that round their sizes up, without windows in the padding  (onnx)
``rounded_scales``  resizes by scales that inference misreads, by sizes              (onnx)
``folding``         constant folding                                                 (onnx, onnxruntime)
``simplify``        that and a few rewrites, before the import                       (onnx)
``products``        matrix products in the rank of what they read                    (onnx)
``einsums``         `Einsum` of two tensors as a matrix product                      (onnx)
``signals``         convolutions of signals as of pictures one row high              (onnx)
``transposed``      transposed convolutions as convolutions                          (onnx)
``resizes``         `Resize` as TVM reads it, else as gathers and products           (onnx)
``interpolations``  linear resizes axis by axis                                      (onnx)
``paddings``        pads that the standard leaves to who runs it, written out        (onnx)
``padded_windows``  windows without what only meets padding                          (onnx)
``adaptive_pools``  means over windows of unequal sizes as one operator              (onnx)
``group_norms``     group and instance normalisations as one operator                (onnx)
``layer_norms``     normalisations that were spelled out as one operator             (onnx)
``deviations``      what a tensor is as a mean or a deviation of another             (onnx)
``powers``          `Pow` by a constant as products and roots                        (onnx)
``response_norms``  `LRN` as a convolution by a band                                 (onnx)
``empties``         tensors without elements left out                                (onnx)
``halves``          half floats as single ones, for a processor                      (onnx)
==================  ====================================================================================
"""
