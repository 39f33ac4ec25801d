"use strict";

// What a coalition can single out, as sets of agent numbers. Nothing here knows of the page; hocket.privacy says the
// same in Python, and the tests hold the two against each other on random graphs and coalitions.

/** Everybody's neighbours, in ascending order. */
function neighbourLists(n, links) {
  const near = Array.from({ length: n }, () => []);
  for (const [i, j] of links) {
    near[i].push(j);
    near[j].push(i);
  }
  return near.map(ascending);
}

/** The components of the graph without the coalition, from the lowest-numbered agent on. */
function honestComponents(near, coalition) {
  const met = new Set(coalition);
  const parts = [];
  for (let start = 0; start < near.length; start++) {
    if (met.has(start)) continue;
    met.add(start);
    const part = [start];
    for (const agent of part) { // it grows while we walk it
      for (const other of near[agent].filter((other) => !met.has(other))) {
        met.add(other);
        part.push(other);
      }
    }
    parts.push(ascending(part));
  }
  return parts;
}

/** N[A]: the coalition and everybody who speaks to one of it. */
function heardBy(near, coalition) {
  return new Set([...coalition].flatMap((member) => [member, ...near[member]]));
}

/** All that the page says about a coalition follows from these sets. */
function singledOut(near, coalition) {
  const components = honestComponents(near, coalition);
  const honest = ascending(components.flat());
  const heard = heardBy(near, coalition);
  // A component of one has no honest neighbour: N(j) ⊆ A.
  const surrounded = components.filter((part) => part.length === 1).flat();
  return {
    coalition: ascending([...coalition]),
    honest,
    components,
    surrounded,
    groups: components.filter((part) => part.length > 1),
    heard: honest.filter((agent) => heard.has(agent)),
    // N[j] ⊆ N[A]: the coalition receives from the agent and all that it mixes.
    differenced: honest.filter((agent) => [agent, ...near[agent]].every((other) => heard.has(other))),
    p1: surrounded.length === 0,
    p2: components.length === 1 && surrounded.length === 0,
  };
}

/** A coalition as people type it and links carry it, "1, 4"; `wrong` is the first word that names nobody. */
function readCoalition(text, n) {
  const words = text.split(/[\s,;]+/).filter(Boolean);
  const wrong = words.find((word) => !/^\d+$/.test(word) || Number(word) >= n);
  return { agents: wrong === undefined ? ascending([...new Set(words.map(Number))]) : [], wrong };
}

function ascending(agents) {
  return agents.sort((one, other) => one - other);
}
