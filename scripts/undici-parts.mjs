// What stands for undici in the SDK's bundles: the parts that the SDK uses. The package is CommonJS, of which a bundler
// removes nothing, and its other parts (fetch, WebSocket, caches, mocks) take a thread longer to load than these.
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
