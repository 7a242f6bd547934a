/**
 * Asks GitHub to confirm the head after the order of arrival had to decide between two heads. Runs
 * after the claim was answered. If GitHub does not answer, or too many questions are open, nothing
 * is lost: the claim stored the question, and catch-up asks it later.
 */
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Run } from '../domain/run.ts'
import type { HeadSource } from '../head-source.ts'
import type { StorePart } from '../store.ts'

export interface HeadCheckOptions {
  readonly store: StorePart<{ runs: 'confirmHead'; repositories: 'get' }> & {
    readonly catchUp: Pick<CatchUpStore, 'forgetHeadCheck'>
  }
  readonly source: HeadSource
  /** GitHub named another head; these runs were superseded by it. */
  readonly onMoved: (run: Run, lostRunIds: readonly string[]) => void
  readonly onError: (error: unknown, run: Run) => void
}

/** Questions at a time; catch-up asks the others one by one. */
const openChecksMax = 20

export class HeadCheck {
  readonly #options: HeadCheckOptions
  readonly #openChecks = new Set<Promise<void>>()
  /** Each ends the wait for one answer. */
  readonly #waits = new Set<() => void>()
  #isStopped = false

  constructor(options: HeadCheckOptions) {
    this.#options = options
  }

  /** `fence`: the newest known decision about this head. */
  start(run: Run, fence: number): void {
    if (this.#isStopped || this.#openChecks.size >= openChecksMax) return
    const check = this.ask(run, fence)
      .catch((error: unknown) => this.#options.onError(error, run))
      .finally(() => this.#openChecks.delete(check))
    this.#openChecks.add(check)
  }

  /** Questions without an answer stay stored and are asked after the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const end of this.#waits) end()
    await this.idle()
  }

  /** Resolves when every question that was asked is done. */
  async idle(): Promise<void> {
    while (this.#openChecks.size > 0) await Promise.all(this.#openChecks)
  }

  /** Rejects when GitHub cannot be asked now. */
  async ask(run: Run, fence: number): Promise<void> {
    const { store, source, onMoved } = this.#options
    if (run.repo === null || run.pr === null) return
    const repository = await store.repositories.get(run.scope)
    const place = { repo: repository?.name ?? run.repo, repoGithubId: repository?.githubId ?? null }
    if (this.#isStopped) return
    const head = await this.#unlessStopped(source.headOf(place, run.pr))
    if (head === 'stopped') return
    if (head === null) {
      await store.catchUp.forgetHeadCheck(run.id, fence)
      return
    }
    const { supersededRunIds } = await store.runs.confirmHead({
      runId: run.id,
      fence,
      headSha: head.headSha.toLowerCase(),
      baseSha: head.baseSha.toLowerCase(),
      at: head.updatedAt,
      actor: 'head-check',
    })
    onMoved(run, supersededRunIds)
  }

  /** Forgets a question as soon as it is answered: there may be many before a stop. */
  async #unlessStopped<T>(answer: Promise<T>): Promise<T | 'stopped'> {
    const stopped = Promise.withResolvers<'stopped'>()
    const end = (): void => stopped.resolve('stopped')
    this.#waits.add(end)
    try {
      return await Promise.race([answer, stopped.promise])
    } finally {
      this.#waits.delete(end)
    }
  }
}
