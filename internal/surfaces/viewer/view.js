// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Keys and buttons. Everything can be read and reached without them.
"use strict";

const rows = () => [...document.querySelectorAll("details.row > summary, #runs tbody a")].filter((x) => x.offsetParent !== null);

function move(by) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.indexOf(document.activeElement);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function setAll(open) {
  for (const d of document.querySelectorAll("details.row")) d.open = open;
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  e: () => setAll(true),
  c: () => setAll(false),
  u: () => location.assign("/"),
  "/": () => document.getElementById("search")?.focus(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// A link to an event opens it.
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView({ block: "nearest" });
  }
}
addEventListener("hashchange", openTarget);
openTarget();

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
  help.className = "dim";
  help.textContent = "Keys: j and k go down and up, Enter opens, e opens all events, c closes them, / searches, u goes to all runs.";
  document.querySelector("main").append(help);
}
