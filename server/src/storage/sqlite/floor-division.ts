/**
 * Returns SQL that divides an integer by a positive one and rounds down. SQLite's own division rounds towards zero,
 * which would be wrong for times before 1970.
 *
 * @param value SQL of the integer, which is inserted twice.
 */
export const createFloorDivisionSql = (value: string, divisor: number): string =>
  `((${value} - (${value} < 0) * ${divisor - 1}) / ${divisor})`;
