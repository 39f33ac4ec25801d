"use strict";

// A run that is watched while it plays, and can be called off.

const KINDS = { DGD: "c0", "RSS-NB": "c1", "RSS-LB": "c2", FS: "c3" };

const DEPTH = 1e-12; // of the largest gap: what lies deeper is near rounding

function mountRun(plan) {
  const byId = (id) => document.getElementById(id);
  const [start, cancel, bar, words] = ["run", "cancel", "progress", "run-words"].map(byId);
  let source, name, curves;

  async function begin() {
    end();
    const question = plan();
    if (!question) return;
    curves = new Map();
    drawChart(byId("run-chart"), { curves: [] });
    running(true);
    say("Compiling …");
    try {
      ({ run: name } = await ask("/runs", question));
    } catch (error) {
      running(false);
      say(`${capital(error.message)}.`, true);
      return;
    }
    source = new EventSource(address(`/runs/${name}/events`));
    source.addEventListener("message", (message) => take(JSON.parse(message.data)));
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) finish("The explorer has stopped; the run with it.", true);
    });
  }

  function take(event) {
    if (event.kind === "progress") progress(event);
    else if (event.kind === "failed") finish(`${capital(event.message)}.`, true);
    else if (event.kind === "cancelled") finish("Cancelled.");
    else {
      const ends = event.results.map((one) => `${one.name} is ${plain(one.gap)}`).join(" and ");
      const broken = event.results.find((one) => one.broken);
      const { claim } = event.results.at(-1);
      finish(broken ? `${broken.name} diverged.` : `${ends} from the optimum. ${capital(claim)}.`);
    }
  }

  function progress({ name, done, rounds, points }) {
    if (!curves.has(name)) curves.set(name, []);
    curves.get(name).push(...points);
    bar.max = rounds;
    bar.value = done;
    say(done ? `${name}: ${done.toLocaleString("en")} of ${rounds.toLocaleString("en")} rounds.` : `${name}: compiling …`);
    show();
  }

  function show() {
    const drawn = [...curves].map(([label, points]) => ({ label, kind: KINDS[label], points }));
    const alt = drawn.filter((one) => one.points.length).map(({ label, points }) =>
      `${label} from ${plain(points[0][1])} to ${plain(points.at(-1)[1])}`).join("; ");
    const first = Math.max(...drawn.flatMap((one) => one.points.map(([, gap]) => gap)), 0);
    drawChart(byId("run-chart"), {
      lowest: DEPTH * first, curves: drawn, across: "round k", up: "gap to the optimum", alt: `Gap against rounds: ${alt}`,
    });
  }

  function say(text, wrong = false) {
    words.textContent = text;
    words.classList.toggle("wrong", wrong);
  }

  function running(is) {
    start.disabled = is;
    cancel.disabled = !is;
    bar.hidden = !is;
    bar.value = 0;
  }

  function end() {
    source?.close();
    source = undefined;
  }

  function finish(text, wrong = false) {
    end();
    running(false);
    say(text, wrong);
  }

  start.addEventListener("click", begin);
  cancel.addEventListener("click", () => ask(`/runs/${name}`, undefined, { method: "DELETE" }).catch(
    (error) => finish(error.message, true)));
}
