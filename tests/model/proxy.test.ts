import { describe, expect, test } from "vitest";
import { OptionError } from "../../src/model/errors.ts";
import { resolveOptions } from "../../src/model/options/options.ts";
import { chooseProxy, isExempt, parseProxy } from "../../src/model/options/proxy.ts";

const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

describe("a proxy's address", () => {
  test.each<readonly [string, ReturnType<typeof parseProxy>]>([
    ["http://proxy.test:3128", { origin: "http://proxy.test:3128" }],
    ["https://proxy.test/", { origin: "https://proxy.test" }],
    ["proxy.test:3128", { origin: "http://proxy.test:3128" }],
    [" 10.0.0.1:8080 ", { origin: "http://10.0.0.1:8080" }],
    ["http://[::1]:8080", { origin: "http://[::1]:8080" }],
    [
      "http://me:p%40ss%3A@proxy.test",
      { origin: "http://proxy.test", authorization: basic("me:p@ss:") },
    ],
    [
      "me:secret@proxy.test:1",
      { origin: "http://proxy.test:1", authorization: basic("me:secret") },
    ],
    ["http://token@proxy.test", { origin: "http://proxy.test", authorization: basic("token:") }],
    ["http://a:100%@proxy.test", { origin: "http://proxy.test", authorization: basic("a:100%") }],
    ["socks5://proxy.test", undefined],
    ["http://", undefined],
    ["not an address", undefined],
    ["proxy", { origin: "http://proxy" }],
    ["http://proxy", { origin: "http://proxy" }],
    ["proxy:3128", { origin: "http://proxy:3128" }],
    ["proxy:80", { origin: "http://proxy" }],
  ])("%s", (text, expected) => {
    expect(parseProxy(text)).toEqual(expected);
  });
});

describe("a list of exempt hosts", () => {
  test.each<readonly [string, string, boolean]>([
    ["", "http://a.test", false],
    ["*", "https://a.test", true],
    ["b.test,*", "https://a.test", true],
    ["a.test", "http://a.test", true],
    ["a.test", "http://A.TEST", true],
    ["A.Test", "http://a.test", true],
    ["a.test", "http://a.test.", true],
    ["a.test", "http://x.y.a.test", true],
    [".a.test", "http://x.a.test", true],
    [".a.test", "http://a.test", true],
    ["*.a.test", "http://x.a.test", true],
    ["a.test", "http://ba.test", false],
    ["a.test", "http://a.test.evil", false],
    ["b.test, a.test", "http://a.test", true],
    ["b.test a.test", "http://a.test", true],
    [",, b.test ,", "http://a.test", false],
    ["a.test:8080", "http://a.test:8080", true],
    ["a.test:8080", "http://a.test", false],
    ["a.test:80", "http://a.test", true],
    ["a.test:443", "https://a.test", true],
    ["127.0.0.1", "http://127.0.0.1:1984", true],
    ["127.0.0.1:1984", "http://127.0.0.1:1984", true],
    ["127.0.0.1:1985", "http://127.0.0.1:1984", false],
    ["0.0.1", "http://127.0.0.1", false],
    ["10.0.0.0/8", "http://10.1.2.3", true],
    ["10.0.0.0/8", "http://11.1.2.3", false],
    ["10.0.0.0/99", "http://10.1.2.3", false],
    ["10.0.0.0/x", "http://10.1.2.3", false],
    ["10.0.0.0/8", "http://a.test", false],
    ["::1", "http://[::1]:1984", true],
    ["[::1]", "http://[::1]:1984", true],
    ["[::1]:1984", "http://[::1]:1984", true],
    ["[::1]:1985", "http://[::1]:1984", false],
    ["0:0:0:0:0:0:0:1", "http://[::1]", true],
    ["fd00::/8", "http://[fd12::7]", true],
    ["fd00::/8", "http://[fe80::7]", false],
    ["::1", "http://127.0.0.1", false],
    ["localhost", "http://localhost:1984", true],
    ["localhost", "http://127.0.0.1:1984", false],
  ])("%j and %s: %s", (list, endpoint, expected) => {
    expect(isExempt(new URL(endpoint), list)).toBe(expected);
  });
});

describe("the proxy for an endpoint", () => {
  const proxies = { httpProxy: "plain.test:1", httpsProxy: "https://secure.test" };

  test.each([
    [{ ...proxies, endpoint: "http://a.test" }, "plain.test:1"],
    [{ ...proxies, endpoint: "https://a.test" }, "https://secure.test"],
    [{ httpProxy: "plain.test", endpoint: "https://a.test" }, undefined],
    [{ httpsProxy: "secure.test", endpoint: "http://a.test" }, undefined],
    [{ ...proxies, endpoint: "http://a.test", socketPath: "/run/s" }, undefined],
    [{ ...proxies, endpoint: "http://a.test", noProxy: "a.test" }, undefined],
    [{ endpoint: "http://a.test" }, undefined],
  ])("of %j is %s", (choice, expected) => {
    expect(chooseProxy(choice)).toBe(expected);
  });

  test("is taken from the variables of the environment, in small letters first", () => {
    const env = { HTTPS_PROXY: "http://b.test", https_proxy: "http://a.test", NO_PROXY: "c.test" };
    expect(resolveOptions({}, env)).toMatchObject({
      httpProxy: undefined,
      httpsProxy: "http://a.test",
      noProxy: "c.test",
    });
    expect(resolveOptions({ httpsProxy: "http://own.test" }, env).httpsProxy).toBe(
      "http://own.test",
    );
  });

  test("an error names the proxy that would be used, even if the other one has the same address", () => {
    const sameProxies = { httpProxy: "socks5://p.test", httpsProxy: "socks5://p.test" };
    expect(() => resolveOptions({ endpoint: "http://a.test", ...sameProxies }, {})).toThrow(
      /httpProxy/,
    );
    expect(() => resolveOptions({ endpoint: "https://a.test", ...sameProxies }, {})).toThrow(
      /httpsProxy/,
    );
  });

  test("an invalid address is refused at creation without showing its value", () => {
    const options = { endpoint: "https://a.test", httpsProxy: "socks5://me:secret@p.test" };
    expect(() => resolveOptions(options, {})).toThrow(OptionError);
    expect(() => resolveOptions(options, {})).toThrow(/httpsProxy .*http:\/\/host:3128/);
    expect(() => resolveOptions(options, {})).not.toThrow(/secret/);
  });

  test("an invalid proxy that is not used causes no error", () => {
    const env = { HTTP_PROXY: "socks5://p.test", NO_PROXY: "localhost" };
    expect(resolveOptions({ endpoint: "http://localhost:1984" }, env).httpProxy).toBe(
      "socks5://p.test",
    );
    expect(resolveOptions({ endpoint: "https://a.test" }, env).httpsProxy).toBeUndefined();
  });
});
