"""Our classifiers take input of other array libraries, as scikit-learn checks.

scipy has to be told of it before it is imported: in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator
import minmargin as mm
from minmargin.integrations.sklearn import CommitteeClassifier

for made in (
    mm.BatchedLogisticRegression(),
    CommitteeClassifier(n_models=3),
    CommitteeClassifier(DecisionTreeClassifier(max_depth=3), n_models=3, predict_with="members"),
    CommitteeClassifier(n_models=3, preprocess="auto"),
):
    for estimator, check in estimator_checks_generator(made):
        if check.func.__name__ == "check_array_api_input":
            check(estimator)
            print("passed")
"""


def test_scikit_learn_accepts_our_classifiers_with_other_array_libraries() -> None:
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["passed"] * 4), done.stderr
