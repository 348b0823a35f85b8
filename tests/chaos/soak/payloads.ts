import type { Random } from "./random.ts";

const texts = [
  "",
  "a",
  "waterwheel",
  "水車",
  "🌊",
  '"\\\n\u0000',
  "\ud800",
  "<b>&",
  "\u2028",
] as const;

/** Random bytes for an attachment. */
export const bytes = (random: Random): Uint8Array =>
  Uint8Array.from({ length: random.integer(0, 4_000) }, () => random.integer(0, 255));

/** A random payload with values of every kind that needs special encoding. */
export function payload(random: Random): Record<string, unknown> {
  const size = random.chance(0.01) ? random.integer(20_000, 200_000) : random.integer(0, 1_500);
  return {
    text: random.pick(texts).repeat(3) + "x".repeat(size),
    number: random.next() * 10 ** random.integer(-5, 18),
    list: Array.from({ length: random.integer(0, 9) }, (_, index) => [index, random.pick(texts)]),
    [random.pick(texts)]: random.pick([
      null,
      true,
      -0,
      Number.NaN,
      12n ** 30n,
      new Date(7),
      /a"b/u,
    ]),
    nested: { map: new Map([["k", new Set([random.integer(0, 9)])]]), nothing: undefined },
  };
}
