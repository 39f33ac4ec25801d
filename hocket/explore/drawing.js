"use strict";

// Drawing links: a press on one agent and then on another links them, or takes their link away.

function mountDrawing(audit, changed) {
  const byId = (id) => document.getElementById(id);
  let network, picked = null;

  const drawing = () => document.querySelector("[name=mode]:checked").value === "link";

  function pick(agent) {
    picked = agent;
    document.querySelectorAll("#graph .agent").forEach((one) => {
      one.classList.toggle("picked", Number(one.dataset.agent) === agent);
    });
  }

  function press(agent) {
    if (picked === null) {
      pick(agent);
      audit.say(`A link from agent ${agent}: press the agent at its other end, or Escape.`);
      return;
    }
    const from = picked;
    pick(null);
    if (from === agent) audit.say("");
    else toggle(Math.min(from, agent), Math.max(from, agent));
  }

  function toggle(i, j) {
    const there = network.links.some(([one, other]) => one === i && other === j);
    const links = there
      ? network.links.filter(([one, other]) => one !== i || other !== j)
      : [...network.links, [i, j]].sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    if (there) document.querySelector(`.link[data-from="${i}"][data-to="${j}"]`).remove();
    else drawLine(i, j);
    changed(links, there ? `The link ${i}–${j} is gone.` : `Agents ${i} and ${j} are linked.`);
  }

  function drawLine(i, j) {
    const [from, to] = [i, j].map((agent) =>
      document.querySelector(`#graph [data-agent="${agent}"]`).transform.baseVal.getItem(0).matrix);
    document.querySelector("#graph .links").append(shape("line", {
      class: "link", "data-from": i, "data-to": j, x1: from.e, y1: from.f, x2: to.e, y2: to.f,
    }));
  }

  byId("mode").addEventListener("change", () => {
    pick(null);
    audit.onPress(drawing() ? press : null);
    byId("drawing-tools").hidden = !drawing();
    audit.say(drawing() ? "Press two agents to link them, or to take their link away." : "");
  });
  byId("stage").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || picked === null) return;
    pick(null);
    audit.say("");
  });
  byId("unlink").addEventListener("click", () => {
    document.querySelectorAll("#graph .link").forEach((line) => line.remove());
    changed([], "All links are gone; press two agents to link them.");
  });
  return { use(next) { network = next; picked = null; } };
}
