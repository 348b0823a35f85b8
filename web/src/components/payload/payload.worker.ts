import { PayloadDesk } from "./payload-source.ts";
import type { PayloadAnswer, PayloadRequest } from "./large-payload.ts";

const desk = new PayloadDesk();

addEventListener("message", ({ data }: MessageEvent<PayloadRequest>) => {
  if (data.kind === "close") {
    desk.close(data.document);
    return;
  }
  postMessage(answer(data));
});

function answer(request: Exclude<PayloadRequest, { kind: "close" }>): PayloadAnswer {
  const { call } = request;
  try {
    const value =
      request.kind === "open"
        ? desk.open(request.bytes)
        : desk.call(request.document, request.method, request.args);
    return { call, value };
  } catch (cause) {
    return { call, failure: cause instanceof Error ? cause.message : String(cause) };
  }
}
