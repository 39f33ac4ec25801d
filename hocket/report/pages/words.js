"use strict";

// What the sets mean, in plain words, for each algorithm.

const SHOWN = 12; // agents named before the rest are only counted

/** How agents are called: "agent 2", "agents 2, 3 and 5", with their labels where they have some. */
function caller(labels) {
  const one = (agent) => (labels ? `${agent} (${labels[agent]})` : String(agent));
  const list = (agents) => {
    const words = agents.map(one);
    if (words.length > SHOWN + 1) words.splice(SHOWN, words.length, `${words.length - SHOWN} more`);
    return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
  };
  const named = (agents) => `${agents.length === 1 ? "agent" : "agents"} ${list(agents)}`;
  const some = (agents, all) => {
    if (agents.length <= 4) return named(agents);
    return agents.length === all.length ? `the ${all.length} honest agents` : `${agents.length} of the honest agents`;
  };
  return { list, named, some };
}

/** Group 0 is A, group 1 is B, and after Z comes AA. */
function letter(index) {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : letter(Math.floor(index / 26) - 1) + last;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const either = (agents, one, several) => (agents.length === 1 ? one : several);

function accused(found, call) {
  return `${capital(call.named(found.coalition))} ${either(found.coalition, "colludes", "collude")}.`;
}

/** One sentence or two for readers in a hurry; also what a screen reader says after each change. */
function headline(found, call) {
  if (!found.coalition.length) return "Nobody colludes yet.";
  const who = accused(found, call);
  if (!found.honest.length) return "Everybody colludes: nobody is left who could hide anything.";
  if (found.honest.length === 1) {
    return `Everybody but ${call.named(found.honest)} colludes. It has nothing left to hide behind, ` +
      "whatever the algorithm: its objective is exposed exactly.";
  }
  if (found.p2) return `${who} Under function sharing nobody is singled out.`;
  const exposed = [];
  if (found.surrounded.length) {
    exposed.push(`${call.named(found.surrounded)} ${either(found.surrounded, "is", "are")} exposed exactly`);
  }
  if (found.groups.length > 3) exposed.push(`the sums over ${found.groups.length} groups are exposed`);
  else {
    found.groups.forEach((group, index) => {
      const members = group.length > 6 ? `the ${group.length} agents of group ${letter(index)}` : call.named(group);
      exposed.push(`the sum over ${members} is exposed`);
    });
  }
  return `${who} Under function sharing ${exposed.join("; ")}.`;
}

/** What each algorithm gives away to the coalition: a title, a verdict with its tone, and the reasons. */
function judgements(found, call, near) {
  return [
    { key: "function-sharing", title: "Function sharing", ...functionSharing(found, call, near) },
    { key: "rss-nb", title: "RSS-NB", ...withoutTheorem(found, call, "RSS-NB", (agents) =>
      `${capital(call.named(agents))} ${either(agents, "has", "have")} no honest neighbour: all noise in ` +
      `${either(agents, "its", "their")} messages is shared with colluders, who take it off again. ` +
      `${either(agents, "Its state and gradient are", "Their states and gradients are")} exposed exactly, every round.`) },
    { key: "rss-lb", title: "RSS-LB", ...withoutTheorem(found, call, "RSS-LB", (agents) =>
      `All neighbours of ${call.named(agents)} collude. The noise balances to zero over the neighbours of its sender, ` +
      `so together they read ${either(agents, "its state", "these states")} and ` +
      `${either(agents, "gradient", "gradients")} exactly, every round.`) },
    { key: "totals", title: "Totals", ...functionSharing(found, call, near, TOTALS) },
    { key: "dgd", title: "DGD", ...plainDescent(found, call) },
  ];
}

/** An algorithm about which nothing follows from the links alone. */
function unjudged(title) {
  return {
    key: "other", title, tone: "open", verdict: "no theorem",
    reasons: [`No theorem covers ${title} here, and nothing follows from the links alone: see what was estimated.`],
  };
}

/** What the two theorems call what they hide, and on what they rest. */
const FUNCTIONS = {
  part: "objective", hides: "noise",
  scope: "By Theorem 2: for separable polynomials no higher in degree than the noise, up to the width its bound buys.",
};
const TOTALS = {
  part: "contribution", hides: "masks",
  scope: "By Theorem T: whatever is summed, round by round, and however many rounds there are; for masks that are " +
    "uniform to all but the ends of a link, as ChaCha20's are to all who cannot break it.",
};

function functionSharing(found, call, near, { part, hides, scope } = FUNCTIONS) {
  if (found.p2) {
    return {
      tone: "holds",
      verdict: "P1 and P2 hold",
      reasons: [
        `Without the coalition the ${found.honest.length} honest agents still hang together. It does not know the ` +
          `${hides} they share with one another, so it can tell no single ${part} and no sum over some of them.`,
        `The sum over all ${found.honest.length} is exposed; nothing can hide that one.`,
        scope,
      ],
    };
  }
  const alone = found.surrounded.length > 3
    ? [`All neighbours of ${call.named(found.surrounded)} collude and know all their ${hides}: the ${part} of each ` +
       "is exposed exactly."]
    : found.surrounded.map((agent) =>
        `${capital(call.named([agent]))} is surrounded: ${either(near[agent], "its only neighbour", "its neighbours")} ` +
        `${call.list(near[agent])} ${either(near[agent], "colludes and knows", "all collude and know")} all its ${hides}. ` +
        `Its ${part} is exposed exactly.`);
  const heard = new Set(found.heard);
  const sums = found.groups.map((group, index) => {
    const unheard = group.filter((agent) => !heard.has(agent));
    const missed = unheard.length > 4 ? `${unheard.length} of these` : call.named(unheard);
    const all = hides === "noise" ? "all noise that leaves it is" : "all masks that lead out of it are";
    return `Group ${letter(index)}, ${call.named(group)}: ${all} shared with the coalition, so the ` +
      `sum of its ${part}s is exposed, and no ${part} inside by itself.` +
      (unheard.length && part === "objective" ? ` (The coalition receives nothing from ${missed} and must eavesdrop to finish the sum; ` +
        "count it as exposed all the same.)" : "");
  });
  return {
    tone: "exposed",
    verdict: found.p1 ? "P1 holds, P2 fails" : "P1 and P2 fail",
    reasons: [...alone, ...sums, scope],
  };
}

function withoutTheorem(found, call, name, why) {
  const others = found.honest.filter((agent) => !found.surrounded.includes(agent));
  const open = `No theorem covers ${name}: nothing is promised to ${call.some(others, found.honest)}. Noise between honest agents ` +
    "blurs one round; many rounds may average it out" + (name === "RSS-NB"
      ? ", and an eavesdropper on all links reads everything but slopes at once." : ".");
  return {
    tone: found.p1 ? "open" : "exposed",
    verdict: found.p1 ? "no theorem" : `${found.surrounded.length} exposed exactly`,
    reasons: [...(found.p1 ? [] : [why(found.surrounded)]), ...(others.length ? [open] : [])],
  };
}

function plainDescent(found, call) {
  const unheard = found.honest.filter((agent) => !found.heard.includes(agent));
  const reasons = [
    `DGD adds no noise: the coalition reads the states of ${call.named(found.heard)} as they are, every round.`,
  ];
  if (found.differenced.length) {
    reasons.push(
      `It also receives all that ${call.named(found.differenced)} ${either(found.differenced, "mixes", "mix")}, so the ` +
        "difference attack applies: what was mixed less what is sent next is the gradient times the step, every round " +
        "in which the feasible set cuts nothing off.");
  } else {
    reasons.push("It receives from no agent together with all that this agent receives, so the difference attack applies to nobody.");
  }
  if (unheard.length) {
    reasons.push(`It receives nothing from ${call.some(unheard, found.honest)}; the states it reads still carry what they know.`);
  }
  return {
    tone: "exposed",
    verdict: found.differenced.length ? `difference attack on ${found.differenced.length}` : "nothing is hidden",
    reasons,
  };
}

/** How the graph marks an agent under one algorithm: a kind, a sign beside it, and words for who cannot see it. */
function markOf(agent, found, algorithm) {
  if (found.coalition.includes(agent)) return { kind: "colluder", sign: "", words: "colluder" };
  if (!found.coalition.length) return { kind: "plain", sign: "", words: "honest" };
  const exact = { kind: "exact", sign: "!", words: "honest, exposed exactly" };
  if (found.surrounded.includes(agent)) return exact;
  if (algorithm === "dgd") {
    if (found.differenced.includes(agent)) return { ...exact, words: "honest, exposed by differences" };
    if (found.heard.includes(agent)) return { kind: "read", sign: "r", words: "honest, state read" };
    return { kind: "plain", sign: "", words: "honest, not received" };
  }
  if (!["function-sharing", "totals"].includes(algorithm)) return { kind: "open", sign: "", words: "honest, no theorem" };
  if (found.p2) return { kind: "hidden", sign: "", words: "honest, hidden among all honest agents" };
  const group = found.groups.findIndex((part) => part.includes(agent));
  return { kind: `group tint-${group % 6}`, sign: letter(group), words: `honest, in group ${letter(group)}` };
}
