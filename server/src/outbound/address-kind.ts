import { isIP } from "node:net";

/** What an IP address is for. Only `public` addresses can be called without the operator's consent. */
export type AddressKind =
  | "public"
  | "loopback"
  | "private"
  | "link-local"
  | "metadata"
  | "multicast"
  | "documentation"
  | "reserved";

/**
 * The ranges of IPv4 that are not public, from the registry of special-purpose addresses. The first range that contains
 * an address decides.
 */
const ipv4Ranges: readonly (readonly [range: string, kind: AddressKind])[] = [
  ["169.254.169.254/32", "metadata"],
  // The addresses of the metadata services of Alibaba Cloud, Azure and Oracle Cloud.
  ["100.100.100.200/32", "metadata"],
  ["168.63.129.16/32", "metadata"],
  ["192.0.0.192/32", "metadata"],
  ["0.0.0.0/8", "reserved"],
  ["10.0.0.0/8", "private"],
  ["100.64.0.0/10", "private"],
  ["127.0.0.0/8", "loopback"],
  ["169.254.0.0/16", "link-local"],
  ["172.16.0.0/12", "private"],
  ["192.0.0.0/24", "reserved"],
  ["192.0.2.0/24", "documentation"],
  ["192.88.99.0/24", "reserved"],
  ["192.168.0.0/16", "private"],
  ["198.18.0.0/15", "private"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["224.0.0.0/4", "multicast"],
  ["240.0.0.0/4", "reserved"],
];

/** The ranges of IPv6. Because of the last row, every address that is not global unicast is reserved. */
const ipv6Ranges: readonly (readonly [range: string, kind: AddressKind])[] = [
  ["fd00:ec2::254/128", "metadata"],
  ["::1/128", "loopback"],
  ["fc00::/7", "private"],
  // Site-local addresses, which unique local addresses replaced, and translation to IPv4 within one network.
  ["fec0::/10", "private"],
  ["64:ff9b:1::/48", "private"],
  ["fe80::/10", "link-local"],
  ["ff00::/8", "multicast"],
  ["2001:db8::/32", "documentation"],
  ["3fff::/20", "documentation"],
  // Teredo and 6to4 lead to an IPv4 address that a relay chooses.
  ["2001::/23", "reserved"],
  ["2002::/16", "reserved"],
  ["2000::/3", "public"],
  ["::/0", "reserved"],
];

/** Prefixes of IPv6 addresses that contain an IPv4 address: packets reach the IPv4 address in their last 32 bits. */
const embeddingPrefixes = ["::ffff:0:0/96", "64:ff9b::/96"];

/**
 * Determines the kind of an IP address. An IPv6 address that contains an IPv4 address has the kind of the IPv4 address.
 *
 * @throws TypeError the text is not an IP address.
 */
export function classifyAddress(address: string): AddressKind {
  const family = isIP(address);
  if (family === 0) {
    throw new TypeError("classifyAddress expects an IP address");
  }
  const bits = family === 4 ? ipv4Bits(address) : ipv6Bits(address);
  if (family === 4) {
    return findKind(ipv4, bits, "public");
  }
  return embeddingRanges.some((range) => isIn(range, bits))
    ? findKind(ipv4, bits & 0xffff_ffffn, "public")
    : findKind(ipv6, bits, "reserved");
}

interface Range {
  readonly prefix: bigint;
  /** The number of bits after the prefix. */
  readonly hostBits: bigint;
}

const parseRange = (text: string): Range => {
  const [address = "", length = ""] = text.split("/");
  const isIpv4 = isIP(address) === 4;
  const hostBits = BigInt((isIpv4 ? 32 : 128) - Number(length));
  const bits = isIpv4 ? ipv4Bits(address) : ipv6Bits(address);
  return { prefix: bits >> hostBits, hostBits };
};

const parseRanges = (
  ranges: typeof ipv4Ranges,
): readonly (readonly [range: Range, kind: AddressKind])[] =>
  ranges.map(([range, kind]) => [parseRange(range), kind]);

function ipv4Bits(address: string): bigint {
  return address.split(".").reduce((bits, byte) => (bits << 8n) | BigInt(byte), 0n);
}

function ipv6Bits(address: string): bigint {
  // A link-local address may name the interface, as in `fe80::1%eth0`.
  const [addressWithoutZone = ""] = address.split("%");
  const [head = "", tail] = replaceDottedEnd(addressWithoutZone).split("::");
  const headGroups = groupsOf(head);
  const tailGroups = groupsOf(tail ?? "");
  const zeros = Array.from({ length: 8 - headGroups.length - tailGroups.length }, () => "0");
  return [...headGroups, ...zeros, ...tailGroups].reduce(
    (bits, group) => (bits << 16n) | BigInt(`0x${group}`),
    0n,
  );
}

/** Writes the last 32 bits of an address such as `::ffff:127.0.0.1` as two groups. */
const replaceDottedEnd = (address: string): string => {
  const start = address.lastIndexOf(":") + 1;
  const end = address.slice(start);
  if (!end.includes(".")) {
    return address;
  }
  const bits = ipv4Bits(end);
  return `${address.slice(0, start)}${(bits >> 16n).toString(16)}:${(bits & 0xffffn).toString(16)}`;
};

const groupsOf = (text: string): readonly string[] => (text === "" ? [] : text.split(":"));

const isIn = ({ prefix, hostBits }: Range, bits: bigint): boolean => bits >> hostBits === prefix;

const findKind = (
  ranges: readonly (readonly [range: Range, kind: AddressKind])[],
  bits: bigint,
  fallback: AddressKind,
): AddressKind => ranges.find(([range]) => isIn(range, bits))?.[1] ?? fallback;

const ipv4 = parseRanges(ipv4Ranges);
const ipv6 = parseRanges(ipv6Ranges);
const embeddingRanges = embeddingPrefixes.map(parseRange);
