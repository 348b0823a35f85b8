import { isJsonObject, setMember } from "./json-object.ts";
import type { JsonObject, MutableJsonObject } from "./json-object.ts";

/** Members whose texts name something. A later text replaces an earlier one; other texts are appended. */
const namingKeys: ReadonlySet<string> = new Set([
  "call_id",
  "finish_reason",
  "format",
  "id",
  "model",
  "name",
  "object",
  "role",
  "status",
  "type",
]);

/**
 * Adds the parts of a streamed object to the object. Texts and lists are appended, unless the text is a name. Items of
 * a list that have an `index` are merged with the item of that index. A `null` never replaces a value.
 */
export class DeltaMerger {
  /** The items of the merged lists by their `index`. */
  readonly #itemsByIndex = new WeakMap<unknown[], Map<number, MutableJsonObject>>();

  merge(target: MutableJsonObject, delta: JsonObject): void {
    for (const [key, value] of Object.entries(delta)) {
      const merged = this.#mergeMember(Object.hasOwn(target, key) ? target[key] : undefined, {
        key,
        value,
      });
      setMember(target, key, merged);
    }
  }

  #mergeMember(
    earlierValue: unknown,
    { key, value }: { readonly key: string; readonly value: unknown },
  ): unknown {
    if (value === null || value === undefined) {
      return earlierValue ?? value;
    }
    if (typeof value === "string" && typeof earlierValue === "string") {
      if (namingKeys.has(key)) {
        return value === "" ? earlierValue : value;
      }
      return earlierValue + value;
    }
    if (Array.isArray(value)) {
      const list: unknown[] = Array.isArray(earlierValue) ? earlierValue : [];
      this.#append(list, value);
      return list;
    }
    if (isJsonObject(value)) {
      // Merge into a new object, not into `value`: later parts are added to it.
      const target: MutableJsonObject = isJsonObject(earlierValue) ? earlierValue : {};
      this.merge(target, value);
      return target;
    }
    return value;
  }

  #append(list: unknown[], items: readonly unknown[]): void {
    for (const item of items) {
      const index = isJsonObject(item) ? item["index"] : undefined;
      if (!isJsonObject(item) || typeof index !== "number") {
        list.push(item);
        continue;
      }
      let itemsByIndex = this.#itemsByIndex.get(list);
      if (itemsByIndex === undefined) {
        itemsByIndex = new Map();
        this.#itemsByIndex.set(list, itemsByIndex);
      }
      let target = itemsByIndex.get(index);
      if (target === undefined) {
        target = {};
        itemsByIndex.set(index, target);
        list.push(target);
      }
      this.merge(target, item);
    }
  }
}
