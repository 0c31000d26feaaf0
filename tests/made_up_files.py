"""The files that the page on Label Studio takes for granted: somebody's texts, and somebody's table."""

from __future__ import annotations

import numpy as np
import pandas as pd

_SENTENCES = {
    "card": ["my {} card is lost", "when does the {} card arrive", "the {} card was stolen"],
    "cash": ["the machine kept my {} cash", "cash of {} was refused", "I got no cash for {}"],
    "transfer": ["my {} transfer is late", "I sent {} twice by transfer", "who got my {} transfer"],
}
_WORDS = ["blue", "old", "first", "euro", "dollar", "twenty", "weekly", "second"]


def write_files_for_label_studio() -> dict[str, str]:
    """Write the files that the page on Label Studio speaks of, and return the class of each row id."""
    rng = np.random.default_rng(0)
    category = rng.choice(list(_SENTENCES), 200)
    texts = [rng.choice(_SENTENCES[name]).format(" ".join(rng.choice(_WORDS, 2))) for name in category]
    rows = pd.DataFrame({"text": texts, "category": category})
    rows[:40].to_csv("labeled.csv", index=False)
    rows[40:80].to_csv("test.csv", index=False)
    ids = [f"text-{row}" for row in rows.index[80:]]
    rows[80:].assign(row_id=ids)[["row_id", "text"]].to_csv("pool.csv", index=False)
    truth = dict(zip(ids, rows["category"][80:], strict=True))

    people = pd.DataFrame({"age": rng.integers(18, 90, 200), "orders": rng.integers(0, 40, 200)})
    people["country"] = rng.choice(["FR", "DE", "IT"], 200)
    people["kind"] = np.where(people["orders"] + rng.integers(-3, 4, 200) > 20, "regular", "new")
    people[:40].to_csv("customers.csv", index=False)
    people[40:60].to_csv("test-customers.csv", index=False)
    ids = [f"customer-{row}" for row in people.index[60:]]
    people[60:].assign(row_id=ids).drop(columns="kind").to_csv("new-customers.csv", index=False)
    return truth | dict(zip(ids, people["kind"][60:], strict=True))
