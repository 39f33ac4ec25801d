"use strict";

// What the explorer adds to the audit page: another network, another plan, and what the server makes of them.

function mountExplorer() {
  const byId = (id) => document.getElementById(id);
  const plan = byId("plan");
  let state, network, told;

  const drawing = mountDrawing(audit, (links, words) => {
    use({ ...network, links, estimates: [] });
    byId("form").value = "";
    byId("topology").value = "";
    audit.say(words);
    judge({ n: network.n, links });
  });

  function use(next) {
    network = next;
    told = undefined;
    drawing.use(network);
    audit.adopt(network);
  }

  /** Puts a network on the stage as the server has laid it out. */
  function stage({ graph, data, wide, facts, guarantees }) {
    byId("stage").innerHTML = graph;
    document.querySelector(".split").classList.toggle("broad", wide);
    use(data);
    guaranteed({ facts, guarantees });
  }

  function guaranteed({ facts, guarantees }) {
    byId("facts").textContent = facts;
    byId("guarantees").innerHTML = guarantees;
  }

  function complain(error) {
    if (error.name === "AbortError") return;
    audit.say(capital(error.message), true);
  }

  const choose = lastOf(0, async (signal, asked) => {
    try {
      stage(await ask("/network", asked, { signal }));
    } catch (error) {
      complain(error);
    }
  });

  const judge = lastOf(150, async (signal, drawn) => {
    try {
      guaranteed(await ask("/network", drawn, { signal }));
    } catch (error) {
      if (error.name === "AbortError") return;
      byId("guarantees").replaceChildren(element("p", { className: "wrong" }, `${capital(error.message)}.`));
      byId("facts").textContent = `drawn · ${drawn.n} agents · ${drawn.links.length} links`;
    }
  });

  function question() {
    if (!plan.reportValidity()) return null;
    const { coalition, algorithm } = state;
    return {
      n: network.n,
      links: network.links,
      algorithm,
      delta: byId("delta").valueAsNumber,
      persistent: algorithm === "rss-nb" ? byId("persistent").valueAsNumber : 0,
      rounds: byId("rounds").valueAsNumber,
      coalition,
      threat: byId("threat").value,
      minima: byId("minima").value,
    };
  }

  const foretell = lastOf(200, async (signal, asked) => {
    byId("forecast-words").textContent = "Estimating …";
    try {
      const found = await ask("/estimate", asked, { signal });
      audit.estimate([found]);
      showLeakage(found);
    } catch (error) {
      if (error.name === "AbortError") return;
      showLeakage(null, `${capital(error.message)}.`);
    }
  });

  function described({ exact, rounds, prior, planned }, agents) {
    const known = exact.length ? `Known exactly: the gradients of ${caller(null).named(exact)}. ` : "";
    if (!agents.length) return known;
    return `${known}${exact.length ? "Of the others" : "Of each gradient"}: the standard deviation that the listener is ` +
      `left with, over ${planned > rounds.at(-1) ? "the first " : ""}${rounds.at(-1).toLocaleString("en")} rounds; ` +
      `it is ${prior} before it listens.`;
  }

  function showLeakage(found, words) {
    const box = byId("leakage-chart");
    const last = ({ points }) => points.at(-1)[1];
    const agents = Object.entries(found?.sd ?? {}).filter(([agent]) => !found.exact.includes(Number(agent)))
      .map(([agent, sd]) => ({ agent, points: found.rounds.map((k, place) => [k, sd[place]]) }));
    byId("forecast-words").textContent = words ?? described(found, agents);
    if (!agents.length) {
      drawChart(box, { curves: [] });
      return;
    }
    const best = agents.reduce((one, other) => (last(other) < last(one) ? other : one));
    const kind = { "function-sharing": "c3", "rss-nb": "c1", "rss-lb": "c2", dgd: "c0" }[found.algorithm];
    drawChart(box, {
      curves: [
        ...agents.filter((one) => one !== best).map(({ points }) => ({ kind: `${kind} faint`, points })),
        { label: `agent ${best.agent}, known best`, kind, points: best.points },
      ],
      across: "round k",
      up: "standard deviation",
      lowest: 1e-9 * found.prior,
      alt: `What stays unknown of each gradient, against rounds; of agent ${best.agent}, known best, ` +
        `from ${plain(best.points[0][1])} to ${plain(last(best))}`,
    });
  }

  /** Asks anew when the plan or the coalition is another. */
  function follow() {
    byId("anchor-field").hidden = state.algorithm !== "rss-nb";
    const asked = question();
    const same = JSON.stringify(asked);
    if (!asked || same === told) return;
    told = same;
    foretell.stop(); // what is on its way answers another question
    if (!asked.coalition.length && asked.threat === "coalition") {
      showLeakage(null, "Nobody listens: choose colluders in the graph, or an eavesdropper.");
    } else if (state.honest.length < 2) {
      showLeakage(null, "Nobody is left to hide behind: choose fewer colluders.");
    } else foretell(asked);
  }

  plan.addEventListener("submit", (event) => {
    event.preventDefault();
    choose({ topology: byId("topology").value });
  });
  byId("form").addEventListener("change", () => {
    byId("topology").value = byId("form").value;
    choose({ topology: byId("topology").value });
  });
  byId("tidy").addEventListener("click", () => choose({ n: network.n, links: network.links }));
  plan.addEventListener("input", (event) => {
    if (!["form", "topology"].includes(event.target.id) && event.target.checkValidity()) follow();
  });
  mountRun(question);
  network = JSON.parse(byId("audit-data").textContent);
  drawing.use(network);
  audit.listen((now) => {
    state = now;
    follow();
  });
}

mountExplorer();
