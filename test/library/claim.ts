/** A claim as a program that embeds Holdfast makes it, for any pull request. */
export const claim = {
  repo: 'acme/widgets',
  prNumber: 7,
  baseSha: 'b'.repeat(40),
  headSha: 'a'.repeat(40),
  eventAt: new Date(0),
}
