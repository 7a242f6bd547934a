/**
 * Leases runs for the executors of this process, as many as there are free slots, and does them.
 *
 * When to look is only a hint: the engine's wake-ups, a slot that becomes free, and a poll that
 * finds whatever no hint announced. The store's lease says who gets a run. So a lost, doubled or
 * late hint changes nothing but the time.
 *
 *   working ── stop ──▶ finishing ── all done ──▶ stopped
 *                          └── too long: work is stopped, and its runs are released ──▶ stopped
 */
import { backgroundLoop, type BackgroundLoop } from '../background-loop.ts'
import type { Clock } from '../clock.ts'
import type { Engine, Heard, WakeUp } from '../engine.ts'
import type { Executor } from '../executor.ts'
import type { Log } from '../log.ts'
import { RecentMap } from '../recent-map.ts'
import type { Leased } from '../runs/runs.ts'
import type { RunsService } from '../runs/create-runs.ts'
import type { ReservedSlot } from '../runs/start-offers.ts'
import { leasedView } from '../runs/answers.ts'
import { delay, type Scheduler } from '../scheduler.ts'
import type { LeaseRenewal } from '../store/lease-renewal.ts'
import type { Store, StorePart } from '../store.ts'
import { doRun } from './do-run.ts'
import { LeasedRun } from './held-run.ts'
import { Slots } from './slots.ts'

export interface WorkType {
  readonly executor: Executor
  /** How many runs of it this process works on at a time. */
  readonly concurrency: number
}

export interface WorkLoopOptions {
  readonly store: StorePart<{ runs: 'availableTypes' }> & Pick<Store, 'now'>
  readonly runs: RunsService
  readonly engine: Engine
  readonly types: ReadonlyMap<string, WorkType>
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly log: Log
  /** Names this process: the machine, and which of its starts this is. */
  readonly worker: string
  /** How often the store is asked for runs that nobody announced. */
  readonly pollMs: number
  /** Renews leases while the event loop is blocked. Null where nobody else could take a run. */
  readonly renewal: LeaseRenewal | null
  /**
   * For so long after a renewal nobody takes a run from this process, although it gives no sign.
   * Null: until the lease ends.
   */
  readonly silenceMs: number | null
  /** The functions of one type never settle: this process should stop and be started again. */
  readonly onStuck: (type: string) => void
}

export interface WorkLoop {
  start(): void
  /** Leases nothing more. Resolves with the number of runs whose work had to be stopped. */
  stop(graceMs: number): Promise<number>
}

export function createWorkLoop(options: WorkLoopOptions): WorkLoop {
  return new StoreWorkLoop(options)
}

class StoreWorkLoop implements WorkLoop {
  readonly #options: WorkLoopOptions
  readonly #slots: ReadonlyMap<string, Slots>
  readonly #inWork = new Map<LeasedRun, Promise<void>>()
  /** The fences of the runs that this process leased last. */
  readonly #leased = new RecentMap<number>()
  /** Types whose runs are being leased now, and those with another hint meanwhile. */
  readonly #leasing = new Map<string, Promise<boolean>>()
  readonly #leaseAgain = new Set<string>()
  /** When the store was last asked, and then had no more runs of the type. */
  readonly #emptiedAt = new Map<string, number>()
  readonly #poll: BackgroundLoop
  /** Slots that are kept free for runs of claims under way. */
  #reserved = 0
  #isStopping = false

