// Replaces undici in the server's bundles by the parts that the server uses. A bundler can't remove unused parts of
// undici, because it is CommonJS.
import request from "undici/lib/api/api-request.js";
import Client from "undici/lib/dispatcher/client.js";

// Undici's entry adds this method to its classes.
Client.prototype.request = request;

export { Client };
export { default as buildConnector } from "undici/lib/core/connect.js";
