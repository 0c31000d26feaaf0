"""Logistic regressions trained together by Newton's method: `training` first, then `steps` and `kernels`."""
