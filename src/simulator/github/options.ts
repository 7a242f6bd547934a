/**
 * The options of a simulated GitHub. All have a default: `createGitHubSimulator()` accepts any
 * token and uses the machine's clock.
 */
import type { Clock } from '../../clock.ts'
import type { Random } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import { unknownField } from '../../validation/nearest.ts'
import type { ContentLimits } from './rate-limit.ts'
import type { Permissions } from './state/apps.ts'

export interface SimulatedAppOptions {
  readonly id: number
  readonly slug: string
  readonly clientId?: string
  /** The App's private key as PEM. Give this or `publicKey`. */
  readonly privateKey?: string
  readonly publicKey?: string
  /** If absent: write access to all that the routes need. */
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
  /** With the same numbers and the same requests, two simulators give the same answers. */
  readonly random?: Random
  /** Installed for every owner of a repository. */
  readonly app?: SimulatedAppOptions
  readonly tokens?: readonly SimulatedToken[]
  /**
   * An unknown token belongs to the first account of `tokens`, or to `holdfast-bot`. True if absent
   * and there are neither `tokens` nor an `app`.
   */
  readonly acceptAnyToken?: boolean
  /** How far GitHub's clock is ahead of `clock`. */
  readonly aheadMs?: number
  /**
   * Statuses and check runs may name an unknown commit; true if absent. A commit that was added
   * with `visibleAt` is not visible before that time in either case.
   */
  readonly anyCommit?: boolean
  /** Writes above these are refused, as by GitHub's secondary limits. No limits if absent. */
  readonly limits?: ContentLimits
}

/** All names of a type: a missing one is a compile error. */
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

/** A misspelt option would be ignored silently, and the test would test something else. */
export function refuseUnknownOptions(options: GitHubSimulatorOptions): void {
  const { app, limits, tokens } = options
  const problems = [
    ...unknownNames(options, optionNames, ''),
    ...unknownNames(app ?? {}, appNames, 'app'),
    ...unknownNames(limits ?? {}, limitNames, 'limits'),
    ...(tokens === undefined || Array.isArray(tokens) ? [] : ['tokens must be a list']),
    ...(Array.isArray(tokens) ? tokens : []).flatMap((token, index) =>
      unknownNames(token, tokenNames, `tokens.${index}`),
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
    .map((name) => `${place === '' ? '' : `${place}.`}${name} ${unknownField(name, known)}`)
}
