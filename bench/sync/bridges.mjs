// The bridges that are compared. Each calls the client's own resources.
import { fileURLToPath } from "node:url";
import { createSyncFn } from "synckit";
import { Client } from "../../dist/main/index.js";
import { resolveOptions } from "../../dist/model/options/options.js";
import { BlockingWorker } from "../../dist/api/sync/blocking-worker.js";

const toPath = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Each creates a blocking `call(resource, method, ...args)`. `timeoutMs` limits each call. */
export const bridges = {
  synckit(endpoint, timeoutMs) {
    const options = resolveOptions({ endpoint, attempts: 1 }, {});
    const call = createSyncFn(toPath("synckit.worker.mjs"), { timeout: timeoutMs, execArgv: [] });
    return (resource, method, ...args) => call(options, { resource, method, args });
  },
  own(endpoint, timeoutMs) {
    const { sync } = new Client({
      endpoint,
      attempts: 1,
      enabled: false,
      syncTimeoutMs: timeoutMs,
    });
    return (resource, method, ...args) => sync[resource][method](...args);
  },
};

/** The same bridges with a worker that exits during each call. */
export const exitingBridges = {
  synckit: () =>
    createSyncFn(toPath("synckit-dying.worker.mjs"), { timeout: 20_000, execArgv: [] }),
  own: () => () => {
    const start = {
      path: toPath("own-dying.worker.mjs"),
      data: {},
      env: {},
      warn: () => undefined,
    };
    const call = { resource: "n", method: "m", args: [], changedValues: [], timeoutMs: 20_000 };
    return new BlockingWorker(start).call(call);
  },
};
