/**
 * The guard: starts the commands of one node and sees to it that none of their processes outlives
 * its lease or the node. It is a process of its own, so it does this also when the node is stopped,
 * crashes or is killed.
 *
 * What must hold: when the node is gone, every process of every command is killed before the guard
 * ends, and their files are removed, because a run token is in them. /proc is read once per look
 * for all commands together, because that takes milliseconds.
 */
import { rmSync, statSync } from 'node:fs'
import type { Clock } from '../../../clock.ts'
import { delay, type Scheduler } from '../../../scheduler.ts'
import { readProcesses } from '../processes.ts'
import { GuardedCommand } from './guarded-command.ts'
import type { LeaseSign } from './lease-signs.ts'
import { WatchedCommand } from './watched-command.ts'
import type { FromGuard, ToGuard } from './messages.ts'

const lookEveryMs = 200
const lastLookEveryMs = 20
/** Of folders that the node cannot remove either. */
const foldersMax = 1000

export interface GuardOptions {
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly send: (message: FromGuard) => void
  /** Processes that are never signalled: the guard itself and its node. */
  readonly spared: readonly number[]
}

export class Guard {
  readonly #options: GuardOptions
  readonly #commands = new Map<number, GuardedCommand | WatchedCommand>()
  /**
   * Also of commands that have ended, until the node has removed them. With the number of each,
   * so that a folder which another node made under the same name is left alone.
   */
  readonly #folders = new Map<string, number>()
  #nodeIsGone = false
  #looksAt: 'never' | 'soon' | 'later' = 'never'
  #cancelLook: () => void = () => undefined

  constructor(options: GuardOptions) {
    this.#options = options
  }

  receive(message: ToGuard): void {
    if (this.#nodeIsGone) return
    switch (message.type) {
      case 'start': {
        const tools = { ...this.#options, lookSoon: () => this.#lookSoon() }
        this.#noteFolder(message.folder)
        this.#commands.set(message.id, new GuardedCommand(message, tools))
        return
      }
      case 'watch': {
        const tools = { ...this.#options, lookSoon: () => this.#lookSoon() }
        this.#noteFolder(message.folder)
        this.#commands.set(message.id, new WatchedCommand(message, tools))
        return this.#options.send({ type: 'watching', id: message.id })
      }
      case 'watched-started':
        return this.#watched(message.id)?.started(message)
      case 'watched-exited':
        return this.#watched(message.id)?.exited(message.graceMs)
      case 'renew':
        return this.#commands.get(message.id)?.renew(message.leaseMs)
      case 'stop':
        return this.#commands.get(message.id)?.stop(message.graceMs)
    }
  }

  /** The thread that renews leases has renewed this one. The node itself may be blocked. */
  leaseRenewed({ leaseHash, leaseMs }: LeaseSign): void {
    for (const command of this.#commands.values()) {
      if (command instanceof GuardedCommand) command.signRenewed(leaseHash, leaseMs)
    }
  }

  #watched(id: number): WatchedCommand | null {
    const command = this.#commands.get(id)
    return command instanceof WatchedCommand ? command : null
  }

  /** Kills everything. Resolves when nothing is left that can be killed. */
  async nodeGone(): Promise<void> {
    this.#nodeIsGone = true
    for (const command of this.#commands.values()) {
      if (command instanceof WatchedCommand) command.nodeGone()
      else command.stop(0)
    }
    while (this.#commands.size > 0) {
      this.#look()
      await delay(this.#options.scheduler, lastLookEveryMs)
    }
    for (const [folder, number] of this.#folders) removeFolder(folder, number)
  }

  #noteFolder(folder: string | null): void {
    for (const [known, number] of this.#folders) {
      if (numberOf(known) !== number) this.#folders.delete(known)
    }
    const [oldest] = this.#folders.keys()
    if (oldest !== undefined && this.#folders.size >= foldersMax) this.#folders.delete(oldest)
    const number = folder === null ? null : numberOf(folder)
    if (folder !== null && number !== null) this.#folders.set(folder, number)
  }

  /** The last act of a guard that ends for any other reason, such as a mistake in it. */
  killGroups(): void {
    for (const command of this.#commands.values()) command.killGroup()
  }

  /** One look for everything that is asked for in this turn. */
  #lookSoon(): void {
    if (this.#looksAt === 'soon') return
    this.#cancelLook()
    this.#looksAt = 'soon'
    this.#options.scheduler.soon(() => this.#lookAndGoOn())
  }

  #lookAndGoOn(): void {
    this.#look()
    this.#looksAt = 'never'
    if (![...this.#commands.values()].some(({ isStopping }) => isStopping)) return
    this.#looksAt = 'later'
    const { scheduler } = this.#options
    this.#cancelLook = scheduler.after(lookEveryMs, () => this.#lookAndGoOn())
  }

  #look(): void {
    const processes = readProcesses(this.#options.spared)
    for (const command of [...this.#commands.values()]) {
      if (!command.look(processes)) continue
      this.#commands.delete(command.id)
      this.#options.send({ type: 'gone', id: command.id, leaseEnded: command.leaseEnded })
    }
  }
}

/** A command may have left something in it that cannot be removed. */
function removeFolder(folder: string, number: number): void {
  try {
    if (numberOf(folder) === number) rmSync(folder, { recursive: true, force: true })
  } catch {
    // Nobody is left to be told. The other folders are removed all the same.
  }
}

/** Null if it is not there, or out of reach. */
function numberOf(folder: string): number | null {
  try {
    return statSync(folder).ino
  } catch {
    return null
  }
}
