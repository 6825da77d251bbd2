"""LSTM, GRU and RNN: read, written out step by step, or kept as one operator of our own.

=====================  ============================================================
module                 what it does
=====================  ============================================================
``recurrent``          LSTM, GRU and RNN read, and written out step by step  (onnx)
``recurrences``        the same as one operator of our own, for a processor  (onnx)
``sequence_lengths``   which of both, and sequences of different lengths     (onnx)
``recurrence_kernel``  which the frontend makes this kernel of               (tvm)
=====================  ============================================================
"""
