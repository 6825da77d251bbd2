"""ONNX -> relax -> tasks: load and check a file, simplify and import it, extract its tasks, report what was noticed.

========================  ==========================================================================================
module                    what it does
========================  ==========================================================================================
``load``                  bytes -> a checked model with static shapes, and its `domain.Network`      (onnx)
``shapes``                fixed dimensions, and what is still open                                   (onnx)
``opsets``                networks of before opset 13 brought there                                  (onnx)
``functions``             operators that the standard spells out, spelled out                        (onnx)
``nodes``                 what is asked of nodes wherever a graph is rewritten                       (onnx)
``skeleton``              a model without its weights, to ask for types and shapes                   (onnx)
``simplify``              constant folding and a few rewrites, before the import                     (onnx, onnxruntime)
``products``              matrix products in the rank of what they read                              (onnx)
``signals``               convolutions of signals as of pictures one row high                        (onnx)
``transposed``            transposed convolutions as convolutions                                    (onnx)
``maker``                 nodes and initializers that stand in for one node                          (onnx)
``recurrent``             LSTM, GRU and RNN read, and written out step by step                       (onnx)
``recurrences``           the same as one operator of our own, for a processor                       (onnx)
``recurrence_kernel``     which the frontend makes this kernel of                                    (tvm)
``resizes``               `Resize` as TVM reads it, else as gathers and products                     (onnx)
``paddings``              pads that the standard leaves to who runs it                               (onnx)
``padded_windows``        windows without what only meets padding                                    (onnx)
``group_norms``           group normalisations kept whole                                            (onnx)
``pairs``                 operators between pairs as operators on quantised tensors                   (onnx)
``whole_numbers``         operators on quantised tensors as floats that hold whole numbers            (onnx, tvm)
``empties``               tensors without elements left out                                          (onnx)
``operators``             operators nobody can import, by node                                       (onnx, tvm)
``frontend``              TVM's importer of ONNX, its mistakes mended                                (tvm)
``importer``              the model -> a fused relax module and its tasks                            (tvm)
``constants``             reshaped weights folded by NumPy                                           (tvm)
``rewriting``             how a pass goes over a relax module                                        (tvm)
``quantized``             quantisation in operators that a layout moves through                      (tvm)
``blocked``               convolutions in the layout of vectors                                      (tvm)
``convolutions``          their tensor expressions                                                   (tvm)
``channels``              channels that fill no vector made whole vectors                            (tvm)
``activations``           activations in operators that a layout moves through                       (tvm)
``barriers``              where it must end                                                          (tvm)
``winograd``              3x3 ones of them by fewer products                                         (tvm)
``panels``                weights of matrix products as tiles read them                              (tvm)
``lengthening``           axes made longer, from where that pays to where it would show              (tvm)
``tokens``                rows of zeros behind tokens whose number nothing divides                   (tvm)
``attention``             scores of whole vectors                                                    (tvm)
``softmax``               softmax with its sums lane by lane                                         (tvm)
``fast_math``             polynomials in place of libm calls                                         (tvm)
``schedule_rules``        kernels that every schedule takes                                          (tvm)
``tasks``                 fused functions -> `domain.Task`                                           (tvm)
``graph``                 the fused module's calls as `graphs.NetworkGraph`                          (tvm)
``repeats``               blocks of it that occur several times in a row                             (numpy)
``layout``                where to draw it                                                           (fast-sugiyama)
``sample``                where the bundled network lies                                             -
========================  ==========================================================================================

Importing this package imports none of them: they bring onnx and TVM along.
"""
