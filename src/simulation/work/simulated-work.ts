/**
 * The work that simulated nodes do themselves: the run types they execute, the real handler
 * executor over simulated handlers, and what those did outside the store.
 */
import type { Engine } from '../../engine.ts'
import type { Executor, HeldRun } from '../../executor.ts'
import { handlerExecutor } from '../../executors/handler/handler-executor.ts'
import type { Log } from '../../log.ts'
import type { NodeWork } from '../../node.ts'
import { createEmbeddedEngine } from '../../open-engine.ts'
import type { SharedMemory } from '../../open-store.ts'
import { publishRights } from '../../settings/run-types/publish-rights.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Store } from '../../store.ts'
import type { NodePorts } from '../node-ports.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { AnsweredPublication } from '../workers.ts'
import { Effects } from './effects.ts'
import { LostAnswers } from './lost-answers.ts'
import { simulatedHandler, type HandlerOptions } from './simulated-handler.ts'
import { SimulatedQueue } from './simulated-queue.ts'
import { makePlan, type WorkPlan } from './work-plan.ts'

const confirmDelayMs = 5000
const restartMsMax = 20_000

export interface SimulatedWorkOptions {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly memory: SharedMemory
  /** Every type of the world. */
  readonly types: Settings['runs']
  /** Those that the nodes execute. */
  readonly executed: readonly string[]
  readonly countFault: (kind: string) => void
  readonly isQuiet: () => boolean
  readonly clockChanged: () => boolean
  /** A node has more or fewer free slots. */
  readonly onChange: () => void
  /** A node asked for runs, and the store did not answer. */
  readonly onLeaseLost: () => void
}

/** One generation of a node. */
export interface WorkingNode {
  readonly name: string
  readonly generation: number
  readonly interruptedAt: readonly number[]
  readonly ports: NodePorts
  readonly store: Store
  readonly log: Log
  readonly crash: (why: string) => void
  readonly start: () => void
}

export class SimulatedWork {
  readonly effects: Effects
  /** Null where each node wakes only itself. */
  readonly queue: SimulatedQueue | null
  readonly lostAnswers: LostAnswers
  readonly publications: AnsweredPublication[] = []
  readonly #options: SimulatedWorkOptions
  readonly #plans = new Map<string, WorkPlan>()
  /** Runs in work, by node and type, of its present generation. */
  readonly #busy = new Map<string, Map<string, number>>()
  #texts = 0

  constructor(options: SimulatedWorkOptions) {
    this.#options = options
    const { time, random, countFault } = options
    this.effects = new Effects(time)
    const { onLeaseLost } = options
    this.lostAnswers = new LostAnswers({ random: random.fork(), countFault, onLeaseLost })
    const hasQueue = random.chance(70)
    this.queue = hasQueue ? new SimulatedQueue({ time, random: random.fork(), countFault }) : null
  }

  get random(): SeededRandom {
    return this.#options.random
  }

  get executed(): readonly string[] {
    return this.#options.executed
  }

  get types(): Settings['runs'] {
    return this.#options.types
  }

  engine({ name, ports }: Pick<WorkingNode, 'name' | 'ports'>): Engine {
    return this.queue?.open(name, ports.scheduler) ?? createEmbeddedEngine(ports.scheduler)
  }

  open(node: WorkingNode): NodeWork {
    const { types, executed, random, time, countFault } = this.#options
    this.#busy.set(node.name, new Map())
    return {
      types: new Map(
        executed.map((type) => {
          const { concurrency = 1 } = types[type] ?? {}
          return [type, { executor: this.#executor(node, type), concurrency }]
        }),
      ),
      worker: `${node.name}/${node.generation}`,
      renewal: null,
      onStuck: (type) => {
        countFault('node stuck')
        node.crash(`because all its work of the type ${type} is stuck`)
        time.after(random.below(restartMsMax), node.start)
      },
    }
  }

  /** True if it has a free slot, as far as the simulation knows. */
  hasFreeSlot(node: string, type: string): boolean {
    const inWork = this.#busy.get(node)?.get(type) ?? 0
    return inWork < (this.#options.types[type]?.concurrency ?? 0)
  }

  /** The same for every attempt of a round. */
  planOf({ id, round, pr }: HeldRun['run']): WorkPlan {
    const { random } = this.#options
    const key = `${id} ${round}`
    const text = (what: string): string => `${what} ${(this.#texts += 1)} of a node.`
    const plan = this.#plans.get(key) ?? makePlan({ random, isOnPullRequest: pr !== null, text })
    this.#plans.set(key, plan)
    return plan
  }

  #executor(node: WorkingNode, type: string): Executor {
    const { types, random } = this.#options
    const busy = this.#busy.get(node.name) ?? new Map<string, number>()
    const count = (change: number): void => {
      busy.set(type, (busy.get(type) ?? 0) + change)
      this.#options.onChange()
    }
    const options = {
      store: node.store,
      publishRights: publishRights({ runs: types }),
      random,
      scheduler: node.ports.schedulerFor('work'),
      log: node.log,
      confirmDelayMs,
      github: null,
      codeVersion: null,
    }
    return {
      stopMsMax: 5000,
      execute: async (held) => {
        count(1)
        try {
          const handler = simulatedHandler(this.#handlerOptions(node, held))
          return await handlerExecutor(handler, options).execute(held)
        } finally {
          count(-1)
        }
      },
    }
  }

  #handlerOptions({ ports, interruptedAt }: WorkingNode, held: HeldRun): HandlerOptions {
    const { random, isQuiet, clockChanged, time, memory } = this.#options
    const { run, actor } = held
    const { id: runId, round, fence } = run
    const query =
      'SELECT state, fence, result FROM step WHERE run_id = ? AND round = ? AND name = ?'
    return {
      plan: this.planOf(run),
      execution: this.effects.begin({ runId, round, fence, actor, interruptedAt, inNode: true }),
      ports: {
        wait: (ms) => ports.wait(ms),
        effect: (about, happen) => ports.effect(about, happen),
      },
      effects: this.effects,
      random,
      ...{ isQuiet, clockChanged },
      async stored(step) {
        const [row] = await memory.select(query, [runId, round, step])
        return (row as Awaited<ReturnType<HandlerOptions['stored']>> | undefined) ?? null
      },
      onPublished: (name, text) => {
        const at = time.trueMs()
        this.publications.push({ runId, name, channel: 'github-comment', text, at })
      },
    }
  }
}
