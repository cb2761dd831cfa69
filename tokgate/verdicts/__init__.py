"""What the numbers mean: identity, baselines, budgets, rules."""