  constructor(options: WorkLoopOptions) {
    const { types, scheduler, log } = options
    this.#options = options
    this.#slots = new Map(
      [...types].map(([type, { concurrency }]) => [type, new Slots(concurrency)]),
    )
    this.#poll = backgroundLoop({
      scheduler,
      everyMs: options.pollMs,
      pass: () => this.#findRuns(),
      onError: (error) => log.warn({ err: error }, 'Could not look for runs; trying again'),
    })
  }

  start(): void {
    const { engine, runs, types } = this.#options
    engine.listen([...types.keys()], {
      runAvailable: (wakeUp) => this.#wakeUp(wakeUp),
      runsLost: runs.lost,
    })
    runs.startOn({ reserve: (type) => this.#reserve(type) })
    this.#poll.start()
    void this.#poll.kick()
  }

  async stop(graceMs: number): Promise<number> {
    this.#isStopping = true
    await this.#poll.stop()
    const finished = new AbortController()
    void this.#allDone().then(() => finished.abort())
    await delay(this.#options.scheduler, graceMs, finished.signal)
    const cutOff = [...this.#inWork.keys()]
    for (const held of cutOff) held.stopWork('shutdown')
    await this.#allDone()
    return cutOff.length
  }

  async #allDone(): Promise<void> {
    const isLeasing = (): boolean => this.#leasing.size > 0 || this.#reserved > 0
    while (this.#inWork.size > 0 || isLeasing()) {
      await Promise.all(this.#inWork.values())
      if (isLeasing()) await delay(this.#options.scheduler, 1)
    }
  }

  /** One query, however many types there are and however many runs wait. */
  async #findRuns(): Promise<void> {
    const types = [...this.#slots].flatMap(([type, slots]) => (slots.isFull ? [] : [type]))
    if (types.length === 0 || this.#isStopping) return
    const sentAt = this.#options.clock.monotonicMs()
    const waiting = await this.#options.store.runs.availableTypes(types, null, null)
    for (const type of types) if (!waiting.includes(type)) this.#emptiedAt.set(type, sentAt)
    await Promise.all(waiting.map((type) => this.#lease(type)))
  }

  /**
   * A run that this process leased since then needs no other lease. The leases that hints lead to
   * take as many runs as there are slots, so under load this is true of most wake-ups.
   */
  async #wakeUp({ runId, fence, type }: WakeUp): Promise<Heard> {
    const isLeased = (): boolean => (this.#leased.get(runId) ?? -1) > fence
    if (isLeased()) return undefined
    const answered = await this.#lease(type)
    if (isLeased()) return answered ? 'looked' : undefined
    if (this.#slots.get(type)?.free === 0 || this.#isStopping) {
      // If a person had asked for the run, the slot that is left for such runs would have taken it.
      this.#options.engine.pause(type)
      return 'full'
    }
    return answered ? 'looked' : undefined
  }

  /** True if it asked the store after this call, and the store answered. Never rejects. */
  #lease(type: string): Promise<boolean> {
    const underWay = this.#leasing.get(type)
    if (underWay !== undefined) {
      this.#leaseAgain.add(type)
      return underWay
    }
    const leasing = this.#leaseUntilQuiet(type)
    this.#leasing.set(type, leasing)
    return leasing
  }

  async #leaseUntilQuiet(type: string): Promise<boolean> {
    let answered: boolean
    do {
      answered = await this.#fill(type).then(
        () => true,
        (error: unknown) => {
          this.#options.log.warn({ err: error, type }, 'Could not lease runs; trying again')
          return false
        },
      )
    } while (this.#leaseAgain.delete(type))
    this.#leasing.delete(type)
    return answered
  }

  async #fill(type: string): Promise<void> {
    const slots = this.#slots.get(type)
    if (slots === undefined || slots.isFull || this.#isStopping) return
    for (const one of await this.#leaseMany(type, slots)) this.#do(type, one, slots.take())
  }

  /** As many as there are slots. A slot that becomes free meanwhile is a hint of its own. */
  async #leaseMany(type: string, slots: Slots) {
    const { runs, worker, clock } = this.#options
    const sentAt = clock.monotonicMs()
    const { free, onlyForAsked: askedOnly, hasExtra } = slots
    const count = hasExtra ? free + 1 : free
    const request = { worker, type, count, askedOnly, lastIfAsked: hasExtra }
    const leased = await runs.leaseMany(request, actorOf(worker))
    if (leased.length < free) this.#emptiedAt.set(type, sentAt)
    else this.#emptiedAt.delete(type)
    return leased.map((one) => ({ one, sentAt }))
  }

  /**
   * Just now there were more slots than runs. What became available since is announced, here or
   * where it is found within the usual time, so a slot that becomes free is no reason to look.
   */
  #wasEmpty(type: string): boolean {
    const at = this.#emptiedAt.get(type)
    return at !== undefined && this.#options.clock.monotonicMs() - at < emptyMs
  }

  /**
   * A slot for a run that is being claimed. While other runs of its type wait, as far as is known
   * here, there is none. The claim's transaction looks again.
   */
  #reserve(type: string): ReservedSlot | null {
    const slots = this.#slots.get(type)
    // A lease that is under way may fill all slots.
    if (slots === undefined || this.#isStopping || this.#leasing.has(type)) return null
    if (slots.free === 0 || !this.#wasEmpty(type)) {
      this.#emptiedAt.delete(type)
      return null
    }
    const { worker, clock } = this.#options
    const sentAt = clock.monotonicMs()
    const giveBack = slots.take()
    this.#reserved++
    let isOpen = true
    const close = (): boolean => {
      if (!isOpen) return false
      isOpen = false
      this.#reserved--
      return true
    }
    return {
      worker,
      begin: (leased) => {
        if (close()) this.#do(type, { one: leasedView(leased), sentAt }, giveBack)
      },
      giveBack: () => {
        if (close()) this.#freeSlot(type, giveBack)
      },
    }
  }

  #do(type: string, { one, sentAt }: { one: Leased; sentAt: number }, giveBack: () => void): void {
    const { types, worker, store, log, onStuck } = this.#options
    const executor = types.get(type)?.executor
    const slots = this.#slots.get(type)
    if (executor === undefined || slots === undefined) return giveBack()
    const options = { ...this.#options, actor: actorOf(worker), now: () => store.now() }
    const held = new LeasedRun(one, options, sentAt)
    const { leaseHash, leaseMs } = held
    const { id: runId, timeoutMs, fence } = one.run
    this.#leased.set(runId, fence)
    const endRenewal = this.#options.renewal?.keep({ runId, leaseHash, leaseMs, timeoutMs })
    if (this.#isStopping) held.stopWork('shutdown')
    const done = doRun(held, executor, {
      ...options,
      onStuck: (work) => {
        void slots.countStuck(work)
        if (!slots.allStuck) return
        log.error({ type }, 'All work of this type is stuck, so this process stops')
        onStuck(type)
      },
    }).finally(() => {
      endRenewal?.()
      this.#inWork.delete(held)
      this.#freeSlot(type, giveBack)
    })
    this.#inWork.set(held, done)
  }

  #freeSlot(type: string, giveBack: () => void): void {
    giveBack()
    if (this.#isStopping) return
    // It brings the wake-ups that came while there was no slot.
    this.#options.engine.resume(type)
    if (!this.#wasEmpty(type)) void this.#lease(type)
  }
}

/** With several processes most looks would find nothing. */
const emptyMs = 500

const actorOf = (worker: string): string => `executor:${worker}`
