"""ONNX -> relax -> tasks: load and check a file, simplify and import it, extract its tasks, report what was noticed.

==================  ==================================================================================
module              what it does
==================  ==================================================================================
``load``            bytes -> a checked model with static shapes, and its `domain.Network`  (onnx)
``cuts``            a part of a network, between tensors that a person names               (onnx)
``frontier``        where a network can end in front of what stands in the way             -
``operators``       operators nobody can import, by node                                   (onnx, tvm)
``frontend``        TVM's importer of ONNX, its mistakes mended                            (tvm)
``importer``        the model -> a fused relax module and its tasks                        (tvm)
``schedule_rules``  kernels that every schedule takes                                      (tvm)
``tasks``           fused functions -> `domain.Task`                                       (tvm)
``accesses``        how much of its buffers each one's anchor reads and writes             (tvm)
``sample``          where the bundled network lies                                         -
``own_nodes``       nodes of ours that the frontend makes operators and kernels of         (tvm)
==================  ==================================================================================

Whoever stands higher may import what stands lower, never the other way round:

=================  =============================================================================================
room               what is in it
=================  =============================================================================================
``drawing/``       the fused module as a picture                                             (tvm)
``forms/``         operators that the frontend lacks, in simpler ones                        (onnx)
``unrolling/``     loops, branches and sequences that are decided before a run, written out  (onnx)
``rewrites/``      a model made simpler, in forms that fuse and that layouts move through    (onnx, onnxruntime)
``recurrence/``    LSTM, GRU and RNN                                                         (onnx, tvm)
``converters/``    what the frontend is mended with                                          (tvm)
``layouts/``       how tensors lie in memory: blocks, panels, columns, tokens                (tvm)
``quantization/``  networks that compute with whole numbers, and in bytes                    (onnx, tvm)
``kernels/``       tensor expressions of our own                                             (tvm)
``relax_graph/``   how a pass goes over a relax module                                       (tvm)
``onnx_graph/``    how an ONNX model is read and rewritten                                   (onnx)
=================  =============================================================================================

Importing this package imports none of them: they bring onnx and TVM along.
"""
