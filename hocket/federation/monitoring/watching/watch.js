"use strict";

// Asks for the present every second, and changes only those parts of the page that are no longer true.

const EVERY = 1000;
const seen = document.getElementById("seen");
const said = document.getElementById("said");
const pause = document.getElementById("pause");

function paused() {
  return pause.getAttribute("aria-pressed") === "true";
}

async function look() {
  let answer;
  try {
    answer = await fetch("now");
  } catch {
    answer = undefined;
  }
  if (!answer || !answer.ok) {
    const why = answer ? (await answer.text()).trim() : "the watching has ended: start hocket peer watch --web again";
    said.textContent = why;
    said.classList.add("wrong");
    return;
  }
  const fresh = document.createElement("template");
  fresh.innerHTML = await answer.text();
  said.textContent = "";
  said.classList.remove("wrong");
  show(fresh.content);
  document.title = answer.headers.get("X-Title") || document.title;
}

function show(fresh) {
  const names = (from) => [...from.querySelectorAll("[data-part]")].map((one) => one.dataset.part).join();
  if (names(fresh) !== names(seen)) {
    seen.replaceChildren(...fresh.children);
    return;
  }
  for (const part of fresh.querySelectorAll("[data-part]")) {
    const old = seen.querySelector(`[data-part="${part.dataset.part}"]`);
    if (old.innerHTML !== part.innerHTML) old.replaceWith(part);
  }
}

pause.addEventListener("click", () => {
  pause.setAttribute("aria-pressed", String(!paused()));
  said.textContent = paused() ? "Paused." : "";
});

(async function go() {
  for (;;) {
    await new Promise((done) => { setTimeout(done, EVERY); });
    if (!paused() && !document.hidden) await look();
  }
})();
