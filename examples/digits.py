# %% [markdown]
# # Digits: would active learning have paid?
#
# Before labels are bought by a clever rule, it is fair to ask whether the rule is any better than chance *on
# this data, with this model, at this budget*. If some labeled rows are there already, that can be played:
# hide most labels, let each strategy pick, give it the labels it asked for, train, and test. Again and again,
# with all strategies on the same draws.
#
# That is what `mm.compare` does. The data are 1,797 handwritten digits of 8 by 8 pixels, which ship inside
# scikit-learn.

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

digits = load_digits()
X, y = digits.data / 16, digits.target

figure, axes = plt.subplots(2, 10, figsize=(8, 1.8))
for axis, image in zip(axes.flat, digits.images, strict=False):
    axis.imshow(image, cmap="gray_r")
    axis.axis("off")

# %% [markdown]
# ## Compare first
#
# Fifty labeled digits at the start; batches of 25 to 400 more; three strategies; 20 draws.

# %%
import minmargin as mm

with mm.show_progress() as progress:
    found = mm.compare(
        X,
        y,
        strategies=["min-margin", "margin", "random"],
        n_labeled=50,
        batch_sizes=[25, 50, 100, 200, 400],
        test_size=600,
        n_draws=20,
        random_state=0,
        progress=progress,
    )
found

# %% [markdown]
# In one sentence:

# %%
print(found.advice)

# %% [markdown]
# And as curves. Bands are intervals of the mean; the differences are what to look at, since all strategies
# played the same draws.

# %%
found.plot()

# %% [markdown]
# ## Then pick
#
# Now for real: 50 digits have a label, and 200 more can be paid for. A committee is trained once and can
# serve several strategies.

# %%
committee = mm.fit_committee(X[:50], y[:50], random_state=0)
committee

# %%
batch = committee.select(X[50:], 200)
plain = committee.select(X[50:], 200, strategy="margin")
print(f"{len(set(batch.rows) & set(plain.rows))} of 200 picks are also picks of plain margin.")
print(f"They lie on the boundaries of {len(set(batch.member.tolist()))} of 25 members.")

# %% [markdown]
# The first twenty, with the two digits that the deciding member is torn between. Some are hard for people,
# too.

# %%
figure, axes = plt.subplots(2, 10, figsize=(8, 2.4))
for axis, row, (one, other) in zip(axes.flat, batch.rows, batch.top_classes, strict=False):
    axis.imshow(X[50 + row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{one} or {other}", fontsize=8)
    axis.axis("off")

# %% [markdown]
# ## And look at it
#
# The report is a single page for the browser: a map of what is labeled, what is in the pool and what was
# picked; the scores; the contested classes; what plain margin would have taken instead; and every pick with
# its reason, here with its picture.

# %%
page = batch.report("report.html", image_shape=(8, 8))
print(f"{page.name}: {page.stat().st_size / 1024:.0f} kB")

# %% [markdown]
# Open it in a browser, send it to whoever labels, or keep it beside the batch. The seed and all settings are
# in it, so the batch can be made again.
