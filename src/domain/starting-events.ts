/** GitHub's events that can start a run in this version. The configuration refuses others. */
export const startingEvents: readonly string[] = [
  'check_run',
  'check_suite',
  'issue_comment',
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'pull_request_review_thread',
  'push',
]
