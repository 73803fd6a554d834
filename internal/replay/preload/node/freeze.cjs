// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Gives a program the clock of a recorded run, and seeded random numbers and UUIDs. The clock is that of the system, moved: it ticks.
// process.hrtime and performance.now stay as they are, and so do bytes of crypto.
//
// Environment: TAPEDECK_FREEZE_OFFSET (nanoseconds to add to the clock; without it nothing is changed), TAPEDECK_FREEZE_SEED,
// TAPEDECK_PRELOAD_REPORT.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");
const { threadId } = require("node:worker_threads");

exports.install = function install() {
  const offset = Math.trunc(Number(process.env.TAPEDECK_FREEZE_OFFSET) / 1e6);
  clock(offset);
  numbers((process.env.TAPEDECK_FREEZE_SEED ?? "") + process.argv.join(" ") + threadId);
  const report = process.env.TAPEDECK_PRELOAD_REPORT;
  if (report && threadId === 0) fs.appendFileSync(report, JSON.stringify({ frozen: "Node " + process.versions.node }) + "\n");
};

function clock(offset) {
  const Real = Date;
  const real = Real.now;
  const now = () => real() + offset;
  Real.now = now;
  const Moved = new Proxy(Real, {
    construct: (target, args, of) => Reflect.construct(target, args.length === 0 ? [now()] : args, of),
    apply: () => new Real(now()).toString(),
  });
  Object.defineProperty(Real.prototype, "constructor", { value: Moved, writable: true, configurable: true });
  globalThis.Date = Moved;
  const origin = performance.timeOrigin;
  Object.defineProperty(performance, "timeOrigin", { value: origin + offset, configurable: true });
}

// numbers makes Math.random and UUIDs those of a seed (splitmix32 over the digest of it).
function numbers(seed) {
  const generator = (name) => {
    let state = crypto.createHash("sha256").update(seed + name).digest().readUInt32LE(0);
    return () => {
      state = (state + 0x9e3779b9) | 0;
      let z = state ^ (state >>> 16);
      z = Math.imul(z, 0x21f0aaad);
      z ^= z >>> 15;
      z = Math.imul(z, 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    };
  };
  const number = generator(" numbers");
  Math.random = () => number() / 2 ** 32;
  const word = generator(" uuids");
  const randomUUID = () => {
    const bytes = Buffer.alloc(16);
    for (let i = 0; i < 16; i += 4) bytes.writeUInt32LE(word(), i);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  };
  crypto.randomUUID = randomUUID;
  if (globalThis.crypto) Object.defineProperty(globalThis.crypto, "randomUUID", { value: randomUUID, configurable: true, writable: true });
  syncBuiltinESMExports();
}
