import { expect, test } from "vitest";
import { isInNetwork, parseIp, parseNetwork } from "./ip-address.ts";

const zeros = (count: number) => Array.from({ length: count }, () => 0);

test.each<[string, readonly number[]]>([
  ["192.0.2.1", [192, 0, 2, 1]],
  ["::", zeros(16)],
  ["::1", [...zeros(15), 1]],
  ["2001:db8::a:1", [0x20, 1, 0x0d, 0xb8, ...zeros(8), 0, 10, 0, 1]],
  ["1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]],
  ["::ffff:192.0.2.1", [...zeros(10), 255, 255, 192, 0, 2, 1]],
  ["1:2:3:4:5:6:7::", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0]],
])("%s is read", (text, bytes) => {
  const bits = bytes.reduce((all, byte) => (all << 8n) | BigInt(byte), 0n);
  expect(parseIp(text)).toEqual({ family: bytes.length === 4 ? 4 : 6, bits });
});

test.each([
  ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", "0x7f.0.0.1", "127.1"],
  [":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "g::"],
  ["12345::", "fe80::1%eth0", "[::1]", "1.2.3.4::", "::1.2.3.4:1", "::1.2.3"],
])("what is no address is refused", (...texts) => {
  expect(texts.filter((text) => parseIp(text) !== undefined)).toEqual([]);
});

test("networks", () => {
  const found = ["10.0.0.0/8", "10.1.2.3", "2001:db8::/32", "10.0.0.0/33", "10.0.0.0/", "::/129"];
  expect(found.map((text) => parseNetwork(text)?.prefixLength)).toEqual([
    8,
    32,
    32,
    undefined,
    undefined,
    undefined,
  ]);
});

test.each<[string, string, boolean]>([
  ["10.255.0.1", "10.0.0.0/8", true],
  ["11.0.0.1", "10.0.0.0/8", false],
  ["10.127.0.1", "10.0.0.0/9", true],
  ["10.128.0.1", "10.0.0.0/9", false],
  ["192.0.2.1", "0.0.0.0/0", true],
  ["::1", "0.0.0.0/0", false],
  ["::ffff:127.0.0.1", "127.0.0.0/8", true],
  ["::ffff:127.0.0.1", "::/0", true],
  ["64:ff9b::127.0.0.1", "127.0.0.0/8", true],
  ["fe80::1", "fe80::/10", true],
  ["fec0::1", "fe80::/10", false],
])("%s in %s: %s", (address, network, expected) => {
  const [ip, net] = [parseIp(address), parseNetwork(network)];
  expect(ip && net && isInNetwork(ip, net)).toBe(expected);
});
