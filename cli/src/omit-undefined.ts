/** Members that can be `undefined` become optional; the others stay. */
type WithoutUndefined<Members> = {
  [Name in keyof Members as undefined extends Members[Name] ? never : Name]: Members[Name];
} & {
  [Name in keyof Members as undefined extends Members[Name] ? Name : never]?: Exclude<
    Members[Name],
    undefined
  >;
};

/** Copies an object without its `undefined` members, so that they don't become empty fields. */
export const omitUndefined = <Members extends object>(
  members: Members,
): WithoutUndefined<Members> =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as WithoutUndefined<Members>;
