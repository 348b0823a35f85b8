/** SVG paths of icons that stand both for roles of messages and for types of runs, in a box of 16 by 16 units. */
export const modelIcon = "M8 2v2.5M3.5 4.5h9v8h-9ZM6 8v1M10 8v1M1.5 8v2M14.5 8v2";
export const toolIcon =
  "M10 2.5a3.5 3.5 0 0 0-3 5L2.5 12l1.5 1.5L8.5 9a3.5 3.5 0 0 0 4.6-4.6L11 6.5 9.5 5l2-2.2A3.5 3.5 0 0 0 10 2.5Z";
export const messageIcon = "M2.5 3h11v8H7l-3 2.5V11H2.5Z";
