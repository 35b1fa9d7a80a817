import type { Task } from "./task.ts";

/** Makes a command's action of the task that `load` imports when the command runs. */
export type ActionOf = (load: () => Promise<Task>) => (...args: readonly unknown[]) => Promise<void>;
