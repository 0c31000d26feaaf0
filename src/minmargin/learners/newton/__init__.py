"""Logistic regressions trained together by Newton's method: `training` first, then `views`, `steps` and `exact`."""
