/** `messages[0]["x-y"]`; empty for the value itself. */
export function formatPath(keys: readonly (string | number)[]): string {
  return keys
    .map((key, index) => {
      if (typeof key === "number") {
        return `[${key}]`;
      }
      const isName = /^[A-Za-z_$][\w$]*$/.test(key);
      return isName ? `${index === 0 ? "" : "."}${key}` : `[${JSON.stringify(key)}]`;
    })
    .join("");
}
