// Follows what goes on: the page of a run takes in what is new, the list of runs is looked at anew. Without this script
// everything can be read all the same, by loading a page again. Only HTML of the server's own templates is put in.
"use strict";

const LIST_MS = 3000;

async function read(address) {
  // A session that has run out is led to the form to sign in, which must not be taken for an answer.
  const answer = await fetch(address, { redirect: "error" });
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

async function followRuns() {
  try {
    const fresh = document.hidden ? document : await read(location.href);
    for (const part of document.querySelectorAll("[data-refresh]")) {
      const next = fresh.getElementById(part.id);
      if (next.innerHTML === part.innerHTML) continue;
      const place = document.activeElement?.id;
      part.replaceChildren(...next.childNodes);
      if (place) document.getElementById(place)?.focus({ preventScroll: true });
    }
  } catch {
    // The server is not there just now, or wants a new session; the next look, or a click, will tell.
  }
  setTimeout(followRuns, LIST_MS);
}

const live = document.getElementById("live");
if (live) followRun(live);
const list = document.getElementById("runs");
if (list) setTimeout(followRuns, LIST_MS);
