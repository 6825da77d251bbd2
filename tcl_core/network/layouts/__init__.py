"""Passes over the relax module that decide how tensors lie in memory: in blocks, panels, columns, tokens.

=============  =====================================================================
module         what it does
=============  =====================================================================
``blocked``    convolutions in the layout of vectors                           (tvm)
``channels``   channels that fill no vector made whole vectors                 (tvm)
``spellings``  activations and norms in operators that a layout moves through  (tvm)
``barriers``   where a blocked layout must end                                 (tvm)
``pixels``     normalisations over channels, between blocked pictures          (tvm)
``parts``      parts of what was moved, each moved by itself                   (tvm)
``gates``      gates of channels apart from their pictures                     (tvm)
``panels``     weights of matrix products as tiles read them                   (tvm)
``columns``    columns of zeros behind those of products that fill no vectors  (tvm)
``tokens``     rows of zeros behind tokens whose number nothing divides        (tvm)
``attention``  scores of whole vectors                                         (tvm)
=============  =====================================================================
"""
