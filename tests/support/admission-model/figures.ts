/** How much was checked: a run in which nothing overlaps proves little. */
export interface Figures {
  admitted: number;
  refused: number;
  /** Uses without an answer, or with 503: they may have been counted. */
  unknown: number;
  /** Uses that overlapped a change, so that either answer was right. */
  open: number;
  /** Changes that were done, by their kind; what changed nothing is none. */
  creations: number;
  renamings: number;
  deletions: number;
  disablings: number;
  enablings: number;
  additions: number;
  roleChanges: number;
  removals: number;
  listings: number;
  /** Uses that found nothing left of their key's limit. */
  limited: number;
  /** Uses that were refused though key, user and role were good: by what the key is held to, or by an old secret. */
  refusedByKey: number;
  holdings: number;
  rotations: number;
  endings: number;
  clockSteps: number;
  /** Uses that a role decided: admitted with one, refused for want of one. */
  admittedByRole: number;
  refusedByRole: number;
}

export const noFigures: Readonly<Figures> = {
  admitted: 0,
  refused: 0,
  unknown: 0,
  open: 0,
  creations: 0,
  renamings: 0,
  deletions: 0,
  disablings: 0,
  enablings: 0,
  additions: 0,
  roleChanges: 0,
  removals: 0,
  listings: 0,
  limited: 0,
  refusedByKey: 0,
  holdings: 0,
  rotations: 0,
  endings: 0,
  clockSteps: 0,
  admittedByRole: 0,
  refusedByRole: 0,
};
