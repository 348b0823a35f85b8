import { expect, test } from "vitest";
import { createWebhookHeaders, createWebhookSecret } from "../sign-delivery.ts";

// The example of the specification of Standard Webhooks.
test("the signature is that of the specification's example", () => {
  const headers = createWebhookHeaders(["whsec_plJ3nmyCDGBKInavdOK15jsl"], {
    id: "msg_loFOjxBNrRLzqYUf",
    timestamp: 1_731_705_121,
    body: '{"event_type":"ping","data":{"success":true}}',
  });
  expect(headers["webhook-signature"]).toBe("v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=");
  expect(headers["webhook-id"]).toBe("msg_loFOjxBNrRLzqYUf");
  expect(headers["webhook-timestamp"]).toBe("1731705121");
});

test("each secret is another one, of 32 bytes", () => {
  const secrets = [createWebhookSecret(), createWebhookSecret()];
  expect(new Set(secrets).size).toBe(2);
  for (const secret of secrets) {
    expect(Buffer.from(secret.replace(/^whsec_/, ""), "base64")).toHaveLength(32);
  }
});
