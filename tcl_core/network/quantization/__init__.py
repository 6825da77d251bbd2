"""Networks that compute with whole numbers: pairs, operators on bytes, and what lies between kernels as bytes.

=====================  =============================================================================
module                 what it does
=====================  =============================================================================
``pairs``              operators between pairs as operators on quantised tensors         (onnx)
``whole_numbers``      operators on quantised tensors as floats that hold whole numbers  (onnx, tvm)
``quantized``          quantisation in operators that a layout moves through             (tvm)
``whole_ranges``       which of its tensors hold whole numbers, and from where to where  (tvm)
``byte_words``         such numbers as words of four bytes                               (tvm)
``bytes_between``      which of them lie between kernels as bytes                        (tvm)
``byte_convolutions``  convolutions of them                                              (tvm)
``byte_products``      products of them by constant matrices                             (tvm)
=====================  =============================================================================
"""
