/** One call: its method, its path below the base address, and what an error says was attempted. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** `:name` stands for a path argument. */
  readonly path: string;
  readonly action: string;
  /** A POST that may arrive twice with the effect of one: it reads, or its body names what it makes. */
  readonly repeatable?: true;
}

/** Every call between client and server, written once; both sides read it. */
export const endpoints = {
  readInfo: { method: "GET", path: "/info", action: "read server info" },
  createRun: { method: "POST", path: "/runs", action: "send a run" },
  updateRun: { method: "PATCH", path: "/runs/:id", action: "update a run" },
  sendBatch: { method: "POST", path: "/runs/batch", action: "send runs" },
  sendMultipart: { method: "POST", path: "/runs/multipart", action: "send runs" },
  readRun: { method: "GET", path: "/runs/:id", action: "read run" },
  queryRuns: { method: "POST", path: "/runs/query", action: "query runs", repeatable: true },
  runStats: {
    method: "POST",
    path: "/runs/stats",
    action: "read run statistics",
    repeatable: true,
  },
  readRunShare: { method: "GET", path: "/runs/:id/share", action: "read the run's share" },
  shareRun: { method: "PUT", path: "/runs/:id/share", action: "share run" },
  unshareRun: { method: "DELETE", path: "/runs/:id/share", action: "unshare run" },
  readSharedRun: { method: "GET", path: "/public/:token/run", action: "read shared run" },
  listProjects: { method: "GET", path: "/sessions", action: "list projects" },
  readProject: { method: "GET", path: "/sessions/:id", action: "read project" },
  createProject: { method: "POST", path: "/sessions", action: "create project" },
  updateProject: { method: "PATCH", path: "/sessions/:id", action: "update project" },
  deleteProject: { method: "DELETE", path: "/sessions/:id", action: "delete project" },
  readSettings: { method: "GET", path: "/settings", action: "read settings" },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;
