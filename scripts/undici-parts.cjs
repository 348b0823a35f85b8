// What stands for undici in the SDK's bundles: the parts that the SDK uses. The package is CommonJS, of which a bundler
// removes nothing, and its other parts (fetch, WebSocket, caches, mocks) take a thread longer to load than these.
const Dispatcher = require("undici/lib/dispatcher/dispatcher.js");

// As the package itself does.
Dispatcher.prototype.request = require("undici/lib/api/api-request.js");

module.exports = {
  Agent: require("undici/lib/dispatcher/agent.js"),
  Pool: require("undici/lib/dispatcher/pool.js"),
  buildConnector: require("undici/lib/core/connect.js"),
};
