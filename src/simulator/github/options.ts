/**
 * What a simulated GitHub is made with. All of it has a default: `createGitHubSimulator()` takes
 * any token and goes by the machine's clock.
 */
import type { Clock } from '../../clock.ts'
import type { Random } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import { unknownMessage } from '../../validation/near-name.ts'
import type { ContentLimits } from './rate-limit.ts'
import type { Permissions } from './state/apps.ts'

export interface SimulatedAppOptions {
  readonly id: number
  readonly slug: string
  readonly clientId?: string
  /** PEM of the App's private key, or of the public one that belongs to it. */
  readonly privateKey?: string
  readonly publicKey?: string
  /** Write access to all that the routes need, if absent. */
  readonly permissions?: Permissions
  readonly events?: readonly string[]
}

export interface SimulatedToken {
  readonly token: string
  readonly login: string
}

export interface GitHubSimulatorOptions {
  readonly clock?: Clock
  readonly scheduler?: Scheduler
  /** With the same one, two simulators that are asked the same say the same. */
  readonly random?: Random
  /** Installed for every owner of a repository. */
  readonly app?: SimulatedAppOptions
  readonly tokens?: readonly SimulatedToken[]
  /**
   * Any token that nobody has is the first account's of `tokens`, or `holdfast-bot`'s. True when
   * there are neither `tokens` nor an `app`.
   */
  readonly acceptAnyToken?: boolean
  /** How far GitHub's clock is ahead of `clock`. */
  readonly aheadMs?: number
  /**
   * A status or check may go to a commit nobody told of; true if absent. One that was added with
   * `visibleAt` is not seen before, in either case.
   */
  readonly anyCommit?: boolean
  /** Refuse writes beyond these, as GitHub's secondary limits do. None if absent. */
  readonly limits?: ContentLimits
}

/** Every name of a type: one that is missing here does not compile. */
type Names<T> = Readonly<Record<keyof T, true>>

const optionNames: Names<GitHubSimulatorOptions> = {
  clock: true,
  scheduler: true,
  random: true,
  app: true,
  tokens: true,
  acceptAnyToken: true,
  aheadMs: true,
  anyCommit: true,
  limits: true,
}
const appNames: Names<SimulatedAppOptions> = {
  id: true,
  slug: true,
  clientId: true,
  privateKey: true,
  publicKey: true,
  permissions: true,
  events: true,
}
const tokenNames: Names<SimulatedToken> = { token: true, login: true }
const limitNames: Names<ContentLimits> = { perMinute: true, perHour: true, spacing: true }

/** A misspelt option would be left out in silence, and a test would test something else. */
export function refuseUnknownOptions(options: GitHubSimulatorOptions): void {
  const { app, limits, tokens } = options
  const problems = [
    ...unknownNames(options, optionNames, ''),
    ...unknownNames(app ?? {}, appNames, 'app'),
    ...unknownNames(limits ?? {}, limitNames, 'limits'),
    ...(tokens === undefined || Array.isArray(tokens) ? [] : ['tokens must be a list']),
    ...(Array.isArray(tokens) ? tokens : []).flatMap((token, at) =>
      unknownNames(token, tokenNames, `tokens.${at}`),
    ),
  ]
  if (problems.length > 0) throw new Error(`createGitHubSimulator: ${problems.join('; ')}`)
}

function unknownNames(
  given: unknown,
  names: Readonly<Record<string, true>>,
  place: string,
): readonly string[] {
  if (typeof given !== 'object' || given === null) {
    return [`${place === '' ? 'the argument' : place} must be an object`]
  }
  const known = Object.keys(names)
  return Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => `${place === '' ? '' : `${place}.`}${name} ${unknownMessage(name, known)}`)
}
