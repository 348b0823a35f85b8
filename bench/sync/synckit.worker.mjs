import { runAsWorker } from "synckit";
import { createApi } from "../../dist/main/resources.js";
import { callResource } from "../../dist/api/sync/serve-calls.js";

const apisByEndpoint = new Map();

runAsWorker((options, call) => {
  const api =
    apisByEndpoint.get(options.endpoint) ??
    createApi(options, {}, { warn: () => undefined, uploadThreads: 1, env: {} });
  apisByEndpoint.set(options.endpoint, api);
  return callResource(api.resources, call);
});
