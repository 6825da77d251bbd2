"""Converters of TVM's frontend that are mended here: what each of its operators becomes in relax.

==============  ====================================================================
module          what it does
==============  ====================================================================
``elements``    operators that go element by element                          (tvm)
``reductions``  reductions of truths, of whole numbers, of minus infinities   (tvm)
``pads``        pads                                                          (tvm)
``asked``       what the frontend was asked to convert, and how it would      (tvm)
==============  ====================================================================
"""
