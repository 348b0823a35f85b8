import { runAsWorker } from "synckit";
import { createApi } from "../../dist/main/api.js";
import { resultOf } from "../../dist/api/sync/serve-calls.js";

const apisByEndpoint = new Map();

runAsWorker((options, call) => {
  const api =
    apisByEndpoint.get(options.endpoint) ?? createApi(options, {}, { warn: () => undefined });
  apisByEndpoint.set(options.endpoint, api);
  return resultOf(api, call);
});
