/**
 * Checks that run after every commit, not only at the end: two active runs of one subject, and a
 * version that goes back. Adds new audit rows to the story.
 */
import type { Findings } from '../findings.ts'
import type { AuditFact } from '../facts.ts'
import { readAudit } from '../facts.ts'
import type { World } from '../world.ts'
import { DueWorkWatch } from './due-work-watch.ts'
import { checkSentVersion, type WatchedDelivery } from './sent-version-rules.ts'

const deliveriesQuery = `SELECT delivery.id, version_fence, version_seq,
    sent_fence, sent_seq, sent_hash, status, channel, sha, thread, marker_key, content, github_id
  FROM delivery JOIN repository ON repository.id = repository_id`
const crowdedQuery = `SELECT subject_id, count(*) AS count FROM run
  WHERE state IN ('pending', 'running', 'waiting') AND on_newer = 'supersede'
  GROUP BY subject_id HAVING count(*) > 1`

export class CommitWatcher {
  readonly #world: World
  readonly #findings: Findings
  readonly #dueWork: DueWorkWatch
  readonly #previous = new Map<string, WatchedDelivery>()
  #lastAudit = 0
  #checking: Promise<void> | null = null

  constructor(world: World, findings: Findings) {
    this.#world = world
    this.#findings = findings
    this.#dueWork = new DueWorkWatch(world, findings)
    world.onCommit = () => void this.check()
    world.onRestored = () => this.#startOver()
  }

  /** Commits of the same moment share one check. Nothing is committed while a check runs. */
  async check(): Promise<void> {
    this.#checking ??= this.#checkNow().finally(() => (this.#checking = null))
    await this.#checking
  }

  /** After a restore, older versions are correct. So nothing is compared with the time before. */
  async #startOver(): Promise<void> {
    this.#previous.clear()
    this.#dueWork.clear()
    const [last] = await this.#world.memory.select('SELECT max(id) AS id FROM audit')
    this.#lastAudit = Number(last?.['id'] ?? 0)
  }

  async #checkNow(): Promise<void> {
    const { memory, story } = this.#world
    const newRows = await readAudit(memory, this.#lastAudit)
    if (newRows.length === 0) return
    this.#lastAudit = newRows.at(-1)?.id ?? this.#lastAudit
    for (const row of newRows) story.add('audit', auditLine(row))
    for (const row of newRows) if (row.type === 'run.anchor.lost') this.#checkLostAnchor(row)
    for (const { type, delivery_id: id } of newRows) {
      if (type === 'delivery.failed' && id !== null) this.#world.excuses.deliveryFailed(id)
    }
    await this.#dueWork.update()
    const crowded = await memory.select(crowdedQuery)
    this.#findings.check('1', crowded.length === 0, () => {
      const [first] = crowded
      return `subject ${String(first?.['subject_id'])} has ${String(first?.['count'])} active runs`
    })
    for (const row of await memory.select(deliveriesQuery))
      this.#compare(row as unknown as WatchedDelivery)
  }

  /** A comment that is hidden for a while still exists: only a deleted one is lost. */
  #checkLostAnchor({ data, delivery_id: id }: AuditFact): void {
    const { github, pulls } = this.#world
    const lost = pulls
      .flatMap(({ repo, number }) => github.allComments(repo.name, number))
      .find((comment) => String(comment.id) === data['comment_id'])
    this.#findings.check('6', lost === undefined || lost.deletedAt !== null, () => {
      return `comment ${lost?.id} of ${id} was recorded as deleted, but nobody deleted it`
    })
  }

  #compare(now: WatchedDelivery): void {
    const before = this.#previous.get(now.id)
    this.#previous.set(now.id, now)
    checkSentVersion(before, now, this.#world, this.#findings)
    if (before === undefined) return
    const wanted = [before.version_fence, before.version_seq] as const
    this.#findings.check('7', !isBelow([now.version_fence, now.version_seq], wanted), () => {
      const to = `${now.version_fence}.${now.version_seq}`
      return `delivery ${now.id} went back from version ${wanted.join('.')} to ${to}`
    })
    if (before.sent_fence === null || before.sent_seq === null) return
    const sentBefore = [before.sent_fence, before.sent_seq] as const
    const sentNow = [now.sent_fence ?? 0, now.sent_seq ?? 0] as const
    this.#findings.check('7', !isBelow(sentNow, sentBefore), () => {
      const [from, to] = [sentBefore, sentNow].map((version) => version.join('.'))
      return `delivery ${now.id} had sent version ${from} and then ${to}`
    })
  }
}

function isBelow(one: readonly [number, number], other: readonly [number, number]): boolean {
  return one[0] < other[0] || (one[0] === other[0] && one[1] < other[1])
}

function auditLine({
  id,
  type,
  actor,
  run_id: run,
  inbox_id: inbox,
  delivery_id,
  data,
}: AuditFact) {
  const about = [run, inbox, delivery_id].filter((one) => one !== null).join(' ')
  return `${id} ${type} by ${actor} ${about} ${JSON.stringify(data)}`
}
