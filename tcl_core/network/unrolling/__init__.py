"""What decides before a run how often something happens, written out: branches, loops, sequences. ONNX to ONNX.

================  ================================================================================
module            what it does
================  ================================================================================
``control_flow``  loops, branches and sequences that are decided before a run, written out  (onnx)
``conditions``    `If` of a constant condition as the branch that is taken                  (onnx)
``loops``         `Loop` and `Scan` step by step                                            (onnx)
``step_counts``   how many steps loops take                                                 (onnx)
``sequences``     what is read of sequences as their tensors                                (onnx)
================  ================================================================================
"""
