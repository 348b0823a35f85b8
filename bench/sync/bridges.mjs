// The bridges that are compared, each over the client's own nouns.
import { fileURLToPath } from "node:url";
import { createSyncFn } from "synckit";
import { Client } from "../../dist/main/index.js";
import { resolveOptions } from "../../dist/model/options/options.js";
import { BlockingWorker } from "../../dist/api/sync/blocking-worker.js";

const fileOf = (name) => fileURLToPath(new URL(name, import.meta.url));

/** `call(noun, method, ...args)` blocks; `timeoutMs` is for each call. */
export const bridges = {
  synckit(endpoint, timeoutMs) {
    const options = resolveOptions({ endpoint, attempts: 1 }, {});
    const call = createSyncFn(fileOf("synckit.worker.mjs"), { timeout: timeoutMs, execArgv: [] });
    return (noun, method, ...args) => call(options, { resource: noun, method, args });
  },
  own(endpoint, timeoutMs) {
    const { sync } = new Client({
      endpoint,
      attempts: 1,
      enabled: false,
      syncTimeoutMs: timeoutMs,
    });
    return (noun, method, ...args) => sync[noun][method](...args);
  },
};

/** The same, with workers that end during each call. */
export const dyingBridges = {
  synckit: () =>
    createSyncFn(fileOf("synckit-dying.worker.mjs"), { timeout: 20_000, execArgv: [] }),
  own: () => () => {
    const start = {
      path: fileOf("own-dying.worker.mjs"),
      data: {},
      env: {},
      warn: () => undefined,
    };
    const call = { resource: "n", method: "m", args: [], revivals: [], timeoutMs: 20_000 };
    return new BlockingWorker(start).call(call);
  },
};
