"""One gate session: plan of launches, measuring, the run folder."""
