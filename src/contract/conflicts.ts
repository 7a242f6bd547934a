/** Why the current state can refuse a request: the codes of a 409 and what each means. */
export const conflictCodes = {
  superseded: 'a newer head took over; stop working on the run',
  cancelled: 'a person cancelled the run; stop working on it',
  ended:
    'the run is already completed with this lease, and its result is stored; there is nothing ' +
    'left to do',
  lease_lost: 'the run has another holder or none; stop working on it',
  key_conflict: 'the key belongs to another subject; use another key, or name that subject',
  not_current: "the key is no longer its subject's current one; rerun the current run",
  not_active: 'the run has ended; only an active run can be cancelled, report a status or go on',
  step_in_doubt:
    'an earlier holder began the step and left no result; `key` and `attempt` name it. Send ' +
    '`take_over`, `confirmed` or `held`',
  step_late:
    'another worker began the step, or you began it with another `start_id`, so your result ' +
    'changes nothing; `detail` says which',
  step_not_begun: 'nobody began the step; send `state: "started"` first',
  step_not_held: 'the step does not wait for a person, so there is nothing to decide',
  already_sent: 'it was sent, and that is final; publish something new instead',
  content_differs: 'this name was published with other content in this round; use another name',
  not_ours: 'GitHub shows that this is not what the delivery published; give the right id or none',
  not_checked: 'GitHub could not be asked whether it is ours; try again, or leave the id out',
  github_token_unavailable:
    'the server has no GitHub App, or the run has no repository; `hint` says what to change',
  github_refused:
    'GitHub gives no token for this repository with the permissions of this run type; `hint` ' +
    'says what to change',
  target_taken:
    'another run owns the target now; a status is kept in case that run ends without a result',
} as const

export type ConflictCode = keyof typeof conflictCodes

/** The conflicts that every use of a run token can meet. */
export const runTokenConflicts = ['superseded', 'lease_lost'] as const
/** The conflicts that a holder can meet. */
export const holderConflicts = ['superseded', 'cancelled', 'ended', 'lease_lost'] as const

export function conflictText(codes: readonly ConflictCode[]): string {
  const meanings = codes.map((code) => `\`${code}\`: ${conflictCodes[code]}.`)
  return ['The current state does not allow it; `code` says why.', ...meanings].join('\n\n')
}
