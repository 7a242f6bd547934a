/**
 * Rule 6: a target keeps one comment; of several, the one with the lowest id. Comments of other
 * people are never changed.
 */
import type { SimulatedComment } from '../../simulator/index.ts'
import type { DeliveryFact, Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { Workers } from '../workers.ts'
import type { World } from '../world.ts'
import { isExcused, isForWrongRepository } from './excused.ts'
import { repoOf } from './places.ts'
import { areOfTwinRuns } from './twin-runs.ts'

export function checkOneComment(facts: Facts, world: World, findings: Findings): void {
  for (const delivery of facts.deliveries) {
    if (delivery.channel !== 'github-comment' || isForWrongRepository(delivery, facts, world))
      continue
    const comments = commentsOf(delivery, facts, world)
    // A comment without its marker (a person removed it) counts only if its id is stored.
    const live = comments.filter(({ deletedAt, id, body }) => {
      const isKnown = String(id) === delivery.provider_id || body.includes(delivery.marker_key)
      return deletedAt === null && isKnown && !isOfTwinRun(id, delivery, facts)
    })
    const where = `${repoOf(delivery, facts, world)}#${delivery.thread}`
    findings.check('6', live.length <= 1, () => {
      return `${delivery.id} has ${live.length} comments on ${where}: ${live.map(idOf).join()}`
    })
    checkLowestKept(comments, world, where, findings)
    if (delivery.status !== 'SENT' || live.length > 0 || isExcused(delivery, facts, world)) continue
    // A person may delete the comment after its last update. Only another update creates it again.
    const wasDeletedByPerson = (comments.at(-1)?.deletedBy ?? world.ourLogin) !== world.ourLogin
    const isEdited = comments.some(({ deletedAt }) => deletedAt === null)
    findings.check('6', wasDeletedByPerson || isEdited, () => {
      return `${delivery.id} is SENT, but ${where} has no comment of it`
    })
  }
}

/** Outputs of twin runs have the same marker key. */
function isOfTwinRun(commentId: number, delivery: DeliveryFact, facts: Facts): boolean {
  if (delivery.name === 'anchor') return false
  const other = facts.deliveries.find(({ provider_id: id }) => id === String(commentId))
  return other !== undefined && areOfTwinRuns(other, delivery, facts)
}

/** We may remove a comment only as a duplicate: one of ours with a lower id must have existed. */
function checkLowestKept(
  comments: readonly SimulatedComment[],
  { ourLogin }: World,
  where: string,
  findings: Findings,
): void {
  for (const { id, deletedAt, deletedBy } of comments) {
    if (deletedBy !== ourLogin || deletedAt === null) continue
    const hadLower = comments.some(
      (other) => other.id < id && (other.deletedAt ?? Infinity) > deletedAt,
    )
    findings.check(
      '6',
      hadLower,
      () => `comment ${id} on ${where} was removed, but there was no lower one to keep`,
    )
  }
}

const idOf = ({ id }: SimulatedComment): number => id

/** All comments that ever had the delivery's marker, also if their present text has none. */
function commentsOf(delivery: DeliveryFact, facts: Facts, world: World): SimulatedComment[] {
  const repo = repoOf(delivery, facts, world)
  return world.github.allComments(repo, delivery.thread ?? 0).filter((comment) => {
    const isMarked = comment.versions.some(({ body }) => body.includes(delivery.marker_key))
    return comment.author === world.ourLogin && isMarked
  })
}

export function checkForeignComments(world: World, findings: Findings): void {
  for (const { repo, number } of world.pulls) {
    for (const comment of world.github.allComments(repo.name, number)) {
      if (comment.author === world.ourLogin) continue
      const isUntouched =
        comment.deletedBy !== world.ourLogin &&
        comment.versions.every(({ request }) => request === null)
      findings.check('6', isUntouched, () => {
        const { id, author } = comment
        return `Holdfast changed comment ${id} of ${author} on ${repo.name}#${number}`
      })
    }
  }
}

/** Rules 4 and 7: every output that a worker published arrived. Other checks find duplicates. */
export function checkPublications(
  facts: Facts,
  world: World,
  { publications }: Pick<Workers, 'publications'>,
  findings: Findings,
): void {
  for (const publication of publications) {
    const { runId, name, channel, text, at } = publication
    if (world.isForgotten(at)) continue
    // The next worker may publish another check run under the same name.
    const last = publications.findLast((other) => other.runId === runId && other.name === name)
    if (channel === 'github-check' && last !== publication) continue
    // A newer one may have replaced it; other rules check which status and labels are shown.
    if (channel === 'github-status' || channel === 'github-label') continue
    const delivery = facts.deliveries.find((row) => {
      return row.run_id === runId && row.channel === channel && row.content.includes(`"${text}"`)
    })
    findings.check('4', delivery !== undefined, () => `"${text}" of run ${runId} was lost`)
    if (delivery === undefined || isExcused(delivery, facts, world)) continue
    // The run was superseded before its check run was shown.
    if (delivery.kind === 'state' && delivery.reason === 'never_announced') continue
    const wasPublished = textsOf(delivery, facts, world).some((published) =>
      published.includes(text),
    )
    findings.check(
      '7',
      wasPublished,
      () => `"${text}" of run ${runId} was never published (${channel})`,
    )
  }
}

function textsOf(delivery: DeliveryFact, facts: Facts, world: World): string[] {
  const { github, ourLogin } = world
  const repo = repoOf(delivery, facts, world)
  const thread = delivery.thread ?? 0
  switch (delivery.channel) {
    case 'github-review':
      return github
        .reviews(repo, thread)
        .flatMap(({ author, body }) => (author === ourLogin ? [body] : []))
    case 'github-check':
      return github
        .checkRuns(repo, delivery.sha ?? '')
        .flatMap(({ output }) => output.summary ?? [])
    default:
      return github
        .allComments(repo, thread)
        .flatMap(({ author, versions }) => (author === ourLogin ? (versions[0]?.body ?? []) : []))
  }
}
