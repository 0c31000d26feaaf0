"""CUDA GPUs: Triton kernels that look at rows, and what hands the rows to them. Imported only where a GPU is used."""
