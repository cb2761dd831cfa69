"""Text in, records out, plus what was not understood; no files, clock or network."""
