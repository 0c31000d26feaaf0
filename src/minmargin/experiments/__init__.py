"""Experiments: the paper's, the demo's, and the data they are made on. Only the command line imports this."""
