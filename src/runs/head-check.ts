/**
 * After arrival had to decide between two heads, one look at GitHub settles it. If the look cannot
 * be made, arrival order stands. Runs beside the claim, which has long been answered.
 */
import type { Run } from '../domain/run.ts'
import type { HeadSource } from '../head-source.ts'
import type { Store } from '../store.ts'

export interface HeadCheckOptions {
  readonly store: Pick<Store, 'settleHead'>
  readonly source: HeadSource
  /** The head turned out to be another; these runs lost their place to it. */
  readonly onMoved: (run: Run, lostRunIds: readonly string[]) => void
  readonly onError: (error: unknown, run: Run) => void
}

export class HeadCheck {
  readonly #options: HeadCheckOptions
  readonly #underWay = new Set<Promise<void>>()
  readonly #stopped = Promise.withResolvers<null>()

  constructor(options: HeadCheckOptions) {
    this.#options = options
  }

  start(run: Run): void {
    const check = this.#look(run).finally(() => this.#underWay.delete(check))
    this.#underWay.add(check)
  }

  /** Arrival order stands where the answer has not come; nobody waits for it any longer. */
  async stop(): Promise<void> {
    this.#stopped.resolve(null)
    await this.settled()
  }

  /** Resolves when every look that was begun has been dealt with. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  async #look(run: Run): Promise<void> {
    const { store, source, onMoved, onError } = this.#options
    if (run.repo === null || run.pr === null) return
    try {
      const head = await Promise.race([source.look(run.repo, run.pr), this.#stopped.promise])
      if (head === null) return
      const { supersededRunIds } = await store.settleHead({
        runId: run.id,
        fence: run.fence,
        headSha: head.headSha.toLowerCase(),
        at: head.updatedAt,
        actor: 'head-check',
      })
      onMoved(run, supersededRunIds)
    } catch (error) {
      onError(error, run)
    }
  }
}
