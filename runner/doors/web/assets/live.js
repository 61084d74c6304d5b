// Follows what goes on: the page of a run takes in what is new, the list of runs is looked at anew. Without this script
// everything can be read all the same, by loading a page again. Only HTML of the server's own templates is put in.
"use strict";

const LIST_MS = 3000;
const MOST_MISSED = 3; // looks at the list in a row, as when a server starts anew

class SignedOut extends Error {}

async function read(address) {
  // A session that has run out is led to the form to sign in, which must not be taken for an answer.
  const answer = await fetch(address, { redirect: "manual" });
  if (answer.type === "opaqueredirect") throw new SignedOut();
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function stale() {
  const now = document.getElementById("now");
  if (now) now.textContent = "This page no longer follows the run. Load it again.";
}

function takeIn(fresh) {
  for (const part of fresh.querySelectorAll("[data-into]")) {
    document.getElementById(part.dataset.into).replaceChildren(...part.childNodes);
  }
  for (const part of fresh.querySelectorAll("[data-onto]")) {
    document.getElementById(part.dataset.onto).append(...part.children);
  }
}

async function showEnd(address) {
  const ended = (await read(address)).querySelector("main");
  // What a reader has opened stays open.
  for (const open of document.querySelectorAll("li[id] > details[open]")) {
    const same = ended.querySelector(`#${CSS.escape(open.parentElement.id)} > details`);
    if (same) same.open = true;
  }
  document.querySelector("main").replaceWith(ended);
}

function followRun(live) {
  let { after } = live.dataset;
  let busy = false, more = false, over = false;
  const source = new EventSource(live.dataset.events);
  const look = async () => {
    more = true;
    if (busy) return;
    busy = true;
    try {
      while (more) {
        more = false;
        if (over) return await showEnd(live.dataset.run);
        const fresh = await read(`${live.dataset.run}/live?after=${after}`);
        ({ after } = fresh.getElementById("fresh").dataset);
        takeIn(fresh);
      }
    } catch {
      source.close();
      stale();
    } finally {
      busy = false;
    }
  };
  source.addEventListener("changed", look);
  source.addEventListener("ended", () => {
    source.close();
    over = true;
    look();
  });
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) stale(); // refused; a connection that broke is made again
  });
}

function listIsStale(error) {
  const again = document.createElement("a");
  again.href = location.pathname;
  again.textContent = error instanceof SignedOut ? "Sign in again" : "Load it again";
  const said = error instanceof SignedOut ? "You are signed out: this list no longer follows the runs. "
    : "This list no longer follows the runs. ";
  document.getElementById("running").replaceChildren(said, again, ".");
}

async function followRuns(missed = 0) {
  let next = 0;
  try {
    const fresh = document.hidden ? document : await read(location.href);
    for (const part of document.querySelectorAll("[data-refresh]")) {
      const now = fresh.getElementById(part.id);
      if (now.innerHTML === part.innerHTML) continue;
      const place = document.activeElement?.id;
      part.replaceChildren(...now.childNodes);
      if (place) document.getElementById(place)?.focus({ preventScroll: true });
    }
  } catch (error) {
    next = missed + 1;
    if (error instanceof SignedOut || next >= MOST_MISSED) return listIsStale(error);
  }
  setTimeout(followRuns, LIST_MS * (next + 1), next);
}

const live = document.getElementById("live");
if (live) followRun(live);
const list = document.getElementById("runs");
if (list) setTimeout(followRuns, LIST_MS);
