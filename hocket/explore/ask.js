"use strict";

// Questions to the server that this page came from; the token in its address goes with each of them.

const token = new URLSearchParams(location.search).get("token");

function address(path) {
  return `${path}?token=${encodeURIComponent(token)}`;
}

/** Asks, and returns the answer; throws an error whose message can be shown. */
async function ask(path, question, { method = "POST", signal } = {}) {
  let response;
  try {
    response = await fetch(address(path), { method, signal, body: question && JSON.stringify(question) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the explorer does not answer: start hocket explore again and open its new address");
  }
  const words = await response.text();
  let answer;
  try {
    answer = JSON.parse(words);
  } catch {
    throw new Error(words.trim());
  }
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Of questions that follow quickly upon one another only the last is asked, and only its answer is used. */
function lastOf(wait, work) {
  let timer, control;
  const stop = () => {
    clearTimeout(timer);
    control?.abort();
  };
  const start = (...what) => {
    stop();
    control = new AbortController();
    const { signal } = control;
    timer = setTimeout(() => work(signal, ...what).catch((error) => {
      if (error.name !== "AbortError") throw error;
    }), wait);
  };
  return Object.assign(start, { stop });
}
