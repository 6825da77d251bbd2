"""TCL Studio's engine: an ONNX network in, a faster library out. No Qt anywhere below this folder.

The one way for the data (each arrow is a frozen dataclass of `domain`, `batches` or `events`)::

    ONNX -> tasks -> sketches -> candidates -> features -> search (scores) -> selection (RDU) -> measurement -> records
                                                  ^                                                        |
                                                  +------------- cost model <- learning       <------------+
    records -> tuned library (.so, runner, report)

Rooms in the order of the pipeline. A stage knows modules of this folder, `tuner` and `engine` aside, and no other
stage; `learning` alone builds on `cost_model`:

========================  =======================================================================  =================
room                      what it does                                                             heavy imports
========================  =======================================================================  =================
``domain``, ``batches``   what crosses a stage, a thread or a process                              numpy
``graphs``                the network as a graph that can be drawn                                 -
``libraries``             what is known of a tuned library: check, times, verdicts                 -
``config``                one frozen, keyword-only config per stage                                -
``rival_config``          sizes of the rankers that ours is compared with                          -
``events``                what a run tells its watcher, what a watcher asks of a run               -
``checkpoint_events``     the same for checkpoints, training and learning                          -
``evaluation_events``     the same for figures of checkpoints by platform                          -
``pool_events``           where the candidates of a pool lie, and which were chosen                numpy
``schedule_events``       the same for one record's schedule                                       -
``library_events``        the same for the library and reports of runs                             -
``what_if_events``        the same for a record with other decisions                               -
``errors``                the sentences a person gets                                              -
``devices``               machines over the network: addresses, what is known of them                -
``device_events``         what a watcher is told of them                                           -
``device_sessions``       reaching them with a limit on each step, what broke a session            tvm
``device_looks``          whether one answers, how busy it is, what it is                          tvm
``latencies``             how many digits a person gets of a latency, in terminal and report       -
``counting``              "1 record", "2 records": counted nouns of sentences                        -
``destinations``          whether a folder can take what is yet to be computed for it              -
``passing_folders``       for what is only passing, and can be tidied up behind a process         -
``child_processes``       what every process that another one began has in common                  processes
``cuda_compiler``         CUDA source to machine code, without the headers that TVM adds           nvrtc
``llvm_pipeline``         TVM's passes down to LLVM, and one that keeps it from a mistake          tvm
``linker``                objects to a shared library, for other architectures, too                processes
``thread_limits``         which decisions give a GPU's block too many threads, or too few          -
``onnx_branches``         the nodes of a graph, those of the graphs inside them, too                onnx
``onnx_names``            names of a network's inputs that every code generator can write          tvm
``onnx_weights``          a model and its weights apart, as no message holds 2 GB                  onnx
``tvm_import``            TVM's tensor intrinsics, those of one kind of target alone               tvm
``tvm_threads``           TVM's pool of threads, kept apart from what is timed                     -
``versions``              of the packages that a number depends on                                 -
``hardware/``             this machine, ``--target`` texts, platform fingerprints, doctor's facts, tvm, onnxruntime
                          the server that lets another machine tune for this one
``own_operators/``        what tasks' modules may hold beside TVM's: products of bytes, functions  tvm
                          by polynomials
``network/``              ONNX -> relax -> tasks, the import report                                onnx, tvm
``space/``                sketches, decision domains, replay, structural hashes                    tvm
``features/``             token templates, the batch featuriser and its slow twin                  numpy
``cost_model/``           scans, the Mamba ranker, losses, training, baselines                     torch, tvm
``selection/``            RDU and the samplers it is compared with                                 numpy
``search/``               evolution over decision vectors, the task scheduler                      numpy
``measure/``              warm workers, adaptive timing, failures; here and on devices             tvm, processes
``store/``                the workspace database                                                   sqlite
``library/``              apply records, build, verify, time, export                               tvm, onnxruntime
``dataset/``              records of many platforms as Parquet, the data card                      pyarrow
``learning/``             knowledge base, active column, EWC, distillation; above `cost_model`     torch
``tuner``                 a run: all stages, round by round; yields events                         (through the stages)
``engine``                the tuner in a process of its own, commands in, events out               -
``command_line/``         the same run without a window                                            rich
``evaluation/``           the learner's tables, from a dataset                                     (through the stages)
``checkpoints/``          which checkpoint a run starts from; list, import, export, lineage          -
``training/``             `train` and `learn`: a platform's records become a checkpoint            (through the stages)
``reporting/``            the report of a run as one HTML file                                     jinja2
``inspection/``           one record replayed: loop tree, trace, TensorIR, source, its score       tvm, torch
``what_if/``              a record with other decisions: prediction, rank, measured on demand       tvm, torch
``bench/``                what `resources/measured.md` quotes: ours against the peers, in one run  (through the stages)
========================  =======================================================================  =================
"""

__version__ = "0.1.0"
