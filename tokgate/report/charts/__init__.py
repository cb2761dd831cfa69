"""The charts of report.html: what to draw, as records; templates/charts.js draws it with uPlot."""
