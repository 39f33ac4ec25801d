"use strict";

// The graph and its controls: who colludes is the only thing a person changes, everything else follows from it.

const SMALLEST = 0.65; // of its full size, to which a drawing may shrink: its numbers must be legible

function mountAudit(first) {
  const byId = (id) => document.getElementById(id);
  const stage = byId("stage");
  const past = [];
  const listeners = [];
  let data, agents, call, near;
  let coalition = [];
  let press = toggle;

  const repaired = () => Boolean(byId("repaired")?.checked);
  const algorithm = () => document.querySelector("[name=algorithm]:checked").value;

  /** Takes up a network whose graph stands on the stage. */
  function adopt(next) {
    data = next;
    agents = [...stage.querySelectorAll(".agent")];
    call = caller(data.labels);
    near = {
      now: neighbourLists(data.n, data.links),
      repaired: neighbourLists(data.n, [...data.links, ...data.added]),
    };
    byId("graph").style.minWidth = `${SMALLEST * byId("graph").viewBox.baseVal.width}px`;
    past.length = 0;
    coalition = coalition.filter((agent) => agent < data.n);
  }

  function choose(members) {
    if (members.join() === coalition.join()) return;
    past.push(coalition);
    coalition = members;
    show();
  }

  function toggle(agent) {
    choose(ascending(coalition.includes(agent) ? coalition.filter((one) => one !== agent) : [...coalition, agent]));
  }

  function look() {
    const links = repaired() ? near.repaired : near.now;
    return { links, found: singledOut(links, coalition) };
  }

  function show() {
    const { links, found } = look();
    showGraph(found, links);
    showCards();
    byId("headline").textContent = heading(found, links) + (repaired() ? " This is with the repair." : "");
    byId("hint").hidden = coalition.length > 0;
    byId("undo").disabled = !past.length;
    byId("clear").disabled = !coalition.length;
    byId("typed").value = coalition.join(", ");
    say("");
    for (const button of document.querySelectorAll("[data-coalition]")) {
      button.setAttribute("aria-pressed", String(button.dataset.coalition === coalition.join()));
    }
    const hash = coalition.join() + (repaired() ? "+repair" : "");
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    listeners.forEach((hear) => hear({ data, coalition, algorithm: algorithm(), honest: found.honest }));
  }

  /** The verdict on each algorithm, or only on the one that is chosen, where it is chosen for more than marks. */
  function judged(found, links) {
    if (!coalition.length || !found.honest.length) return [];
    const others = data.algorithms.other ? [unjudged(data.algorithms.other)] : [];
    return [...judgements(found, call, links), ...others]
      .filter(({ key }) => key in data.algorithms && (!data.chosen || key === algorithm()));
  }

  function heading(found, links) {
    if (!data.chosen || !coalition.length || found.honest.length < 2) return headline(found, call);
    const [{ key, title, verdict }] = judged(found, links);
    return `${accused(found, call)} Under ${key === "function-sharing" ? "function sharing" : title}: ${verdict}.`;
  }

  function showCards() {
    const { links, found } = look();
    const verdicts = judged(found, links);
    byId("cards").replaceChildren(...verdicts.map((one) => card(one, estimatesFor(one.key))));
    showCommand(verdicts.length > 0 && found.honest.length > 1);
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
    for (const line of stage.querySelectorAll(".link")) {
      const ends = [Number(line.dataset.from), Number(line.dataset.to)];
      line.classList.toggle("seen", ends.some((end) => coalition.includes(end)));
    }
    byId("graph").classList.toggle("repaired", repaired());
    byId("legend").dataset.algorithm = under;
    byId("legend").dataset.asked = String(coalition.length > 0);
  }

  /** What was worked out beforehand is about the network as it is. */
  function estimatesFor(key) {
    if (repaired()) return [];
    return data.estimates.filter((one) => one.algorithm === key && one.coalition.join() === coalition.join());
  }

  function showCommand(wanted) {
    if (!byId("estimate")) return;
    byId("estimate").hidden = !wanted || !data.asking || repaired();
    byId("estimate-command").textContent = `${data.asking} ${coalition.join()}`;
  }

  function say(text, wrong = false) {
    byId("message").textContent = text;
    byId("message").classList.toggle("wrong", wrong);
  }

  function read(text) {
    const { agents: members, wrong } = readCoalition(text, data.n);
    if (wrong === undefined) choose(members);
    else say(`“${wrong}” names no agent; they are numbered 0 to ${data.n - 1}.`, true);
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
    if (event.key === "Enter" || event.key === " ") press(agent);
    else if (event.key in moves) moveTo((moves[event.key] + data.n) % data.n);
    else return;
    event.preventDefault();
  }

  stage.addEventListener("keydown", onKey);
  stage.addEventListener("click", (event) => {
    const shape = event.target.closest(".agent");
    if (!shape) return;
    press(Number(shape.dataset.agent));
    moveTo(Number(shape.dataset.agent));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-coalition]");
    if (!button) return;
    read(button.dataset.coalition);
    if (!button.closest(".tools")) byId("ask").scrollIntoView();
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
  adopt(first);
  coalition = data.coalition;
  show();
  if (link) readLink(link);
  return {
    adopt(next) { adopt(next); show(); },
    estimate(found) { data.estimates = found; showCards(); },
    listen(hear) { listeners.push(hear); show(); },
    /** What a press on an agent does: by default it joins the coalition or leaves it. */
    onPress(action) { press = action ?? toggle; },
    say,
  };
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
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

const audit = mountAudit(JSON.parse(document.getElementById("audit-data").textContent));
