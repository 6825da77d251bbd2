"""LSTM, GRU and RNN: read, written out step by step, or kept as one operator of our own.

=====================  =========================================================================
module                 what it does
=====================  =========================================================================
``recurrent``          LSTM, GRU and RNN read, and written out step by step               (onnx)
``recurrences``        LSTM, GRU and RNN as one operator of our own, for a processor      (onnx)
``recurrence_kernel``  the kernel that the frontend makes of this operator                (tvm)
``sequence_lengths``   which of both a layer becomes, and sequences of different lengths  (onnx)
=====================  =========================================================================
"""
