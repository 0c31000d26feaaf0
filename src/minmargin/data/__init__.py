"""Rows on their way into a model: what holds them, what their columns are, and the form that a learner takes."""
