/** What sending one invitation or several again does. @param sendsEmail whether the instance sends email. */
export function describeResending(sendsEmail: boolean, count: "one" | "several"): string {
  const isOne = count === "one";
  const created = isOne
    ? "This creates a new link, which is valid for seven days."
    : "This creates new links, which are valid for seven days.";
  const sent = sendsEmail
    ? `${isOne ? "The link is" : "They are"} emailed, or shown here for you to send if ${isOne ? "the" : "a"} person got ten emails with invitations in the last hour.`
    : `${isOne ? "The link is" : "They are"} shown here, once, for you to send.`;
  const ended = isOne ? "The old link stops working." : "The old links stop working.";
  return `${created} ${sent} ${ended}`;
}
