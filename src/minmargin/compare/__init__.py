"""Strategies compared on labeled data: the one-shot game, played over many draws, and what its results say."""
