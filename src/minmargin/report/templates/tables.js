"use strict";
// Tables with the class "sortable": a button in each heading sorts by that column, a field filters by texts,
// of which a row must have all that stand there between commas, lists filter by groups, boxes choose columns,
// and long tables have pages.
// Without this script the table stands there whole. Contents are only ever read as text.
const ROWS_OF_A_PAGE = 50;
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  let rows = Array.from(body.rows);
  const keyOf = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent;
  const headings = Array.from(table.tHead.rows[0].cells);
  const part = (name) => document.querySelector(`[data-${name}="${table.id}"]`);
  const count = (number) => number.toLocaleString("en");

  // A page is a part of the rows that pass the filter. On paper all of these are printed.
  const pagers = Array.from(document.querySelectorAll(`[data-pages="${table.id}"]`));
  let page = 0;
  const turnTo = (wanted) => {
    const passing = rows.filter((row) => !row.hidden);
    const last = Math.max(Math.ceil(passing.length / ROWS_OF_A_PAGE) - 1, 0);
    page = Math.min(Math.max(wanted, 0), last);
    const first = page * ROWS_OF_A_PAGE;
    const end = Math.min(first + ROWS_OF_A_PAGE, passing.length);
    passing.forEach((row, place) => row.classList.toggle("elsewhere", pagers.length > 0 && (place < first || place >= end)));
    for (const pager of pagers) {
      pager.hidden = last === 0;
      pager.querySelector("span").textContent = `${count(first + 1)} to ${count(end)} of ${count(passing.length)}`;
      for (const button of pager.querySelectorAll("button")) button.disabled = page === (button.value < 0 ? 0 : last);
    }
  };
  pagers.forEach((pager, place) => {
    pager.addEventListener("click", (event) => {
      if (event.target.tagName !== "BUTTON") return;
      turnTo(page + Number(event.target.value));
      if (place > 0) pagers[0].scrollIntoView(); // the page begins above
    });
  });

  headings.forEach((heading, column) => {
    const numeric = heading.classList.contains("n");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    const inOrder = rows;
    button.addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const direction = descending ? -1 : 1;
      const keyed = inOrder.map((row, place) => [keyOf(row, column), place, row]);
      keyed.sort(([a, i], [b, j]) => {
        if (a === b) return i - j;
        if (a === "" || b === "") return a === "" ? 1 : -1; // what is missing comes last, whichever the direction
        return direction * (numeric ? a - b : a.localeCompare(b, undefined, { numeric: true })) || i - j;
      });
      rows = keyed.map(([, , row]) => row);
      body.append(...rows);
      turnTo(0);
    });
  });

  const choice = part("columns");
  if (choice) {
    choice.hidden = false;
    const show = (box) => {
      for (const row of [table.tHead.rows[0], ...rows]) row.cells[Number(box.value)].hidden = !box.checked;
    };
    for (const box of choice.querySelectorAll("input")) {
      box.addEventListener("change", () => show(box));
      if (!box.checked) show(box);
    }
  }

  const form = part("filters");
  if (form) {
    form.hidden = false;
    const input = form.querySelector("input");
    const lists = Array.from(form.querySelectorAll("select"));
    const texts = new Map(
      rows.map((row) => [row, Array.from(row.cells, (cell) => cell.textContent).join("\n").toLocaleLowerCase()]),
    );
    const filter = () => {
      const wanted = input.value.toLocaleLowerCase().split(",").map((word) => word.trim()).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const inGroups = lists.every((list) => list.value === "" || row.dataset[list.dataset.by] === list.value);
        row.hidden = !(inGroups && wanted.every((word) => texts.get(row).includes(word)));
        if (!row.hidden) shown += 1;
      }
      form.querySelector("output").textContent = `${count(shown)} of ${count(rows.length)} rows`;
      turnTo(0);
    };
    input.addEventListener("input", filter);
    for (const list of lists) list.addEventListener("change", filter);
    filter();
  }
}
