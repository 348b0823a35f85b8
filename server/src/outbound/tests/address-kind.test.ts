import { expect, test } from "vitest";
import { classifyAddress } from "../address-kind.ts";

test.each([
  ["8.8.8.8", "public"],
  ["172.15.255.255", "public"],
  ["172.32.0.0", "public"],
  ["2606:4700::1111", "public"],
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "loopback"],
  ["::1", "loopback"],
  ["0:0:0:0:0:0:0:1", "loopback"],
  ["10.0.0.0", "private"],
  ["10.255.255.255", "private"],
  ["172.16.0.1", "private"],
  ["172.31.255.255", "private"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["198.18.0.1", "private"],
  ["fc00::1", "private"],
  ["fdff::1", "private"],
  ["fec0::1", "private"],
  ["64:ff9b:1::a00:1", "private"],
  ["169.254.0.1", "link-local"],
  ["fe80::1", "link-local"],
  ["fe80::1%eth0", "link-local"],
  ["febf::1", "link-local"],
  ["169.254.169.254", "metadata"],
  ["168.63.129.16", "metadata"],
  ["100.100.100.200", "metadata"],
  ["fd00:ec2::254", "metadata"],
  ["224.0.0.1", "multicast"],
  ["239.255.255.255", "multicast"],
  ["ff02::1", "multicast"],
  ["192.0.2.1", "documentation"],
  ["198.51.100.1", "documentation"],
  ["203.0.113.1", "documentation"],
  ["2001:db8::1", "documentation"],
  ["3fff::1", "documentation"],
  ["0.0.0.0", "reserved"],
  ["0.1.2.3", "reserved"],
  ["240.0.0.1", "reserved"],
  ["255.255.255.255", "reserved"],
  ["::", "reserved"],
  ["2002:7f00:1::", "reserved"],
  ["2001::1", "reserved"],
  ["100::1", "reserved"],
  ["::7f00:1", "reserved"],
])("%s is %s", (address, kind) => {
  expect(classifyAddress(address)).toBe(kind);
});

test.each([
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:7f00:1", "loopback"],
  ["::ffff:a00:1", "private"],
  ["::ffff:169.254.169.254", "metadata"],
  ["::ffff:8.8.8.8", "public"],
  ["64:ff9b::7f00:1", "loopback"],
  ["64:ff9b::8.8.8.8", "public"],
])("%s is of the kind of the IPv4 address that it stands for: %s", (address, kind) => {
  expect(classifyAddress(address)).toBe(kind);
});

test("a text that is no address has no kind", () => {
  expect(() => classifyAddress("localhost")).toThrow(TypeError);
});
