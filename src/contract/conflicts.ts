/** Why the state of things can refuse a request: the codes of a 409 and what each means. */
export const conflictCodes = {
  superseded: 'a newer head took over; stop working on the run',
  cancelled: 'a person called the run off; stop working on it',
  ended: 'the run was completed with this very lease; there is nothing left to do',
  lease_lost: 'somebody else holds the run by now, or nobody does; stop working on it',
  key_conflict: 'the key belongs to another subject; use another key, or name that subject',
  not_current: "the key is no longer its subject's current one; rerun the current run",
  not_active: 'the run has ended; only an active one can be cancelled or has a status to report',
  already_sent: 'it was sent, which is final; publish something new instead',
  content_differs: 'this name was published with other content in this round; use another name',
  not_ours: 'GitHub shows that this is not what the delivery published; give the right id or none',
  not_checked: 'GitHub could not be asked whether it is ours; try again, or leave the id out',
  target_taken:
    'another has its place now; a status is kept for when that one ends without a result',
} as const

export type ConflictCode = keyof typeof conflictCodes

/** What every use of a run token can be told. */
export const runTokenConflicts = ['superseded', 'lease_lost'] as const
/** What a holder can be told. */
export const holderConflicts = ['superseded', 'cancelled', 'ended', 'lease_lost'] as const

export function conflictText(codes: readonly ConflictCode[]): string {
  const told = codes.map((code) => `\`${code}\`: ${conflictCodes[code]}.`)
  return ['The state of things does not allow it; `code` says why.', ...told].join('\n\n')
}
