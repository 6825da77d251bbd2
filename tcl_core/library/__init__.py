"""Records -> the tuned library: apply the best records, build, check against onnxruntime, time, export a bundle.

========================  ==========================================================================================
module                    what it does
========================  ==========================================================================================
``make``                  the whole stage: `make_library`, for the tuner                             (the rest)
``build``                 tuned and stock executables                                                (tvm)
``inputs``                random inputs a network accepts                                            (onnx)
``contenders``            one network, run by TVM or by onnxruntime                                  (tvm, onnxruntime)
``venue``                 where a comparison takes place: here, or on a device over the network      (the next)
``on_device``             a library sent to a device and timed there                                 (tvm)
``compare``               the numerical check, timing side by side, and who wins                     numpy, scipy
``child``                 the same in a process of its own: generated code may crash                 processes
``room``                  whether the temporary folder has room for what is linked                   -
``bundle``                ``.so``, manifest, runners, README; never half-written                     (tvm)
``runner``                ``run.py`` of a bundle, copied as it is                                    (tvm, there)
``cpp_example``           ``run.cpp`` and the README of a bundle                                     -
========================  ==========================================================================================

Importing this package imports none of them: they bring TVM and onnxruntime along.
"""
