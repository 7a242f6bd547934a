/** Rule 6: one anchor per target, the lowest of several; what others wrote is nobody's to touch. */
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
    const all = commentsOf(delivery, facts, world)
    // One whose marker a person took out is nobody's any more, unless its number is known.
    const live = all.filter(({ deletedAt, id, body }) => {
      const isKnown = String(id) === delivery.provider_id || body.includes(delivery.marker_key)
      return deletedAt === null && isKnown && !isOfTwinRun(id, delivery, facts)
    })
    const where = `${repoOf(delivery, facts, world)}#${delivery.thread}`
    findings.check('6', live.length <= 1, () => {
      return `${live.length} comments of ${delivery.id} stand on ${where}: ${live.map(idOf).join()}`
    })
    checkLowestKept(all, world, where, findings)
    if (delivery.status !== 'SENT' || live.length > 0 || isExcused(delivery, facts, world)) continue
    // Whoever deletes it after its last word wants it gone; before that, the next word makes it
    // anew.
    const byPerson = (all.at(-1)?.deletedBy ?? world.ourLogin) !== world.ourLogin
    const isEdited = all.some(({ deletedAt }) => deletedAt === null)
    findings.check('6', byPerson || isEdited, () => {
      return `${delivery.id} is SENT, but nothing of it stands on ${where}`
    })
  }
}

/** What two runs of the same commits say in their own words has one key. */
function isOfTwinRun(commentId: number, delivery: DeliveryFact, facts: Facts): boolean {
  if (delivery.name === 'anchor') return false
  const other = facts.deliveries.find(({ provider_id: id }) => id === String(commentId))
  return other !== undefined && areOfTwinRuns(other, delivery, facts)
}

/** Whatever we removed was a copy: a lower one of ours stood beside it then. */
function checkLowestKept(
  all: readonly SimulatedComment[],
  { ourLogin }: World,
  where: string,
  findings: Findings,
): void {
  for (const { id, deletedAt, deletedBy } of all) {
    if (deletedBy !== ourLogin || deletedAt === null) continue
    const hadLower = all.some((other) => other.id < id && (other.deletedAt ?? Infinity) > deletedAt)
    findings.check('6', hadLower, () => `comment ${id} on ${where} was removed, a higher one kept`)
  }
}

const idOf = ({ id }: SimulatedComment): number => id

/** Whatever became of its text, it is known by the marker it once had. */
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
        comment.versions.every((one) => one.request === null)
      findings.check('6', isUntouched, () => {
        const { id, author } = comment
        return `comment ${id} of ${author} on ${repo.name}#${number} was changed by us`
      })
    }
  }
}

/**
 * What a run said itself was said; that it was not said twice is told above and by the requests.
 */
export function checkPublications(
  facts: Facts,
  world: World,
  { publications }: Workers,
  findings: Findings,
): void {
  for (const publication of publications) {
    const { runId, name, channel, text, at } = publication
    if (world.isForgotten(at)) continue
    // The next worker may say something else in its check run under the same name.
    const last = publications.findLast((one) => one.runId === runId && one.name === name)
    if (channel === 'github-check' && last !== publication) continue
    // A newer one may have taken their place; what stands in the end is told by rules of their own.
    if (channel === 'github-status' || channel === 'github-label') continue
    const delivery = facts.deliveries.find((one) => {
      return one.run_id === runId && one.channel === channel && one.content.includes(`"${text}"`)
    })
    findings.check('4', delivery !== undefined, () => `"${text}" of run ${runId} was lost`)
    if (delivery === undefined || isExcused(delivery, facts, world)) continue
    // A check of a run that was superseded before it was shown.
    if (delivery.kind === 'state' && delivery.reason === 'never_announced') continue
    const wasPublished = textsOf(delivery, facts, world).some((one) => one.includes(text))
    findings.check('7', wasPublished, () => `"${text}" of run ${runId} was never said (${channel})`)
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
