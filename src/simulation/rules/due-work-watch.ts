/**
 * Rule 11, checked while the world goes on: a run that is free is taken, and a run whose time is
 * over is swept, as soon as a node that can do so has looked at the store by itself. No wake-up has
 * to arrive for that.
 */
import type { Findings } from '../findings.ts'
import type { SimulatedNode } from '../node.ts'
import type { World } from '../world.ts'

/** How long a node may take to look: its loops run at these paces, see `paces`. */
const lookMs = { busy: 5000, quiet: 60_000 }
const slackMs = 1000

const freeQuery = `SELECT id, fence, type FROM run WHERE available_at IS NOT NULL`
const overdueQuery = `SELECT id, due_at FROM run WHERE due_at <= ?`

interface FreeRun {
  readonly id: string
  readonly type: string
  readonly since: number
}

export class DueWorkWatch {
  readonly #world: World
  readonly #findings: Findings
  /** By run and fence. */
  #free = new Map<string, FreeRun>()
  /** Since when a run is overdue, by run and time. */
  #overdue = new Map<string, number>()
  /** Since when a node can take a run of a type, or can sweep. */
  readonly #ableSince = new Map<string, number>()
  readonly #reported = new Set<string>()

  constructor(world: World, findings: Findings) {
    this.#world = world
    this.#findings = findings
    world.onAbility = () => this.#look()
    world.onLeaseLost = () => this.#lookAgain()
  }

  /** The database is another one now. */
  clear(): void {
    this.#free.clear()
    this.#overdue.clear()
  }

  /** After a commit. */
  async update(): Promise<void> {
    const { memory, time, work } = this.#world
    if (work === null) return
    this.#look()
    const now = time.trueMs()
    const free = await memory.select(freeQuery)
    const rows = free as unknown as (Omit<FreeRun, 'since'> & { readonly fence: number })[]
    const before = this.#free
    this.#free = new Map(
      rows
        .filter(({ type }) => work.executed.includes(type))
        .map(({ id, fence, type }) => {
          const key = `${id} ${fence}`
          return [key, { id, type, since: before.get(key)?.since ?? now }]
        }),
    )
    for (const [key, { id }] of before) {
      if (!this.#free.has(key)) this.#findings.check('11', true, () => id)
    }
    const overdue = await memory.select(overdueQuery, [time.wallMs()])
    this.#overdue = new Map(
      overdue.map(({ id, due_at: at }) => {
        const key = `${String(id)} ${String(at)}`
        return [key, this.#overdue.get(key) ?? now]
      }),
    )
    for (const [key, since] of this.#overdue) {
      for (const node of this.#world.nodes) this.#check(node, 'sweep', `overdue ${key}`, since)
    }
  }

  /** Called whenever something changes, so that nothing is missed in between. */
  #look(): void {
    const { nodes, work, time } = this.#world
    if (work === null) return
    for (const node of nodes) {
      for (const { id, type, since } of this.#free.values()) this.#check(node, type, id, since)
      for (const ability of [...work.executed, 'sweep']) {
        const key = `${node.name} ${ability}`
        const isSweep = ability === 'sweep'
        const isAble = node.running !== null && (isSweep || work.hasFreeSlot(node.name, ability))
        if (!isAble) this.#ableSince.delete(key)
        else if (!this.#ableSince.has(key)) this.#ableSince.set(key, time.trueMs())
      }
    }
  }

  /** A node that got no answer asks again by its next look. */
  #lookAgain(): void {
    this.#look()
    this.#ableSince.clear()
    this.#look()
  }

  #check(node: SimulatedNode, ability: string, what: string, since: number): void {
    const ableSince = this.#ableSince.get(`${node.name} ${ability}`)
    if (ableSince === undefined || this.#reported.has(what)) return
    const waitedMs = this.#world.time.trueMs() - Math.max(since, ableSince)
    const maxMs = (this.#world.isQuiet ? lookMs.quiet : lookMs.busy) + slackMs
    if (waitedMs <= maxMs) return
    this.#reported.add(what)
    this.#findings.check('11', false, () => {
      return `run ${what} waited ${waitedMs} ms although ${node.name} could take it (${ability})`
    })
  }
}
