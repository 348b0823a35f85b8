// oxlint-disable-next-line import/no-default-export -- vitest looks for a default export
export { default } from "millrace/vitest/reporter";
