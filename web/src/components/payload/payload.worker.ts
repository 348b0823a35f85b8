import type { PayloadReply, PayloadRequest } from "./large-payload.ts";
import { PayloadStore } from "./payload-source.ts";

const store = new PayloadStore();

addEventListener("message", ({ data }: MessageEvent<PayloadRequest>) => {
  if (data.kind === "close") {
    store.close(data.document);
    return;
  }
  postMessage(createReply(data));
});

function createReply(request: Exclude<PayloadRequest, { kind: "close" }>): PayloadReply {
  const { call } = request;
  try {
    const value =
      request.kind === "open"
        ? store.open(request.bytes)
        : store.call(request.document, request.method, request.args);
    return { call, value };
  } catch (cause) {
    return { call, failure: cause instanceof Error ? cause.message : String(cause) };
  }
}
