// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Keys and buttons. Everything can be read and reached without them.
"use strict";

const rows = () => [...document.querySelectorAll("details.row > summary, #runs .question")].filter((x) => x.offsetParent !== null);

function move(by) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.indexOf(document.activeElement);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "center" });
}

function setAll(open) {
  for (const d of document.querySelectorAll("details.row")) d.open = open;
}

// The list that was seen last leads from run to run, and back to it.
const here = location.pathname + location.search;
if (document.getElementById("runs") || location.pathname === "/") {
  const runs = [...document.querySelectorAll("#runs .question")].map((a) => a.getAttribute("href"));
  sessionStorage.setItem("list", JSON.stringify({ at: here, runs }));
}
const list = JSON.parse(sessionStorage.getItem("list") ?? '{"at": "/", "runs": []}');
const beside = (by) => (list.runs.includes(here) ? list.runs[list.runs.indexOf(here) + by] : undefined);
const home = document.querySelector('.bar > a[href="/"]');
if (home) {
  home.href = list.at;
  for (const [by, text, name] of [[-1, "↑", "Run before"], [1, "↓", "Run after"]]) {
    if (!beside(by)) continue;
    const a = document.createElement("a");
    [a.href, a.textContent, a.title, a.className] = [beside(by), text, name, "step"];
    a.setAttribute("aria-label", name);
    home.parentElement.insertBefore(a, home.parentElement.querySelector("form"));
  }
}
function go(to) {
  if (to) location.assign(to);
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  n: () => go(beside(1)),
  p: () => go(beside(-1)),
  x: () => document.activeElement.closest("#runs tr")?.querySelector("input").click(),
  e: () => setAll(true),
  c: () => setAll(false),
  u: () => go(list.at),
  "/": () => document.getElementById("search")?.focus(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// Two runs are compared: a third one that is checked takes the place of the first.
const chosen = [...document.querySelectorAll("#runs [name=run]:checked")];
function choose() {
  while (chosen.length > 2) chosen.shift().checked = false;
  document.querySelector("[form=compare]:not(input)").disabled = chosen.length !== 2;
  document.getElementById("checked").textContent = chosen.length === 2 ? "" : "Check one more run.";
}
document.getElementById("runs")?.addEventListener("change", (event) => {
  const at = chosen.indexOf(event.target);
  if (at >= 0) chosen.splice(at, 1);
  if (event.target.checked) chosen.push(event.target);
  choose();
});

// A link to an event opens it.
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (const d of [target.closest("details"), target.querySelector("details")]) if (d && d.closest("section:target, .row")) d.open = true;
  target.scrollIntoView({ block: "nearest" });
}
addEventListener("hashchange", openTarget);
openTarget();

// What was looked for in a run is marked where it stands.
const word = new URLSearchParams(location.search).get("find")?.toLowerCase();
if (word && CSS.highlights) {
  const found = new Highlight();
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.data.toLowerCase();
    if (text.length !== texts.currentNode.data.length) continue; // a letter whose small form is longer
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      found.add(new StaticRange({ startContainer: texts.currentNode, startOffset: at, endContainer: texts.currentNode, endOffset: at + word.length }));
    }
  }
  CSS.highlights.set("found", found);
}

for (const line of document.querySelectorAll(".command")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(line.querySelector("code").textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(line.querySelector("code"));
      button.textContent = "Selected";
    }
  });
  line.append(button);
}

if (rows().length > 0) {
  const help = document.createElement("p");
  help.className = "label";
  help.textContent = document.getElementById("runs")
    ? "Keys: j and k go down and up, Enter opens, x checks a run to compare it, / searches."
    : "Keys: j and k go down and up, Enter opens, e opens all events, c closes them, / finds, n and p go to the runs after and before, u goes back to the list.";
  document.querySelector("main").append(help);
}
