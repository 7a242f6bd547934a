/**
 * Starts a storm of processes on one store, kills some of them, and collects what they left. A
 * storm is measured in steps, not in seconds, and its random numbers have a seed: a slow machine
 * takes longer for the same storm.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seed, seeded } from '../seed.ts'
import { checkAudit } from './check-audit.ts'
import { checkLogs } from './check-logs.ts'
import { startChild, type Child } from './child.ts'
import type { Database } from './open-store.ts'
import { readLogs, type Logged } from './storm-log.ts'
import type { StormConfig, StormStart } from './storm-program.ts'
import { readTables } from './storm-tables.ts'

export interface StormOptions {
  readonly database: Database
  readonly processes: number
  readonly workers: number
  readonly pullRequests: number
  /** At least this many steps, of all processes together. */
  readonly steps: number
  /** How many processes are killed. Each is replaced, except the last one. */
  readonly kills: number
  /** Also checks the tables after each kill. Needs a single process, or others write meanwhile. */
  readonly lookOften?: boolean
  readonly broken?: boolean
}

export interface StormResult {
  readonly violations: readonly string[]
  readonly grants: number
  readonly refusals: number
}

export async function runStorm(options: StormOptions): Promise<StormResult> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-storm-'))
  try {
    return await runIn(folder, options)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function runIn(folder: string, options: StormOptions): Promise<StormResult> {
  const { database } = options
  const firstEventAt = Math.floor(Date.now() / 1000) * 1000 - 3_600_000
  const storm = new Storm(folder, options, firstEventAt)
  const betweenKills: string[] = []
  await storm.begin()
  for (let kill = 1; kill <= options.kills; kill++) {
    const isLast = kill === options.kills
    await storm.killOne(!isLast, async () => {
      if (options.lookOften !== true) return
      betweenKills.push(...checkAudit(await readTables(database)))
    })
  }
  await storm.end()
  const logs = readLogs(folder)
  const tables = await readTables(database)
  const count = (phase: Logged['phase']): number => logs.filter((l) => l.phase === phase).length
  return {
    violations: [
      ...betweenKills,
      ...checkAudit(tables),
      ...checkLogs({ logs, tables, firstEventAt }),
    ],
    grants: logs.filter(({ granted }) => granted === true).length,
    refusals: count('refused'),
  }
}

class Storm {
  readonly #folder: string
  readonly #options: StormOptions
  readonly #firstEventAt: number
  readonly #below = seeded(seed)
  readonly #children: Child[]
  #started = 0
  #steps = 0
  #onStep = (): void => undefined

  constructor(folder: string, options: StormOptions, firstEventAt: number) {
    this.#folder = folder
    this.#options = options
    this.#firstEventAt = firstEventAt
    this.#children = Array.from({ length: options.processes }, () => this.#start())
  }

  async begin(): Promise<void> {
    await Promise.all(this.#children.map(({ ready }) => ready))
    for (const child of this.#children) this.#letGo(child)
  }

  /**
   * Kills a process after some steps, whatever it does then. Calls `look` before the next one
   * starts.
   */
  async killOne(replaced: boolean, look: () => Promise<void>): Promise<void> {
    const place = this.#below(this.#children.length)
    const apart = Math.floor((2 * this.#options.steps) / (this.#options.kills + 1))
    const next = replaced ? this.#start() : null
    await next?.ready
    await this.#stepsReach(this.#steps + 1 + this.#below(apart))
    await this.#children[place]?.kill()
    await look()
    if (next === null) this.#children.splice(place, 1)
    else {
      this.#children[place] = next
      this.#letGo(next)
    }
  }

  async end(): Promise<void> {
    if (this.#children.length > 0) await this.#stepsReach(this.#options.steps)
    for (const child of this.#children) child.go()
    await Promise.all(this.#children.map(({ ended }) => ended))
  }

  #start(): Child {
    const { database, workers, pullRequests, processes, broken = false } = this.#options
    const number = this.#started++
    const child = startChild('storm-program.ts', {
      ...{ database, folder: this.#folder, workers, pullRequests, processes, broken },
      ...{ firstEventAt: this.#firstEventAt, name: `p${number}`, leaseMs: 250 },
      seed: seed * 1000 + number,
    } satisfies StormConfig)
    child.process.on('message', (sent) => {
      if ((sent as { readonly kind: string }).kind !== 'step') return
      this.#steps++
      this.#onStep()
    })
    return child
  }

  #letGo(child: Child): void {
    child.go({ stepsBefore: this.#steps } satisfies StormStart)
  }

  /** Rejects when a process ends by itself, because the steps may then never be reached. */
  async #stepsReach(steps: number): Promise<void> {
    if (this.#steps >= steps) return
    const reached = new Promise<void>((resolve) => {
      this.#onStep = () => {
        if (this.#steps >= steps) resolve()
      }
    })
    const over = new AbortController()
    const ends = this.#children.map(async (child) => {
      await once(child.process, 'exit', { signal: over.signal })
      throw new Error('a process of the storm ended by itself')
    })
    try {
      await Promise.race([reached, ...ends])
    } finally {
      over.abort()
      await Promise.allSettled(ends)
    }
  }
}
