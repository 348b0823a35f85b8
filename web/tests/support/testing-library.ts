import { configure } from "@testing-library/react";

// Testing Library sets this global during its waits and then resets it to undefined, which leaves the name behind. Here
// from the start, it is no trace of a test file.
Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: undefined });

// On a busy machine, loading a part of the page on demand takes longer than the second that is the default.
configure({ asyncUtilTimeout: 15_000 });
