import { isIP } from "node:net";
import { classifyAddress } from "./address-kind.ts";
import type { AddressKind } from "./address-kind.ts";
import { OutboundError } from "./outbound-error.ts";

/** A host that the operator lists, and its port if only that one may be called. */
export interface AllowedHost {
  readonly host: string;
  readonly port: string | undefined;
}

/** Longest address of a target, in characters. */
const addressChars = 2_000;

/**
 * Parses `HOST` or `HOST:PORT`; an IPv6 address is in brackets.
 *
 * @throws TypeError the text has another form. The message says which forms are valid.
 */
export function parseAllowedHost(text: string): AllowedHost {
  const match = /^(?<host>\[[\da-f:.]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?$/i.exec(text);
  const port = match?.groups?.["port"];
  const host = match?.groups?.["host"] ?? "";
  if (host === "" || !URL.canParse(`http://${host}/`) || Number(port ?? 1) > 65_535) {
    throw new TypeError(
      `must be a host name or an address, with a port if only that one may be called, such as hooks.internal, 10.0.0.8:8080 or [::1]:8080, not ${JSON.stringify(text)}`,
    );
  }
  return {
    host: new URL(`http://${host}/`).hostname,
    port: port === undefined ? undefined : String(Number(port)),
  };
}

/**
 * Which addresses may be called. A public one needs https. A host that the operator lists may be private and may use
 * http.
 */
export class TargetRules {
  readonly #hosts: readonly AllowedHost[];
  readonly #flag: string;

  /** @param flag - the flag with which the operator lists hosts, for the messages of errors */
  constructor(hosts: readonly AllowedHost[], flag: string) {
    this.#hosts = hosts;
    this.#flag = flag;
  }

  /**
   * Parses the address of a target and checks all that is known without resolving its name.
   *
   * @throws OutboundError the target may not be called; the message says what is allowed.
   */
  parseTarget(text: string): URL {
    if (text.length > addressChars) {
      throw new OutboundError(
        "ADDRESS",
        `The address has ${text.length} characters; at most ${addressChars} are possible.`,
      );
    }
    if (!URL.canParse(text)) {
      throw new OutboundError(
        "ADDRESS",
        "The address is not valid. It must be complete, such as https://example.com/hook.",
      );
    }
    const url = new URL(text);
    if (url.username !== "" || url.password !== "") {
      throw new OutboundError(
        "ADDRESS",
        "The address contains a user name or a password. Leave it out, because addresses are shown and stored.",
      );
    }
    if (url.protocol !== "https:" && !(url.protocol === "http:" && this.#isListed(url))) {
      throw new OutboundError(
        "ADDRESS",
        `The address must begin with https://. For http, the operator of the server must list the host: ${this.#hint(url)}.`,
      );
    }
    url.hash = "";
    const literal = literalOf(url);
    if (literal !== undefined) {
      this.assertAllowed(url, [literal]);
    }
    return url;
  }

  /**
   * Checks the addresses to which the name of a target resolved. One address that is not allowed is enough to refuse
   * the target: an attacker may give a name a public and a private address to reach the private one.
   *
   * @throws OutboundError one of them may not be called.
   */
  assertAllowed(url: URL, addresses: readonly string[]): void {
    const isListed = this.#isListed(url);
    const isLiteral = literalOf(url) !== undefined;
    for (const address of addresses) {
      const kind = classifyAddress(address);
      const isAllowed =
        kind === "public" ||
        (isListed && (isLiteral ? kindsOfListedAddress : kindsOfListedName).has(kind));
      if (!isAllowed) {
        throw new OutboundError(
          "ADDRESS",
          `Failed to call ${url.origin}: ${isLiteral ? "it is" : "its name resolves to"} ${kindTexts[kind]}. ${this.#advice(url, kind, isListed)}`,
        );
      }
    }
  }

  #advice(url: URL, kind: AddressKind, isListed: boolean): string {
    if (neverCalled.has(kind)) {
      return "Such addresses are never called.";
    }
    return isListed
      ? "A name that leads there is not called; the operator can list the address itself."
      : `Only public addresses are called, and hosts that the operator of the server lists: ${this.#hint(url)}.`;
  }

  #hint({ hostname, port }: URL): string {
    return `${this.#flag} ${hostname}${port === "" ? "" : `:${port}`}`;
  }

  #isListed(url: URL): boolean {
    const port = url.port === "" ? defaultPorts[url.protocol] : url.port;
    return this.#hosts.some(
      (listed) =>
        listed.host === url.hostname && (listed.port === undefined || listed.port === port),
    );
  }
}

const defaultPorts: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/** The kinds of addresses to which a listed name may resolve. Whoever controls the name must not reach credentials. */
const kindsOfListedName: ReadonlySet<AddressKind> = new Set([
  "loopback",
  "private",
  "documentation",
]);

/** The kinds of addresses that may be listed themselves. */
const kindsOfListedAddress: ReadonlySet<AddressKind> = new Set([
  ...kindsOfListedName,
  "link-local",
  "metadata",
]);

const neverCalled: ReadonlySet<AddressKind> = new Set(["multicast", "reserved"]);

const kindTexts: Readonly<Record<AddressKind, string>> = {
  public: "a public address",
  loopback: "an address of the server itself",
  private: "a private address",
  "link-local": "a link-local address",
  metadata: "an address from which clouds hand out credentials",
  multicast: "a multicast address",
  documentation: "an address for documentation",
  reserved: "a reserved address",
};

/** Returns the IP address in the URL of a target; `undefined` if the URL contains a host name. */
export const literalOf = ({ hostname }: URL): string | undefined => {
  const address = hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(address) === 0 ? undefined : address;
};
