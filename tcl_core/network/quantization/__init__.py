"""Networks that compute with whole numbers: pairs, operators on bytes, and what lies between kernels as bytes.

=====================  =============================================================================
module                 what it does
=====================  =============================================================================
``pairs``              operators between pairs as operators on quantised tensors         (onnx)
``whole_numbers``      operators on quantised tensors as floats that hold whole numbers  (onnx, tvm)
``quantized``          quantisation in operators that a layout moves through             (tvm)
``long_norms``         normalisations of long rows part by part                         (tvm)
``whole_ranges``       which tensors hold whole numbers, and from where to where         (tvm)
``byte_words``         such numbers as words of four bytes                               (tvm)
``bytes_between``      which tensors lie between kernels as bytes                        (tvm)
``byte_convolutions``  convolutions of such words                                        (tvm)
``byte_products``      products of such words by constant matrices                       (tvm)
=====================  =============================================================================
"""
