"""Tensor expressions of our own, in place of TOPI's, and what sizes they want.

=======================  ==============================================================================
module                   what it does
=======================  ==============================================================================
``few_bits``             products by weights of few bits, which the frontend makes a kernel of    (tvm)
``regions_of_interest``  regions of pictures by boxes at half pixels, and maxima of them          (tvm)
``scatters``             elements written into a part of a tensor                                 (tvm)
``samples``              pictures at the points of a grid, channels last                          (tvm)
``convolutions``         blocked convolutions                                                     (tvm)
``tile_rows``            how many rows or columns a product should have, and channels in a block  -
``volumes``              convolutions of volumes, channels last                                   (tvm)
``multipliers``          depthwise convolutions of several results a channel                      (tvm)
``winograd``             3x3 convolutions by fewer products                                       (tvm)
``regions``              dilated convolutions without what only meets padding, part by part       (tvm)
``channel_norms``        normalisations over the channels of blocked pictures                     (tvm)
``adaptive_pools``       means over windows of unequal sizes                                      (tvm)
``pool_windows``         which pixels of a row an adaptive pool takes together                    -
``softmax``              softmax with its sums lane by lane                                       (tvm)
``fast_math``            polynomials in place of libm calls                                       (tvm)
``neighbour_sums``       sums over neighbouring channels, of `LRN`'s band                         (tvm)
=======================  ==============================================================================
"""
