import { expect, test } from "vitest";
import { messageOf } from "../errors.ts";
import { describeTarget, parseLogUrl } from "../log-target.ts";

test.for([
  ["nats://a", ["a:4222"], { kind: "none" }],
  ["nats://a:4223,b,c:80/", ["a:4223", "b:4222", "c:80"], { kind: "none" }],
  ["nats://a,nats://b:4224", ["a:4222", "b:4224"], { kind: "none" }],
  ["nats://[::1]:4222", ["[::1]:4222"], { kind: "none" }],
  ["tls://u:p%40%2C@a,b", ["a:4222", "b:4222"], { kind: "password", user: "u", password: "p@," }],
  ["nats://secret@a,b", ["a:4222", "b:4222"], { kind: "token", token: "secret" }],
] as const)("%s names servers and credentials", ([url, servers, credentials]) => {
  expect(parseLogUrl(url)).toEqual({ servers, credentials, isTls: url.startsWith("tls") });
});

test("a target is described without credentials", () => {
  expect(describeTarget(parseLogUrl("nats://u:hunter2@a,b:1"))).toBe("nats://a:4222,b:1");
  expect(describeTarget(parseLogUrl("tls://hunter2@a"))).toBe("tls://a:4222");
});

test.for([
  "",
  "a:4222",
  "http://hunter2@a",
  "nats://",
  "nats://a,,b",
  "nats://hunter2@a:port",
  "nats://hunter2@a:99999",
  "nats://u:hunter2@a?x=1",
  "nats://u:hunter2@a/path",
  "nats://u:hunter2%@a",
  "nats://a,u:hunter2@b",
  `nats://${Array.from({ length: 33 }, (_, index) => `h${index}`).join(",")}`,
])("%j is refused, by a message without any part of it", (url) => {
  let message = "";
  try {
    parseLogUrl(url);
  } catch (cause) {
    message = messageOf(cause);
  }
  expect(message).toMatch(/^log must /);
  expect(message).not.toContain("hunter2");
});
