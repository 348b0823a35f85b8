import { runAsWorker } from "synckit";
import { createApi } from "../../dist/main/api.js";
import { resultOf } from "../../dist/api/sync/serve-calls.js";

const made = new Map();

runAsWorker((options, call) => {
  const nouns = made.get(options.endpoint) ?? createApi(options, {}, { warn: () => undefined });
  made.set(options.endpoint, nouns);
  return resultOf(nouns, call);
});
