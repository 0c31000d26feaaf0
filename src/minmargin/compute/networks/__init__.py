"""Stacked dense networks on the CPU: exact class scores, the fast screen, and how far that can be off."""
