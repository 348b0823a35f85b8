import { expect, test } from "vitest";
import { OutboundError } from "../outbound-error.ts";
import { parseAllowedHost, TargetRules } from "../target-rules.ts";

const rules = (...hosts: readonly string[]): TargetRules =>
  new TargetRules(hosts.map(parseAllowedHost), "--webhook-host");

const messageOf = (call: () => unknown): string => {
  try {
    call();
  } catch (cause) {
    return cause instanceof OutboundError
      ? cause.message
      : `not an OutboundError: ${String(cause)}`;
  }
  return "no error";
};

test("a public https address is allowed, without its fragment", () => {
  expect(rules().parseTarget("https://Example.com:8443/hook?x=1#part").href).toBe(
    "https://example.com:8443/hook?x=1",
  );
});

test.each(["http://example.com/", "ftp://example.com/", "file:///etc/passwd", "data:,x"])(
  "%s is refused, with what is allowed",
  (address) => {
    expect(messageOf(() => rules().parseTarget(address))).toMatch(
      /must begin with https:\/\/.*--webhook-host/,
    );
  },
);

test.each([
  "https://127.0.0.1/",
  "https://127.1/",
  "https://0x7f000001/",
  "https://2130706433/",
  "https://[::1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://10.1.2.3:8080/",
  "https://169.254.169.254/latest/meta-data/",
])("%s is refused without being resolved", (address) => {
  expect(messageOf(() => rules().parseTarget(address))).toMatch(
    /^Failed to call https:\/\/\S+: it is a.* Only public addresses are called/,
  );
});

test("the error names the flag that would allow the host", () => {
  expect(messageOf(() => rules().parseTarget("https://10.1.2.3:8080/hook"))).toBe(
    "Failed to call https://10.1.2.3:8080: it is a private address. Only public addresses are called, and hosts that the operator of the server lists: --webhook-host 10.1.2.3:8080.",
  );
});

test("credentials in an address are refused and not repeated", () => {
  const message = messageOf(() => rules().parseTarget("https://ann:hunter2@example.com/"));
  expect(message).toMatch(/user name or a password/);
  expect(message).not.toContain("hunter2");
});

test("an incomplete or endless address is refused", () => {
  expect(messageOf(() => rules().parseTarget("example.com/hook"))).toMatch(/must be complete/);
  expect(messageOf(() => rules().parseTarget(`https://e.com/${"x".repeat(2_000)}`))).toMatch(
    /at most 2000/,
  );
});

test("a listed host may be private and use http, at its port only", () => {
  const listed = rules("10.0.0.8:8080", "hooks.internal", "[::1]");
  expect(listed.parseTarget("http://10.0.0.8:8080/").port).toBe("8080");
  expect(listed.parseTarget("http://hooks.internal:99/").port).toBe("99");
  expect(listed.parseTarget("http://[::1]:5/").hostname).toBe("[::1]");
  expect(messageOf(() => listed.parseTarget("http://10.0.0.8:8081/"))).toMatch(/https/);
  expect(messageOf(() => listed.parseTarget("https://10.0.0.9:8080/"))).toMatch(/private/);
});

test("the default port of the scheme counts as a port", () => {
  expect(rules("hooks.internal:80").parseTarget("http://hooks.internal/x").host).toBe(
    "hooks.internal",
  );
  expect(
    messageOf(() => rules("hooks.internal:443").parseTarget("http://hooks.internal/")),
  ).toMatch(/https/);
});

test("one private address among those of a name is enough to refuse it", () => {
  const url = new URL("https://example.com/");
  expect(() => {
    rules().assertAllowed(url, ["93.184.216.34"]);
  }).not.toThrow();
  expect(
    messageOf(() => {
      rules().assertAllowed(url, ["93.184.216.34", "192.168.0.1"]);
    }),
  ).toMatch(/its name resolves to a private address/);
});

test("a listed name must not lead to credentials of the cloud; a listed address may", () => {
  const url = new URL("http://hooks.internal/");
  const listed = rules("hooks.internal", "169.254.169.254", "0.0.0.0");
  listed.assertAllowed(url, ["10.0.0.1", "127.0.0.1"]);
  expect(
    messageOf(() => {
      listed.assertAllowed(url, ["169.254.169.254"]);
    }),
  ).toMatch(/hand out credentials. A name that leads there is not called/);
  expect(listed.parseTarget("http://169.254.169.254/").hostname).toBe("169.254.169.254");
  expect(messageOf(() => listed.parseTarget("http://0.0.0.0/"))).toMatch(/never called/);
});

test.each(["", "http://x", "x/y", "x:99999", "x:", "a b", "user@x"])(
  "%j is not a host that can be listed",
  (text) => {
    expect(() => parseAllowedHost(text)).toThrow(/must be a host name or an address/);
  },
);
