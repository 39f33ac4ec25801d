"use strict";

// The graph and its controls: who colludes is the only thing a person changes, everything else follows from it.

function mountAudit(data) {
  const byId = (id) => document.getElementById(id);
  const svg = byId("graph");
  const agents = [...svg.querySelectorAll(".agent")];
  const lines = [...svg.querySelectorAll(".link")];
  const call = caller(data.labels);
  const near = {
    now: neighbourLists(data.n, data.links),
    repaired: neighbourLists(data.n, [...data.links, ...data.added]),
  };
  const past = [];
  let coalition = [];

  const repaired = () => Boolean(byId("repaired")?.checked);
  const algorithm = () => document.querySelector("[name=algorithm]:checked").value;

  function choose(members) {
    if (members.join() === coalition.join()) return;
    past.push(coalition);
    coalition = members;
    show();
  }

  function toggle(agent) {
    choose(ascending(coalition.includes(agent) ? coalition.filter((one) => one !== agent) : [...coalition, agent]));
  }

  function show() {
    const links = repaired() ? near.repaired : near.now;
    const found = singledOut(links, coalition);
    showGraph(found, links);
    byId("headline").textContent = headline(found, call) + (repaired() ? " This is with the repair." : "");
    byId("hint").hidden = coalition.length > 0;
    const judged = coalition.length && found.honest.length ? judgements(found, call, links) : [];
    byId("cards").replaceChildren(...judged.map((one) => card(one, estimatesFor(one.key))));
    showCommand(judged.length > 0 && found.honest.length > 1);
    byId("undo").disabled = !past.length;
    byId("clear").disabled = !coalition.length;
    byId("typed").value = coalition.join(", ");
    byId("message").textContent = "";
    for (const button of document.querySelectorAll("[data-coalition]")) {
      button.setAttribute("aria-pressed", String(button.dataset.coalition === coalition.join()));
    }
    const hash = coalition.join() + (repaired() ? "+repair" : "");
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function showGraph(found, links) {
    const under = algorithm();
    agents.forEach((shape, agent) => {
      const { kind, sign, words } = markOf(agent, found, under);
      const others = links[agent].length === 1 ? "neighbour" : "neighbours";
      shape.setAttribute("class", `agent ${kind}`);
      shape.setAttribute("aria-pressed", String(kind === "colluder"));
      shape.setAttribute("aria-label", `${call.named([agent])}, ${words}, ${others} ${call.list(links[agent])}`);
      shape.querySelector(".sign").textContent = sign;
    });
    for (const line of lines) {
      const ends = [Number(line.dataset.from), Number(line.dataset.to)];
      line.classList.toggle("seen", ends.some((end) => coalition.includes(end)));
    }
    svg.classList.toggle("repaired", repaired());
    byId("legend").dataset.algorithm = under;
    byId("legend").dataset.asked = String(coalition.length > 0);
  }

  /** What was worked out beforehand is about the network as it is. */
  function estimatesFor(key) {
    if (repaired()) return [];
    return data.estimates.filter((one) => one.algorithm === key && one.coalition.join() === coalition.join());
  }

  function showCommand(wanted) {
    byId("estimate").hidden = !wanted || !data.asking || repaired();
    byId("estimate-command").textContent = `${data.asking} ${coalition.join()}`;
  }

  function read(text) {
    const { agents: members, wrong } = readCoalition(text, data.n);
    if (wrong === undefined) choose(members);
    else byId("message").textContent = `“${wrong}” names no agent; they are numbered 0 to ${data.n - 1}.`;
  }

  /** A link such as page.html#1,4 or page.html#1,4+repair carries what was selected. */
  function readLink(link) {
    const [members, repair] = link.slice(1).split("+");
    if (byId("repaired")) byId("repaired").checked = repair === "repair";
    show();
    read(members);
  }

  function moveTo(agent) {
    agents.forEach((shape) => shape.setAttribute("tabindex", "-1"));
    agents[agent].setAttribute("tabindex", "0");
    agents[agent].focus();
  }

  function onKey(event) {
    const shape = event.target.closest(".agent");
    if (!shape || event.ctrlKey || event.metaKey || event.altKey) return;
    const agent = Number(shape.dataset.agent);
    const moves = {
      ArrowRight: agent + 1, ArrowDown: agent + 1, ArrowLeft: agent - 1, ArrowUp: agent - 1, Home: 0, End: data.n - 1,
    };
    if (event.key === "Enter" || event.key === " ") toggle(agent);
    else if (event.key in moves) moveTo((moves[event.key] + data.n) % data.n);
    else return;
    event.preventDefault();
  }

  svg.addEventListener("keydown", onKey);
  svg.addEventListener("click", (event) => {
    const shape = event.target.closest(".agent");
    if (!shape) return;
    toggle(Number(shape.dataset.agent));
    moveTo(Number(shape.dataset.agent));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.copy) copyText(byId(button.dataset.copy), button);
    if (button?.dataset.coalition) {
      read(button.dataset.coalition);
      if (!button.closest(".tools")) byId("ask").scrollIntoView();
    }
  });
  byId("clear").addEventListener("click", () => choose([]));
  byId("undo").addEventListener("click", () => {
    coalition = past.pop() ?? [];
    show();
  });
  byId("choose").addEventListener("submit", (event) => {
    event.preventDefault();
    read(byId("typed").value);
  });
  document.querySelectorAll("[name=algorithm], #repaired").forEach((input) => input.addEventListener("change", show));
  window.addEventListener("hashchange", () => readLink(location.hash));

  const link = location.hash;
  coalition = data.coalition;
  show();
  if (link) readLink(link);
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Copies what an element says, or selects it for the reader to copy where the browser does not let a page do so. */
async function copyText(source, button) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

/** One algorithm's verdict, why, and what was estimated beforehand. */
function card({ key, title, tone, verdict, reasons }, estimates) {
  const box = element("article", { className: `card ${tone}` },
    element("h3", {}, title, element("span", { className: "verdict" }, verdict)),
    ...reasons.map((reason) => element("p", {}, reason)),
    ...estimates.map(({ lines: [first, ...rest] }) => element("div", { className: "estimate" },
      element("p", {}, `Estimated, ${first}`),
      element("ul", {}, ...rest.map((line) => element("li", {}, line))))));
  box.dataset.algorithm = key;
  return box;
}

mountAudit(JSON.parse(document.getElementById("audit-data").textContent));
