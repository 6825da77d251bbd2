"""Translations of the window: `studio_de.ts` is what a translator edits, `studio_de.qm` what the studio loads."""
