"use strict";
// Tables with the class "sortable": a button in each heading sorts by that column, a field filters by texts,
// of which a row must have all that stand there between commas.
// Without this script the table stands there whole. Contents are only ever read as text.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const keyOf = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent;
  const headings = Array.from(table.tHead.rows[0].cells);

  headings.forEach((heading, column) => {
    const numeric = heading.classList.contains("n");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const direction = descending ? -1 : 1;
      const keyed = rows.map((row, place) => [keyOf(row, column), place, row]);
      keyed.sort(([a, i], [b, j]) => {
        if (a === b) return i - j;
        if (a === "" || b === "") return a === "" ? 1 : -1; // what is missing comes last, whichever the direction
        return direction * (numeric ? a - b : a.localeCompare(b, undefined, { numeric: true })) || i - j;
      });
      body.append(...keyed.map(([, , row]) => row));
    });
  });

  const form = document.querySelector(`[data-filters="${table.id}"]`);
  if (!form) continue;
  form.hidden = false;
  const input = form.querySelector("input");
  const count = form.querySelector("output");
  const texts = rows.map((row) => Array.from(row.cells, (cell) => cell.textContent).join("\n").toLocaleLowerCase());
  const filter = () => {
    const wanted = input.value.toLocaleLowerCase().split(",").map((part) => part.trim()).filter(Boolean);
    let shown = 0;
    rows.forEach((row, place) => {
      row.hidden = !wanted.every((part) => texts[place].includes(part));
      if (!row.hidden) shown += 1;
    });
    count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  };
  input.addEventListener("input", filter);
  filter();
}
