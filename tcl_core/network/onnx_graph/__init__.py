"""An ONNX model as a graph that is rewritten: its nodes, its shapes, its weights, graphs inside of nodes. Knows no TVM.

=================  ================================================================
module             what it does
=================  ================================================================
``nodes``          what is asked of nodes wherever a graph is rewritten      (onnx)
``maker``          nodes and initializers that stand in for one node         (onnx)
``origins``        what makes a tensor, followed backwards                   (onnx)
``stand_in``       what stands in for a node that is spelled out             (onnx)
``bodies``         graphs inside nodes, put in the place of these            (onnx)
``functions``      operators that the standard spells out, spelled out       (onnx)
``shapes``         fixed dimensions, and what is still open                  (onnx)
``static_values``  what is known of tensors before a run                     (onnx)
``values``         inputs fixed to numbers                                   (onnx)
``skeleton``       a model without its weights, to ask for types and shapes  (onnx)
``external_data``  weights that lie in files of their own                    (onnx)
``spellings``      what a file may spell in two ways, in one                 (onnx)
=================  ================================================================
"""
