"""The studio's window (PySide6, pyqtgraph). No torch, tvm or onnx anywhere below this folder.

========================  =====================================================================================
``application``           `main`: settings, theme, window, engine thread, event loop
``controller``            wires models, engine and window; decides what an intent or an event does to the models
``*_controller``          the same for checkpoints, devices, the library, schedules and what-ifs
``*_wiring``              connects such a controller with its panel
``overtaken_openings``    networks that the engine is still opening when another was asked for
``run_feed``              what a run tells of itself, into the models
``main_window``           owns the views
``actions``               actions with their shortcuts, menus, tool bar
``docks``                 where the panels stand and how they share the window
``jobs/``                 the background thread that owns the engine process
``models/``               what the window shows, as Qt models without widgets
``views/``                one panel each; takes its model, emits intents, computes nothing
``widgets/``              plots and small parts that views are made of
``tokens``, ``theme``     one set of colours for palette, ``style_sheet``, plots and ``icons``
``translation``           texts in the person's language
``text_scale``            how large the desktop's text is, for sizes in pixels
``desktop``               opens files and folders in the desktop's own programs
``settings``              what is remembered between starts
``heartbeat``             how late the event loop gets
``screenshots``           pictures of every panel, from a real run
``window_bench``          what ``bench window`` measures; ``soak``, ``soak_bench``, ``what_if_bench`` likewise
``recording``             a recorded run of any length, for them
``passing_studio``        a studio for them whose folder is thrown away
========================  =====================================================================================
"""
