/** What a claim decided and why, one clause for each reason of the table in domain/claim.ts. */
import type { ClaimReason } from '../../domain/claim.ts'
import { claimReasons } from '../../domain/claim.ts'
import { quoted } from './plain-words.ts'

export interface ClaimAbout {
  /** `review of 9c1185a` */
  readonly what: string
  /** `9c1185a` */
  readonly key: string
  readonly round: number
  readonly attempt: number
  /** Whether it was left for a worker; null where nothing was started. */
  readonly left: 'pending' | 'running' | null
  /** What a rule of the type, or the claim, said in its own words. */
  readonly said: string | null
}

export const claimWords: Readonly<Record<ClaimReason, (about: ClaimAbout) => string>> = {
  new: (about) => `${about.what} was claimed${hand(about)}`,
  'superseded-prior': ({ what, left }) => `${what} took over${begun(left)}`,
  reclaimed: (about) =>
    `whoever held ${about.what} had been silent too long, so it was taken over${hand(about)} ` +
    `(attempt ${about.attempt})`,
  rerun: (about) => again(about, 'it was to be done again'),
  retry: (about) => again(about, 'its last round had come to no result'),
  returned: (about) => again(about, `${about.key} is wanted again`),
  restored: ({ key }) =>
    `${key} is the head again and was finished before, so its result counts and no work is needed`,
  duplicate: ({ what }) => `${what} was known already, so nothing was started`,
  'stale-event': ({ what }) => `a newer head was known already, so nothing was started for ${what}`,
  queued: ({ what }) => `${what} was put in line behind the run before it`,
  busy: ({ what }) => `another run was at work on the same subject, so ${what} was not started`,
  skipped: ({ what, said }) =>
    said === null || said === 'filtered'
      ? `${what} was skipped, because its rule (when) said no`
      : `${what} was skipped, because its rule (when) said ${quoted(said)}`,
}

/** What leads to work, now or later. */
export const startingReasons: ReadonlySet<ClaimReason> = new Set<ClaimReason>([
  'new',
  'superseded-prior',
  'reclaimed',
  'rerun',
  'retry',
  'returned',
  'queued',
])

export function isClaimReason(text: string | null): text is ClaimReason {
  return claimReasons.some((reason) => reason === text)
}

function again({ what, round, left }: ClaimAbout, why: string): string {
  return `${why}, so round ${round} of ${what} began${begun(left)}`
}

function begun(left: ClaimAbout['left']): string {
  if (left === null) return ''
  return left === 'pending' ? ' and was left for a worker' : ' and is held by its claimer'
}

function hand({ left }: ClaimAbout): string {
  if (left === null) return ''
  return left === 'pending' ? ' and left for a worker' : ' and is held by its claimer'
}
