/** Whether two values are the same JSON, whatever the order of members. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) {
    return true;
  }
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
    return false;
  }
  // Raw numbers are objects without members: their text tells them apart.
  const names = Object.keys(one);
  if (Array.isArray(one) !== Array.isArray(other) || names.length !== Object.keys(other).length) {
    return false;
  }
  return names.every(
    (name) =>
      Object.hasOwn(other, name) && isSameJson(Reflect.get(one, name), Reflect.get(other, name)),
  );
}
