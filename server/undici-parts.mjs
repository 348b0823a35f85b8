// Replaces undici in the server's bundles by the parts that the server uses. A bundler can't remove unused parts of
// undici, because it is CommonJS.
import request from "undici/lib/api/api-request.js";
import ClientPart from "undici/lib/dispatcher/client.js";

/** Adds the method that undici's entry adds to its classes. The bundler would drop a plain assignment. */
const addRequest = (dispatcherClass) => {
  dispatcherClass.prototype.request = request;
  return dispatcherClass;
};

export const Client = addRequest(ClientPart);
export { default as buildConnector } from "undici/lib/core/connect.js";
