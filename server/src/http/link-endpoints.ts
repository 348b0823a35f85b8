import type { Endpoint } from "millrace/model";

/** Endpoints whose URLs are contained in responses. Such a URL contains everything that the request needs. */
export const linkEndpoints = {
  readAttachment: { method: "GET", path: "/attachments", action: "read attachment" },
} as const satisfies Record<string, Endpoint>;
