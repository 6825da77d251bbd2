"""A relax module as a graph that is rewritten: how a pass goes over it, and what several passes need.

===============  =======================================================================
module           what it does
===============  =======================================================================
``rewriting``    how a pass goes over a relax module                               (tvm)
``constants``    reshaped weights folded by NumPy                                  (tvm)
``lengthening``  axes made longer, from where that pays to where it would show     (tvm)
``norms``        normalisations by group and by the root mean square, spelled out  (tvm)
``joints``       where concatenations of concatenations end                        (tvm)
``growth``       where work element by element would be written out too often      (tvm)
===============  =======================================================================
"""
