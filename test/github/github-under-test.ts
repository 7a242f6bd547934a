/**
 * The real client, with a clock and deadlines that the test controls, and everything that it logs.
 * Time does not pass unless a test moves it.
 */
import { generateKeyPairSync } from 'node:crypto'
import type { RepositoryRef } from '../../src/github.ts'
import { createGitHub, type GitHubOptions } from '../../src/github/create-github.ts'
import type { Log } from '../../src/log.ts'
import type { Scheduler } from '../../src/scheduler.ts'
import { seededChance } from '../seed.ts'

/** A repository whose id is not known yet. */
export const named = (repo: string): RepositoryRef => ({ repo, repoGithubId: null })

export const theToken = 'ghp_topsecretpersonaltoken0123456789'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const appKeyPem = privateKey.export({ type: 'pkcs1', format: 'pem' }) as string
export const appPublicKey = publicKey

/** As GitHub creates them since 2026: the App's id, then a signed text of about 500 characters. */
export const longToken = (mark: string) =>
  `ghs_12_${mark}${'h'.repeat(36)}.${'p'.repeat(240)}.${'s'.repeat(240)}`

export class ManualClock {
  wall = Date.parse('2026-11-15T12:00:00Z')
  monotonic = 0
  wallMs = () => this.wall
  monotonicMs = () => this.monotonic
  pass(ms: number): void {
    this.wall += ms
    this.monotonic += ms
  }
}

/** Timers run when a test fires them. */
export class ManualScheduler implements Scheduler {
  readonly timers = new Map<() => void, number>()
  soon = (task: () => void) => void setImmediate(task)
  after = (ms: number, task: () => void) => {
    this.timers.set(task, ms)
    return () => void this.timers.delete(task)
  }
  afterInBackground = this.after
  fire(): void {
    for (const task of [...this.timers.keys()]) task()
  }
}

export function clientOf(url: string, options: Partial<GitHubOptions> = {}) {
  const lines: unknown[][] = []
  const keep = (...line: unknown[]) => void lines.push(line)
  const log = { debug: keep, info: keep, warn: keep, error: keep } as unknown as Log
  const clock = new ManualClock()
  const scheduler = new ManualScheduler()
  const github = createGitHub({
    credentials: { token: theToken },
    apiUrl: url,
    publicUrl: null,
    events: ['pull_request', 'check_run', 'issues', 'issue_comment'],
    fetch,
    clock,
    scheduler,
    random: seededChance(),
    log,
    version: '1.2.3',
    ...options,
  })
  return { github, clock, scheduler, lines }
}

export const appCredentials = { appId: '12', privateKey: appKeyPem }

/** What a promise rejects with; fails when it does not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([promise])
  if (result.status === 'fulfilled') throw new Error(`resolved: ${JSON.stringify(result.value)}`)
  return result.reason
}
