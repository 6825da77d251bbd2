"""The studio's window (PySide6, pyqtgraph). No torch, tvm or onnx anywhere below this folder.

========================  =====================================================================================
``application``           `main`: settings, theme, window, engine thread, event loop
``controller``            wires models, engine and window; the only place that decides what an intent or event does
``overtaken_openings``    networks that the engine is still opening when another was asked for
``run_feed``              what a run tells of itself, into the models
``checkpoint_*``          the same for checkpoints: a controller, and what connects it with their panel
``main_window``           actions, menus, docks; owns the views
``docks``                 where the panels stand and how they share the window
``jobs/``                 the background thread that owns the engine process
``models/``               what the window shows, as Qt models without widgets
``views/``                one panel each; takes its model, emits intents, computes nothing
``widgets/``              plots and small parts that views are made of
``theme``, ``icons``      one set of colour tokens for palette, style sheet, plots and icons
``text_scale``            how large the desktop's text is, for sizes in pixels
``desktop``               opens files and folders in the desktop's own programs
``settings``              what is remembered between starts
``heartbeat``             how late the event loop gets
========================  =====================================================================================
"""
