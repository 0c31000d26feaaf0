"""`minmargin select --exclude`: rows of earlier batches, or of any file with ids, are not picked again."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from minmargin import cli

N = 60


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run `minmargin select` in a folder with a labeled file, and return the manifest, or what went wrong."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    labeled = pd.DataFrame(rng.normal(size=(20, 2)), columns=["u", "v"])
    labeled.assign(y=np.where(labeled.u > 0, "yes", "no")).to_csv("labeled.csv", index=False)

    def run(*more, out="batch.csv", pool="pool.parquet", batch_size=10):
        line = ["select", "--labeled", "labeled.csv", "--label-column", "y", "--pool", pool, "--out", out]
        line += ["--batch-size", str(batch_size), "--n-models", "3", "--seed", "0", "--json", *more]
        monkeypatch.setattr(sys, "argv", ["minmargin", *line])
        code = cli.run()
        told = capsys.readouterr()
        return json.loads(told.out) if code == 0 else told.err

    return run


def write_pool(ids, path="pool.parquet"):
    rows = np.random.default_rng(1).normal(size=(N, 2))
    frame = pd.DataFrame(rows, columns=["u", "v"]).assign(doc=ids)
    frame.to_csv(path, index=False) if path.endswith(".csv") else frame.to_parquet(path)


def rows_of(path):
    reader = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".feather": pd.read_feather}
    suffix = path[path.rindex(".") :]
    return (pd.read_json(path, lines=True) if suffix == ".jsonl" else reader[suffix](path))["row"].tolist()


IDS = {
    "texts": [f"{row:03d}" for row in range(N)],
    "numbers": [2**60 + row for row in range(N)],
    "formulas": [f"@user{row}" for row in range(N)],  # which a batch in CSV has behind an apostrophe
}


@pytest.mark.parametrize(
    ("pool", "suffix"),
    [
        *((f"pool{kind}", kind) for kind in (".csv", ".parquet")),
        ("pool.parquet", ".csv"),
        ("pool.csv", ".jsonl"),
    ],
)
@pytest.mark.parametrize("ids", [None, *IDS])
def test_batches_follow_each_other_whatever_they_are_written_in(ids, pool, suffix, run):
    write_pool(IDS[ids or "texts"], pool)
    named = [] if ids is None else ["--id-column", "doc"]
    run(*named, out="all.csv", pool=pool, batch_size=30)
    exclude = []
    for number in range(3):
        out = f"batch-{number}{suffix}"
        manifest = run(*named, *exclude, out=out, pool=pool)
        exclude += ["--exclude", out]
        if number:
            assert manifest["excluded"]["rows"] == 10 * number
    picked = [row for number in range(3) for row in rows_of(f"batch-{number}{suffix}")]
    assert picked == rows_of("all.csv")


def test_several_files_of_several_kinds(run):
    write_pool(IDS["numbers"])
    run("--id-column", "doc", out="a.csv")
    run("--id-column", "doc", "--exclude", "a.csv", out="b.parquet")
    pd.DataFrame({"doc": IDS["numbers"][:3], "label": "yes"}).to_feather("labels.feather")
    exclude = ["--exclude", "a.csv", "--exclude", "b.parquet", "--exclude", "labels.feather"]
    run("--id-column", "doc", *exclude, out="c.csv")
    assert not {*rows_of("a.csv"), *rows_of("b.parquet"), 0, 1, 2} & set(rows_of("c.csv"))


def test_a_folder_that_batches_are_added_to(run, tmp_path):
    write_pool(IDS["texts"])
    (tmp_path / "done").mkdir()
    run("--id-column", "doc", out="done/1.csv")
    assert run("--id-column", "doc", "--exclude", "done", out="done/2.csv")["excluded"]["rows"] == 10
    assert run("--id-column", "doc", "--exclude", "done", out="done/2.csv") == (
        "minmargin: --out done/2.csv would replace a file of --exclude done. Write the batch elsewhere.\n"
    )


def test_a_file_without_rows_excludes_nothing(run):
    write_pool(IDS["texts"])
    pq.write_table(pa.table({"doc": pa.array([], pa.string())}), "none.parquet")
    manifest = run("--id-column", "doc", "--exclude", "none.parquet")
    assert manifest["excluded"] == {"asked": 0, "rows": 0}


def test_the_summary_tells_how_many(run, monkeypatch, capsys):
    write_pool(IDS["texts"])
    run("--id-column", "doc", out="a.csv")
    line = "select --labeled labeled.csv --label-column y --pool pool.parquet --batch-size 5 --out b.csv"
    monkeypatch.setattr(
        sys,
        "argv",
        ["minmargin", *line.split(), "--id-column", "doc", "--exclude", "a.csv", "--n-models", "3"],
    )
    assert cli.run() == 0
    assert "Excluded: 10 rows of the pool." in capsys.readouterr().out


@pytest.mark.filterwarnings("default")
def test_ids_that_are_not_in_the_pool_are_pointed_out(run, monkeypatch, capsys):
    write_pool(IDS["texts"])
    pq.write_table(pa.table({"doc": ["001", "x", "y"]}), "x.parquet")
    line = "select --labeled labeled.csv --label-column y --pool pool.parquet --batch-size 5 --out b.csv"
    more = ["--id-column", "doc", "--exclude", "x.parquet", "--n-models", "3"]
    monkeypatch.setattr(sys, "argv", ["minmargin", *line.split(), *more])
    assert cli.run() == 0
    told = capsys.readouterr()
    assert "Excluded: 1 row of the pool." in told.out
    assert told.err == (
        "minmargin: warning: exclude holds 3 ids, and 2 of them are not in column 'doc' of the pool (such as 'x').\n"
    )


@pytest.mark.parametrize(
    ("content", "more", "told"),
    [
        (
            {"doc": ["001"]},
            [],
            (
                "'x.parquet' of exclude has no column 'row' (columns: 'doc'). "
                "Name the pool's own with --id-column."
            ),
        ),
        (
            {"name": ["001"]},
            ["--id-column", "doc"],
            (
                "'x.parquet' of exclude has no column 'doc' or 'id' (columns: 'name'). "
                "Give a batch, or a file with ids."
            ),
        ),
        (
            {"doc": [7]},
            ["--id-column", "doc"],
            (
                "exclude holds int64 (such as 7), and column 'doc' of the pool holds texts. "
                "Give the ids as they stand in the pool."
            ),
        ),
        (
            {"row": [7, 60]},
            [],
            (
                "exclude holds 60, and the pool's rows are numbered from 0 to 59. "
                "Name the pool's column as --id-column if these are ids."
            ),
        ),
    ],
)
def test_what_cannot_be_used_is_told(content, more, told, run):
    write_pool(IDS["texts"])
    pq.write_table(pa.table(content), "x.parquet")
    assert run("--exclude", "x.parquet", *more) == f"minmargin: {told}\n"


def test_files_that_do_not_go_together_or_cannot_be_read(run, tmp_path):
    write_pool(IDS["texts"])
    pq.write_table(pa.table({"doc": [7]}), "x.parquet")
    pq.write_table(pa.table({"doc": ["a"]}), "y.parquet")
    (tmp_path / "z.jsonl").write_text("{not json\n")
    both = ["--id-column", "doc", "--exclude", "x.parquet", "--exclude", "y.parquet"]
    assert run(*both) == (
        "minmargin: exclude names ids of several types ('int64', 'string'). Give those of one type.\n"
    )
    assert run("--exclude", "none.jsonl") == "minmargin: There is no file or folder 'none.jsonl'.\n"
    assert run("--exclude", "z.jsonl") == (
        "minmargin: 'z.jsonl' cannot be read as JSON lines (Expecting property name enclosed in double quotes: line 1 "
        "column 2 (char 1)). Mend or leave out the file.\n"
    )
