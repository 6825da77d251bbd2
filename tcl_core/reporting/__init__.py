"""The report of a run: what a workspace knows of it, as one HTML file that any browser opens and no server serves.

``facts`` reads the run, ``chart`` turns its best latency into lines of a drawing, ``write`` fills in ``page.html``.
"""
