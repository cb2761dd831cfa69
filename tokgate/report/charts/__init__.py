"""The charts of report.html: what to draw, as records; templates/chart_*.js draw it with uPlot."""
