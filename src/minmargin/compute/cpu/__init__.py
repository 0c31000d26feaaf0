"""Linear models on the CPU: the fast screen, written for vector registers."""
