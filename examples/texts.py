# %% [markdown]
# # Messages to a bank: which should be labeled next?
#
# A bank gets thousands of messages from its customers and wants to route each to the right team. Somebody has
# to label some of them first. Labels cost minutes of a person who knows the trade, so the question is not
# only *how many*, but *which*.
#
# This notebook goes through two rounds of labeling with `minmargin`, on real messages: 12 intents of
# BANKING77, some of them hard to tell apart (is a transfer *failed*, *declined* or *pending*?).

# %%
import numpy as np
import pandas as pd

messages = pd.read_csv("data/banking.csv")
messages.groupby("intent").agg(messages=("text", "size"), example=("text", "first"))

# %% [markdown]
# ## What we know, and what we do not
#
# Five messages of each intent have a label. A third of the rest is set aside to test on, at random: what a
# model picks is no fair sample. All others are the pool. We know their intents too, and will look at them
# only when we "label" a message.

# %%
shuffled = messages.sample(frac=1, random_state=7)
known = shuffled.groupby("intent").head(5)
others = shuffled.drop(known.index)
test, pool = others[: len(others) // 3], others[len(others) // 3 :]
print(f"{len(known)} labeled, {len(pool)} in the pool, {len(test)} to test on")

# %% [markdown]
# A learner for texts is a scikit-learn pipeline. Word and letter sequences make a good reader of short
# messages.

# %%
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

reader = make_pipeline(
    TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True),
    LogisticRegression(C=30, max_iter=2000),
)


def accuracy(rows):
    return reader.fit(rows["text"], rows["intent"]).score(test["text"], test["intent"])


print(f"Accuracy with {len(known)} labels: {accuracy(known):.1%}")

# %% [markdown]
# ## The first batch
#
# Sixty messages can be labeled today. `select` trains 26 readers, the base on all labels and 25 members on
# bootstrap draws of them, and picks the messages on which some member is closest to undecided.

# %%
import minmargin as mm

with mm.show_progress() as progress:
    batch = mm.select(
        known[["text", "intent"]],
        "intent",
        pool[["message", "text"]],
        batch_size=60,
        learner=reader,
        features="text",
        id_column="message",
        keep=["text"],
        random_state=0,
        progress=progress,
    )
batch

# %% [markdown]
# Each pick comes with its reason: the member whose boundary it lies on, and the two intents that member
# cannot choose between. Which pairs are contested most?

# %%


def contested(batch):
    pairs = pd.Series([" / ".join(sorted(pair)) for pair in batch.top_classes.tolist()])
    return pairs.value_counts().head(6).rename("picks").to_frame()


contested(batch)

# %% [markdown]
# With five labels of each intent the readers know little, and doubt nearly everything: the picks are
# scattered over many pairs, also such as no person would mix up. Watch how that changes in the second round.
#
# Whoever labels can read the picks as they are; a file for a spreadsheet or a labeling tool is one line.

# %%
batch.to_csv("to-label.csv")
picked = batch.to_pandas()
picked[["id", "text", "first_class", "second_class"]].head(6)

# %% [markdown]
# ## Labeling, and the second round
#
# Here the labels come from the table. In real life they come back from people, a day later. The messages that
# were picked are left out of the next pick by `exclude`.

# %%
answers = messages.set_index("message")
first = answers.loc[batch.ids].reset_index()
labeled = pd.concat([known, first])
print(f"Accuracy with {len(labeled)} labels: {accuracy(labeled):.1%}")

second_batch = mm.select(
    labeled[["text", "intent"]],
    "intent",
    pool[["message", "text"]],
    batch_size=60,
    learner=reader,
    features="text",
    id_column="message",
    exclude=batch.ids,
    random_state=1,
)
contested(second_batch)

# %% [markdown]
# More of the doubts are now such as a person would have: card arrival and delivery estimate, failed and
# pending transfers.

# %%
labeled = pd.concat([labeled, answers.loc[second_batch.ids].reset_index()])
print(f"Accuracy with {len(labeled)} labels: {accuracy(labeled):.1%}")

# %% [markdown]
# ## Was it worth it?
#
# The honest question is what the same number of labels would have bought at random. One draw says little, so
# take twenty.

# %%
random_accuracies = []
for seed in range(20):
    drawn = pool.sample(120, random_state=seed)
    random_accuracies.append(accuracy(pd.concat([known, drawn])))
print(f"60 labels, and 120 more by min-margin in two rounds: {accuracy(labeled):.1%}")
mean, spread = np.mean(random_accuracies), np.std(random_accuracies)
print(f"60 labels, and 120 more at random, 20 times:         {mean:.1%} ± {spread:.1%}")

# %% [markdown]
# That is one draw of our picks against twenty of chance; `mm.compare` plays both many times and gives
# intervals. The next notebook, [Digits](digits.ipynb), does that.
#
# ## From here
#
# - The same from a shell: `minmargin select --learner module:function --features text ...`
# - A page with all picks, to look at in a browser: `batch.report("report.html")`
# - Rounds with a journal: `mm.Campaign`; annotators in Label Studio: `minmargin label-studio push`
