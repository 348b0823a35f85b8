/** Whether a value of an address can be the id of something. */
export const isId = (value: unknown): value is string =>
  typeof value === "string" && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);
