import { describe, expect, test } from "vitest";
import { formatPath, JsonTree } from "../../../src/components/payload/json-tree.ts";

const keysOf = (tree: JsonTree) => tree.readRows(0, tree.countRows()).map(({ key }) => key);

describe("the lines of a JSON value", () => {
  test("a small value is expanded, with its members in order", () => {
    const tree = new JsonTree({ b: 1, a: { c: [true, null] } });
    expect(keysOf(tree)).toEqual(["b", "a", "c", 0, 1]);
    expect(tree.readRows(0, 5).map(({ depth }) => depth)).toEqual([0, 0, 1, 2, 2]);
    expect(tree.readRows(0, 5).map(({ kind }) => kind)).toEqual([
      "number",
      "object",
      "array",
      "boolean",
      "null",
    ]);
  });

  test("a large list is collapsed until it is expanded, and collapses with all its descendants", () => {
    const tree = new JsonTree({ list: Array.from({ length: 1_000 }, (_, at) => ({ at })), end: 1 });
    expect(tree.countRows()).toBe(2);
    expect(tree.toggle(0)).toBe(1_002);
    expect(tree.toggle(1)).toBe(1_003);
    expect(tree.readRows(2, 3)[0]).toMatchObject({ key: "at", depth: 2, text: "0" });
    expect(tree.toggle(0)).toBe(2);
    expect(keysOf(tree)).toEqual(["list", "end"]);
  });

  test("the line of a long text shows its beginning; expanded, it shows all of it in chunks", () => {
    const long = "x".repeat(10_000_000);
    const tree = new JsonTree({ long });
    expect(tree.readRows(0, 1)[0]).toMatchObject({ size: 10_000_000, isOpen: false });
    expect(tree.readRows(0, 1)[0]?.text).toHaveLength(300);
    expect(tree.toggle(0)).toBe(5_001);
    const chunks = tree.readRows(1, 5_001).map(({ text }) => text);
    expect(chunks.join("")).toBe(long);
    expect(tree.readText(1)).toBe(long);
  });

  test("a text as the root value has no key and no path", () => {
    const tree = new JsonTree("hello");
    expect(tree.readRows(0, 9)).toEqual([
      { key: undefined, depth: 0, kind: "string", text: "hello", size: 5, isOpen: undefined },
    ]);
    expect(tree.readPath(0)).toBe("");
  });

  test("a long text as the root value can be expanded", () => {
    const tree = new JsonTree("y".repeat(5_000));
    expect(tree.toggle(0)).toBe(4);
    expect(tree.readRows(1, 2)[0]).toMatchObject({ kind: "text", depth: 1 });
  });

  test("matches are found in keys and values, ignoring case, and their ancestors are expanded", () => {
    const list = Array.from({ length: 500 }, (_, at) => ({ name: `item ${at}` }));
    const tree = new JsonTree({ list, Item: 1 });
    expect(tree.search("iTEM")).toBe(501);
    const index = tree.reveal(321);
    expect(tree.readRows(index, index + 1)[0]).toMatchObject({ key: "name", text: "item 321" });
    expect(tree.readPath(index)).toBe("list[321].name");
    const last = tree.reveal(500);
    expect(tree.readPath(last)).toBe("Item");
    expect(tree.search("nowhere")).toBe(0);
  });

  test("expandAll expands all containers; collapseAll leaves only the top-level members", () => {
    const tree = new JsonTree({ a: { b: { c: { d: { e: {} } } } } });
    expect(tree.expandAll()).toBe(5);
    expect(keysOf(tree)).toEqual(["a", "b", "c", "d", "e"]);
    expect(tree.collapseAll()).toBe(1);
    expect(tree.expandAll()).toBe(5);
  });

  test("a value nested deeper than the call stack can be expanded and searched", () => {
    let deep: unknown = "bottom";
    for (let level = 0; level < 50_000; level += 1) {
      deep = [deep];
    }
    const tree = new JsonTree(deep);
    expect(tree.expandAll()).toBe(50_000);
  });

  test("a text is copied unchanged, any other value as JSON", () => {
    const tree = new JsonTree({ text: "a\nb", list: [1] });
    expect(tree.readText(0)).toBe("a\nb");
    expect(tree.readText(1)).toBe("[\n  1\n]");
  });

  test("a path is valid JavaScript", () => {
    expect(formatPath(["a", 0, "x-y", "$b"])).toBe('a[0]["x-y"].$b');
    expect(formatPath(["not a name"])).toBe('["not a name"]');
  });
});
