/** Why a delivery failed or was skipped, in words, for the reasons that are ours. */
const reasons: Readonly<Record<string, string>> = {
  deadline: 'GitHub did not accept it in time',
  retries_exhausted: 'all retries failed',
  never_announced: 'its run ended before anything was shown',
  anchor_removed: 'somebody deleted it twice',
  target_taken: 'a newer run shows its result there',
  forbidden: 'GitHub refuses it, perhaps because of a missing permission',
  unauthorized: 'GitHub refuses the credentials',
  not_found: 'GitHub does not show us the pull request, issue or commit that it is for',
  not_installed: 'the GitHub App is not installed there',
  wrong_repository: 'GitHub has another repository under this name',
  status_limit: 'GitHub accepts no more statuses for this commit and context',
}

/** With the code, which people can search for. Returns null for a reason that is not ours. */
export const knownReason = (reason: string | null): string | null =>
  reason !== null && Object.hasOwn(reasons, reason) ? `${reasons[reason]} (${reason})` : null
