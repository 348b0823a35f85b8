// Replaces undici in the SDK's bundles with the parts that the SDK uses. Undici is CommonJS, so a bundler can't remove
// the unused parts (fetch, WebSocket, caches, mocks), which are most of its code. A starting thread would have to load
// them.
import request from "undici/lib/api/api-request.js";
import AgentPart from "undici/lib/dispatcher/agent.js";
import PoolPart from "undici/lib/dispatcher/pool.js";

/** Adds the method that undici's entry adds to its classes. */
const addRequest = (dispatcherClass) => {
  dispatcherClass.prototype.request = request;
  return dispatcherClass;
};

export const Agent = addRequest(AgentPart);
export const Pool = addRequest(PoolPart);
export { default as buildConnector } from "undici/lib/core/connect.js";
