// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// The loader of Node before 22.15, where hooks run in a thread of their own.
import { createRequire } from "node:module";

const { append } = createRequire(import.meta.url)("./match.cjs");

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  if (loaded.format === "module" && loaded.source != null) {
    const more = append(url);
    if (more) return { ...loaded, source: Buffer.from(loaded.source).toString("utf8") + more };
  }
  return loaded;
}
