// Replaces undici in the SDK's bundles by the parts that the SDK uses. A bundler can't remove unused parts of undici,
// because it is CommonJS, and they (fetch, WebSocket, caches, mocks) would be most of what a starting thread loads of it.
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
