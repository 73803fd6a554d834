// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Loaded by --import before the agent. It hooks the loading of modules, ESM and CommonJS.
import module from "node:module";

if (process.env.TAPEDECK_FREEZE_OFFSET) module.createRequire(import.meta.url)("./freeze.cjs").install();
if (process.env.TAPEDECK_ORACLE_URL) {
  const require = module.createRequire(import.meta.url);
  require("./frameworks.cjs").install();
  const { append } = require("./match.cjs");
  // What require loads is compiled here, in all versions of Node that we know.
  const compile = module.prototype._compile;
  module.prototype._compile = function (content, filename, ...rest) {
    return compile.call(this, content + append(filename), filename, ...rest);
  };
  if (module.registerHooks) {
    module.registerHooks({
      load(url, context, nextLoad) {
        const loaded = nextLoad(url, context);
        if (loaded.format === "module" && loaded.source != null) {
          const more = append(url);
          if (more) return { ...loaded, source: Buffer.from(loaded.source).toString("utf8") + more };
        }
        return loaded;
      },
    });
  } else {
    module.register("./load.mjs", import.meta.url);
  }
}
