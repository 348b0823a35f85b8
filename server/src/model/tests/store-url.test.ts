import { describe, expect, test } from "vitest";
import { describeStoreUrl, parseStoreUrl } from "../store-url.ts";

describe("the URL of a store", () => {
  test("names hosts, the database and the login, whose special characters are encoded", () => {
    const target = parseStoreUrl(
      "postgres://us%40er:p%40s%3As@db1.internal:6432,[::1],10.0.0.7/my%20data?sslmode=verify-full&sslrootcert=/etc/ca.pem",
    );
    expect(target).toEqual({
      hosts: [
        { host: "db1.internal", port: 6_432 },
        { host: "::1", port: 5_432 },
        { host: "10.0.0.7", port: 5_432 },
      ],
      database: "my data",
      user: "us@er",
      password: "p@s:s",
      sslMode: "verify-full",
      sslRootCertificate: "/etc/ca.pem",
    });
  });

  test("may leave out the login, and is described without it", () => {
    expect(parseStoreUrl("postgresql://localhost/traces")).toMatchObject({
      user: undefined,
      password: undefined,
      sslMode: "disable",
    });
    expect(describeStoreUrl("postgres://u:secret@a,[::1]:6000/traces")).toBe(
      "a:5432,[::1]:6000/traces",
    );
  });

  test.each([
    ["sqlite://a/b", "postgres://user:password@host:5432/database"],
    ["postgres://u:secret@host", "postgres://user:password@host:5432/database"],
    ["postgres://u:sec/ret@host/db", "encode special characters"],
    ["postgres://host:99999/db", 'not "host:99999"'],
    ["postgres://u:secret@host/db?sslmode=maybe", "disable, require, verify-full"],
    ["postgres://u:secret@host/db?options=-c", 'not "options"'],
    ["postgres://u:secret%@host/db", "% is written as %25"],
    [`postgres://${"h,".repeat(16)}h/db`, "at most 16 hosts"],
  ])("is refused if it is malformed, and the error shows no password: %s", (url, message) => {
    expect(() => parseStoreUrl(url)).toThrow(message);
    expect(() => parseStoreUrl(url)).not.toThrow(/secret|sec\/ret/);
  });
});
