"use strict";

// Every table with a head can be sorted by a click on a column, and back by another.

function makeSortable(table) {
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    if (!head.textContent.trim()) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, column));
    head.append(button);
  }
}

function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const downwards = heads[column].getAttribute("aria-sort") === "ascending";
  const numeric = heads[column].classList.contains("number");
  const key = (row) => row.cells[column].textContent.trim();
  const compare = (one, other) => {
    return numeric ? numberIn(one) - numberIn(other) || 0 : one.localeCompare(other, "en", { numeric: true });
  };
  const rows = [...table.tBodies[0].rows].sort((one, other) => compare(key(one), key(other)));
  table.tBodies[0].append(...(downwards ? rows.reverse() : rows));
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", downwards ? "descending" : "ascending");
}

/** The first number in a cell such as "±0.5", "10,000" or "2e-3"; what has none comes last. */
function numberIn(text) {
  const found = text.replaceAll(",", "").replace("−", "-").match(/-?\d*\.?\d+(e[+-]?\d+)?/i);
  return found ? Number(found[0]) : Infinity;
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
