"""Every experiment of the paper "Minimum-Margin Active Learning" (Jiang & Gupta 2019), and what comes out."""
