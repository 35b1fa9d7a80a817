/** A member's role in a workspace, from most to least powerful. */
export type Role = "owner" | "admin" | "member" | "viewer";
